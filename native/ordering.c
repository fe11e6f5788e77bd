/* The order of the elements of rows, running sums, triangles; the twins stand in `ops/reduction`
 * and `ops/shape/triangle.py`.
 *
 * Elements are compared as whole numbers, their keys, in which NaN is the largest number and both
 * zeros are one.  A row is sorted by its keys' digits, the lowest first, which keeps the order of
 * equal elements; its work is n times the number of digits in which keys differ.
 */

#include <stdint.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define GRAIN 16384 /* elements of a chunk for the pool, about */
#define DIGIT 11
#define VALUES (1 << DIGIT)
#define MOST_TOP 64
#define BLOCK 256 /* columns whose sums are kept on the stack */

static uint32_t key_float(float x) {
    uint32_t bits;
    const float plain = x + 0.0f; /* the negative zero becomes the other one */
    if (x != x) return UINT32_MAX;
    memcpy(&bits, &plain, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static uint64_t key_double(double x) {
    uint64_t bits;
    const double plain = x + 0.0;
    if (x != x) return UINT64_MAX;
    memcpy(&bits, &plain, sizeof bits);
    return bits >> 63 ? ~bits : bits | 0x8000000000000000u;
}

static uint32_t key_int32_t(int32_t x) { return (uint32_t)x ^ 0x80000000u; }
static uint64_t key_int64_t(int64_t x) { return (uint64_t)x ^ 0x8000000000000000u; }

typedef struct {
    const void *from;
    void *to;
    int64_t *places;
    npy_intp rows, length, other, width; /* width: bytes of an element */
    int type, flag, failed;
} Work;

/* --- all in order --------------------------------------------------------------------------- */

/* Sort pairs of key and place by one digit, from `from` to `to`; nothing if all have the same. */
#define DEFINE_ORDER(K)                                                                          \
    typedef struct {                                                                             \
        K key;                                                                                   \
        uint32_t place;                                                                          \
    } Pair_##K;                                                                                  \
    static int by_digit_##K(const Pair_##K *from, Pair_##K *to, npy_intp count, int shift) {     \
        uint32_t starts[VALUES] = {0};                                                           \
        for (npy_intp i = 0; i < count; i++) starts[(from[i].key >> shift) & (VALUES - 1)]++;    \
        if (starts[(from[0].key >> shift) & (VALUES - 1)] == (uint32_t)count) return 0;          \
        uint32_t sum = 0;                                                                        \
        for (int value = 0; value < VALUES; value++) {                                           \
            const uint32_t here = starts[value];                                                 \
            starts[value] = sum;                                                                 \
            sum += here;                                                                         \
        }                                                                                        \
        for (npy_intp i = 0; i < count; i++)                                                     \
            to[starts[(from[i].key >> shift) & (VALUES - 1)]++] = from[i];                       \
        return 1;                                                                                \
    }                                                                                            \
    static void insert_##K(Pair_##K *pairs, npy_intp count) {                                    \
        for (npy_intp i = 1; i < count; i++) {                                                   \
            const Pair_##K pair = pairs[i];                                                      \
            npy_intp at = i;                                                                     \
            for (; at > 0 && pairs[at - 1].key > pair.key; at--) pairs[at] = pairs[at - 1];      \
            pairs[at] = pair;                                                                    \
        }                                                                                        \
    }                                                                                            \
    static const Pair_##K *order_##K(Pair_##K *pairs, Pair_##K *spare, npy_intp count) {         \
        if (count <= 24) {                                                                       \
            insert_##K(pairs, count);                                                            \
            return pairs;                                                                        \
        }                                                                                        \
        for (int shift = 0; shift < (int)sizeof(K) * 8; shift += DIGIT)                          \
            if (by_digit_##K(pairs, spare, count, shift)) {                                      \
                Pair_##K *sorted = spare;                                                        \
                spare = pairs;                                                                   \
                pairs = sorted;                                                                  \
            }                                                                                    \
        return pairs;                                                                            \
    }

DEFINE_ORDER(uint32_t)
DEFINE_ORDER(uint64_t)

#define DEFINE_ROWS(T, K)                                                                        \
    static void order_rows_##T(Work *work, npy_intp start, npy_intp stop) {                      \
        const npy_intp count = work->length;                                                     \
        const K turn = work->flag ? (K)-1 : 0;                                                   \
        Pair_##K *pairs = scratch_take(2 * (size_t)count * sizeof(Pair_##K));                    \
        if (pairs == NULL) {                                                                     \
            __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);                                \
            return;                                                                              \
        }                                                                                        \
        for (npy_intp row = start; row < stop; row++) {                                          \
            const T *from = (const T *)work->from + row * count;                                 \
            int64_t *to = work->places + row * count;                                            \
            for (npy_intp i = 0; i < count; i++)                                                 \
                pairs[i] = (Pair_##K){key_##T(from[i]) ^ turn, (uint32_t)i};                     \
            const Pair_##K *sorted = order_##K(pairs, pairs + count, count);                     \
            for (npy_intp i = 0; i < count; i++) to[i] = sorted[i].place;                        \
        }                                                                                        \
        scratch_give(pairs);                                                                     \
    }                                                                                            \
    /* The best so far, the best one first; a later equal element is not better. */              \
    static void top_of_row_##T(const T *from, npy_intp count, int best, K turn, int64_t *to) {   \
        K keys[MOST_TOP];                                                                        \
        int held = 0;                                                                            \
        for (npy_intp i = 0; i < count; i++) {                                                   \
            const K key = key_##T(from[i]) ^ turn;                                               \
            if (held == best && key <= keys[best - 1]) continue;                                 \
            int at = held == best ? best - 1 : held++;                                           \
            for (; at > 0 && keys[at - 1] < key; at--) keys[at] = keys[at - 1], to[at] = to[at - 1]; \
            keys[at] = key;                                                                      \
            to[at] = i;                                                                          \
        }                                                                                        \
    }                                                                                            \
    static void top_rows_##T(Work *work, npy_intp start, npy_intp stop) {                        \
        for (npy_intp row = start; row < stop; row++)                                            \
            top_of_row_##T((const T *)work->from + row * work->length, work->length,             \
                           (int)work->other, work->flag ? 0 : (K)-1,                             \
                           work->places + row * work->other);                                    \
    }

DEFINE_ROWS(float, uint32_t)
DEFINE_ROWS(double, uint64_t)
DEFINE_ROWS(int32_t, uint32_t)
DEFINE_ROWS(int64_t, uint64_t)

#define PART(NAME)                                                                               \
    static void NAME##_part(void *context, npy_intp start, npy_intp stop) {                      \
        Work *work = context;                                                                    \
        if (work->type == NPY_FLOAT) NAME##_float(work, start, stop);                            \
        else if (work->type == NPY_DOUBLE) NAME##_double(work, start, stop);                     \
        else if (work->type == NPY_INT32) NAME##_int32_t(work, start, stop);                     \
        else NAME##_int64_t(work, start, stop);                                                  \
    }

PART(order_rows)
PART(top_rows)

static void run_rows(Part part, Work *work, npy_intp cost) {
    pool_compute(part, work, work->rows, GRAIN / cost, work->rows * cost <= GRAIN);
}

/* A row-major array that is not empty; of a dtype that can be ordered, or of any if `all`. */
static int read_rows(PyObject *value, Work *work, int all) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_ISCARRAY_RO(array) || PyArray_NDIM(array) < 1 || PyArray_SIZE(array) == 0) return 0;
    work->type = PyArray_TYPE(array);
    if (work->type == NPY_LONGLONG) work->type = NPY_INT64;
    if (!all && work->type != NPY_FLOAT && work->type != NPY_DOUBLE && work->type != NPY_INT32 &&
        work->type != NPY_INT64)
        return 0;
    work->from = PyArray_DATA(array);
    work->width = PyArray_ITEMSIZE(array);
    work->length = PyArray_DIM(array, PyArray_NDIM(array) - 1);
    work->rows = PyArray_SIZE(array) / work->length;
    return work->length < INT32_MAX;
}

/* order_rows(array, descending): the places that sort the last dimension; equal elements stay. */
PyObject *taper_order_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Work work = {0};
    if (count != 2) return PyErr_Format(PyExc_TypeError, "order_rows(array, descending)");
    if (!read_rows(args[0], &work, 0)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    PyObject *result = PyArray_SimpleNew(PyArray_NDIM(array), PyArray_DIMS(array), NPY_INT64);
    if (result == NULL) return NULL;
    work.places = PyArray_DATA((PyArrayObject *)result);
    work.flag = args[1] == Py_True;
    run_rows(order_rows_part, &work, work.length * 8);
    if (!work.failed) return result;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* top_rows(array, k, largest): the places of the first k of each row, best first. */
PyObject *taper_top_rows(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Work work = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "top_rows(array, k, largest)");
    work.other = PyLong_AsSsize_t(args[1]);
    if (work.other == -1 && PyErr_Occurred()) return NULL;
    if (!read_rows(args[0], &work, 0)) Py_RETURN_NONE;
    if (work.other < 1 || work.other > MOST_TOP || work.other > work.length) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(array), (size_t)PyArray_NDIM(array) * sizeof(npy_intp));
    shape[PyArray_NDIM(array) - 1] = work.other;
    PyObject *result = PyArray_SimpleNew(PyArray_NDIM(array), shape, NPY_INT64);
    if (result == NULL) return NULL;
    work.places = PyArray_DATA((PyArrayObject *)result);
    work.flag = args[2] == Py_True;
    run_rows(top_rows_part, &work, work.length);
    return result;
}

/* --- running sums --------------------------------------------------------------------------- */

#define DEFINE_SUMS(T)                                                                           \
    static void running_##T(const Work *work, npy_intp start, npy_intp stop) {                   \
        for (npy_intp row = start; row < stop; row++) {                                          \
            const T *from = (const T *)work->from + row * work->length;                          \
            T *to = (T *)work->to + row * work->length;                                          \
            double sum = from[0];                                                                \
            to[0] = from[0];                                                                     \
            for (npy_intp i = 1; i < work->length; i++) to[i] = (T)(sum += from[i]);             \
        }                                                                                        \
    }

DEFINE_SUMS(float)
DEFINE_SUMS(double)

static void running_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    (work->type == NPY_FLOAT ? running_float : running_double)(work, start, stop);
}

/* Along an outer dimension: a block of columns at a time, of `other` columns in all. */
#define DEFINE_COLUMNS(T)                                                                        \
    WIDE static void columns_##T(const T *restrict from, T *restrict to, npy_intp length,        \
                                 npy_intp step, npy_intp count) {                                \
        double sums[BLOCK];                                                                      \
        for (npy_intp j = 0; j < count; j++) sums[j] = from[j], to[j] = from[j];                 \
        for (npy_intp i = 1; i < length; i++)                                                    \
            for (npy_intp j = 0; j < count; j++)                                                 \
                to[i * step + j] = (T)(sums[j] += from[i * step + j]);                           \
    }

DEFINE_COLUMNS(float)
DEFINE_COLUMNS(double)

static void columns_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    const npy_intp blocks = (work->other + BLOCK - 1) / BLOCK;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp column = item % blocks * BLOCK, rest = work->other - column;
        const npy_intp at = item / blocks * work->length * work->other + column;
        const npy_intp count = rest < BLOCK ? rest : BLOCK;
        if (work->type == NPY_FLOAT)
            columns_float((const float *)work->from + at, (float *)work->to + at, work->length,
                          work->other, count);
        else
            columns_double((const double *)work->from + at, (double *)work->to + at, work->length,
                           work->other, count);
    }
}

/* running_sums(array, dim): sums from the first to each element, in double precision. */
PyObject *taper_running_sums(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Work work = {0};
    if (count != 2) return PyErr_Format(PyExc_TypeError, "running_sums(array, dim)");
    const npy_intp dim = PyLong_AsSsize_t(args[1]);
    if (dim == -1 && PyErr_Occurred()) return NULL;
    if (!read_rows(args[0], &work, 0) || (work.type != NPY_FLOAT && work.type != NPY_DOUBLE))
        Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(array);
    if (dim < 0 || dim >= ndim) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, PyArray_DIMS(array), work.type);
    if (result == NULL) return NULL;
    work.to = PyArray_DATA((PyArrayObject *)result);
    work.other = 1;
    for (int each = (int)dim + 1; each < ndim; each++) work.other *= PyArray_DIM(array, each);
    work.length = PyArray_DIM(array, (int)dim);
    work.rows = PyArray_SIZE(array) / work.length;
    if (work.other == 1) {
        run_rows(running_part, &work, work.length);
        return result;
    }
    work.rows = work.rows / work.other * ((work.other + BLOCK - 1) / BLOCK);
    run_rows(columns_part, &work, work.length * (work.other < BLOCK ? work.other : BLOCK));
    return result;
}

/* --- triangles ------------------------------------------------------------------------------ */

static void triangle_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    const size_t width = (size_t)work->width, bytes = (size_t)work->length * width;
    for (npy_intp row = start; row < stop; row++) {
        /* The columns before `end` belong to the lower triangle. */
        npy_intp end = row % work->rows + work->other + (work->flag ? 1 : 0);
        end = end < 0 ? 0 : end > work->length ? work->length : end;
        const size_t cut = (size_t)end * width, whole = (size_t)row * bytes;
        const char *from = (const char *)work->from + whole;
        char *to = (char *)work->to + whole;
        if (work->flag) {
            memcpy(to, from, cut);
            memset(to + cut, 0, bytes - cut);
        } else {
            memset(to, 0, cut);
            memcpy(to + cut, from + cut, bytes - cut);
        }
    }
}

/* triangle(array, diagonal, lower): matrices with the other triangle set to zero. */
PyObject *taper_triangle(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Work work = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "triangle(array, diagonal, lower)");
    if (!read_rows(args[0], &work, 1)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(array);
    if (ndim < 2 || !(PyTypeNum_ISNUMBER(work.type) || PyTypeNum_ISBOOL(work.type))) Py_RETURN_NONE;
    const npy_intp all = work.rows;
    work.other = PyLong_AsSsize_t(args[1]);
    if (work.other == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    work.rows = PyArray_DIM(array, ndim - 2);
    work.flag = args[2] == Py_True;
    if (work.other > work.length + work.rows) work.other = work.length + work.rows;
    if (work.other < -work.length - work.rows) work.other = -work.length - work.rows;
    PyObject *result = PyArray_SimpleNew(ndim, PyArray_DIMS(array), PyArray_TYPE(array));
    if (result == NULL) return NULL;
    work.to = PyArray_DATA((PyArrayObject *)result);
    pool_compute(triangle_part, &work, all, 4 * GRAIN / work.length, all * work.length <= GRAIN);
    return result;
}
