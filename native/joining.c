/* Arrays copied one after the other, along a dimension that they have or along a new one.
 *
 * The twin is `np.concatenate` in ops/shape/split.py: 0.45 us more a call.
 */

#include <string.h>

#include "native.h"
#include "pool.h"

#define MOST_PARTS 64
#define ALONE (1 << 18) /* bytes that one thread copies at once */

typedef struct {
    const char *from[MOST_PARTS];
    npy_intp length[MOST_PARTS], start[MOST_PARTS]; /* in bytes, in each row of the result */
    npy_intp parts, row;
    char *to;
} Work;

static void copy(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp row = item / work->parts, part = item % work->parts, length = work->length[part];
        memcpy(work->to + row * work->row + work->start[part], work->from[part] + row * length, length);
    }
}

/* The array at a place of a list, if it is like the first one up to its length in `dim`; else NULL. */
static PyArrayObject *like_first(PyObject *arrays, Py_ssize_t index, int dim) {
    PyArrayObject *array = plain_array(PyList_GET_ITEM(arrays, index), ANY_TYPE);
    PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(arrays, 0);
    if (array == NULL || PyArray_DESCR(array) != PyArray_DESCR(first) || PyArray_NDIM(array) != PyArray_NDIM(first))
        return NULL;
    for (int each = 0; each < PyArray_NDIM(array); each++)
        if (each != dim && PyArray_DIM(array, each) != PyArray_DIM(first, each)) return NULL;
    return PyArray_SIZE(array) ? array : NULL;
}

/* joined(arrays, dim, is_new): a list of row-major arrays of one dtype, none empty; else None. */
PyObject *taper_joined(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyList_CheckExact(args[0]) || !PyLong_CheckExact(args[1])) Py_RETURN_NONE;
    const Py_ssize_t parts = PyList_GET_SIZE(args[0]);
    const int is_new = args[2] == Py_True;
    int overflow;
    long long dim = PyLong_AsLongLongAndOverflow(args[1], &overflow);
    if (parts < 1 || parts > MOST_PARTS || !PyArray_CheckExact(PyList_GET_ITEM(args[0], 0))) Py_RETURN_NONE;
    PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(args[0], 0);
    const int ndim = PyArray_NDIM(first);
    if (dim < 0) dim += ndim + is_new;
    if (overflow || dim < 0 || dim >= ndim + is_new || ndim + is_new > NPY_MAXDIMS) Py_RETURN_NONE;
    if (PyDataType_REFCHK(PyArray_DESCR(first))) Py_RETURN_NONE;
    Work work = {.parts = parts};
    npy_intp shape[NPY_MAXDIMS], rows = 1, along = 0;
    for (int each = 0; each < dim; each++) rows *= PyArray_DIM(first, each);
    for (Py_ssize_t index = 0; index < parts; index++) {
        PyArrayObject *array = like_first(args[0], index, is_new ? -1 : (int)dim);
        if (array == NULL) Py_RETURN_NONE;
        along += is_new ? 1 : PyArray_DIM(array, (int)dim);
        work.from[index] = PyArray_BYTES(array);
        work.length[index] = PyArray_NBYTES(array) / rows;
        work.start[index] = work.row;
        work.row += work.length[index];
    }
    for (int each = 0; each < ndim + is_new; each++)
        shape[each] = each == dim ? along : PyArray_DIM(first, each - (is_new && each > dim));
    PyArray_Descr *dtype = PyArray_DESCR(first);
    Py_INCREF(dtype);
    PyObject *made = PyArray_Empty(ndim + is_new, shape, dtype, 0);
    if (made == NULL) return NULL;
    work.to = PyArray_BYTES((PyArrayObject *)made);
    const npy_intp items = rows * parts, bytes = rows * work.row;
    pool_compute(copy, &work, items, ALONE / (bytes / items + 1) + 1, bytes <= ALONE);
    return made;
}
