/* The table and the heap of a backward pass.
 *
 * Twins: the dict `awaited` and the list `ready` of `run_in_python` in autograd/engine.py.
 */

#include "reached.h"

static PyObject *output_count, *sequence_name; /* "_output_count", "_sequence" */

/* --- the table --------------------------------------------------------------------------------- */

static void note_place(Reached *reached, Py_ssize_t index) {
    size_t at = place_of(reached, reached->entries[index].node);
    while (reached->places[at]) at = (at + 1) & reached->mask;
    reached->places[at] = index + 1;
}

/* Make room for more entries; half of the table's places stay free. */
static int grow(Reached *reached) {
    Py_ssize_t room = reached->room ? 2 * reached->room : 32;
    struct Entry *entries = PyMem_Realloc(reached->entries, (size_t)room * sizeof *entries);
    if (entries != NULL) reached->entries = entries;
    Py_ssize_t *places = entries == NULL ? NULL : PyMem_Calloc(2 * (size_t)room, sizeof *places);
    if (places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyMem_Free(reached->places);
    reached->places = places;
    reached->mask = 2 * (size_t)room - 1;
    reached->room = room;
    for (Py_ssize_t index = 0; index < reached->count; index++) note_place(reached, index);
    return 0;
}

int taper_enter(Reached *reached, PyObject *node, Py_ssize_t awaited) {
    Py_ssize_t outputs = 1;
    int leaf = is_leaf(node);
    if (!leaf) {
        if (!PyObject_TypeCheck(node, taper_known.node)) {
            PyErr_SetString(PyExc_TypeError, "a graph is made of nodes");
            return -1;
        }
        PyObject *number = PyObject_GetAttr(node, output_count);
        outputs = number == NULL ? -1 : PyLong_AsSsize_t(number);
        Py_XDECREF(number);
        if (outputs < 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a negative number of outputs");
            return -1;
        }
    }
    if (reached->count == reached->room && grow(reached) < 0) return -1;
    reached->entries[reached->count] = (struct Entry){held(node), NULL, awaited, outputs, (char)leaf, 0, 0};
    note_place(reached, reached->count++);
    return 0;
}

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Reached *reached = (Reached *)self;
    for (Py_ssize_t index = 0; index < reached->count; index++) {
        Py_VISIT(reached->entries[index].node);
        Py_VISIT(reached->entries[index].received);
    }
    return 0;
}

static int clear(PyObject *self) {
    Reached *reached = (Reached *)self;
    struct Entry *entries = reached->entries;
    Py_ssize_t count = reached->count;
    reached->entries = NULL; /* who looks while nodes are freed finds nothing */
    reached->count = reached->room = reached->ready = 0;
    PyMem_Free(reached->places);
    reached->places = NULL;
    for (Py_ssize_t index = 0; index < count; index++) {
        Py_DECREF(entries[index].node);
        Py_XDECREF(entries[index].received);
    }
    PyMem_Free(entries);
    return 0;
}

static void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(((Reached *)self)->heap);
    PyObject_GC_Del(self);
}

static int contains(PyObject *self, PyObject *node) {
    return ((Reached *)self)->places != NULL && find((Reached *)self, node) != NULL;
}

static PySequenceMethods as_sequence = {.sq_contains = contains};

static PyTypeObject reached_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "taper._native.Reached",
    .tp_doc = "The nodes that a backward pass can reach.",
    .tp_basicsize = sizeof(Reached),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_as_sequence = &as_sequence,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_dealloc = dealloc,
};

Reached *taper_new_reached(void) {
    Reached *reached = PyObject_GC_New(Reached, &reached_type);
    if (reached == NULL) return NULL;
    memset((char *)reached + sizeof(PyObject), 0, sizeof *reached - sizeof(PyObject));
    PyObject_GC_Track(reached);
    if (grow(reached) < 0) Py_CLEAR(reached);
    return reached;
}

/* --- the heap ---------------------------------------------------------------------------------- */

/* Of two ready nodes the one recorded last is first, of two alike the one that got ready first. */
static inline int is_before(struct Ready one, struct Ready other) {
    return one.sequence != other.sequence ? one.sequence > other.sequence : one.tick < other.tick;
}

static int sequence_of(const struct Entry *entry, unsigned long long *sequence) {
    *sequence = LAST;
    if (entry->leaf) return 0;
    PyObject *number = attribute(entry->node, taper_known.of_node.sequence, sequence_name);
    if (number == NULL) return -1;
    *sequence = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return *sequence == LAST && PyErr_Occurred() ? -1 : 0;
}

int taper_push(Reached *reached, const struct Entry *entry) {
    struct Ready item = {0, reached->tick++, entry - reached->entries};
    if (sequence_of(entry, &item.sequence) < 0) return -1;
    if (reached->ready == reached->heap_room) {
        Py_ssize_t room = reached->heap_room ? 2 * reached->heap_room : 16;
        struct Ready *heap = PyMem_Realloc(reached->heap, (size_t)room * sizeof *heap);
        if (heap == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        reached->heap = heap;
        reached->heap_room = room;
    }
    Py_ssize_t at = reached->ready++;
    for (; at && is_before(item, reached->heap[(at - 1) / 2]); at = (at - 1) / 2)
        reached->heap[at] = reached->heap[(at - 1) / 2];
    reached->heap[at] = item;
    return 0;
}

struct Ready taper_pop(Reached *reached) {
    struct Ready *heap = reached->heap, first = heap[0], moved = heap[--reached->ready];
    Py_ssize_t at = 0, below;
    while ((below = 2 * at + 1) < reached->ready) {
        if (below + 1 < reached->ready && is_before(heap[below + 1], heap[below])) below++;
        if (!is_before(heap[below], moved)) break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = moved;
    return first;
}

int taper_ready_reached(void) {
    output_count = PyUnicode_InternFromString("_output_count");
    sequence_name = PyUnicode_InternFromString("_sequence");
    return output_count == NULL || sequence_name == NULL ? -1 : PyType_Ready(&reached_type);
}
