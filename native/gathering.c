/* Rows added where indices point, elements of rows picked and written; the twins stand in `ops/index`.
 *
 * A row is added to in the order of the indices whatever the number of threads: the columns are
 * shared out, not the rows.
 */

#include <stdint.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define COLUMNS 64 /* of a chunk for the pool */
#define ALONE 32768 /* elements that one thread adds at once */

typedef struct {
    void *to;
    const void *values;
    int64_t *rows; /* a copy, checked: other processes may write to the array's memory */
    npy_intp count, width;
    int type;
} Work;

#define DEFINE_ADD(T)                                                                            \
    WIDE static void add_##T(T *restrict to, const T *restrict values, npy_intp count) {         \
        for (npy_intp i = 0; i < count; i++) to[i] += values[i];                                 \
    }                                                                                            \
    static void add_rows_##T(const Work *work, npy_intp start, npy_intp stop) {                  \
        T *to = work->to;                                                                        \
        const T *values = work->values;                                                          \
        for (npy_intp i = 0; i < work->count; i++)                                               \
            if (work->rows[i] >= 0)                                                              \
                add_##T(to + work->rows[i] * work->width + start,                                \
                        values + i * work->width + start, stop - start);                         \
    }

DEFINE_ADD(float)
DEFINE_ADD(double)

static void add_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    (work->type == NPY_FLOAT ? add_rows_float : add_rows_double)(work, start, stop);
}

/* Copy row numbers, those of the row to leave out as -1; whether all are below `limit`. */
static int copy_rows(PyArrayObject *rows, npy_intp limit, npy_intp left_out, int64_t *to) {
    const npy_intp count = PyArray_SIZE(rows);
    const int wide = PyArray_TYPE(rows) == NPY_INT64;
    const volatile int64_t *longs = PyArray_DATA(rows);
    const volatile int32_t *ints = PyArray_DATA(rows);
    for (npy_intp i = 0; i < count; i++) {
        const int64_t row = wide ? longs[i] : ints[i];
        if (row < 0 || row >= limit) return 0;
        to[i] = row == left_out ? -1 : row;
    }
    return 1;
}

/* add_rows(target, rows, values, left_out): add to rows of the target, in place, those of `values`,
 * of which there are as many as row numbers; row `left_out` gets nothing.  True if it was done. */
PyObject *taper_add_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "add_rows(target, rows, values, left_out)");
    const npy_intp left_out = PyLong_AsSsize_t(args[3]);
    if (left_out == -1 && PyErr_Occurred()) return NULL;
    if (!plain_array(args[0], NPY_FLOAT) && !plain_array(args[0], NPY_DOUBLE)) Py_RETURN_NONE;
    PyArrayObject *target = (PyArrayObject *)args[0];
    const int type = PyArray_TYPE(target);
    if (!plain_array(args[1], NPY_INT64) && !plain_array(args[1], NPY_INT32)) Py_RETURN_NONE;
    if (!plain_array(args[2], type) || !PyArray_ISWRITEABLE(target) || PyArray_NDIM(target) < 1)
        Py_RETURN_NONE;
    PyArrayObject *rows = (PyArrayObject *)args[1], *values = (PyArrayObject *)args[2];
    const npy_intp limit = PyArray_DIM(target, 0), number = PyArray_SIZE(rows);
    if (limit == 0 || number == 0 || PyArray_SIZE(target) == 0) Py_RETURN_NONE;
    Work work = {PyArray_DATA(target), PyArray_DATA(values), NULL, number,
                 PyArray_SIZE(target) / limit, type};
    const npy_intp size = PyArray_SIZE(values);
    if (size / number != work.width || size % number) Py_RETURN_NONE;
    const char *from = work.values, *to = work.to;
    if (from < to + PyArray_NBYTES(target) && to < from + PyArray_NBYTES(values)) Py_RETURN_NONE;
    work.rows = scratch_take((size_t)number * sizeof(int64_t));
    if (work.rows == NULL) return PyErr_NoMemory();
    const int fits = copy_rows(rows, limit, left_out, work.rows);
    if (fits) pool_compute(add_part, &work, work.width, COLUMNS, size <= ALONE);
    scratch_give(work.rows);
    if (!fits) Py_RETURN_NONE;
    Py_RETURN_TRUE;
}

/* --- along rows ----------------------------------------------------------------------------- */

typedef struct {
    const void *from;
    void *to;
    const volatile int64_t *places;
    npy_intp length, count; /* of a row that is picked from or added to, and of a row of places */
    int type, failed;
} Along;

#define DEFINE_ALONG(T)                                                                          \
    static int pick_##T(const Along *work, npy_intp start, npy_intp stop) {                      \
        for (npy_intp row = start; row < stop; row++) {                                          \
            const T *from = (const T *)work->from + row * work->length;                          \
            T *to = (T *)work->to + row * work->count;                                           \
            const volatile int64_t *places = work->places + row * work->count;                   \
            for (npy_intp i = 0; i < work->count; i++) {                                         \
                const uint64_t place = (uint64_t)places[i];                                      \
                if (place >= (uint64_t)work->length) return 0;                                   \
                to[i] = from[place];                                                             \
            }                                                                                    \
        }                                                                                        \
        return 1;                                                                                \
    }

DEFINE_ALONG(uint32_t)
DEFINE_ALONG(uint64_t)

static void pick_part(void *context, npy_intp start, npy_intp stop) {
    Along *work = context;
    if (!(work->type == 4 ? pick_uint32_t(work, start, stop) : pick_uint64_t(work, start, stop)))
        __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
}

/* pick_along(array, places): the elements of each row that its row of places names; None also if
 * one is not in the row. */
PyObject *taper_pick_along(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "pick_along(array, places)");
    if (!PyArray_CheckExact(args[0]) || !plain_array(args[1], NPY_INT64)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(array), width = (int)PyArray_ITEMSIZE(array);
    if (!PyArray_ISCARRAY_RO(array) || ndim < 1 || PyArray_NDIM(places) != ndim ||
        !PyTypeNum_ISNUMBER(PyArray_TYPE(array)) || (width != 4 && width != 8) ||
        (uintptr_t)PyArray_DATA(array) % (uintptr_t)width) /* a complex number may begin at 4 */
        Py_RETURN_NONE;
    for (int dim = 0; dim < ndim - 1; dim++)
        if (PyArray_DIM(array, dim) != PyArray_DIM(places, dim)) Py_RETURN_NONE;
    Along work = {.length = PyArray_DIM(array, ndim - 1), .count = PyArray_DIM(places, ndim - 1)};
    if (PyArray_SIZE(places) == 0) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, PyArray_DIMS(places), PyArray_TYPE(array));
    if (result == NULL) return NULL;
    work.from = PyArray_DATA(array);
    work.to = PyArray_DATA((PyArrayObject *)result);
    work.places = PyArray_DATA(places);
    work.type = width;
    const npy_intp size = PyArray_SIZE(places), rows = size / work.count;
    pool_compute(pick_part, &work, rows, ALONE / 4 / work.count, size <= ALONE);
    if (!work.failed) return result;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* Whether all places of rows lie in them; whoever writes looks again. */
WIDE static int all_inside(const uint64_t *places, npy_intp size, npy_intp length) {
    uint64_t most = 0;
    for (npy_intp i = 0; i < size; i++) most = places[i] > most ? places[i] : most;
    return most < (uint64_t)length;
}

#define DEFINE_SCATTER(NAME, T, WRITE)                                                           \
    static int NAME##_##T(const Along *work, npy_intp start, npy_intp stop) {                    \
        for (npy_intp row = start; row < stop; row++) {                                          \
            T *to = (T *)work->to + row * work->length;                                          \
            const T *from = (const T *)work->from + row * work->count;                           \
            const volatile int64_t *places = work->places + row * work->count;                   \
            for (npy_intp i = 0; i < work->count; i++) {                                         \
                const uint64_t place = (uint64_t)places[i];                                      \
                if (place >= (uint64_t)work->length) return 0;                                   \
                to[place] WRITE from[i];                                                         \
            }                                                                                    \
        }                                                                                        \
        return 1;                                                                                \
    }

DEFINE_SCATTER(put, uint32_t, =)
DEFINE_SCATTER(put, uint64_t, =)
DEFINE_SCATTER(add_along, float, +=)
DEFINE_SCATTER(add_along, double, +=)

static void scatter_part(void *context, npy_intp start, npy_intp stop) {
    Along *work = context;
    const int done = work->type == NPY_FLOAT    ? add_along_float(work, start, stop)
                     : work->type == NPY_DOUBLE ? add_along_double(work, start, stop)
                     : work->type == -4         ? put_uint32_t(work, start, stop)
                                                : put_uint64_t(work, start, stop);
    if (!done) __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
}

/* scatter_along(target, places, values, add): write to, or add to, the elements of each row of the
 * target, in place, that its row of places names, in their order.  True if it was done. */
PyObject *taper_scatter_along(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "scatter_along(target, places, values, add)");
    if (!PyArray_CheckExact(args[0]) || !plain_array(args[1], NPY_INT64)) Py_RETURN_NONE;
    PyArrayObject *target = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(target), type = PyArray_TYPE(target), add = args[3] == Py_True;
    const int width = (int)PyArray_ITEMSIZE(target);
    if (!plain_array(args[2], type) || !PyArray_ISCARRAY(target) || ndim < 1 ||
        !PyArray_SAMESHAPE(places, (PyArrayObject *)args[2]) || PyArray_NDIM(places) != ndim)
        Py_RETURN_NONE;
    if (add ? type != NPY_FLOAT && type != NPY_DOUBLE
            : !PyTypeNum_ISNUMBER(type) || (width != 4 && width != 8))
        Py_RETURN_NONE;
    if (((uintptr_t)PyArray_DATA(target) | (uintptr_t)PyArray_DATA((PyArrayObject *)args[2])) %
        (uintptr_t)width)
        Py_RETURN_NONE;
    for (int dim = 0; dim < ndim - 1; dim++)
        if (PyArray_DIM(target, dim) != PyArray_DIM(places, dim)) Py_RETURN_NONE;
    PyArrayObject *values = (PyArrayObject *)args[2];
    const char *from = PyArray_BYTES(values), *to = PyArray_BYTES(target);
    const char *index = PyArray_BYTES(places), *end = to + PyArray_NBYTES(target);
    if ((from < end && to < from + PyArray_NBYTES(values)) ||
        (index < end && to < index + PyArray_NBYTES(places)))
        Py_RETURN_NONE;
    Along work = {.from = from, .to = PyArray_DATA(target), .places = PyArray_DATA(places),
                  .length = PyArray_DIM(target, ndim - 1), .count = PyArray_DIM(places, ndim - 1),
                  .type = add ? type : -width};
    const npy_intp size = PyArray_SIZE(places);
    if (size == 0 || !all_inside(PyArray_DATA(places), size, work.length)) Py_RETURN_NONE;
    const npy_intp rows = size / work.count;
    pool_compute(scatter_part, &work, rows, ALONE / 4 / work.count, size <= ALONE);
    if (!work.failed) Py_RETURN_TRUE;
    return PyErr_Format(PyExc_RuntimeError, "index was changed by somebody else while it was read");
}
