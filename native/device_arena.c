/* The room of a graph: while one is written, blocks are cut from a few large pieces, the smallest range that fits.
 *
 * A graph keeps its room for as long as it lives, so that what lies idle there is lost; lists of blocks by size, which
 * serve everybody else, would leave a tenth of it idle.  There is an arena for each stream of graphs.
 */

#include <string.h>

#include "device.h"

#define LEAST ((size_t)2 << 20)

typedef struct {
    char *start;
    size_t size;
} Range;

typedef struct {
    Range *ranges;
    Py_ssize_t count, room;
} Ranges;

typedef struct Arena {
    void *stream;
    Ranges free, pieces; /* free ranges by address, and what they were cut from */
    struct Arena *next;
} Arena;

static Arena *arenas;

static Arena *arena_of(void *stream, int make) {
    for (Arena *each = arenas; each != NULL; each = each->next)
        if (each->stream == stream) return each;
    Arena *made = make ? PyMem_Calloc(1, sizeof *made) : NULL;
    if (made != NULL) {
        made->stream = stream;
        made->next = arenas;
        arenas = made;
    }
    return made;
}

static int insert(Ranges *ranges, Py_ssize_t place, char *start, size_t size) {
    if (ranges->count == ranges->room) {
        const Py_ssize_t room = ranges->room ? 2 * ranges->room : 64;
        Range *larger = PyMem_Realloc(ranges->ranges, (size_t)room * sizeof(Range));
        if (larger == NULL) return -1;
        ranges->ranges = larger;
        ranges->room = room;
    }
    memmove(ranges->ranges + place + 1, ranges->ranges + place, (size_t)(ranges->count - place) * sizeof(Range));
    ranges->ranges[place] = (Range){start, size};
    ranges->count++;
    return 0;
}

static void drop(Ranges *ranges, Py_ssize_t place) {
    ranges->count--;
    memmove(ranges->ranges + place, ranges->ranges + place + 1, (size_t)(ranges->count - place) * sizeof(Range));
}

/* The place of the first range that begins at an address or after it. */
static Py_ssize_t place_of(const Ranges *ranges, const char *start) {
    Py_ssize_t low = 0, high = ranges->count;
    while (low < high) {
        const Py_ssize_t middle = (low + high) / 2;
        if (ranges->ranges[middle].start < start) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int begins_piece(const Arena *arena, const char *start) {
    const Py_ssize_t place = place_of(&arena->pieces, start);
    return place < arena->pieces.count && arena->pieces.ranges[place].start == start;
}

void arena_give(void *stream, void *address, size_t size) {
    Arena *arena = arena_of(stream, 0);
    if (arena == NULL) return;
    Ranges *free = &arena->free;
    Py_ssize_t place = place_of(free, address);
    char *start = address;
    if (place > 0 && !begins_piece(arena, start)) { /* the range before may end here */
        Range *before = &free->ranges[place - 1];
        if (before->start + before->size == start) {
            start = before->start;
            size += before->size;
            drop(free, --place);
        }
    }
    if (place < free->count && free->ranges[place].start == start + size && !begins_piece(arena, start + size)) {
        size += free->ranges[place].size;
        drop(free, place);
    }
    insert(free, place, start, size); /* without memory for it the range is lost, no more */
}

int arena_grow(void *stream, size_t size, PyObject *more_room) {
    Arena *arena = arena_of(stream, 1);
    if (arena == NULL) return PyErr_NoMemory(), -1;
    if (size < LEAST) size = LEAST;
    PyObject *found = PyObject_CallFunction(more_room, "n", (Py_ssize_t)size);
    if (found == NULL) return -1;
    char *start = PyLong_AsVoidPtr(found);
    Py_DECREF(found);
    if (start == NULL) return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    if (insert(&arena->pieces, place_of(&arena->pieces, start), start, size) < 0) return PyErr_NoMemory(), -1;
    arena_give(stream, start, size);
    return 0;
}

void *arena_take(void *stream, size_t size, PyObject *more_room) {
    for (int tries = 0; tries < 2; tries++) {
        Arena *arena = arena_of(stream, 1);
        Py_ssize_t best = -1;
        for (Py_ssize_t nr = 0; arena != NULL && nr < arena->free.count; nr++)
            if (arena->free.ranges[nr].size >= size &&
                (best < 0 || arena->free.ranges[nr].size < arena->free.ranges[best].size))
                best = nr;
        if (best >= 0) {
            Range *range = &arena->free.ranges[best];
            char *start = range->start;
            range->start += size;
            range->size -= size;
            if (range->size == 0) drop(&arena->free, best);
            return start;
        }
        if (tries || arena_grow(stream, size, more_room) < 0) break;
    }
    return NULL;
}

int arena_any(void *stream, void **address, size_t *size) {
    Arena *arena = arena_of(stream, 0);
    if (arena == NULL || arena->free.count == 0) return 0;
    const Range last = arena->free.ranges[--arena->free.count];
    *address = last.start;
    *size = last.size;
    return 1;
}

int arena_release(PyObject *found) {
    for (Arena *arena = arenas; arena != NULL; arena = arena->next)
        for (Py_ssize_t nr = arena->pieces.count - 1; nr >= 0; nr--) {
            const Range piece = arena->pieces.ranges[nr];
            const Py_ssize_t place = place_of(&arena->free, piece.start);
            if (place == arena->free.count || arena->free.ranges[place].start != piece.start ||
                arena->free.ranges[place].size != piece.size)
                continue;
            PyObject *pair = Py_BuildValue("Nn", PyLong_FromVoidPtr(piece.start), (Py_ssize_t)piece.size);
            if (pair == NULL || PyList_Append(found, pair) < 0) {
                Py_XDECREF(pair);
                return -1;
            }
            Py_DECREF(pair);
            drop(&arena->free, place);
            drop(&arena->pieces, nr);
        }
    return 0;
}
