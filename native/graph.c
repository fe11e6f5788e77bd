/* Parts of a backward pass: counting what every node will receive, and a leaf's first gradient.
 *
 * Twins: `count_incoming` of autograd/engine.py, `accumulate_simply` of autograd/accumulate.py.
 */

#include "slots.h"

/* An entry [count, None, None], to which a leaf adds its shape and dtype. */
static PyObject *new_entry(long count, PyArrayObject *leaf) {
    PyObject *entry = PyList_New(leaf == NULL ? 3 : 5);
    if (entry == NULL) return NULL;
    PyObject *number = PyLong_FromLong(count), *shape = NULL;
    PyList_SET_ITEM(entry, 0, number);
    PyList_SET_ITEM(entry, 1, held(Py_None));
    PyList_SET_ITEM(entry, 2, held(Py_None));
    if (leaf != NULL) {
        shape = PyArray_IntTupleFromIntp(PyArray_NDIM(leaf), PyArray_DIMS(leaf));
        PyList_SET_ITEM(entry, 3, shape);
        PyList_SET_ITEM(entry, 4, held((PyObject *)PyArray_DESCR(leaf)));
    }
    if (number == NULL || (leaf != NULL && shape == NULL)) {
        Py_DECREF(entry);
        return NULL;
    }
    return entry;
}

/* Whether a leaf is reached as such: nobody has asked for its AccumulateGrad or its dtype. */
static int is_plain_leaf(PyObject *tensor) {
    PyObject *meta = meta_of(tensor);
    return meta == Py_None ||
           (meta != NULL && SLOT(meta, taper_known.of_meta.accumulator) == taper_known.nobody &&
            SLOT(meta, taper_known.of_meta.grad_dtype) == taper_known.unset);
}

/* Note one more edge to `node`, or a root (count 0); new nodes go to the stack, or to `leaves`. */
static int reach(PyObject *node, long count, PyObject *waiting, PyObject *stack, PyObject *leaves) {
    PyObject *entry = PyDict_GetItemWithError(waiting, node);
    if (entry != NULL) {
        if (!count) return 0;
        PyObject *more = PyLong_FromLong(PyLong_AsLong(PyList_GET_ITEM(entry, 0)) + 1);
        return more == NULL ? -1 : PyList_SetItem(entry, 0, more);
    }
    if (PyErr_Occurred()) return -1;
    int is_leaf = PyObject_TypeCheck(node, taper_known.tensor);
    if (!is_leaf && !PyObject_TypeCheck(node, taper_known.node)) return -1;
    PyArrayObject *array = is_leaf && is_plain_leaf(node) ? array_of(node) : NULL;
    entry = new_entry(count, array);
    if (entry == NULL || PyDict_SetItem(waiting, node, entry) < 0) {
        Py_XDECREF(entry);
        return -1;
    }
    Py_DECREF(entry);
    if (array != NULL) return 0; /* what is not as expected, Python looks at */
    return PyList_Append(is_leaf ? leaves : stack, node);
}

/* Whether a leaf among the edges has a class with an equality of its own, which makes it no key. */
static int have_odd_leaf(PyObject *edges) {
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(edges); index++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, index);
        if (edge != Py_None && Py_TYPE(edge)->tp_hash != PyBaseObject_Type.tp_hash) return 1;
    }
    return 0;
}

/* Take the last node off the stack and reach those behind its edges. */
static int follow(PyObject *waiting, PyObject *stack, PyObject *leaves) {
    Py_ssize_t last = PyList_GET_SIZE(stack) - 1;
    PyObject *node = held(PyList_GET_ITEM(stack, last));
    int failed = PyList_SetSlice(stack, last, last + 1, NULL);
    PyObject *edges = SLOT(node, taper_known.of_node.edges);
    /* Some classes have the same edges, none, for all their nodes. */
    edges = edges == NULL ? PyObject_GetAttrString(node, "_edges") : held(edges);
    if (edges != NULL && PyTuple_Check(edges) && have_odd_leaf(edges)) /* lead to nodes from now on */
        Py_SETREF(edges, PyObject_CallMethod(node, "_nodes_ahead", NULL));
    failed = failed || edges == NULL || !PyTuple_Check(edges);
    for (Py_ssize_t index = 0; !failed && index < PyTuple_GET_SIZE(edges); index++) {
        PyObject *following = PyTuple_GET_ITEM(edges, index);
        if (following != Py_None) failed = reach(following, 1, waiting, stack, leaves);
    }
    Py_XDECREF(edges);
    Py_DECREF(node);
    return failed ? -1 : 0;
}

/* count_incoming(roots): the entries by node, and the leaves whose entry is not complete. */
PyObject *taper_count_incoming(PyObject *self, PyObject *roots) {
    if (!PyList_CheckExact(roots)) return PyErr_Format(PyExc_TypeError, "count_incoming(roots: list)");
    PyObject *waiting = PyDict_New(), *stack = PyList_New(0), *leaves = PyList_New(0);
    int failed = waiting == NULL || stack == NULL || leaves == NULL;
    for (Py_ssize_t index = 0; !failed && index < PyList_GET_SIZE(roots); index++) {
        failed = reach(PyList_GET_ITEM(roots, index), 0, waiting, stack, leaves) < 0;
    }
    while (!failed && PyList_GET_SIZE(stack)) failed = follow(waiting, stack, leaves) < 0;
    Py_XDECREF(stack);
    PyObject *result = NULL;
    if (!failed) result = PyTuple_Pack(2, waiting, leaves);
    else if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a graph is made of nodes");
    Py_XDECREF(waiting);
    Py_XDECREF(leaves);
    return result;
}

/* --- the first gradient of a leaf ---------------------------------------------------------- */

/* Whether an array that only its list holds may become `.grad` itself. */
static int may_keep(PyArrayObject *grad, PyArrayObject *leaf) {
    if (Py_REFCNT(grad) != 1 || !PyArray_ISWRITEABLE(grad)) return 0;
    PyObject *base = PyArray_BASE(grad);
    if (base != NULL) { /* a transposed or reshaped fresh result */
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
    PyObject *hooks = SLOT(meta, taper_known.of_meta.hooks);
    PyObject *later = SLOT(meta, taper_known.of_meta.post_accumulate_hooks);
    return is_plain_leaf(leaf) && hooks == Py_None && later == Py_None &&
           SLOT(meta, taper_known.of_meta.grad) == Py_None;
}

/* first_gradient(leaf, grads): let grads[0] be the gradient of a leaf that has none; False, with
 * nothing done, if that is not all there is to do. */
PyObject *taper_first_gradient(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyList_CheckExact(args[1]) || PyList_GET_SIZE(args[1]) != 1)
        return PyErr_Format(PyExc_TypeError, "first_gradient(leaf, grads)");
    PyObject *leaf = args[0], *grad = PyList_GET_ITEM(args[1], 0);
    if (!PyObject_TypeCheck(leaf, taper_known.tensor) || !PyArray_CheckExact(grad)) Py_RETURN_FALSE;
    PyArrayObject *array = array_of(leaf);
    if (SLOT(leaf, taper_known.of_tensor.view) != Py_None || array == NULL || !is_untouched(leaf) ||
        SLOT(leaf, taper_known.of_tensor.requires_grad) != Py_True ||
        !may_keep((PyArrayObject *)grad, array))
        Py_RETURN_FALSE;
    PyObject *tensor = taper_new_tensor(grad, Py_False, Py_None);
    PyObject *meta = SLOT(leaf, taper_known.of_tensor.meta);
    meta = meta == Py_None ? PyObject_CallNoArgs((PyObject *)taper_known.meta) : held(meta);
    PyObject *got = tensor && meta ? PyObject_CallOneArg(taper_known.acquire, Py_False) : NULL;
    if (got == NULL) {
        Py_XDECREF(tensor);
        Py_XDECREF(meta);
        return NULL;
    }
    Py_DECREF(got);
    /* Another thread may have come first, or be about to; its record must stay the leaf's. */
    PyObject *present = SLOT(leaf, taper_known.of_tensor.meta);
    int done = got == Py_True && is_untouched(leaf) && (present == Py_None || present == meta);
    if (done) {
        put(meta, taper_known.of_meta.grad, tensor);
        if (present == Py_None) put(leaf, taper_known.of_tensor.meta, held(meta));
    } else {
        Py_DECREF(tensor);
    }
    Py_DECREF(meta);
    if (got == Py_True) {
        PyObject *released = PyObject_CallNoArgs(taper_known.release);
        if (released == NULL) return NULL;
        Py_DECREF(released);
    }
    return PyBool_FromLong(done);
}
