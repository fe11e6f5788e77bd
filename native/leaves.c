/* Leaves in a backward pass that do without their AccumulateGrad (D11): which, and how.
 *
 * Twin: `AccumulateGrad._run` of autograd/accumulate.py.
 */

#include "slots.h"

int taper_is_plain_leaf(PyObject *leaf) {
    PyObject *meta = meta_of(leaf);
    if (meta == NULL || meta == Py_None) return meta != NULL;
    if (SLOT(meta, taper_known.of_meta.grad_dtype) != taper_known.unset ||
        SLOT(meta, taper_known.of_meta.former) != Py_None)
        return 0;
    PyObject *reference = SLOT(meta, taper_known.of_meta.accumulator);
    if (reference == taper_known.nobody || reference == NULL) return reference != NULL;
    Py_INCREF(reference);
    PyObject *node = PyObject_CallNoArgs(reference);
    Py_DECREF(reference);
    if (node == NULL) return -1;
    Py_DECREF(node);
    return node == Py_None;
}

/* Whether an array that nobody else holds may become `.grad` itself. */
static int may_keep(PyArrayObject *grad, PyArrayObject *leaf) {
    if (Py_REFCNT(grad) != 1 || !PyArray_ISWRITEABLE(grad)) return 0;
    PyObject *base = PyArray_BASE(grad);
    if (is_device_array((PyObject *)grad)) {
        if (!is_device_array((PyObject *)leaf) || !taper_has_whole_block(grad)) return 0;
    } else if (base != NULL) { /* a transposed or reshaped fresh result */
        if (!PyArray_CheckExact(base) || Py_REFCNT(base) != 1) return 0;
        PyArrayObject *owner = (PyArrayObject *)base;
        if (PyArray_BASE(owner) != NULL || PyArray_NBYTES(owner) != PyArray_NBYTES(grad)) return 0;
    }
    int ndim = PyArray_NDIM(grad);
    return ndim == PyArray_NDIM(leaf) &&
           PyArray_CompareLists(PyArray_STRIDES(grad), PyArray_STRIDES(leaf), ndim);
}

/* Whether there is nothing about the leaf but perhaps a record without gradient and hooks. */
static int is_untouched(PyObject *leaf) {
    PyObject *meta = meta_of(leaf);
    if (meta == NULL || meta == Py_None) return meta != NULL;
    return SLOT(meta, taper_known.of_meta.hooks) == Py_None &&
           SLOT(meta, taper_known.of_meta.post_accumulate_hooks) == Py_None &&
           SLOT(meta, taper_known.of_meta.grad) == Py_None;
}

/* Let the gradient be that of the leaf, whose record may be new; 0 if somebody was quicker. */
static int put_first(PyObject *leaf, PyObject *meta, PyObject *grad) {
    PyObject *present = SLOT(leaf, taper_known.of_tensor.meta);
    if (!is_untouched(leaf) || (present != Py_None && present != meta)) return 0;
    put(meta, taper_known.of_meta.grad, held(grad));
    if (present == Py_None) put(leaf, taper_known.of_tensor.meta, held(meta));
    return 1;
}

/* As `put_first`, while no other thread is at it (§R6). */
static int put_first_alone(PyObject *leaf, PyObject *meta, PyObject *grad) {
    PyObject *got = PyObject_CallOneArg(taper_known.acquire, Py_False);
    if (got == NULL) return -1;
    Py_DECREF(got);
    if (got != Py_True) return 0;
    int done = put_first(leaf, meta, grad);
    PyObject *released = PyObject_CallNoArgs(taper_known.release);
    Py_XDECREF(released);
    return released == NULL ? -1 : done;
}

int taper_take_first(PyObject *leaf, PyObject *grad) {
    PyArrayObject *array = array_of(leaf);
    if (array == NULL || (!PyArray_CheckExact(grad) && !is_device_array(grad)) || !may_keep((PyArrayObject *)grad, array) ||
        SLOT(leaf, taper_known.of_tensor.view) != Py_None ||
        SLOT(leaf, taper_known.of_tensor.requires_grad) != Py_True || !is_untouched(leaf))
        return 0;
    int plain = taper_is_plain_leaf(leaf);
    if (plain <= 0) return plain;
    PyObject *meta = meta_of(leaf);
    if (meta == NULL) return 0;
    meta = meta == Py_None ? PyObject_CallNoArgs((PyObject *)taper_known.meta) : held(meta);
    PyObject *tensor = meta == NULL ? NULL : taper_new_tensor(grad, Py_False, Py_None);
    int done = -1;
    if (tensor != NULL) done = put_first_alone(leaf, meta, tensor);
    Py_XDECREF(tensor);
    Py_XDECREF(meta);
    return done;
}
