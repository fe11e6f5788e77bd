/* exp, log, tanh, erf and what is made of them, for loops that the compiler vectorises.
 *
 * Single precision: no branches and no tables, every function is a polynomial on a reduced argument.
 * The errors, in units in the last place, are measured by tests/test_curves.py.  Double precision
 * is left to NumPy.
 */

#ifndef TAPER_CURVES_H
#define TAPER_CURVES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "native.h"

/* Kernels that include this file promise a few units in the last place, not bits: products and sums
 * may be computed as one operation where the processor has it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=fast")
#endif
#if !defined(TAPER_ONE_FORM) && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && \
    __GNUC__ >= 12
#define FAST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FAST WIDE
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE int32_t bits_of(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^n for n from -126 to 127; anything for others, so that the argument may come from a NaN. */
INLINE float power_of_two(int32_t n) { return float_of((int32_t)((uint32_t)(n + 127) << 23)); }

/* e^r with x = n log 2 + r, and the bits of a float whose last ones are n. */
INLINE float exp_of_rest(float x, int32_t *shifted) {
    const float sum = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to a whole number */
    const float n = sum - 12582912.0f;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 0.00139261836f;
    p = p * r + 0.00836317905f;
    p = p * r + 0.0416665546f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    *shifted = bits_of(sum);
    return p * (r * r) + r + 1.0f;
}

/* 2^n e^r with x = n log 2 + r; the power in two factors, so that results near 0 and infinity are
 * rounded once.  Comparisons are written so that a NaN stays one.  Up to 1.1 ulp. */
INLINE float exp_float(float x) {
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    int32_t shifted;
    const float rest = exp_of_rest(x, &shifted);
    const int32_t power = shifted - 0x4b400000, half = power >> 1;
    return rest * power_of_two(half) * power_of_two(power - half);
}

/* Up to 2 ulp. */
INLINE float log_float(float x) {
    const int tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 8388608.0f : x;
    int32_t bits = bits_of(scaled) - 0x3f3504f3; /* the mantissa is between sqrt(1/2) and sqrt(2) */
    const float n = (float)((bits >> 23) - (tiny ? 23 : 0));
    const float t = float_of((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float p = 0.0697161168f;
    p = p * t - 0.11479734f;
    p = p * t + 0.116854199f;
    p = p * t - 0.124256873f;
    p = p * t + 0.142490576f;
    p = p * t - 0.166678023f;
    p = p * t + 0.200007157f;
    p = p * t - 0.24999997f;
    p = p * t + 0.333333312f;
    const float square = t * t;
    float result = p * t * square + n * -2.12194440e-4f - 0.5f * square + t + n * 0.693359375f;
    result = x == 0.0f ? -INFINITY : result;
    result = x < 0.0f || x != x ? NAN : result;
    return x == INFINITY ? x : result;
}

/* Up to 2 ulp. */
INLINE float tanh_float(float x) {
    const float size = fabsf(x), z = x * x;
    float p = 0.00226950162f;
    p = p * z - 0.00832318698f;
    p = p * z + 0.0217625029f;
    p = p * z - 0.0539584616f;
    p = p * z + 0.133333001f;
    p = p * z - 0.333333331f;
    const float small = x + x * z * p;
    const float large = 1.0f - 2.0f / (exp_float(size + size) + 1.0f);
    return size < 0.63f ? small : copysignf(large, x);
}

/* The polynomials of `arrays/special_functions.py`. */
INLINE float erf_float(float x) {
    const float size = fabsf(x), z = x * x;
    float p = -0.0006102687f;
    p = p * z + 0.0050144843f;
    p = p * z - 0.026780719f;
    p = p * z + 0.112821944f;
    p = p * z - 0.37612528f;
    p = p * z + 1.1283791f;
    const float small = p * x, bounded = size > 3.95f ? 3.95f : size;
    float q = -1.425246e-05f;
    q = q * bounded + 0.00033410318f;
    q = q * bounded - 0.0035578043f;
    q = q * bounded + 0.023099454f;
    q = q * bounded - 0.10441488f;
    q = q * bounded - 0.6376348f;
    q = q * bounded - 1.1269656f;
    q = q * bounded - 0.0004513152f;
    return size < 0.9f ? small : copysignf(1.0f - exp_float(q), x);
}

/* One division instead of an exponential, for `gelu`: up to 4e-7 off. */
INLINE float erf_roughly_float(float x) {
    float bounded = x > 3.95f ? 3.95f : x;
    bounded = bounded < -3.95f ? -3.95f : bounded;
    const float z = bounded * bounded;
    float p = 2.02591738e-06f, q = 3.78317919e-05f;
    p = p * z + 0.000284685737f;
    q = q * z + 0.00117070712f;
    p = p * z + 0.00380808761f;
    q = q * z + 0.0150549433f;
    p = p * z + 0.0528752209f;
    q = q * z + 0.114558928f;
    p = p * z + 0.191548639f;
    q = q * z + 0.503088237f;
    p = p * z + 1.12837914f;
    q = q * z + 1.0f;
    const float result = bounded * p / q, low = result > 1.0f ? 1.0f : result;
    return low < -1.0f ? -1.0f : low;
}

INLINE float logistic_float(float x) { return 1.0f / (1.0f + exp_float(-x)); }

#endif
