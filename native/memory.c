/* Memory of large arrays, kept for the next one instead of given back to the system.
 *
 * A fresh block costs a page fault for every 4 kB that are touched: for the arrays of a training
 * step more than the arithmetic on them.  So NumPy is given a handler (NEP 49) that keeps freed
 * blocks, up to `limit` bytes, by size.  Blocks below SMALLEST go to NumPy's own handler.
 *
 * A block is known by its address, which stands in a table while the block is in use: NumPy does not
 * always free an array with the size that it was made with.
 */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pool.h"

#define SMALLEST ((size_t)1 << 16)
#define PAGE ((size_t)4096)
#define STEPS 8 /* sizes between a power of two and the next: at most an eighth is wasted */
#define CLASSES (48 * STEPS)
#define SLACK ((size_t)1 << 26)
#define COLOURS 16 /* arrays start at different lines of the cache */
#define HUGE_PAGE ((size_t)1 << 21)

typedef struct Block {
    struct Block *next; /* the next free block of this size, or of this row of the table */
    size_t size;        /* bytes that the user may use */
    size_t asked;       /* of those, what he asked for, rounded up to a size of a class */
    char *base;         /* what the system gave */
    size_t given;
    char *data;
} Block;

#define ROWS 4096

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static Block *in_use[ROWS];
static Block *unused[CLASSES];
static size_t limit, kept, used, peak, reused, fresh;
static unsigned colour;
static PyDataMem_Handler *plain; /* NumPy's own handler */

/* The number of a size's class, and the size of the blocks in it. */
static int class_of(size_t size, size_t *rounded) {
    int power = 63 - __builtin_clzll((unsigned long long)(size - 1));
    size_t step = ((size_t)1 << power) / STEPS;
    size_t nr = (size - 1 - ((size_t)1 << power)) / step;
    *rounded = ((size_t)1 << power) + (nr + 1) * step;
    return power * STEPS + (int)nr;
}

static Block **row_of(const void *data) {
    uintptr_t page = (uintptr_t)data / PAGE;
    return &in_use[(page ^ (page >> 12)) % ROWS];
}

/* Whether an address can be one of ours: they lie in the first lines of a page. */
static int may_be_ours(const void *data) {
    uintptr_t place = (uintptr_t)data % PAGE;
    return place % 64 == 0 && place < 64 * COLOURS;
}

/* The block of an address, taken out of the table; NULL if it is not ours. */
static Block *take(const void *data) {
    for (Block **place = row_of(data); *place != NULL; place = &(*place)->next)
        if ((*place)->data == data) {
            Block *found = *place;
            *place = found->next;
            used -= found->asked;
            return found;
        }
    return NULL;
}

static void put(Block *block, size_t asked) {
    Block **row = row_of(block->data);
    block->next = *row;
    *row = block;
    used += block->asked = asked;
    if (used > peak) peak = used;
}

static void give_back(Block *block) {
    munmap(block->base, block->given);
    free(block);
}

/* Where the user's bytes begin: large blocks at a huge page, if the system has them.  NumPy asks for those from 4 MB
 * on, too. */
static char *first_page(char *base, size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= HUGE_PAGE) {
        base += (HUGE_PAGE - (uintptr_t)base % HUGE_PAGE) % HUGE_PAGE;
        madvise(base, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    }
#endif
    return base;
}

static Block *new_block(size_t size) {
    const size_t given = (size + PAGE * 2 - 1) / PAGE * PAGE + (size < HUGE_PAGE ? 0 : HUGE_PAGE);
    Block *block = malloc(sizeof *block);
    if (block == NULL) return NULL;
    block->base = mmap(NULL, given, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->base == MAP_FAILED) {
        free(block);
        return NULL;
    }
    block->given = given;
    block->size = size;
    block->data = first_page(block->base, size) + 64 * (colour++ % COLOURS);
    return block;
}

/* Give the kept blocks back, all of them: the system had no more, or the user asked. */
static size_t drop_all(void) {
    size_t before = kept;
    for (int nr = 0; nr < CLASSES; nr++)
        while (unused[nr] != NULL) {
            Block *block = unused[nr];
            unused[nr] = block->next;
            give_back(block);
        }
    kept = 0;
    return before;
}

/* Make room for a fresh block: what is kept may not make the process much larger than what was once
 * in use at the same time.  The largest blocks go first. */
static void make_room(size_t size) {
    size_t most = peak + peak / 4 + SLACK;
    for (int nr = CLASSES - 1; nr >= 0 && kept && used + kept + size > most; nr--)
        while (unused[nr] != NULL && used + kept + size > most) {
            Block *block = unused[nr];
            unused[nr] = block->next;
            kept -= block->size;
            give_back(block);
        }
}

/* A kept block of this class, or of one of the `more` next larger ones; NULL if there is none. */
static Block *take_kept(int nr, int more) {
    const int last = nr + more < CLASSES ? nr + more : CLASSES - 1;
    while (nr < last && unused[nr] == NULL) nr++;
    Block *block = unused[nr];
    if (block == NULL) return NULL;
    unused[nr] = block->next;
    kept -= block->size;
    reused++;
    return block;
}

/* A block of at least `size` bytes; `*zeroed` says whether it is known to hold zeros. */
static void *large(size_t size, int more, int *zeroed) {
    size_t rounded;
    if (size >= (size_t)1 << 47) return NULL; /* more than any machine addresses */
    int nr = class_of(size, &rounded);
    pthread_mutex_lock(&guard);
    Block *block = take_kept(nr, more);
    *zeroed = block == NULL;
    if (block == NULL) {
        make_room(rounded);
        block = new_block(rounded);
        if (block == NULL && drop_all()) block = new_block(rounded);
        if (block != NULL) fresh++;
    }
    void *data = NULL;
    if (block != NULL) {
        put(block, rounded);
        data = block->data;
    }
    pthread_mutex_unlock(&guard);
    return data;
}

static void *allocate(void *context, size_t size) {
    int zeroed;
    return size < SMALLEST ? plain->allocator.malloc(plain->allocator.ctx, size) : large(size, 0, &zeroed);
}

static void *allocate_zeros(void *context, size_t count, size_t width) {
    if (width && count > SIZE_MAX / width) return NULL;
    size_t size = count * width;
    if (size < SMALLEST) return plain->allocator.calloc(plain->allocator.ctx, count, width);
    int zeroed;
    void *data = large(size, 0, &zeroed);
    if (data != NULL && !zeroed) pool_clear(data, (npy_intp)size);
    return data;
}

static void release(void *context, void *data, size_t size) {
    if (data == NULL) return;
    Block *block = NULL;
    if (may_be_ours(data)) {
        pthread_mutex_lock(&guard);
        block = take(data);
        if (block != NULL && kept + block->size <= limit) {
            size_t rounded;
            int nr = class_of(block->size, &rounded);
            block->next = unused[nr];
            unused[nr] = block;
            kept += block->size;
            pthread_mutex_unlock(&guard);
            return;
        }
        pthread_mutex_unlock(&guard);
    }
    if (block != NULL) give_back(block);
    else plain->allocator.free(plain->allocator.ctx, data, size);
}

/* The size of a block of ours, 0 if it is another's. */
static size_t size_of(const void *data) {
    size_t size = 0;
    if (!may_be_ours(data)) return 0;
    pthread_mutex_lock(&guard);
    for (Block *block = *row_of(data); block != NULL; block = block->next)
        if (block->data == data) size = block->size;
    pthread_mutex_unlock(&guard);
    return size;
}

static void *resize(void *context, void *data, size_t size) {
    size_t before = data == NULL ? 0 : size_of(data);
    if (before == 0) return plain->allocator.realloc(plain->allocator.ctx, data, size);
    if (size <= before && size >= SMALLEST) return data;
    void *moved = allocate(context, size);
    if (moved == NULL) return NULL;
    memcpy(moved, data, before < size ? before : size);
    release(context, data, before);
    return moved;
}

/* Memory for a kernel's own use: a kept block, so that it does not cost page faults, and of any size, since it
 * comes back soon (a ResNet-18 keeps 44 MB instead of 50, captured 45 instead of 60). */
void *scratch_take(size_t size) {
    int zeroed;
    return large(size < SMALLEST ? SMALLEST : size, CLASSES, &zeroed);
}

void scratch_give(void *data) { release(NULL, data, SMALLEST); }

static PyDataMem_Handler handler = {
    "taper", 1, {NULL, allocate, allocate_zeros, resize, release},
};

static void before_fork(void) { pthread_mutex_lock(&guard); }
static void after_fork(void) { pthread_mutex_unlock(&guard); }

/* keep_memory(limit): NumPy's arrays of this thread use this memory from now on.
 *
 * Every thread says it once: NumPy knows its handler by thread. */
PyObject *taper_keep_memory(PyObject *self, PyObject *value) {
    static PyObject *capsule;
    size_t wanted = PyLong_AsSize_t(value);
    if (wanted == (size_t)-1 && PyErr_Occurred()) return NULL;
    if (capsule == NULL) {
        plain = PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
        if (plain == NULL) return NULL;
        if (pthread_atfork(before_fork, after_fork, after_fork) != 0) return PyErr_NoMemory();
        capsule = PyCapsule_New(&handler, "mem_handler", NULL);
        if (capsule == NULL) return NULL;
    }
    pthread_mutex_lock(&guard);
    limit = wanted;
    pthread_mutex_unlock(&guard);
    PyObject *before = PyDataMem_SetHandler(capsule);
    if (before == NULL) return NULL;
    Py_DECREF(before);
    Py_RETURN_NONE;
}

/* drop_memory(): gives the kept blocks back to the system and says how many bytes they had. */
PyObject *taper_drop_memory(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    pthread_mutex_lock(&guard);
    size_t dropped = drop_all();
    pthread_mutex_unlock(&guard);
    return PyLong_FromSize_t(dropped);
}

/* memory_counts(again): bytes kept, in use, in use at most, the limit; blocks reused and fresh.  With an
 * argument, what is in use at most counts from now on. */
PyObject *taper_memory_counts(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    pthread_mutex_lock(&guard);
    size_t now[] = {kept, used, peak, limit, reused, fresh};
    if (count) peak = used;
    pthread_mutex_unlock(&guard);
    return Py_BuildValue("(nnnnnn)", (Py_ssize_t)now[0], (Py_ssize_t)now[1], (Py_ssize_t)now[2],
                         (Py_ssize_t)now[3], (Py_ssize_t)now[4], (Py_ssize_t)now[5]);
}
