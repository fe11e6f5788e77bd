/* What one backward pass can reach: a table of nodes by address, and those of them that are ready. */

#ifndef TAPER_REACHED_H
#define TAPER_REACHED_H

#include <stdint.h>

#include "slots.h"

#define LAST ULLONG_MAX /* the sequence number of what runs as soon as it is ready (§E12) */

/* What a pass keeps for a node, or for a leaf that it reaches as such. */
struct Entry {
    PyObject *node;
    PyObject *received; /* the gradient, of several outputs a list of them; NULL before the first */
    Py_ssize_t awaited, outputs;
    char leaf;
    char leads;  /* whether a pass for some inputs runs it, see `taper_leading` */
    char summed; /* whether the pass itself has made what was received: it adds to that in place */
};

struct Ready {
    unsigned long long sequence, tick;
    Py_ssize_t entry;
};

/* Everything that one pass can reach; Python may ask it what that is. */
typedef struct {
    PyObject_HEAD
    struct Entry *entries;
    Py_ssize_t count, room;
    Py_ssize_t *places; /* a table by address: an entry's index + 1, or 0 */
    size_t mask;
    struct Ready *heap;
    Py_ssize_t ready, heap_room;
    unsigned long long tick;
} Reached;

/* A slot of a node; some classes have a value for all their nodes, or keep it elsewhere. */
static inline PyObject *attribute(PyObject *node, Py_ssize_t place, PyObject *name) {
    PyObject *value = SLOT(node, place);
    return value != NULL ? held(value) : PyObject_GetAttr(node, name);
}

static inline int is_leaf(PyObject *node) {
    return PyObject_TypeCheck(node, taper_known.tensor);
}

static inline size_t place_of(const Reached *reached, const PyObject *node) {
    return (size_t)(((uint64_t)(uintptr_t)node >> 4) * 0x9E3779B97F4A7C15u >> 20) & reached->mask;
}

static struct Entry *find_exactly(const Reached *reached, const PyObject *node) {
    size_t at = place_of(reached, node);
    for (; reached->places[at]; at = (at + 1) & reached->mask) {
        struct Entry *entry = reached->entries + reached->places[at] - 1;
        if (entry->node == node) return entry;
    }
    return NULL;
}

/* The entry of a node; an AccumulateGrad that was made meanwhile has that of its leaf. */
static struct Entry *find(const Reached *reached, PyObject *node) {
    struct Entry *entry = find_exactly(reached, node);
    if (entry != NULL || !Py_IS_TYPE(node, taper_known.accumulate_grad)) return entry;
    PyObject *leaf = SLOT(node, taper_known.of_accumulate_grad.variable);
    return leaf == NULL ? NULL : find_exactly(reached, leaf);
}

/* An empty table, which Python may ask what is in it; NULL with an error. */
Reached *taper_new_reached(void);

/* Add an entry for a node that has none: 0, or -1 with an error. */
int taper_enter(Reached *reached, PyObject *node, Py_ssize_t awaited);

/* Let an entry be ready: 0, or -1 with an error. */
int taper_push(Reached *reached, const struct Entry *entry);

/* The ready entry that runs next; there must be one. */
struct Ready taper_pop(Reached *reached);

#endif
