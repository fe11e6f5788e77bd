/* Kernels that do in one loop what their NumPy twin does in several passes or calls.
 *
 * Each returns None, with nothing done, for arrays that are not plain (contiguous, float32 or
 * float64): the twin handles those.
 */

#include <stdint.h>
#include <string.h>

#include "native.h"

#define MOST_FACTORS 64
#define PIECE 256

WIDE static int finite_float(const float *values, npy_intp size) {
    const uint32_t exponent = 0x7f800000u, *bits = (const uint32_t *)values;
    uint32_t found = 0;
    for (npy_intp i = 0; i < size; i++) found |= (bits[i] & exponent) == exponent;
    return !found;
}

WIDE static int finite_double(const double *values, npy_intp size) {
    const uint64_t exponent = 0x7ff0000000000000u, *bits = (const uint64_t *)values;
    uint64_t found = 0;
    for (npy_intp i = 0; i < size; i++) found |= (bits[i] & exponent) == exponent;
    return !found;
}

/* all_finite(array): whether no element is a NaN or an infinity. */
PyObject *taper_all_finite(PyObject *self, PyObject *value) {
    if (!plain_array(value, REAL)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)value;
    npy_intp size = PyArray_SIZE(array);
    return PyBool_FromLong(PyArray_TYPE(array) == NPY_FLOAT
                               ? finite_float(PyArray_DATA(array), size)
                               : finite_double(PyArray_DATA(array), size));
}

#define DEFINE_SELECT(TYPE)                                                               \
    WIDE static void select_##TYPE(const npy_bool *mask, const TYPE *first,               \
                                   const TYPE *second, TYPE *to, npy_intp size) {         \
        for (npy_intp i = 0; i < size; i++) to[i] = mask[i] ? first[i] : second[i];       \
    }

DEFINE_SELECT(float)
DEFINE_SELECT(double)

/* select(mask, first, second): the first where the mask holds, else the second. */
PyObject *taper_select(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "select(mask, first, second)");
    if (!plain_array(args[0], NPY_BOOL) || !plain_array(args[1], REAL)) Py_RETURN_NONE;
    PyArrayObject *mask = (PyArrayObject *)args[0], *first = (PyArrayObject *)args[1];
    PyArrayObject *second = (PyArrayObject *)args[2];
    int type = PyArray_TYPE(first);
    if (!plain_array(args[2], type) || !PyArray_SAMESHAPE(mask, first) ||
        !PyArray_SAMESHAPE(mask, second))
        Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(PyArray_NDIM(first), PyArray_DIMS(first), type);
    if (result == NULL) return NULL;
    void *to = PyArray_DATA((PyArrayObject *)result);
    npy_intp size = PyArray_SIZE(first);
    if (type == NPY_FLOAT)
        select_float(PyArray_DATA(mask), PyArray_DATA(first), PyArray_DATA(second), to, size);
    else
        select_double(PyArray_DATA(mask), PyArray_DATA(first), PyArray_DATA(second), to, size);
    return result;
}

#define EVALUATE(TYPE)                                                                    \
    do {                                                                                  \
        const TYPE *from = PyArray_DATA(variable);                                        \
        TYPE *to = PyArray_DATA((PyArrayObject *)result), factors[MOST_FACTORS];          \
        for (Py_ssize_t k = 0; k < terms; k++)                                            \
            factors[k] = *(TYPE *)PyArray_DATA((PyArrayObject *)PyTuple_GET_ITEM(args[0], k)); \
        evaluate_##TYPE(from, to, size, factors, terms);                                  \
    } while (0)

/* Horner's scheme over short pieces, which stay in registers or the first-level cache. */
#define DEFINE_EVALUATE(TYPE)                                                             \
    WIDE static void evaluate_##TYPE(const TYPE *from, TYPE *to, npy_intp size,           \
                                     const TYPE *factors, Py_ssize_t terms) {             \
        for (npy_intp start = 0; start < size; start += PIECE) {                          \
            npy_intp end = size - start < PIECE ? size : start + PIECE;                   \
            for (npy_intp i = start; i < end; i++)                                        \
                to[i] = from[i] * factors[terms - 1] + factors[terms - 2];                \
            for (Py_ssize_t k = terms - 3; k >= 0; k--)                                   \
                for (npy_intp i = start; i < end; i++) to[i] = to[i] * from[i] + factors[k]; \
        }                                                                                 \
    }

DEFINE_EVALUATE(float)
DEFINE_EVALUATE(double)

/* polynomial(coefficients, variable): coefficients are 0-d arrays in ascending order. */
PyObject *taper_polynomial(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyTuple_CheckExact(args[0]))
        return PyErr_Format(PyExc_TypeError, "polynomial(coefficients: tuple, variable)");
    if (!plain_array(args[1], REAL)) Py_RETURN_NONE;
    PyArrayObject *variable = (PyArrayObject *)args[1];
    int type = PyArray_TYPE(variable);
    Py_ssize_t terms = PyTuple_GET_SIZE(args[0]);
    if (terms < 2 || terms > MOST_FACTORS) Py_RETURN_NONE;
    for (Py_ssize_t k = 0; k < terms; k++) {
        PyObject *factor = PyTuple_GET_ITEM(args[0], k);
        if (!plain_array(factor, type) || PyArray_SIZE((PyArrayObject *)factor) != 1) Py_RETURN_NONE;
    }
    PyObject *result = PyArray_SimpleNew(PyArray_NDIM(variable), PyArray_DIMS(variable), type);
    if (result == NULL) return NULL;
    npy_intp size = PyArray_SIZE(variable);
    if (type == NPY_FLOAT) EVALUATE(float);
    else EVALUATE(double);
    return result;
}

/* The numbers in `targets`, if there are as many as rows.  Each is read once and then checked:
 * another process may write to shared memory at any time. */
static const volatile int64_t *targets_of(PyObject *targets, npy_intp rows) {
    if (!plain_array(targets, NPY_INT64)) return NULL;
    PyArrayObject *array = (PyArrayObject *)targets;
    if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != rows || !rows) return NULL;
    return PyArray_DATA(array);
}

/* Drop a result because a target lies outside of its row. */
static PyObject *without(PyObject *result) {
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* pick_rows(matrix, targets): the element of each row that its target names. */
PyObject *taper_pick_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "pick_rows(matrix, targets)");
    if (!plain_array(args[0], REAL) || PyArray_NDIM((PyArrayObject *)args[0]) != 2) Py_RETURN_NONE;
    PyArrayObject *matrix = (PyArrayObject *)args[0];
    npy_intp rows = PyArray_DIM(matrix, 0), classes = PyArray_DIM(matrix, 1);
    const volatile int64_t *target = targets_of(args[1], rows);
    if (target == NULL) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(1, &rows, PyArray_TYPE(matrix));
    if (result == NULL) return NULL;
    npy_intp width = PyArray_ITEMSIZE(matrix);
    char *to = PyArray_BYTES((PyArrayObject *)result);
    const char *from = PyArray_BYTES(matrix);
    for (npy_intp row = 0; row < rows; row++) {
        const int64_t place = target[row];
        if (place < 0 || place >= classes) return without(result);
        memcpy(to + row * width, from + (row * classes + place) * width, (size_t)width);
    }
    return result;
}

/* put_rows(rows, classes, targets, value): zeros, and `value` at each row's target. */
PyObject *taper_put_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "put_rows(rows, classes, targets, value)");
    npy_intp shape[2] = {PyLong_AsSsize_t(args[0]), PyLong_AsSsize_t(args[1])};
    if (PyErr_Occurred()) return NULL;
    const volatile int64_t *target = targets_of(args[2], shape[0]);
    if (target == NULL || shape[1] < 0 || !plain_array(args[3], REAL) ||
        PyArray_SIZE((PyArrayObject *)args[3]) != 1)
        Py_RETURN_NONE;
    PyArrayObject *value = (PyArrayObject *)args[3];
    PyObject *result = PyArray_ZEROS(2, shape, PyArray_TYPE(value), 0);
    if (result == NULL) return NULL;
    npy_intp width = PyArray_ITEMSIZE(value);
    char *to = PyArray_BYTES((PyArrayObject *)result);
    for (npy_intp row = 0; row < shape[0]; row++) {
        const int64_t place = target[row];
        if (place < 0 || place >= shape[1]) return without(result);
        memcpy(to + (row * shape[1] + place) * width, PyArray_BYTES(value), (size_t)width);
    }
    return result;
}
