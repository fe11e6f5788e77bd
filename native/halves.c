/* float16 and bfloat16 from and to float32, on all threads; the twin is `astype`, which takes ten times as long. */

#include <stdint.h>

#include "floats.h" /* of src/taper/program */
#include "native.h"
#include "pool.h"

#define GRAIN 32768 /* elements that one thread converts at once */

typedef struct {
    const void *from;
    void *to;
} Work;

/* One of two, without a jump: so the loops below become vectors. */
static inline uint32_t chosen(int condition, uint32_t one, uint32_t other) {
    const uint32_t mask = -(uint32_t)condition;
    return (one & mask) | (other & ~mask);
}

/* Small numbers are moved to where the last bit of a float is theirs, and back: no float is ever so small that a
 * processor might take it for zero (`set_flush_denormal`). */
#define LEAST_HALF (113u << 23) /* the smallest float16 that is no small number, as a float */

WIDE static void half_to_single(void *context, npy_intp start, npy_intp stop) {
    const uint16_t *restrict from = ((const Work *)context)->from;
    float *restrict to = ((const Work *)context)->to;
    for (npy_intp i = start; i < stop; i++) {
        const uint32_t size = from[i] & 0x7fffu, sign = (uint32_t)(from[i] & 0x8000u) << 16;
        const uint32_t small = bits_of(float_of(LEAST_HALF + (size << 13)) - float_of(LEAST_HALF));
        const uint32_t strange = (size << 13) | 0x7f800000u, normal = (size << 13) + (112u << 23);
        to[i] = float_of(sign | chosen(size < 0x400u, small, chosen(size >= 0x7c00u, strange, normal)));
    }
}

WIDE static void single_to_half(void *context, npy_intp start, npy_intp stop) {
    const float *restrict from = ((const Work *)context)->from;
    uint16_t *restrict to = ((const Work *)context)->to;
    const uint32_t last_bit = 126u << 23; /* 0.5: the last bit of a float is that of the smallest float16 */
    for (npy_intp i = start; i < stop; i++) {
        const uint32_t bits = bits_of(from[i]), size = bits & 0x7fffffffu;
        const uint32_t least = chosen(size < LEAST_HALF, size, 0);
        const uint32_t small = bits_of(float_of(least) + float_of(last_bit)) - last_bit;
        const uint32_t normal = (size - (112u << 23) + 0xfffu + ((size >> 13) & 1)) >> 13; /* to the nearest, even */
        const uint32_t strange = chosen(size > 0x7f800000u, 0x7e00u, 0x7c00u);
        const uint32_t found = chosen(size < LEAST_HALF, small, chosen(size >= (143u << 23), strange, normal));
        to[i] = (uint16_t)(found | (bits >> 16 & 0x8000u));
    }
}

/* Nearly all processors have instructions for it: a million elements 0.25 to 0.04 ms. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static void half_to_single_at_once(void *context, npy_intp start, npy_intp stop) {
    const uint16_t *from = ((const Work *)context)->from;
    float *to = ((const Work *)context)->to;
    for (; start + 8 <= stop; start += 8)
        _mm256_storeu_ps(to + start, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + start))));
    half_to_single(context, start, stop);
}

__attribute__((target("avx,f16c"))) static void single_to_half_at_once(void *context, npy_intp start, npy_intp stop) {
    const float *from = ((const Work *)context)->from;
    uint16_t *to = ((const Work *)context)->to;
    for (; start + 8 <= stop; start += 8)
        _mm_storeu_si128((__m128i *)(to + start),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + start), _MM_FROUND_TO_NEAREST_INT));
    single_to_half(context, start, stop);
}

static Part quickest(Part part) {
    if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("f16c")) return part;
    return part == half_to_single ? half_to_single_at_once : part == single_to_half ? single_to_half_at_once : part;
}
#else
static Part quickest(Part part) { return part; }
#endif

WIDE static void bfloat_to_single(void *context, npy_intp start, npy_intp stop) {
    const uint16_t *restrict from = ((const Work *)context)->from;
    float *restrict to = ((const Work *)context)->to;
    for (npy_intp i = start; i < stop; i++) to[i] = float_of((uint32_t)from[i] << 16);
}

WIDE static void single_to_bfloat(void *context, npy_intp start, npy_intp stop) {
    const float *restrict from = ((const Work *)context)->from;
    uint16_t *restrict to = ((const Work *)context)->to;
    for (npy_intp i = start; i < stop; i++) {
        const uint32_t bits = bits_of(from[i]), even = bits >> 16 & 1;
        const uint32_t nearest = (bits + 0x7fffu + even) >> 16, strange = (bits >> 16 & 0x8000u) | 0x7fc0u;
        to[i] = (uint16_t)chosen((bits & 0x7fffffffu) > 0x7f800000u, strange, nearest);
    }
}

/* cast_half(array, dtype, bfloat16): a row-major array of float32 in float16 or bfloat16, or the other way round, as a
 * new array; None if it is anything else. */
PyObject *taper_cast_half(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyArray_DescrCheck(args[1]) || !PyArray_DescrCheck(args[2]))
        return PyErr_Format(PyExc_TypeError, "cast_half(array, dtype, bfloat16)");
    PyArrayObject *array = plain_array(args[0], ANY_TYPE);
    PyArray_Descr *dtype = (PyArray_Descr *)args[1];
    const int bfloat = ((PyArray_Descr *)args[2])->type_num;
    if (array == NULL || !PyDataType_ISNOTSWAPPED(dtype)) Py_RETURN_NONE;
    const int from = PyArray_TYPE(array), to = dtype->type_num;
    const Part part = from == NPY_HALF && to == NPY_FLOAT   ? half_to_single
                      : from == NPY_FLOAT && to == NPY_HALF ? single_to_half
                      : from == bfloat && to == NPY_FLOAT   ? bfloat_to_single
                      : from == NPY_FLOAT && to == bfloat   ? single_to_bfloat
                                                            : NULL;
    if (part == NULL) Py_RETURN_NONE;
    Py_INCREF(dtype);
    PyObject *made = PyArray_Empty(PyArray_NDIM(array), PyArray_DIMS(array), dtype, 0);
    if (made == NULL) return NULL;
    Work work = {PyArray_DATA(array), PyArray_DATA((PyArrayObject *)made)};
    const npy_intp size = PyArray_SIZE(array);
    pool_compute(quickest(part), &work, size, GRAIN, size <= GRAIN);
    return made;
}
