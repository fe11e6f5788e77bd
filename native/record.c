/* The end of every recorded operation: what all nodes have, and the tensor.
 *
 * Twins: `complete_in_python` and `record_in_python` of opdef/recording.py.
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
            if (found != NULL && !PyFrame_Check(found)) {
                Py_CLEAR(found);
                PyErr_SetString(PyExc_TypeError, "user_frame returned no frame");
            }
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
    if (!PyFrame_Check(frame) || taper_known.internal == NULL)
        return PyErr_Format(PyExc_TypeError, "user_frame(frame)");
    return (PyObject *)users((PyFrameObject *)held(frame));
}

/* Which output of its node each edge leads to; -1 for a leaf. */
static PyObject *edge_numbers(PyObject *edges, PyObject *const *pairs) {
    PyObject *numbers = PyTuple_New(PyTuple_GET_SIZE(edges));
    for (Py_ssize_t index = 0; numbers != NULL && index < PyTuple_GET_SIZE(edges); index++) {
        PyObject *edge = PyTuple_GET_ITEM(edges, index), *tensor = pairs[2 * index];
        PyObject *number = taper_known.zero;
        if (edge != Py_None) /* the tensor itself, or what made it */
            number = edge == tensor ? taper_known.leaf
                                    : full_slot(tensor, taper_known.of_tensor.output_nr, "_output_nr");
        if (number == NULL) {
            Py_DECREF(numbers);
            return NULL;
        }
        PyTuple_SET_ITEM(numbers, index, held(number));
    }
    return numbers;
}

/* The number after that of the next node. */
static PyObject *next_sequence(PyObject *state) {
    PyObject *sequence = full_slot(state, taper_known.of_state.sequence, "sequence");
    long long number = sequence && PyLong_Check(sequence) ? PyLong_AsLongLong(sequence) : -1;
    if (number >= 0 && number < PY_LLONG_MAX) return PyLong_FromLongLong(number + 1);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "a sequence number out of range");
    return NULL;
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
        int needed = needs != Py_False && PyObject_TypeCheck(tensor, known->tensor);
        if (needed && needs != Py_True) needed = PyObject_IsTrue(needs);
        if (needed > 0) edge = full_slot(tensor, known->of_tensor.grad_fn, "_grad_fn");
        if (needed < 0 || edge == NULL) {
            Py_DECREF(edges);
            return -1;
        }
        if (needed && edge == Py_None) {
            edge = tensor;
            all_zero = 0;
        } else {
            all_leaves = 0;
            if (needed && SLOT(tensor, known->of_tensor.output_nr) != known->zero) all_zero = 0;
        }
        PyTuple_SET_ITEM(edges, index, held(edge));
    }
    PyObject **shared = all_zero ? zeros : all_leaves ? leaves : NULL;
    if (shared != NULL && count <= MOST_SHARED && shared[count] != NULL) {
        numbers = held(shared[count]);
    } else {
        numbers = edge_numbers(edges, pairs);
        if (numbers == NULL) {
            Py_DECREF(edges);
            return -1;
        }
        if (shared != NULL && count <= MOST_SHARED) shared[count] = held(numbers);
    }
    put(node, known->of_node.edges, edges);
    put(node, known->of_node.edge_nrs, numbers);
    return 0;
}

int taper_find_line(PyObject *state, PyObject *given, PyObject **code, PyObject **offset) {
    const struct Known *known = &taper_known;
    PyFrameObject *frame = (PyFrameObject *)held(given);
    *code = (PyObject *)PyFrame_GetCode(frame);
    if (*code != SLOT(state, known->of_state.user_code)) {
        PyFrameObject *outer = users(frame);
        if (outer == NULL) {
            Py_CLEAR(*code);
            return -1;
        }
        if (outer == frame) {
            put(state, known->of_state.user_code, held(*code));
        } else {
            Py_DECREF(*code);
            *code = (PyObject *)PyFrame_GetCode(outer);
        }
        frame = outer;
    }
    *offset = PyLong_FromLong(PyFrame_GetLasti(frame));
    Py_DECREF(frame);
    if (*offset == NULL) Py_CLEAR(*code);
    return *offset == NULL ? -1 : 0;
}

static int add_line(PyObject *node, PyObject *state, PyObject *frame) {
    PyObject *code, *offset;
    if (taper_find_line(state, frame, &code, &offset) < 0) return -1;
    put(node, taper_known.of_node.code, code);
    put(node, taper_known.of_node.offset, offset);
    return 0;
}

/* A weak reference to the module whose forward runs: a graph keeps no model alive. */
static int add_module(PyObject *node) {
    PyObject *module = taper_running_module(), *reference = Py_None;
    if (module == NULL) {
        Py_INCREF(reference);
    } else if ((reference = PyWeakref_NewRef(module, NULL)) == NULL) {
        return -1;
    }
    put(node, taper_known.of_node.module, reference);
    return 0;
}

/* PyTorch's error for a result of whole numbers with a history: only a write in place gives one. */
static PyObject *refuse_whole(int type) {
    static const char *const names[] = {"Bool", "Char", "Byte", "Short", "UInt16", "Int", "UInt32"};
    const char *name = type <= NPY_UINT ? names[type] : PyTypeNum_ISSIGNED(type) ? "Long" : "UInt64";
    return PyErr_Format(PyExc_RuntimeError, "Autograd not support dtype: %s", name);
}

/* Shape and dtype of an output, new references; a foreign array is asked by name: -1 with an error. */
static int describe(PyObject *value, PyObject **shape, PyObject **dtype) {
    if (PyArray_Check(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(array), PyArray_DIMS(array));
        *dtype = held((PyObject *)PyArray_DESCR(array));
    } else {
        *shape = PyObject_GetAttrString(value, "shape");
        *dtype = *shape == NULL ? NULL : PyObject_GetAttrString(value, "dtype");
        if (*dtype != NULL && !(PyTuple_Check(*shape) && PyArray_DescrCheck(*dtype))) {
            PyErr_SetString(PyExc_TypeError, "neither an array nor None");
            Py_CLEAR(*dtype);
        }
    }
    if (*shape != NULL && *dtype != NULL) return 0;
    Py_CLEAR(*shape);
    Py_CLEAR(*dtype);
    return -1;
}

/* What every node has; the shape and dtype of its output unless `array` is None. */
static int complete(PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    PyObject *node = args[0], *state = args[2], *shape, *dtype;
    if (add_edges(node, args + 5, (count - 5) / 2) < 0 || add_line(node, state, args[3]) < 0) return -1;
    if (args[1] != Py_None) {
        if (describe(args[1], &shape, &dtype) < 0) return -1;
        put(node, known->of_node.shape, shape);
        put(node, known->of_node.dtype, dtype);
        if (args[4] != Py_None) put(node, known->of_node.dtype, held(args[4]));
    }
    PyObject *next = next_sequence(state);
    if (next == NULL) return -1;
    put(node, known->of_node.sequence, held(SLOT(state, known->of_state.sequence)));
    put(state, known->of_state.sequence, next);
    put(node, known->of_node.status, held(known->zero));
    put(node, known->of_node.extra, held(Py_None));
    return add_module(node);
}

static int are_valid(PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    if (count >= 5 && count % 2 && PyObject_TypeCheck(args[0], known->node) &&
        Py_IS_TYPE(args[2], known->state) && PyFrame_Check(args[3]) && known->internal != NULL)
        return 1;
    PyErr_SetString(PyExc_TypeError, "(node, array, state, frame, dtype, tensor, needs, ...)");
    return 0;
}

/* complete(node, array, state, frame, dtype, tensor, needs, tensor, needs, ...) */
PyObject *taper_complete(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_valid(args, count)) return NULL;
    return complete(args, count) < 0 ? NULL : held(Py_None);
}

/* record(...): as `complete`, and the tensor on the array, with its history. */
PyObject *taper_record(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_valid(args, count)) return NULL;
    if (PyArray_Check(args[1])) {
        const int type = PyArray_TYPE((PyArrayObject *)args[1]);
        if (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type)) return refuse_whole(type);
    } else {
        PyObject *shape, *dtype;
        if (describe(args[1], &shape, &dtype) < 0) return NULL;
        const int type = ((PyArray_Descr *)dtype)->type_num;
        Py_DECREF(shape);
        Py_DECREF(dtype);
        if (PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type)) return refuse_whole(type);
    }
    return complete(args, count) < 0 ? NULL : taper_new_tensor(args[1], Py_True, args[0]);
}
