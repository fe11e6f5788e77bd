/* What arrays on a GPU need to be quick: where they lie, and the launch of a kernel.
 *
 * Such an array is an ndarray of a class of its own, whose address the processor must never read.
 * Twins: `gpu.array.address_in_python`, and CuPy's launch.
 */

#include <stdint.h>

#include "native.h"

#define MOST_PARAMETERS 24
#define MOST_BYTES 16

typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **);
static Launch start;

/* know_launch(address): that of the driver's cuLaunchKernel */
PyObject *taper_know_launch(PyObject *self, PyObject *address) {
    void *found = PyLong_AsVoidPtr(address);
    if (found == NULL && PyErr_Occurred()) return NULL;
    start = (Launch)found;
    Py_RETURN_NONE;
}

/* address_of(array) */
PyObject *taper_address_of(PyObject *self, PyObject *array) {
    if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "address_of: no array");
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

/* launch(function, blocks, threads, shared, stream, *parameters): 0, or the driver's number of an error.  A
 * parameter is an array (its address), bytes (as they are), an int (of 64 bits) or a NumPy scalar. */
PyObject *taper_launch(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const Py_ssize_t given = count - 5;
    if (start == NULL || given < 0 || given > MOST_PARAMETERS)
        return PyErr_Format(PyExc_TypeError, "launch(function, blocks, threads, shared, stream, ...)");
    union {
        void *address;
        int64_t number;
        char bytes[MOST_BYTES];
    } values[MOST_PARAMETERS];
    void *places[MOST_PARAMETERS + 1];
    for (Py_ssize_t nr = 0; nr < given; nr++) {
        PyObject *each = args[5 + nr];
        places[nr] = &values[nr];
        if (PyArray_Check(each)) {
            values[nr].address = PyArray_DATA((PyArrayObject *)each);
        } else if (PyLong_CheckExact(each)) {
            values[nr].number = PyLong_AsLongLong(each);
        } else if (PyBytes_CheckExact(each)) {
            places[nr] = PyBytes_AS_STRING(each);
        } else if (PyArray_IsScalar(each, Generic)) {
            PyArray_ScalarAsCtype(each, &values[nr]);
        } else {
            return PyErr_Format(PyExc_TypeError, "launch: parameter %zd", nr);
        }
    }
    void *function = PyLong_AsVoidPtr(args[0]), *stream = PyLong_AsVoidPtr(args[4]);
    const unsigned long blocks = PyLong_AsUnsignedLong(args[1]), threads = PyLong_AsUnsignedLong(args[2]),
                        shared = PyLong_AsUnsignedLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    const int error = start(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, stream,
                            places, NULL);
    return PyLong_FromLong(error);
}
