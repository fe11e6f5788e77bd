/* Kernels whose results may be laid out in memory differently from PyTorch's.
 *
 * The twin is `layouts.settled`, a closure that takes 0.15 us; this takes 0.01.
 */

#include <stddef.h>

#include "native.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kernel, *settle;
} Settled;

/* Whether an array is row-major, even in dimensions of length 1, which NumPy ignores. */
static int in_rows(PyArrayObject *array) {
    if (!PyArray_IS_C_CONTIGUOUS(array)) return 0;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0 && step > 0; dim--) {
        if (PyArray_DIM(array, dim) == 1 && PyArray_STRIDE(array, dim) != step) return 0;
        step *= PyArray_DIM(array, dim);
    }
    return 1;
}

static PyTypeObject *foreign; /* the class of arrays that are no ndarrays */

/* know_foreign(ForeignArray) */
PyObject *taper_know_foreign(PyObject *self, PyObject *kind) {
    if (!PyType_Check(kind)) return PyErr_Format(PyExc_TypeError, "know_foreign(class)");
    Py_INCREF(kind);
    foreign = (PyTypeObject *)kind;
    Py_RETURN_NONE;
}

/* Whether a value is no array or a row-major one; of a tuple or list, whether all are.  The rule asks a
 * foreign array itself. */
static int row_major(PyObject *value) {
    if (PyArray_Check(value)) return in_rows((PyArrayObject *)value);
    if (!PyTuple_Check(value) && !PyList_Check(value)) return foreign == NULL || !PyObject_TypeCheck(value, foreign);
    for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(value); index++)
        if (!row_major(PySequence_Fast_GET_ITEM(value, index))) return 0;
    return 1;
}

/* Call the kernel; unless all is row-major, lay the result out by `settle(result, arguments)`. */
static PyObject *call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Settled *settled = (Settled *)self;
    PyObject *result = PyObject_Vectorcall(settled->kernel, args, flags, names);
    if (result == NULL) return NULL;
    Py_ssize_t count = PyVectorcall_NARGS(flags) + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    int usual = row_major(result);
    for (Py_ssize_t index = 0; usual && index < count; index++)
        if (PyArray_Check(args[index]) || PyList_Check(args[index])) usual = row_major(args[index]);
    if (usual) return result;
    PyObject *given = PyTuple_New(count), *laid_out = NULL;
    if (given != NULL) {
        for (Py_ssize_t index = 0; index < count; index++) {
            Py_INCREF(args[index]);
            PyTuple_SET_ITEM(given, index, args[index]);
        }
        laid_out = PyObject_CallFunctionObjArgs(settled->settle, result, given, NULL);
        Py_DECREF(given);
    }
    Py_DECREF(result);
    return laid_out;
}

static void forget(PyObject *self) {
    Settled *settled = (Settled *)self;
    Py_XDECREF(settled->kernel);
    Py_XDECREF(settled->settle);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "taper._native.Settled",
    .tp_basicsize = sizeof(Settled),
    .tp_dealloc = forget,
    .tp_vectorcall_offset = offsetof(Settled, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

/* settled(kernel, settle) */
PyObject *taper_settled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyCallable_Check(args[0]) || !PyCallable_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "settled(kernel, settle)");
    if (PyType_Ready(&type) < 0) return NULL;
    Settled *made = PyObject_New(Settled, &type);
    if (made == NULL) return NULL;
    made->vectorcall = call;
    Py_INCREF(args[0]);
    made->kernel = args[0];
    Py_INCREF(args[1]);
    made->settle = args[1];
    return (PyObject *)made;
}
