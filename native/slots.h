/* The slots of taper's Python classes, read and written without their descriptors. */

#ifndef TAPER_SLOTS_H
#define TAPER_SLOTS_H

#include "native.h"

/* What `know_...` functions of Python told: classes, and where their slots are. */
struct Known {
    PyTypeObject *tensor, *node, *state, *meta;
    PyObject *internal, *user_frame, *nobody, *unset, *acquire, *release, *zero, *leaf;
    struct {
        Py_ssize_t array, requires_grad, grad_fn, output_nr, counter, view, meta;
    } of_tensor;
    struct {
        Py_ssize_t edges, edge_nrs, status, extra, sequence, code, offset, shape, dtype;
    } of_node;
    struct {
        Py_ssize_t sequence, user_code, mode;
    } of_state;
    struct {
        Py_ssize_t grad, accumulator, hooks, post_accumulate_hooks, grad_dtype;
    } of_meta;
};

extern struct Known taper_known;

#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

static inline PyObject *held(PyObject *value) {
    Py_INCREF(value);
    return value;
}

/* Store a value whose reference is taken over. */
static inline void put(PyObject *object, Py_ssize_t place, PyObject *value) {
    PyObject *before = SLOT(object, place);
    SLOT(object, place) = value;
    Py_XDECREF(before);
}

/* A tensor on an array, with or without a history. */
PyObject *taper_new_tensor(PyObject *array, PyObject *requires_grad, PyObject *node);

#endif
