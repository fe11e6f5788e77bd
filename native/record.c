/* The end of every recorded operation: the user's line, the rest of the node, and the tensor.
 *
 * The twin is the text that `opcompile` generates (`_USER_FRAME`, `_NODE_BASICS`, `_FRESH`): a third
 * of the time of a small operation.
 */

#include "slots.h"

#define MOST_SHARED 4

/* The innermost frame of the user's, from `frame` outwards; takes over and gives a reference. */
static PyFrameObject *users(PyFrameObject *frame) {
    for (;;) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        PyObject *answer = PyDict_GetItemWithError(taper_known.internal, code->co_filename);
        Py_DECREF(code);
        if (answer == NULL) { /* a file that was not met before */
            PyObject *found = PyObject_CallOneArg(taper_known.user_frame, (PyObject *)frame);
            Py_DECREF(frame);
            return (PyFrameObject *)found;
        }
        if (answer == Py_False) return frame;
        PyFrameObject *outer = PyFrame_GetBack(frame);
        if (outer == NULL) return frame;
        Py_DECREF(frame);
        frame = outer;
    }
}

/* user_frame(frame) */
PyObject *taper_user_frame(PyObject *self, PyObject *frame) {
    if (!PyFrame_Check(frame)) return PyErr_Format(PyExc_TypeError, "user_frame(frame)");
    return (PyObject *)users((PyFrameObject *)held(frame));
}

/* Edges to what made each of the tensors that need a gradient, or to the leaf itself (number -1). */
static int add_edges(PyObject *node, PyObject *const *pairs, Py_ssize_t count) {
    /* Nearly all numbers are 0, or those of leaves: one tuple for all nodes. */
    static PyObject *zeros[MOST_SHARED + 1], *leaves[MOST_SHARED + 1];
    const struct Known *known = &taper_known;
    PyObject *edges = PyTuple_New(count), *numbers = NULL;
    if (edges == NULL) return -1;
    int all_zero = 1, all_leaves = 1;
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *tensor = pairs[2 * index], *needs = pairs[2 * index + 1], *edge = Py_None;
        if (needs != Py_False && PyObject_TypeCheck(tensor, known->tensor) && PyObject_IsTrue(needs)) {
            edge = SLOT(tensor, known->of_tensor.grad_fn);
            if (edge == Py_None) {
                edge = tensor;
                all_zero = 0;
            } else {
                all_leaves = 0;
                if (SLOT(tensor, known->of_tensor.output_nr) != known->zero) all_zero = 0;
            }
        } else {
            all_leaves = 0;
        }
        PyTuple_SET_ITEM(edges, index, held(edge));
    }
    PyObject **shared = all_zero ? zeros : all_leaves ? leaves : NULL;
    if (shared != NULL && count <= MOST_SHARED && shared[count] != NULL) {
        numbers = held(shared[count]);
    } else if ((numbers = PyTuple_New(count)) != NULL) {
        for (Py_ssize_t index = 0; index < count; index++) {
            PyObject *edge = PyTuple_GET_ITEM(edges, index), *tensor = pairs[2 * index];
            PyObject *number = known->zero;
            if (edge != Py_None) /* the tensor itself, or what made it */
                number = edge == tensor ? known->leaf : SLOT(tensor, known->of_tensor.output_nr);
            PyTuple_SET_ITEM(numbers, index, held(number));
        }
        if (shared != NULL && count <= MOST_SHARED) shared[count] = held(numbers);
    }
    put(node, known->of_node.edges, edges);
    put(node, known->of_node.edge_nrs, numbers);
    return numbers == NULL ? -1 : 0;
}

/* record(node, array, state, frame, dtype, tensor, needs, tensor, needs, ...) */
PyObject *taper_record(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    if (count < 5 || count % 2 == 0 || !PyObject_TypeCheck(args[0], known->node) || !PyArray_Check(args[1]) ||
        !Py_IS_TYPE(args[2], known->state) || !PyFrame_Check(args[3]))
        return PyErr_Format(PyExc_TypeError, "record(node, array, state, frame, dtype, *edges)");
    if (add_edges(args[0], args + 5, (count - 5) / 2) < 0) return NULL;
    PyObject *node = args[0], *state = args[2];
    PyArrayObject *array = (PyArrayObject *)args[1];
    PyFrameObject *frame = (PyFrameObject *)held(args[3]);
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    if (code != SLOT(state, known->of_state.user_code)) {
        PyFrameObject *outer = users(frame);
        if (outer == NULL) {
            Py_DECREF(code);
            return NULL;
        }
        if (outer == frame) {
            put(state, known->of_state.user_code, held(code));
        } else {
            Py_DECREF(code);
            code = (PyObject *)PyFrame_GetCode(outer);
        }
        frame = outer;
    }
    put(node, known->of_node.code, code);
    put(node, known->of_node.offset, PyLong_FromLong(PyFrame_GetLasti(frame)));
    Py_DECREF(frame);

    PyObject *sequence = SLOT(state, known->of_state.sequence);
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
    PyObject *next = PyLong_FromLongLong(PyLong_AsLongLong(sequence) + 1);
    if (shape == NULL || next == NULL) {
        Py_XDECREF(shape);
        Py_XDECREF(next);
        return NULL;
    }
    put(node, known->of_node.sequence, held(sequence));
    put(state, known->of_state.sequence, next);
    put(node, known->of_node.status, held(known->zero));
    put(node, known->of_node.extra, held(Py_None));
    put(node, known->of_node.shape, shape);
    put(node, known->of_node.dtype,
        held(args[4] == Py_None ? (PyObject *)PyArray_DESCR(array) : args[4]));
    return taper_new_tensor((PyObject *)array, Py_True, node);
}
