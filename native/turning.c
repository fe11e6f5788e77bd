/* Copies of large arrays, on all threads, also from arrays whose rows lie across the target's, backwards, with gaps,
 * or are repeated.
 *
 * NumPy reads a source that lies across element by element, each from another line of the cache; here tiles are
 * read along the source and written along the target.  The twin is `np.copyto`, on one thread.
 */

#include <stdint.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define TILE 16
#define STRIP 64     /* lines of the target that an item for the pool covers */
#define PIECE 16384  /* elements that it covers of a row */
#define ALONE 65536  /* elements that one thread copies at once */
#define MOST_DIMS 8

/* The dimensions in the order of the target's memory, without those of length 1, and joined where both arrays allow
 * it.  `along` is the one in which the source is dense, -1 if rows are copied as they are; steps are in elements. */
typedef struct {
    int ndim, along, width;
    npy_intp shape[MOST_DIMS], steps[MOST_DIMS], to_steps[MOST_DIMS];
    npy_intp strips, outer;
    const char *from;
    char *to;
} Work;

/* Where the lines of an outer index begin: over all dimensions but the last and `along`. */
static void find_lines(const Work *work, npy_intp number, npy_intp *from, npy_intp *to) {
    *from = *to = 0;
    for (int dim = work->ndim - 2; dim >= 0; dim--) {
        if (dim == work->along) continue;
        const npy_intp at = number % work->shape[dim];
        number /= work->shape[dim];
        *from += at * work->steps[dim];
        *to += at * work->to_steps[dim];
    }
}

#define DEFINE_COPIES(T)                                                                         \
    WIDE static void turn_tile_##T(const T *restrict from, npy_intp step, T *restrict to,        \
                                   npy_intp to_step) {                                           \
        T tile[TILE][TILE];                                                                      \
        for (int j = 0; j < TILE; j++)                                                           \
            for (int i = 0; i < TILE; i++) tile[j][i] = from[j * step + i];                      \
        for (int i = 0; i < TILE; i++)                                                           \
            for (int j = 0; j < TILE; j++) to[i * to_step + j] = tile[j][i];                     \
    }                                                                                            \
    static void turn_##T(const T *from, npy_intp step, T *to, npy_intp to_step, npy_intp lines,  \
                         npy_intp length) {                                                      \
        const npy_intp whole = lines / TILE * TILE, cut = length / TILE * TILE;                  \
        for (npy_intp i = 0; i < whole; i += TILE)                                               \
            for (npy_intp j = 0; j < cut; j += TILE)                                             \
                turn_tile_##T(from + j * step + i, step, to + i * to_step + j, to_step);         \
        for (npy_intp i = 0; i < lines; i++)                                                     \
            for (npy_intp j = i < whole ? cut : 0; j < length; j++)                              \
                to[i * to_step + j] = from[j * step + i];                                        \
    }                                                                                            \
    WIDE static void row_##T(const T *restrict from, npy_intp step, T *restrict to, npy_intp length) { \
        if (step == 1) memcpy(to, from, (size_t)length * sizeof(T));                             \
        else if (step == 0)                                                                      \
            for (npy_intp i = 0; i < length; i++) to[i] = from[0];                               \
        else if (step == -1)                                                                     \
            for (npy_intp i = 0; i < length; i++) to[i] = from[-i];                              \
        else                                                                                     \
            for (npy_intp i = 0; i < length; i++) to[i] = from[i * step];                        \
    }                                                                                            \
    static void item_##T(const Work *work, npy_intp item) {                                      \
        const npy_intp length = work->shape[work->ndim - 1];                                     \
        npy_intp source, target;                                                                 \
        find_lines(work, item / work->strips, &source, &target);                                 \
        const T *from = (const T *)work->from + source;                                          \
        T *to = (T *)work->to + target;                                                          \
        const npy_intp start = item % work->strips * (work->along < 0 ? PIECE : STRIP);                \
        const npy_intp rest = (work->along < 0 ? length : work->shape[work->along]) - start;     \
        if (work->along < 0) {                                                                   \
            const npy_intp step = work->steps[work->ndim - 1];                                   \
            row_##T(from + start * step, step, to + start, rest < PIECE ? rest : PIECE);         \
            return;                                                                              \
        }                                                                                        \
        const npy_intp to_step = work->to_steps[work->along];                                    \
        turn_##T(from + start, work->steps[work->ndim - 1], to + start * to_step, to_step,       \
                 rest < STRIP ? rest : STRIP, length);                                           \
    }

DEFINE_COPIES(uint8_t)
DEFINE_COPIES(uint16_t)
DEFINE_COPIES(uint32_t)
DEFINE_COPIES(uint64_t)

static void part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    for (npy_intp item = start; item < stop; item++)
        if (work->width == 4) item_uint32_t(work, item);
        else if (work->width == 8) item_uint64_t(work, item);
        else if (work->width == 2) item_uint16_t(work, item);
        else item_uint8_t(work, item);
}

/* The bytes from the first to the last element of an array. */
static void find_extent(PyArrayObject *array, const char **low, const char **high) {
    *low = PyArray_BYTES(array), *high = *low + PyArray_ITEMSIZE(array);
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        const npy_intp reach = (PyArray_DIM(array, dim) - 1) * PyArray_STRIDE(array, dim);
        if (reach < 0) *low += reach;
        else *high += reach;
    }
}

/* Whether an array's elements may lie where another's do. */
static int overlap(PyArrayObject *one, PyArrayObject *other) {
    const char *low, *high, *start, *end;
    find_extent(one, &low, &high);
    find_extent(other, &start, &end);
    return low < end && start < high;
}

/* Take a dimension in, in the order of the target's memory. */
static void insert(Work *work, npy_intp length, npy_intp step, npy_intp to_step) {
    int at = work->ndim++;
    for (; at > 0 && work->to_steps[at - 1] < to_step; at--) {
        work->shape[at] = work->shape[at - 1];
        work->steps[at] = work->steps[at - 1];
        work->to_steps[at] = work->to_steps[at - 1];
    }
    work->shape[at] = length;
    work->steps[at] = step;
    work->to_steps[at] = to_step;
}

/* Make one dimension of two neighbours where both arrays allow it; 0 if rows of the target have gaps or meet. */
static int join(Work *work) {
    int last = work->ndim - 1;
    if (work->to_steps[last] != 1) return 0;
    for (int dim = 0; dim < last; dim++)
        if (work->to_steps[dim] < work->to_steps[dim + 1] * work->shape[dim + 1]) return 0;
    last = 0;
    for (int dim = 1; dim < work->ndim; dim++) {
        const int joined = work->steps[last] == work->steps[dim] * work->shape[dim] &&
                           work->to_steps[last] == work->to_steps[dim] * work->shape[dim];
        last += !joined;
        work->shape[last] = joined ? work->shape[last] * work->shape[dim] : work->shape[dim];
        work->steps[last] = work->steps[dim];
        work->to_steps[last] = work->to_steps[dim];
    }
    work->ndim = last + 1;
    return 1;
}

/* Fill in the work; whether that is worth it, and rows of the target have no gaps. */
static int read_work(Work *work, PyArrayObject *target, PyArrayObject *source) {
    const npy_intp whole = PyArray_ITEMSIZE(source), width = work->width = whole == 16 ? 8 : (int)whole;
    if (width != 1 && width != 2 && width != 4 && width != 8) return 0;
    /* A complex number of 8 bytes may begin at any multiple of 4. */
    if (((uintptr_t)PyArray_DATA(source) | (uintptr_t)PyArray_DATA(target)) % (uintptr_t)width) return 0;
    work->ndim = 0;
    for (int dim = 0; dim < PyArray_NDIM(source); dim++) {
        const npy_intp length = PyArray_DIM(source, dim);
        if (length == 1) continue;
        if (work->ndim == MOST_DIMS || PyArray_STRIDE(source, dim) % width || PyArray_STRIDE(target, dim) % width)
            return 0;
        insert(work, length, PyArray_STRIDE(source, dim) / width, PyArray_STRIDE(target, dim) / width);
    }
    if (whole == 16 && work->ndim < MOST_DIMS) insert(work, 2, 1, 1); /* two halves */
    if (work->ndim == 0 || !join(work)) return 0;
    const int last = work->ndim - 1;
    const npy_intp step = work->steps[last];
    work->along = -1;
    for (int dim = 0; dim < last && (step < -1 || step > 1); dim++)
        if (work->steps[dim] == 1 && work->shape[dim] >= TILE) work->along = dim;
    if (work->shape[last] < TILE) return 0;
    work->strips = work->along < 0 ? (work->shape[last] + PIECE - 1) / PIECE
                                   : (work->shape[work->along] + STRIP - 1) / STRIP;
    work->outer = 1;
    for (int dim = 0; dim < last; dim++)
        if (dim != work->along) work->outer *= work->shape[dim];
    return 1;
}

/* copy_across(target, source): copy into an array of the same shape and dtype whose rows, or columns, have no gaps;
 * True if it was done. */
PyObject *taper_copy_across(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "copy_across(target, source)");
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) Py_RETURN_NONE;
    PyArrayObject *target = (PyArrayObject *)args[0], *source = (PyArrayObject *)args[1];
    if (PyArray_DESCR(target) != PyArray_DESCR(source) || !PyArray_ISBEHAVED(target) ||
        !PyArray_ISBEHAVED_RO(source) || PyDataType_REFCHK(PyArray_DESCR(source)) ||
        !PyArray_SAMESHAPE(target, source) || PyArray_SIZE(source) == 0)
        Py_RETURN_NONE;
    if (overlap(source, target)) Py_RETURN_NONE;
    Work work;
    if (!read_work(&work, target, source)) Py_RETURN_NONE;
    work.from = PyArray_BYTES(source);
    work.to = PyArray_BYTES(target);
    const npy_intp items = work.strips * work.outer, size = PyArray_SIZE(source);
    pool_compute(part, &work, items, ALONE / 4 / (size / items), size <= ALONE);
    Py_RETURN_TRUE;
}
