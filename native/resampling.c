/* A sparse linear map along one dimension of an array: interpolation, adaptive averages, and their gradients.
 *
 * Twin: `Resampling.apply` of `arrays/resampling.py`, tap by tap.  Here the sources of each target are added up at
 * once, in the same order and so with the same bits.
 */

#include "floats.h" /* of src/taper/program: INLINE */
#include "pool.h"

#define CHUNK 16384 /* elements of the result that a thread takes at a time */
#define ABREAST 4   /* rows that share the look at places and weights */

/* Target t is the sum over k from starts[t] up to starts[t + 1] of weights[k] times the source places[k]. */
typedef struct {
    const void *from, *weights;
    void *to;
    const npy_int64 *starts;
    const npy_int32 *places;
    npy_intp targets, sources, inner;
} Map;

/* The items are targets, each of `inner` elements side by side. */
#define SPANS(NAME, T)                                                                                                \
    WIDE static void NAME(void *context, npy_intp start, npy_intp stop) {                                             \
        const Map *map = context;                                                                                     \
        const npy_intp inner = map->inner;                                                                            \
        const T *weights = map->weights;                                                                              \
        for (npy_intp item = start; item < stop; item++) {                                                            \
            const npy_intp target = item % map->targets, last = map->starts[target + 1];                              \
            const T *from = (const T *)map->from + item / map->targets * map->sources * inner;                        \
            T *restrict to = (T *)map->to + item * inner;                                                             \
            npy_intp k = map->starts[target];                                                                         \
            if (k == last) memset(to, 0, (size_t)inner * sizeof(T));                                                  \
            if (last - k >= 2) {                                                                                      \
                const T *one = from + map->places[k] * inner, *two = from + map->places[k + 1] * inner;               \
                const T first = weights[k], second = weights[k + 1];                                                  \
                for (npy_intp i = 0; i < inner; i++) to[i] = one[i] * first + two[i] * second;                        \
                k += 2;                                                                                               \
            } else if (last - k == 1) {                                                                               \
                const T *one = from + map->places[k] * inner, first = weights[k];                                     \
                for (npy_intp i = 0; i < inner; i++) to[i] = one[i] * first;                                          \
                k++;                                                                                                  \
            }                                                                                                         \
            for (; k < last; k++) {                                                                                   \
                const T *one = from + map->places[k] * inner, first = weights[k];                                     \
                for (npy_intp i = 0; i < inner; i++) to[i] += one[i] * first;                                         \
            }                                                                                                         \
        }                                                                                                             \
    }

/* The items are rows of single elements; `count`, a constant, of them at once. */
#define ROWS(NAME, T)                                                                                                 \
    INLINE void some_##NAME(const Map *map, npy_intp row, const npy_intp count) {                                     \
        const npy_intp sources = map->sources, targets = map->targets;                                                \
        const T *weights = map->weights, *from = (const T *)map->from + row * sources;                                \
        T *to = (T *)map->to + row * targets;                                                                         \
        for (npy_intp target = 0; target < targets; target++) {                                                       \
            npy_intp k = map->starts[target];                                                                         \
            const npy_intp last = map->starts[target + 1];                                                            \
            T sums[ABREAST] = {0};                                                                                    \
            if (k < last)                                                                                             \
                for (npy_intp nr = 0; nr < count; nr++) sums[nr] = from[nr * sources + map->places[k]] * weights[k];  \
            for (k++; k < last; k++)                                                                                  \
                for (npy_intp nr = 0; nr < count; nr++) sums[nr] += from[nr * sources + map->places[k]] * weights[k]; \
            for (npy_intp nr = 0; nr < count; nr++) to[nr * targets + target] = sums[nr];                             \
        }                                                                                                             \
    }                                                                                                                 \
    WIDE static void NAME(void *context, npy_intp start, npy_intp stop) {                                             \
        for (; stop - start >= ABREAST; start += ABREAST) some_##NAME(context, start, ABREAST);                       \
        for (; start < stop; start++) some_##NAME(context, start, 1);                                                 \
    }

SPANS(float_spans, float)
SPANS(double_spans, double)
ROWS(float_rows, float)
ROWS(double_rows, double)

/* Whether a map leads from sources that there are, in pieces that follow each other. */
static int is_sound(PyArrayObject *starts, PyArrayObject *places, PyArrayObject *weights, npy_intp sources) {
    const npy_intp count = PyArray_SIZE(places), targets = PyArray_SIZE(starts) - 1;
    const npy_int64 *begins = PyArray_DATA(starts);
    const npy_int32 *all = PyArray_DATA(places);
    if (targets < 0 || PyArray_SIZE(weights) != count || begins[0] != 0 || begins[targets] != count) return 0;
    for (npy_intp nr = 0; nr < targets; nr++)
        if (begins[nr] > begins[nr + 1]) return 0;
    for (npy_intp k = 0; k < count; k++)
        if (all[k] < 0 || all[k] >= sources) return 0;
    return 1;
}

/* The array of the result's shape; NULL with an error. */
static PyArrayObject *new_result(PyArrayObject *array, int axis, npy_intp targets) {
    npy_intp shape[NPY_MAXDIMS];
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) shape[dim] = PyArray_DIM(array, dim);
    shape[axis] = targets;
    return (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(array), shape, PyArray_TYPE(array));
}

/* resample(array, axis, starts, places, weights): a new array, or None if the operands are not row-major floats or
 * doubles with weights of the same type. */
PyObject *taper_resample(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "resample(array, axis, starts, places, weights)");
    PyArrayObject *array = plain_array(args[0], REAL), *starts = plain_array(args[2], NPY_INT64);
    PyArrayObject *places = plain_array(args[3], NPY_INT32);
    PyArrayObject *weights = array == NULL ? NULL : plain_array(args[4], PyArray_TYPE(array));
    const long axis = PyLong_AsLong(args[1]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    if (starts == NULL || places == NULL || weights == NULL || axis < 0 || axis >= PyArray_NDIM(array)) Py_RETURN_NONE;
    const npy_intp sources = PyArray_DIM(array, (int)axis), targets = PyArray_SIZE(starts) - 1;
    if (!is_sound(starts, places, weights, sources))
        return PyErr_Format(PyExc_ValueError, "resample: a map from sources that are not there");
    npy_intp outer = 1, inner = 1;
    for (int dim = 0; dim < axis; dim++) outer *= PyArray_DIM(array, dim);
    for (int dim = (int)axis + 1; dim < PyArray_NDIM(array); dim++) inner *= PyArray_DIM(array, dim);
    PyArrayObject *result = new_result(array, (int)axis, targets);
    if (result == NULL) return NULL;
    Map map = {PyArray_DATA(array), PyArray_DATA(weights), PyArray_DATA(result), PyArray_DATA(starts),
               PyArray_DATA(places), targets, sources, inner};
    const int is_float = PyArray_TYPE(array) == NPY_FLOAT;
    const npy_intp size = PyArray_SIZE(result), items = inner > 1 ? outer * targets : outer;
    const Part part = inner > 1 ? (is_float ? float_spans : double_spans) : (is_float ? float_rows : double_rows);
    if (size) {
        const npy_intp each = inner > 1 ? inner : targets;
        const npy_intp grain = each >= CHUNK ? 1 : (CHUNK / each + ABREAST - 1) / ABREAST * ABREAST;
        pool_compute(part, &map, items, grain, size <= CHUNK);
    }
    return (PyObject *)result;
}
