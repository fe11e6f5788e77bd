/* Pooling over windows of the last one to three dimensions; the twins stand in `arrays/windows.py`.
 *
 * What is before these dimensions are planes, and a plane is computed by one thread.  Along each
 * dimension a window has its first place and its number of taps; those in the padding are left out.
 * Of a row of windows, most lie at equal distances and have all taps: those are computed tap by
 * tap, in a loop that the compiler vectorises; the others window by window.  Sums are taken in the
 * order of a window's elements, and an element of a gradient in the order of its windows.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define INLINE static inline __attribute__((always_inline))
#define BLOCK 256   /* windows whose places are kept on the stack */
#define GRAIN 16384 /* elements read by a chunk for the pool, about */
#define DIMS 3

/* The windows along a dimension: the first place and number of taps of each, the distance of taps.
 * Those from `low` up to `high` have all `taps`, at distances of `stride`. */
typedef struct {
    npy_intp length, count, step, taps, stride, low, high;
    const int64_t *first, *size;
} Axis;

typedef struct {
    Axis axes[DIMS]; /* depth and height have length 1 where they are missing */
    npy_intp planes, inside, outside; /* their number, and elements of one before and after */
    int type;
    const void *from;
    void *to;
    int64_t *places; /* where maxima are, in their plane; NULL if nobody asks */
    const volatile int64_t *given; /* places to add at */
    int failed; /* a place lies outside its plane */
} Work;

/* --- one row of windows --------------------------------------------------------------------- */

/* Where the source rows of a row of windows begin: the block sees `row`, a place in the plane. */
#define ROWS(WORK, DEEP, HIGH, ...)                                                              \
    do {                                                                                         \
        const Axis *const deep = &(WORK)->axes[0], *const high = &(WORK)->axes[1];               \
        const npy_intp width = (WORK)->axes[2].length;                                           \
        for (int64_t a = 0; a < deep->size[DEEP]; a++)                                           \
            for (int64_t b = 0; b < high->size[HIGH]; b++) {                                     \
                const npy_intp row = ((deep->first[DEEP] + a * deep->step) * high->length +      \
                                      high->first[HIGH] + b * high->step) * width;               \
                __VA_ARGS__                                                                      \
            }                                                                                    \
    } while (0)

/* Maxima of windows that are two apart: 16 at once, also where a row has fewer, and kept in registers over all taps
 * (64x64 images of 24x24 in windows of 2x2: 4.8 to 1.2 ms on one thread).  0 if the processor cannot. */
#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define LANES 16

static __mmask16 first_lanes(npy_intp count) {
    return count >= LANES ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

__attribute__((target("avx512f"))) static void maxima_of_pairs(const Work *work, const float *plane, npy_intp d,
                                                               npy_intp h, npy_intp first, npy_intp count, float *to,
                                                               int64_t *places) {
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __mmask16 written = first_lanes(count), near = first_lanes(2 * count - 1);
    const __mmask16 far = first_lanes(2 * count - 1 - LANES);
    const Axis *wide = &work->axes[2];
    const npy_intp corner =
        (work->axes[0].first[d] * work->axes[1].length + work->axes[1].first[h]) * wide->length + first;
    __m512 best = _mm512_set1_ps(-INFINITY);
    __m512i found = _mm512_add_epi32(_mm512_set1_epi32((int32_t)corner), lanes);
    ROWS(work, d, h, {
        for (npy_intp tap = 0; tap < wide->taps; tap++) {
            const npy_intp place = row + first + tap * wide->step;
            const __m512 one = _mm512_maskz_loadu_ps(near, plane + place);
            const __m512 two = _mm512_maskz_loadu_ps(far, plane + place + LANES);
            const __m512 x = _mm512_permutex2var_ps(one, lanes, two);
            const __mmask16 better =
                _mm512_cmp_ps_mask(x, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
            best = _mm512_mask_mov_ps(best, better, x);
            found = _mm512_mask_add_epi32(found, better, _mm512_set1_epi32((int32_t)place), lanes);
        }
    });
    _mm512_mask_storeu_ps(to, written, best);
    if (places == NULL) return;
    const __m512i less = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(found));
    const __m512i more = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(found, 1));
    _mm512_mask_storeu_epi64(places, (__mmask8)written, less);
    _mm512_mask_storeu_epi64(places + 8, (__mmask8)(written >> 8), more);
}

static int float_pairs(const Work *work, const float *plane, npy_intp d, npy_intp h, npy_intp w, npy_intp count,
                       float *to, int64_t *places) {
    if (!__builtin_cpu_supports("avx512f")) return 0;
    for (npy_intp nr = 0; nr < count; nr += LANES)
        maxima_of_pairs(work, plane, d, h, work->axes[2].first[w] + 2 * nr, count - nr, to + nr,
                        places == NULL ? NULL : places + nr);
    return 1;
}

#else

#define float_pairs(...) 0

#endif

#define double_pairs(...) 0

#define DEFINE_ROWS(T, PLACE)                                                                    \
    INLINE void larger_##T(const T *restrict from, npy_intp place, npy_intp stride,              \
                           npy_intp count, T *restrict best, PLACE *restrict found) {            \
        for (npy_intp i = 0; i < count; i++) {                                                   \
            const T x = from[i * stride];                                                        \
            const int better = (x > best[i]) | (x != x);                                         \
            best[i] = better ? x : best[i];                                                      \
            found[i] = better ? (PLACE)(place + i * stride) : found[i];                          \
        }                                                                                        \
    }                                                                                            \
    WIDE static void larger_by_##T(const T *from, npy_intp place, npy_intp stride,               \
                                   npy_intp count, T *best, PLACE *found) {                      \
        if (stride == 1) larger_##T(from, place, 1, count, best, found);                         \
        else if (stride == 2) larger_##T(from, place, 2, count, best, found);                    \
        else larger_##T(from, place, stride, count, best, found);                                \
    }                                                                                            \
    INLINE void sum_##T(const T *restrict from, npy_intp stride, npy_intp count, T *restrict to) { \
        for (npy_intp i = 0; i < count; i++) to[i] += from[i * stride];                          \
    }                                                                                            \
    WIDE static void sum_by_##T(const T *from, npy_intp stride, npy_intp count, T *to) {         \
        if (stride == 1) sum_##T(from, 1, count, to);                                            \
        else if (stride == 2) sum_##T(from, 2, count, to);                                       \
        else sum_##T(from, stride, count, to);                                                   \
    }                                                                                            \
    WIDE static void back_by_##T(const T *restrict grad, npy_intp stride, npy_intp count,        \
                                 T *restrict to) {                                               \
        if (stride == 1)                                                                         \
            for (npy_intp i = 0; i < count; i++) to[i] += grad[i];                               \
        else                                                                                     \
            for (npy_intp i = 0; i < count; i++) to[i * stride] += grad[i];                      \
    }                                                                                            \
    static void block_of_maxima_##T(const Work *work, const T *plane, npy_intp d, npy_intp h,    \
                                    npy_intp w, npy_intp count, T *to, int64_t *places) {        \
        const Axis *wide = &work->axes[2];                                                       \
        PLACE found[BLOCK];                                                                      \
        if (wide->stride == 2 && T##_pairs(work, plane, d, h, w, count, to, places)) return;     \
        const npy_intp start = wide->first[w];                                                   \
        const npy_intp corner =                                                                  \
            (work->axes[0].first[d] * work->axes[1].length + work->axes[1].first[h]) *           \
                wide->length + start;                                                            \
        for (npy_intp i = 0; i < count; i++) {                                                   \
            to[i] = -(T)INFINITY;                                                                \
            found[i] = (PLACE)(corner + i * wide->stride);                                       \
        }                                                                                        \
        ROWS(work, d, h, {                                                                       \
            for (npy_intp tap = 0; tap < wide->taps; tap++) {                                    \
                const npy_intp place = row + start + tap * wide->step;                           \
                larger_by_##T(plane + place, place, wide->stride, count, to, found);             \
            }                                                                                    \
        });                                                                                      \
        if (places != NULL)                                                                      \
            for (npy_intp i = 0; i < count; i++) places[i] = found[i];                           \
    }                                                                                            \
    static void maximum_##T(const Work *work, const T *plane, npy_intp d, npy_intp h,            \
                            npy_intp w, T *to, int64_t *places) {                                \
        const Axis *wide = &work->axes[2];                                                       \
        T best = -(T)INFINITY;                                                                   \
        int64_t found = -1;                                                                      \
        ROWS(work, d, h, {                                                                       \
            for (int64_t tap = 0; tap < wide->size[w]; tap++) {                                  \
                const npy_intp place = row + wide->first[w] + tap * wide->step;                  \
                const T x = plane[place];                                                        \
                if (x > best || x != x || found < 0) best = x, found = place;                    \
            }                                                                                    \
        });                                                                                      \
        *to = best;                                                                              \
        if (places != NULL) *places = found;                                                     \
    }                                                                                            \
    static void maxima_##T(const Work *work, npy_intp plane, npy_intp d, npy_intp h,             \
                           npy_intp offset) {                                                    \
        const Axis *wide = &work->axes[2];                                                       \
        const T *from = (const T *)work->from + plane * work->inside;                            \
        T *to = (T *)work->to + offset;                                                          \
        int64_t *places = work->places == NULL ? NULL : work->places + offset;                   \
        for (npy_intp w = 0; w < wide->count;) {                                                 \
            const int usual = w >= wide->low && w < wide->high;                                  \
            const npy_intp rest = wide->high - w, count = !usual ? 1 : rest < BLOCK ? rest : BLOCK; \
            int64_t *at = places == NULL ? NULL : places + w;                                    \
            if (usual) block_of_maxima_##T(work, from, d, h, w, count, to + w, at);              \
            else maximum_##T(work, from, d, h, w, to + w, at);                                   \
            w += count;                                                                          \
        }                                                                                        \
    }                                                                                            \
    static void sums_##T(const Work *work, npy_intp plane, npy_intp d, npy_intp h,               \
                         npy_intp offset) {                                                      \
        const Axis *wide = &work->axes[2];                                                       \
        const T *from = (const T *)work->from + plane * work->inside;                            \
        T *to = (T *)work->to + offset;                                                          \
        const npy_intp usual = wide->high - wide->low;                                           \
        if (usual) {                                                                             \
            memset(to + wide->low, 0, (size_t)usual * sizeof(T));                                \
            from += wide->first[wide->low];                                                      \
            ROWS(work, d, h, {                                                                   \
                for (npy_intp tap = 0; tap < wide->taps; tap++)                                  \
                    sum_by_##T(from + row + tap * wide->step, wide->stride, usual, to + wide->low);\
            });                                                                                  \
            from -= wide->first[wide->low];                                                      \
        }                                                                                        \
        for (npy_intp w = usual && !wide->low ? wide->high : 0; w < wide->count; w++) {          \
            const T *start = from + wide->first[w];                                              \
            const npy_intp taps = wide->size[w], step = wide->step;                              \
            T sum = 0;                                                                           \
            ROWS(work, d, h, {                                                                   \
                for (npy_intp tap = 0; tap < taps; tap++) sum += start[row + tap * step];        \
            });                                                                                  \
            to[w] = sum;                                                                         \
            if (w + 1 == wide->low) w = wide->high - 1;                                          \
        }                                                                                        \
    }                                                                                            \
    static void back_window_##T(const Work *work, npy_intp d, npy_intp h, npy_intp w,            \
                                const T grad, T *plane) {                                        \
        const Axis *wide = &work->axes[2];                                                       \
        const npy_intp taps = wide->size[w], step = wide->step;                                  \
        T *start = plane + wide->first[w];                                                       \
        ROWS(work, d, h, {                                                                       \
            T *to = start + row;                                                                 \
            for (npy_intp tap = 0; tap < taps; tap++) to[tap * step] += grad;                    \
        });                                                                                      \
    }                                                                                            \
    static void back_##T(const Work *work, npy_intp plane, npy_intp d, npy_intp h,               \
                         npy_intp offset) {                                                      \
        const Axis *wide = &work->axes[2];                                                       \
        const T *grad = (const T *)work->from + offset;                                          \
        T *to = (T *)work->to + plane * work->inside;                                            \
        const npy_intp usual = wide->high - wide->low;                                           \
        for (npy_intp w = 0; w < wide->low; w++) back_window_##T(work, d, h, w, grad[w], to);    \
        if (usual)                                                                               \
            ROWS(work, d, h, {                                                                   \
                for (npy_intp tap = wide->taps - 1; tap >= 0; tap--)                             \
                    back_by_##T(grad + wide->low, wide->stride, usual,                           \
                                to + row + wide->first[wide->low] + tap * wide->step);           \
            });                                                                                  \
        for (npy_intp w = wide->high; w < wide->count; w++)                                      \
            back_window_##T(work, d, h, w, grad[w], to);                                         \
    }                                                                                            \
    static int add_plane_##T(const Work *work, npy_intp plane) {                                 \
        T *to = (T *)work->to + plane * work->inside;                                            \
        const T *grad = (const T *)work->from + plane * work->outside;                           \
        const volatile int64_t *given = work->given + plane * work->outside;                     \
        memset(to, 0, (size_t)work->inside * sizeof(T));                                         \
        for (npy_intp i = 0; i < work->outside; i++) {                                           \
            const int64_t place = given[i];                                                      \
            if (place < 0 || place >= work->inside) return 0;                                    \
            to[place] += grad[i];                                                                \
        }                                                                                        \
        return 1;                                                                                \
    }

DEFINE_ROWS(float, int32_t)
DEFINE_ROWS(double, int64_t)

/* --- planes --------------------------------------------------------------------------------- */

typedef void (*Row)(const Work *work, npy_intp plane, npy_intp d, npy_intp h, npy_intp offset);

static void rows_of_planes(const Work *work, npy_intp start, npy_intp stop, Row row) {
    const npy_intp deep = work->axes[0].count, high = work->axes[1].count;
    const npy_intp wide = work->axes[2].count;
    for (npy_intp plane = start; plane < stop; plane++)
        for (npy_intp d = 0; d < deep; d++)
            for (npy_intp h = 0; h < high; h++)
                row(work, plane, d, h, ((plane * deep + d) * high + h) * wide);
}

static void maxima_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    rows_of_planes(work, start, stop, work->type == NPY_FLOAT ? maxima_float : maxima_double);
}

static void sums_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    rows_of_planes(work, start, stop, work->type == NPY_FLOAT ? sums_float : sums_double);
}

static void back_part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    const size_t size = (size_t)work->inside * (work->type == NPY_FLOAT ? 4 : 8);
    memset((char *)work->to + (size_t)start * size, 0, (size_t)(stop - start) * size);
    rows_of_planes(work, start, stop, work->type == NPY_FLOAT ? back_float : back_double);
}

static void add_part(void *context, npy_intp start, npy_intp stop) {
    Work *work = context;
    for (npy_intp plane = start; plane < stop; plane++)
        if (!(work->type == NPY_FLOAT ? add_plane_float(work, plane) : add_plane_double(work, plane)))
            __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
}

static void run_planes(Part part, Work *work, npy_intp cost) {
    pool_compute(part, work, work->planes, cost ? GRAIN / cost : 1, work->planes * cost <= GRAIN);
}

/* About how many elements the windows of a plane read. */
static npy_intp cost_of(const Work *work) {
    npy_intp taps = 1;
    for (int dim = 0; dim < DIMS; dim++) taps *= work->axes[dim].taps;
    const npy_intp all = work->outside * taps;
    return all > work->inside ? all : work->inside + 1;
}

/* --- arguments ------------------------------------------------------------------------------ */

static const int64_t alone[2] = {0, 1};
static const Axis single = {1, 1, 1, 1, 1, 0, 0, alone, alone + 1};

/* The longest run of windows with all taps at equal distances. */
static void find_usual(Axis *axis) {
    npy_intp low = 0;
    while (low < axis->count && axis->size[low] < axis->taps) low++;
    npy_intp high = low + 1;
    axis->stride = high < axis->count ? axis->first[high] - axis->first[low] : 1;
    while (high < axis->count && axis->size[high] == axis->taps && axis->stride > 0 &&
           axis->first[high] - axis->first[high - 1] == axis->stride)
        high++;
    axis->low = low;
    axis->high = high;
    /* Of few windows, or long ones far apart, one after the other is as fast. */
    if (high - low < 4 || axis->stride > 4) axis->low = axis->high = 0;
}

/* Read a dimension's windows from an array of two rows, first places and numbers of taps. */
static int read_axis(Axis *axis, npy_intp length, PyObject *reach, PyObject *step) {
    if (!plain_array(reach, NPY_INT64)) return 0;
    PyArrayObject *array = (PyArrayObject *)reach;
    if (PyArray_NDIM(array) != 2 || PyArray_DIM(array, 0) != 2) return 0;
    *axis = (Axis){.length = length, .count = PyArray_DIM(array, 1), .step = PyLong_AsSsize_t(step)};
    if (axis->step < 1 || axis->count < 1) return 0;
    axis->first = PyArray_DATA(array);
    axis->size = axis->first + axis->count;
    for (npy_intp i = 0; i < axis->count; i++) {
        const int64_t first = axis->first[i], size = axis->size[i];
        if (first < 0 || first >= length || size < 1 || size - 1 > (length - 1 - first) / axis->step)
            return 0;
        if (size > axis->taps) axis->taps = size;
    }
    find_usual(axis);
    return 1;
}

/* Read the windows along the last dimensions of `shape`; whether there is anything to compute. */
static int read_windows(Work *work, PyArrayObject *array, const npy_intp *shape,
                        PyObject *const *args, Py_ssize_t count) {
    const int rank = (int)(count / 2), ndim = PyArray_NDIM(array);
    if (count % 2 || rank < 1 || rank > DIMS || ndim < rank || ndim > 8) return 0;
    for (int dim = 0; dim < DIMS - rank; dim++) work->axes[dim] = single;
    work->planes = work->inside = work->outside = 1;
    for (int dim = 0; dim < ndim - rank; dim++) work->planes *= shape[dim];
    for (int dim = 0; dim < rank; dim++) {
        Axis *axis = &work->axes[DIMS - rank + dim];
        if (!read_axis(axis, shape[ndim - rank + dim], args[2 * dim], args[2 * dim + 1])) return 0;
        work->inside *= axis->length;
        work->outside *= axis->count;
    }
    work->type = PyArray_TYPE(array);
    return work->planes > 0 && work->inside < INT32_MAX;
}

static PyArrayObject *pooled(const Work *work, PyArrayObject *array, Py_ssize_t rank, int type) {
    npy_intp shape[8];
    const int ndim = PyArray_NDIM(array);
    for (int dim = 0; dim < ndim; dim++)
        shape[dim] = dim < ndim - rank ? PyArray_DIM(array, dim)
                                       : work->axes[DIMS - ndim + dim].count;
    return (PyArrayObject *)PyArray_SimpleNew(ndim, shape, type);
}

/* pool_maxima(array, with_places, reach, step, ...): the largest elements, and their places or
 * None; a pair of windows and step for each dimension. */
PyObject *taper_pool_maxima(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 4) return PyErr_Format(PyExc_TypeError, "pool_maxima(array, with_places, ...)");
    if (!plain_array(args[0], REAL)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    Work work = {0};
    if (!read_windows(&work, array, PyArray_DIMS(array), args + 2, count - 2)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    PyArrayObject *values = pooled(&work, array, (count - 2) / 2, work.type), *places = NULL;
    if (values == NULL) return NULL;
    if (args[1] == Py_True) {
        places = pooled(&work, array, (count - 2) / 2, NPY_INT64);
        if (places == NULL) {
            Py_DECREF(values);
            return NULL;
        }
        work.places = PyArray_DATA(places);
    }
    work.from = PyArray_DATA(array);
    work.to = PyArray_DATA(values);
    run_planes(maxima_part, &work, cost_of(&work));
    if (places == NULL) return Py_BuildValue("(NO)", values, Py_None);
    return Py_BuildValue("(NN)", values, places);
}

/* pool_sums(array, reach, step, ...): the sum of each window. */
PyObject *taper_pool_sums(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 3) return PyErr_Format(PyExc_TypeError, "pool_sums(array, reach, step, ...)");
    if (!plain_array(args[0], REAL)) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    Work work = {0};
    if (!read_windows(&work, array, PyArray_DIMS(array), args + 1, count - 1)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    PyArrayObject *sums = pooled(&work, array, (count - 1) / 2, work.type);
    if (sums == NULL) return NULL;
    work.from = PyArray_DATA(array);
    work.to = PyArray_DATA(sums);
    run_planes(sums_part, &work, cost_of(&work));
    return (PyObject *)sums;
}

/* Read a tuple of lengths that has `ndim` of them. */
static int read_shape(PyObject *value, int ndim, npy_intp *shape) {
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != ndim || ndim > 8) return 0;
    for (int dim = 0; dim < ndim; dim++) {
        shape[dim] = PyLong_AsSsize_t(PyTuple_GET_ITEM(value, dim));
        if (shape[dim] < 1) return 0;
    }
    return 1;
}

/* pool_back(grad, shape, reach, step, ...): what each window has, added to all of its elements. */
PyObject *taper_pool_back(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 4) return PyErr_Format(PyExc_TypeError, "pool_back(grad, shape, reach, step, ...)");
    if (!plain_array(args[0], REAL)) Py_RETURN_NONE;
    PyArrayObject *grad = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(grad);
    npy_intp shape[8] = {0};
    Work work = {0};
    int fits = read_shape(args[1], ndim, shape) &&
               read_windows(&work, grad, shape, args + 2, count - 2);
    const int rank = (int)((count - 2) / 2);
    for (int dim = 0; fits && dim < ndim; dim++)
        fits = PyArray_DIM(grad, dim) == (dim < ndim - rank ? shape[dim]
                                                            : work.axes[DIMS - ndim + dim].count);
    if (PyErr_Occurred()) return NULL;
    if (!fits) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, shape, work.type);
    if (result == NULL) return NULL;
    work.from = PyArray_DATA(grad);
    work.to = PyArray_DATA((PyArrayObject *)result);
    run_planes(back_part, &work, cost_of(&work));
    return result;
}

/* pool_add(grad, places, rank, shape): zeros of a shape with `grad` added at places of its planes,
 * the last `rank` dimensions. */
PyObject *taper_pool_add(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "pool_add(grad, places, rank, shape)");
    if (!plain_array(args[0], REAL) || !plain_array(args[1], NPY_INT64)) Py_RETURN_NONE;
    PyArrayObject *grad = (PyArrayObject *)args[0], *places = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(grad), rank = (int)PyLong_AsLong(args[2]);
    npy_intp shape[8];
    int fits = rank > 0 && rank <= ndim && read_shape(args[3], ndim, shape);
    if (PyErr_Occurred()) return NULL;
    if (!fits || !PyArray_SAMESHAPE(grad, places)) Py_RETURN_NONE;
    Work work = {.planes = 1, .inside = 1, .outside = 1, .type = PyArray_TYPE(grad)};
    for (int dim = 0; dim < ndim; dim++) {
        if (dim >= ndim - rank) {
            work.inside *= shape[dim];
            work.outside *= PyArray_DIM(grad, dim);
        } else if (shape[dim] == PyArray_DIM(grad, dim)) work.planes *= shape[dim];
        else Py_RETURN_NONE;
    }
    PyObject *result = PyArray_SimpleNew(ndim, shape, work.type);
    if (result == NULL) return NULL;
    work.from = PyArray_DATA(grad);
    work.given = PyArray_DATA(places);
    work.to = PyArray_DATA((PyArrayObject *)result);
    run_planes(add_part, &work, work.inside + work.outside);
    if (!work.failed) return result;
    Py_DECREF(result);
    Py_RETURN_NONE;
}
