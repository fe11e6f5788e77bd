/* Quick ways of operators that compute something new: one call from the public function to the finished tensor.
 *
 * Each gives what the function that declares it (`quick=`) gives of tensors without a history, and None, with
 * nothing done, where there is anything unusual; the function is the twin.
 */

#include <stdint.h>
#include <string.h>

#include "pool.h"
#include "slots.h"

#define GRAIN 65536 /* elements that one thread computes at once */

/* The array of a quiet tensor, if it lies row by row. */
static PyArrayObject *operand(PyObject *state, PyObject *tensor, int type) {
    PyArrayObject *array = taper_quiet_array(tensor, state);
    return array == NULL ? NULL : plain_array((PyObject *)array, type);
}

/* The tensor on a new array, which is taken over; in no-grad mode it knows where its history ends (D13). */
static PyObject *fresh(PyObject *state, PyObject *array) {
    if (array == NULL) return NULL;
    const int recorded = SLOT(state, taper_known.of_state.mode) == taper_known.zero;
    PyObject *flag = recorded ? Py_False : SLOT(state, taper_known.of_state.cut);
    PyObject *tensor = flag == NULL ? NULL : taper_new_tensor(array, flag, Py_None);
    Py_DECREF(array);
    return tensor;
}

/* An uninitialised array like another one, of its shape unless another is given. */
static PyObject *room_like(PyArrayObject *array, int ndim, const npy_intp *shape) {
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    return PyArray_Empty(ndim, shape, dtype, 0);
}

/* joined_tensors(state, tensors, dim, axis, out): `cat` without autocast. */
PyObject *taper_joined_tensors(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5 || args[3] != Py_None || args[4] != Py_None || taper_known.state == NULL ||
        !Py_IS_TYPE(args[0], taper_known.state) || SLOT(args[0], taper_known.of_state.autocast) != Py_None)
        Py_RETURN_NONE;
    PyObject *tensors = args[1];
    if (!PyTuple_CheckExact(tensors) && !PyList_CheckExact(tensors)) Py_RETURN_NONE;
    const Py_ssize_t parts = PySequence_Fast_GET_SIZE(tensors);
    PyObject *arrays = PyList_New(parts);
    for (Py_ssize_t index = 0; arrays != NULL && index < parts; index++) {
        PyArrayObject *array = operand(args[0], PySequence_Fast_GET_ITEM(tensors, index), ANY_TYPE);
        if (array == NULL) {
            Py_DECREF(arrays);
            Py_RETURN_NONE;
        }
        PyList_SET_ITEM(arrays, index, held((PyObject *)array));
    }
    if (arrays == NULL) return NULL;
    PyObject *joined = taper_joined(NULL, (PyObject *[]){arrays, args[2], Py_False}, 3);
    Py_DECREF(arrays);
    return joined == NULL || joined == Py_None ? joined : fresh(args[0], joined);
}

/* reduced(state, kind, tensor): a reduction of all floats of a tensor, see `reduce`. */
PyObject *taper_reduced(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "reduced(state, kind, tensor)");
    PyArrayObject *array = operand(args[0], args[2], NPY_FLOAT);
    if (array == NULL) Py_RETURN_NONE;
    PyObject *found = taper_reduce(NULL, (PyObject *[]){args[1], (PyObject *)array, Py_None, Py_False}, 4);
    return found == NULL || found == Py_None ? found : fresh(args[0], found);
}

/* all_true(state, tensor): whether all elements of a tensor of bools are true. */
PyObject *taper_all_true(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "all_true(state, tensor)");
    PyArrayObject *array = operand(args[0], args[1], NPY_BOOL);
    if (array == NULL) Py_RETURN_NONE;
    PyObject *found = PyArray_SimpleNew(0, NULL, NPY_BOOL);
    if (found == NULL) return NULL;
    const npy_intp size = PyArray_SIZE(array);
    *(npy_bool *)PyArray_DATA((PyArrayObject *)found) = size == 0 || memchr(PyArray_DATA(array), 0, (size_t)size) == NULL;
    PyObject *tensor = taper_new_tensor(found, Py_False, Py_None);
    Py_DECREF(found);
    return tensor;
}

typedef struct {
    const void *left, *right;
    void *to;
    npy_intp columns;
} Products;

#define DEFINE_PRODUCTS(T)                                                             \
    WIDE static void multiply_##T(void *context, npy_intp start, npy_intp stop) {      \
        const Products *work = context;                                                \
        const npy_intp columns = work->columns;                                        \
        const T *restrict right = work->right;                                         \
        for (npy_intp row = start; row < stop; row++) {                                \
            const T left = ((const T *)work->left)[row];                               \
            T *restrict to = (T *)work->to + row * columns;                            \
            for (npy_intp j = 0; j < columns; j++) to[j] = left * right[j];            \
        }                                                                              \
    }

DEFINE_PRODUCTS(float)
DEFINE_PRODUCTS(double)

/* outer_product(state, left, right, out) */
PyObject *taper_outer_product(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || args[3] != Py_None) Py_RETURN_NONE;
    PyArrayObject *left = operand(args[0], args[1], REAL);
    PyArrayObject *right = left == NULL ? NULL : operand(args[0], args[2], PyArray_TYPE(left));
    if (right == NULL || PyArray_NDIM(left) != 1 || PyArray_NDIM(right) != 1) Py_RETURN_NONE;
    const npy_intp shape[] = {PyArray_SIZE(left), PyArray_SIZE(right)};
    PyObject *made = room_like(left, 2, shape);
    if (made == NULL) return NULL;
    Products work = {PyArray_DATA(left), PyArray_DATA(right), PyArray_DATA((PyArrayObject *)made), shape[1]};
    const Part part = PyArray_TYPE(left) == NPY_FLOAT ? multiply_float : multiply_double;
    const npy_intp size = PyArray_SIZE((PyArrayObject *)made);
    pool_compute(part, &work, shape[0], GRAIN / (shape[1] + 1) + 1, size <= GRAIN);
    return fresh(args[0], made);
}

/* diagonal_matrix(state, vector, diagonal, out): `diag` of a vector. */
PyObject *taper_diagonal_matrix(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || args[2] != taper_known.zero || args[3] != Py_None) Py_RETURN_NONE;
    PyArrayObject *vector = operand(args[0], args[1], REAL);
    if (vector == NULL || PyArray_NDIM(vector) != 1) Py_RETURN_NONE;
    const npy_intp size = PyArray_SIZE(vector), width = PyArray_ITEMSIZE(vector);
    PyArray_Descr *dtype = PyArray_DESCR(vector);
    Py_INCREF(dtype);
    PyObject *made = PyArray_Zeros(2, (npy_intp[]){size, size}, dtype, 0);
    if (made == NULL) return NULL;
    const char *from = PyArray_BYTES(vector);
    char *to = PyArray_BYTES((PyArrayObject *)made);
    for (npy_intp place = 0; place < size; place++)
        memcpy(to + place * (size + 1) * width, from + place * width, width);
    return fresh(args[0], made);
}

/* The array, if its strides are those of a row-major one in dimensions of length 1, too; none if it is empty. */
static PyArrayObject *in_rows(PyObject *value) {
    PyArrayObject *array = plain_array(value, ANY_TYPE);
    if (array == NULL || PyArray_SIZE(array) == 0 || PyDataType_REFCHK(PyArray_DESCR(array))) return NULL;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0; dim--) {
        if (PyArray_STRIDE(array, dim) != step) return NULL;
        step *= PyArray_DIM(array, dim);
    }
    return array;
}

/* flipped(array, dims): a row-major array with its elements backwards along dimensions, a tuple; else None. */
PyObject *taper_flipped(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyArrayObject *array = count != 2 ? NULL : in_rows(args[0]);
    if (array == NULL || !PyTuple_CheckExact(args[1])) Py_RETURN_NONE;
    const int ndim = PyArray_NDIM(array);
    npy_intp strides[NPY_MAXDIMS], offset = 0;
    for (int dim = 0; dim < ndim; dim++) strides[dim] = PyArray_STRIDE(array, dim); /* a number has none: no memcpy */
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(args[1]); index++) {
        const npy_intp dim = taper_place_in(PyTuple_GET_ITEM(args[1], index), ndim);
        if (dim < 0 || strides[dim] < 0) Py_RETURN_NONE;
        offset += (PyArray_DIM(array, (int)dim) - 1) * strides[dim];
        strides[dim] = -strides[dim];
    }
    PyObject *backwards = taper_part_of(array, ndim, PyArray_DIMS(array), strides, offset);
    PyObject *made = backwards == NULL ? NULL : room_like(array, ndim, PyArray_DIMS(array));
    PyObject *done = made == NULL ? NULL : taper_copy_across(NULL, (PyObject *[]){made, backwards}, 2);
    int failed = done == NULL;
    if (done != NULL && done != Py_True) failed = PyArray_CopyInto((PyArrayObject *)made, (PyArrayObject *)backwards);
    Py_XDECREF(done);
    Py_XDECREF(backwards);
    if (failed) Py_CLEAR(made);
    return made;
}

typedef struct {
    const char *from;
    char *to;
    npy_intp row, first; /* bytes of a row, and of its end that comes first */
} Rolling;

/* Bytes of the target, row by row. */
static void roll(void *context, npy_intp start, npy_intp stop) {
    const Rolling *work = context;
    while (start < stop) {
        const npy_intp at = start % work->row, is_end = at < work->first;
        const npy_intp most = (is_end ? work->first : work->row) - at;
        const npy_intp count = most < stop - start ? most : stop - start;
        const char *from = work->from + start - work->first + (is_end ? work->row : 0);
        memcpy(work->to + start, from, count);
        start += count;
    }
}

/* rolled(array, shift, dim): a row-major array moved along a dimension, or as one row if that is None. */
PyObject *taper_rolled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyArrayObject *array = count != 3 ? NULL : in_rows(args[0]);
    if (array == NULL || !PyLong_CheckExact(args[1])) Py_RETURN_NONE;
    int overflow;
    long long shift = PyLong_AsLongLongAndOverflow(args[1], &overflow);
    npy_intp length = PyArray_SIZE(array), width = PyArray_ITEMSIZE(array);
    const int ndim = PyArray_NDIM(array);
    if (args[2] != Py_None) {
        const npy_intp dim = taper_place_in(args[2], ndim);
        if (dim < 0) Py_RETURN_NONE;
        length = PyArray_DIM(array, (int)dim);
        for (int each = (int)dim + 1; each < ndim; each++) width *= PyArray_DIM(array, each);
    }
    if (overflow) Py_RETURN_NONE;
    shift %= length;
    if (shift < 0) shift += length;
    PyObject *made = room_like(array, ndim, PyArray_DIMS(array));
    if (made == NULL) return NULL;
    Rolling work = {PyArray_BYTES(array), PyArray_BYTES((PyArrayObject *)made), length * width,
                    (npy_intp)shift * width};
    const npy_intp bytes = PyArray_NBYTES(array);
    pool_compute(roll, &work, bytes, 4 * GRAIN, bytes <= 4 * GRAIN);
    return made;
}

typedef struct {
    const void *from;
    const npy_bool *mask;
    void *to;
    double number;
} Masked;

#define DEFINE_MASKED(T)                                                                          \
    WIDE static void mask_##T(void *context, npy_intp start, npy_intp stop) {                     \
        const Masked *work = context;                                                             \
        const T *restrict from = work->from, number = (T)work->number;                            \
        const npy_bool *restrict mask = work->mask;                                               \
        T *restrict to = work->to;                                                                \
        for (npy_intp i = start; i < stop; i++) to[i] = mask[i] ? number : from[i];               \
    }

DEFINE_MASKED(float)
DEFINE_MASKED(double)

/* filled_where(array, mask, number): a copy with a number where the mask, of the same shape, is true; else None. */
PyObject *taper_filled_where(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyArrayObject *array = count != 3 ? NULL : plain_array(args[0], REAL);
    PyArrayObject *mask = array == NULL ? NULL : plain_array(args[1], NPY_BOOL);
    if (mask == NULL || !PyArray_SAMESHAPE(array, mask)) Py_RETURN_NONE;
    if (!PyFloat_CheckExact(args[2]) && !PyLong_CheckExact(args[2])) Py_RETURN_NONE;
    const double number = PyFloat_AsDouble(args[2]);
    if (number == -1.0 && PyErr_Occurred()) return NULL;
    PyObject *made = room_like(array, PyArray_NDIM(array), PyArray_DIMS(array));
    if (made == NULL) return NULL;
    Masked work = {PyArray_DATA(array), PyArray_DATA(mask), PyArray_DATA((PyArrayObject *)made), number};
    const Part part = PyArray_TYPE(array) == NPY_FLOAT ? mask_float : mask_double;
    const npy_intp size = PyArray_SIZE(array);
    pool_compute(part, &work, size, GRAIN, size <= GRAIN);
    return made;
}
