/* The slots of taper's Python classes, read and written without their descriptors. */

#ifndef TAPER_SLOTS_H
#define TAPER_SLOTS_H

#include "native.h"

/* What Python passed to the `know_...` functions: classes, and where their slots are. */
struct Known {
    PyTypeObject *tensor, *node, *state, *meta, *accumulate_grad, *record, *counter, *dtype;
    PyObject *internal, *user_frame, *nobody, *unset, *acquire, *release, *zero, *one, *ask, *leaf;
    PyObject *new_view, *new_views, *creations[4], *default_dtype, *strided, *cpu;
    struct {
        Py_ssize_t array, requires_grad, grad_fn, output_nr, counter, view, meta;
    } of_tensor;
    struct {
        Py_ssize_t edges, edge_nrs, status, extra, sequence, code, offset, shape, dtype, module;
    } of_node;
    struct {
        Py_ssize_t sequence, user_code, current_node, mode, transforms, cut, autocast;
    } of_state;
    struct {
        Py_ssize_t grad, accumulator, hooks, post_accumulate_hooks, grad_dtype, former;
    } of_meta;
    struct {
        Py_ssize_t variable;
    } of_accumulate_grad;
    struct {
        Py_ssize_t base, creation, version, replay, requires_grad, code, offset;
    } of_record;
    struct {
        Py_ssize_t value, code, offset;
    } of_counter;
    struct {
        Py_ssize_t numpy;
    } of_dtype;
    struct {
        Py_ssize_t float_numpy;
    } of_default;
};

/* The places of `creations`. */
enum { PLAIN_VIEW, MULTIPLE_VIEW, NO_GRAD_VIEW, INFERENCE_VIEW };

extern struct Known taper_known;

/* A slot may be empty (NULL), as after `del`, and may hold anything. */
#define SLOT(object, place) (*(PyObject **)((char *)(object) + (place)))

static inline PyObject *held(PyObject *value) {
    Py_INCREF(value);
    return value;
}

/* The array of a tensor, NULL if there is none; the tensor may show conjugates of it. */
static inline PyArrayObject *array_of(PyObject *tensor) {
    PyObject *array = SLOT(tensor, taper_known.of_tensor.array);
    return array != NULL && PyArray_Check(array) ? (PyArrayObject *)array : NULL;
}

/* The record of a tensor: None if it has none, NULL if the slot holds something else. */
static inline PyObject *meta_of(PyObject *tensor) {
    PyObject *meta = SLOT(tensor, taper_known.of_tensor.meta);
    if (meta == Py_None || (meta != NULL && Py_IS_TYPE(meta, taper_known.meta))) return meta;
    return NULL;
}

/* Store a value and take over its reference. */
static inline void put(PyObject *object, Py_ssize_t place, PyObject *value) {
    PyObject *before = SLOT(object, place);
    SLOT(object, place) = value;
    Py_XDECREF(before);
}

/* Like SLOT, but with an error that names the slot if it is empty. */
static inline PyObject *full_slot(PyObject *object, Py_ssize_t place, const char *name) {
    PyObject *value = SLOT(object, place);
    if (value == NULL)
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'", Py_TYPE(object)->tp_name,
                     name);
    return value;
}

/* The module whose forward runs on this thread, borrowed; NULL outside of all. */
PyObject *taper_running_module(void);

/* A tensor on an array, with or without a history. */
PyObject *taper_new_tensor(PyObject *array, PyObject *requires_grad, PyObject *node);

/* The user's line, from a frame outwards (D6), new references: 0, or -1 with an error. */
int taper_find_line(PyObject *state, PyObject *frame, PyObject **code, PyObject **offset);

/* The array of a tensor of no other class, if an operation on the tensor is not to be recorded and nobody wants to
 * see it; else NULL. */
PyArrayObject *taper_quiet_array(PyObject *tensor, PyObject *state);

/* A view of the memory of an array that begins `offset` bytes after its first element. */
PyObject *taper_part_of(PyArrayObject *array, int ndim, const npy_intp *shape, const npy_intp *strides,
                        npy_intp offset);

/* An exact integer below a limit, from which it counts back if it is negative; -1 if it is anything else. */
npy_intp taper_place_in(PyObject *value, npy_intp size);

/* Keep what `know_views` and `know_making` were passed. */
int taper_find_views(PyObject *const *args);
int taper_find_making(PyObject *const *args);

/* Whether a leaf may be reached as such: nobody holds its AccumulateGrad, it has the dtype and data
 * of always; -1 with an error. */
int taper_is_plain_leaf(PyObject *leaf);

/* Let an array be the gradient of a leaf that has none: 1, or 0, with nothing done, if that is not
 * all there is to do; -1 with an error.  The caller's reference stays the caller's. */
int taper_take_first(PyObject *leaf, PyObject *grad);

#endif
