/* Whether a recorded program holds for a call: everything it assumes, compared by identity.
 *
 * What is not the same object may still be equal; `program/guards.py`, the twin, decides that. */

#include "native.h"
#include "slots.h"

/* Whether a dictionary of hooks, or None, has none. */
static int is_empty(PyObject *hooks) {
    return hooks == NULL || hooks == Py_None || (PyDict_Check(hooks) && PyDict_GET_SIZE(hooks) == 0);
}

static int without_hooks(PyObject *tensor) {
    PyObject *meta = SLOT(tensor, taper_known.of_tensor.meta);
    if (meta == NULL) return 0;
    if (meta == Py_None) return 1;
    if (taper_known.meta == NULL || !Py_IS_TYPE(meta, taper_known.meta)) return 0;
    return is_empty(SLOT(meta, taper_known.of_meta.hooks)) &&
           is_empty(SLOT(meta, taper_known.of_meta.post_accumulate_hooks));
}

static int same_kind(PyObject *found, PyObject *like) {
    if (found == NULL || !PyArray_CheckExact(found) || !PyArray_CheckExact(like)) return 0;
    PyArrayObject *one = (PyArrayObject *)found, *other = (PyArrayObject *)like;
    const int ndim = PyArray_NDIM(one);
    return ndim == PyArray_NDIM(other) && PyArray_DESCR(one) == PyArray_DESCR(other) &&
           PyArray_CompareLists(PyArray_DIMS(one), PyArray_DIMS(other), ndim) &&
           PyArray_CompareLists(PyArray_STRIDES(one), PyArray_STRIDES(other), ndim);
}

/* An argument: `expected` is (class, array of the same kind, whether it requires a gradient) for a
 * tensor, and anything else for itself. */
static int argument_holds(PyObject *value, PyObject *expected, PyObject *inference) {
    if (!PyTuple_CheckExact(expected)) return value == expected;
    if (PyTuple_GET_SIZE(expected) != 3) return 0;
    PyTypeObject *type = Py_TYPE(value);
    if ((PyObject *)type != PyTuple_GET_ITEM(expected, 0)) return 0;
    if (!PyType_IsSubtype(type, taper_known.tensor)) return 0;
    PyObject *flag = PyTuple_GET_ITEM(expected, 2);
    if (SLOT(value, taper_known.of_tensor.requires_grad) != flag) return 0;
    if (SLOT(value, taper_known.of_tensor.counter) == inference) return 0;
    if (flag == Py_True && (SLOT(value, taper_known.of_tensor.grad_fn) != Py_None ||
                            SLOT(value, taper_known.of_tensor.view) != Py_None ||
                            !without_hooks(value)))
        return 0;
    PyObject **attributes = _PyObject_GetDictPtr(value); /* set by somebody, as `x.name = "x"` */
    if (attributes != NULL && *attributes != NULL && PyDict_GET_SIZE(*attributes) > 0) return 0;
    return same_kind(SLOT(value, taper_known.of_tensor.array), PyTuple_GET_ITEM(expected, 1));
}

static int arguments_hold(PyObject *given, PyObject *expected, PyObject *inference) {
    const Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (count != PyTuple_GET_SIZE(expected)) return 0;
    for (Py_ssize_t nr = 0; nr < count; nr++) {
        PyObject *value = PyTuple_GET_ITEM(given, nr);
        if (!argument_holds(value, PyTuple_GET_ITEM(expected, nr), inference)) return 0;
        for (Py_ssize_t other = 0; other < nr; other++) /* twice the same tensor is another case */
            if (PyTuple_GET_ITEM(given, other) == value && PyTuple_CheckExact(PyTuple_GET_ITEM(expected, nr)))
                return 0;
    }
    return 1;
}

/* Tensors that the program found elsewhere: (tensor, array, requires_grad) one after the other. */
static int externals_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 2 < PyTuple_GET_SIZE(row); nr += 3) {
        PyObject *tensor = PyTuple_GET_ITEM(row, nr);
        if (!PyObject_TypeCheck(tensor, taper_known.tensor)) return 0;
        if (SLOT(tensor, taper_known.of_tensor.array) != PyTuple_GET_ITEM(row, nr + 1) ||
            SLOT(tensor, taper_known.of_tensor.requires_grad) != PyTuple_GET_ITEM(row, nr + 2) ||
            !without_hooks(tensor))
            return 0;
    }
    return 1;
}

/* (tensor, whether it has a gradient) one after the other. */
static int grads_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 1 < PyTuple_GET_SIZE(row); nr += 2) {
        PyObject *tensor = PyTuple_GET_ITEM(row, nr);
        if (!PyObject_TypeCheck(tensor, taper_known.tensor)) return 0;
        PyObject *meta = SLOT(tensor, taper_known.of_tensor.meta);
        if (meta == NULL || (meta != Py_None && (taper_known.meta == NULL || !Py_IS_TYPE(meta, taper_known.meta))))
            return 0;
        PyObject *grad = meta == Py_None ? Py_None : SLOT(meta, taper_known.of_meta.grad);
        if ((grad != NULL && grad != Py_None) != (PyTuple_GET_ITEM(row, nr + 1) == Py_True)) return 0;
    }
    return 1;
}

/* (dictionary, key, value) one after the other. */
static int entries_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 2 < PyTuple_GET_SIZE(row); nr += 3) {
        PyObject *mapping = PyTuple_GET_ITEM(row, nr), *key = PyTuple_GET_ITEM(row, nr + 1);
        PyObject *found = NULL;
        if (PyDict_Check(mapping)) {
            found = PyDict_GetItemWithError(mapping, key);
        } else if (Py_IS_TYPE(mapping, &PyDictProxy_Type)) { /* of a class, which holds what is in it */
            found = PyObject_GetItem(mapping, key);
            Py_XDECREF(found);
        }
        if (found != PyTuple_GET_ITEM(row, nr + 2)) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* (cell, value) one after the other. */
static int cells_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 1 < PyTuple_GET_SIZE(row); nr += 2) {
        PyObject *cell = PyTuple_GET_ITEM(row, nr);
        if (!PyCell_Check(cell) || PyCell_GET(cell) != PyTuple_GET_ITEM(row, nr + 1)) return 0;
    }
    return 1;
}

/* (function, code, default arguments, those for keywords) one after the other. */
static int functions_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 3 < PyTuple_GET_SIZE(row); nr += 4) {
        PyObject *function = PyTuple_GET_ITEM(row, nr);
        if (!PyFunction_Check(function)) return 0;
        PyObject *defaults = PyFunction_GET_DEFAULTS(function), *named = PyFunction_GET_KW_DEFAULTS(function);
        if (PyFunction_GET_CODE(function) != PyTuple_GET_ITEM(row, nr + 1) ||
            (defaults == NULL ? Py_None : defaults) != PyTuple_GET_ITEM(row, nr + 2) ||
            (named == NULL ? Py_None : named) != PyTuple_GET_ITEM(row, nr + 3))
            return 0;
    }
    return 1;
}

/* Whether the keys of a dictionary are these, in this order. */
static int keys_hold(PyObject *mapping, PyObject *keys) {
    PyObject *key;
    Py_ssize_t place = 0, nr = 0;
    if (PyDict_GET_SIZE(mapping) != PyTuple_GET_SIZE(keys)) return 0;
    while (PyDict_Next(mapping, &place, &key, NULL))
        if (key != PyTuple_GET_ITEM(keys, nr++)) return 0;
    return 1;
}

/* (list, tuple of what was in it) and (dictionary or that of a class, tuple of its keys) one after the
 * other; the values of a dictionary are among the entries. */
static int sequences_hold(PyObject *row) {
    for (Py_ssize_t nr = 0; nr + 1 < PyTuple_GET_SIZE(row); nr += 2) {
        PyObject *sequence = PyTuple_GET_ITEM(row, nr), *before = PyTuple_GET_ITEM(row, nr + 1);
        if (!PyTuple_CheckExact(before)) return 0;
        const Py_ssize_t length = PyTuple_GET_SIZE(before);
        if (PyDict_Check(sequence)) {
            if (!keys_hold(sequence, before)) return 0;
            continue;
        }
        if (Py_IS_TYPE(sequence, &PyDictProxy_Type)) {
            if (PyObject_Size(sequence) != length) return 0;
            continue;
        }
        if (!PyList_Check(sequence) || PyList_GET_SIZE(sequence) != length) return 0;
        for (Py_ssize_t item = 0; item < length; item++)
            if (PyList_GET_ITEM(sequence, item) != PyTuple_GET_ITEM(before, item)) return 0;
    }
    return 1;
}

/* guards_hold(arguments, expected, INFERENCE_COUNTER, externals, entries, cells, sequences, grads,
 * functions) */
PyObject *taper_guards_hold(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 9 || taper_known.tensor == NULL)
        return PyErr_Format(PyExc_TypeError, "guards_hold(arguments, expected, inference, externals, "
                                             "entries, cells, sequences, grads, functions)");
    for (Py_ssize_t nr = 0; nr < 9; nr++)
        if (nr != 2 && !PyTuple_CheckExact(args[nr]))
            return PyErr_Format(PyExc_TypeError, "guards_hold: argument %zd is no tuple", nr);
    const int holds = arguments_hold(args[0], args[1], args[2]) && externals_hold(args[3]) &&
                      entries_hold(args[4]) && cells_hold(args[5]) && sequences_hold(args[6]) &&
                      grads_hold(args[7]) && functions_hold(args[8]);
    return PyBool_FromLong(holds);
}
