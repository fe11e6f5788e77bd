/* Copies into row-major memory, also from arrays whose rows lie across it, or backwards.
 *
 * NumPy reads such a source element by element, each from another line of the cache; here tiles are
 * read along the source and written along the target.  The twin is `np.copyto`, on one thread.
 */

#include <stdint.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define TILE 16
#define STRIP 64     /* lines of the target that an item for the pool covers */
#define PIECE 16384  /* elements that it covers of a row that is read backwards */
#define ALONE 65536  /* elements that one thread copies at once */
#define MOST_DIMS 8

/* `along` is the dimension in which the source is dense, -1 if its rows are backwards; steps are
 * in elements. */
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
    WIDE static void backwards_##T(const T *restrict from, T *restrict to, npy_intp length) {    \
        for (npy_intp i = 0; i < length; i++) to[i] = from[-i];                                  \
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
            backwards_##T(from - start, to + start, rest < PIECE ? rest : PIECE);                \
            return;                                                                              \
        }                                                                                        \
        const npy_intp to_step = work->to_steps[work->along];                                    \
        turn_##T(from + start, work->steps[work->ndim - 1], to + start * to_step, to_step,       \
                 rest < STRIP ? rest : STRIP, length);                                           \
    }

DEFINE_COPIES(uint32_t)
DEFINE_COPIES(uint64_t)

static void part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    for (npy_intp item = start; item < stop; item++)
        if (work->width == 4) item_uint32_t(work, item);
        else item_uint64_t(work, item);
}

/* Whether an array's elements may lie where the target's do. */
static int overlap(PyArrayObject *source, PyArrayObject *target) {
    const char *low = PyArray_BYTES(source), *high = low + PyArray_ITEMSIZE(source);
    for (int dim = 0; dim < PyArray_NDIM(source); dim++) {
        const npy_intp reach = (PyArray_DIM(source, dim) - 1) * PyArray_STRIDE(source, dim);
        if (reach < 0) low += reach;
        else high += reach;
    }
    const char *start = PyArray_BYTES(target);
    return low < start + PyArray_NBYTES(target) && start < high;
}

/* Fill in the work; whether the source lies across the target, or backwards. */
static int read_work(Work *work, PyArrayObject *target, PyArrayObject *source) {
    const int ndim = work->ndim = PyArray_NDIM(source), width = work->width = PyArray_ITEMSIZE(source);
    if (ndim < 1 || ndim > MOST_DIMS || (width != 4 && width != 8)) return 0;
    /* A complex number of 8 bytes may begin at any multiple of 4. */
    if (((uintptr_t)PyArray_DATA(source) | (uintptr_t)PyArray_DATA(target)) % (uintptr_t)width) return 0;
    work->along = -2;
    for (int dim = 0; dim < ndim; dim++) {
        work->shape[dim] = PyArray_DIM(source, dim);
        if (PyArray_STRIDE(source, dim) % width) return 0;
        work->steps[dim] = PyArray_STRIDE(source, dim) / width;
        work->to_steps[dim] = PyArray_STRIDE(target, dim) / width;
        if (dim < ndim - 1 && work->steps[dim] == 1 && work->shape[dim] > 1) work->along = dim;
    }
    if (work->steps[ndim - 1] == -1) work->along = -1;
    if (work->along == -2 || work->shape[ndim - 1] < TILE) return 0;
    if (work->along >= 0 && work->shape[work->along] < TILE) return 0;
    work->strips = work->along < 0 ? (work->shape[ndim - 1] + PIECE - 1) / PIECE
                                   : (work->shape[work->along] + STRIP - 1) / STRIP;
    work->outer = 1;
    for (int dim = 0; dim < ndim - 1; dim++)
        if (dim != work->along) work->outer *= work->shape[dim];
    return 1;
}

/* copy_across(target, source): copy into a row-major array of the same shape and dtype; True if it
 * was done. */
PyObject *taper_copy_across(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "copy_across(target, source)");
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1])) Py_RETURN_NONE;
    PyArrayObject *target = (PyArrayObject *)args[0], *source = (PyArrayObject *)args[1];
    if (PyArray_DESCR(target) != PyArray_DESCR(source) || !PyArray_ISCARRAY(target) ||
        !PyArray_ISBEHAVED_RO(source) || PyDataType_REFCHK(PyArray_DESCR(source)) ||
        !PyArray_SAMESHAPE(target, source) || PyArray_SIZE(source) == 0)
        Py_RETURN_NONE;
    if (overlap(source, target)) Py_RETURN_NONE;
    if (PyArray_IS_C_CONTIGUOUS(source)) {
        pool_copy(PyArray_DATA(target), PyArray_DATA(source), PyArray_NBYTES(source));
        Py_RETURN_TRUE;
    }
    Work work;
    if (!read_work(&work, target, source)) Py_RETURN_NONE;
    work.from = PyArray_BYTES(source);
    work.to = PyArray_BYTES(target);
    const npy_intp items = work.strips * work.outer, size = PyArray_SIZE(source);
    pool_compute(part, &work, items, ALONE / 4 / (size / items), size <= ALONE);
    Py_RETURN_TRUE;
}
