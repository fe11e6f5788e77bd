/* exp, log, tanh, the logistic function and gelu of floats, for loops that the compiler vectorises.
 *
 * No branches and no tables: every function is a polynomial on a reduced argument.  The errors, in
 * units in the last place, are measured by tests/test_curves.py.  Double precision is left to NumPy.
 * The kernels in native/ include this file, and `text` puts it before the loops that it writes.
 */

#ifndef TAPER_FLOATS_H
#define TAPER_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^n for n from -126 to 127; anything for others, so that the argument may come from a NaN. */
INLINE float power_of_two(int32_t n) { return float_of((uint32_t)(n + 127) << 23); }

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
    *shifted = (int32_t)bits_of(sum);
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

/* exp in two thirds of the time: results below 1.7e-38 are zero, 1e-7 is the largest error. */
INLINE float exp_quickly(float x) {
    int32_t shifted;
    const float rest = exp_of_rest(x, &shifted);
    const float p = float_of(bits_of(rest) + ((uint32_t)shifted << 23));
    return x > 88.0f ? INFINITY : x < -87.0f ? 0.0f : p;
}

/* Up to 2 ulp. */
INLINE float log_float(float x) {
    const int tiny = x < 1.17549435e-38f;
    const float scaled = tiny ? x * 8388608.0f : x;
    /* The mantissa is between sqrt(1/2) and sqrt(2); unsigned, since -0.0 goes beyond the end. */
    const int32_t bits = (int32_t)(bits_of(scaled) - 0x3f3504f3u);
    const float n = (float)((bits >> 23) - (tiny ? 23 : 0));
    const float t = float_of(((uint32_t)bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
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

/* tanh of x from `power`, e^2|x|, for which the quick exp is exact enough.  Up to 2 ulp. */
INLINE float tanh_from(float x, float power) {
    const float size = fabsf(x), z = x * x;
    float p = 0.00226950162f;
    p = p * z - 0.00832318698f;
    p = p * z + 0.0217625029f;
    p = p * z - 0.0539584616f;
    p = p * z + 0.133333001f;
    p = p * z - 0.333333331f;
    const float small = x + x * z * p;
    const float large = 1.0f - 2.0f / (power + 1.0f);
    return size < 0.63f ? small : copysignf(large, x);
}

INLINE float tanh_float(float x) { return tanh_from(x, exp_float(fabsf(x) + fabsf(x))); }
INLINE float tanh_quickly(float x) { return tanh_from(x, exp_quickly(fabsf(x) + fabsf(x))); }
INLINE float logistic_float(float x) { return 1.0f / (1.0f + exp_float(-x)); }
INLINE float logistic_quickly(float x) { return 1.0f / (1.0f + exp_quickly(-x)); }

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

#define ROOT_HALF 0.70710678118654752f
#define NORMAL_DENSITY 0.39894228040143268f /* the density of the normal distribution at zero */

/* The part of the normal distribution below x. */
INLINE float normal_share(float x) { return (1.0f + erf_roughly_float(x * ROOT_HALF)) * 0.5f; }
INLINE float gelu_float(float x) { return x * normal_share(x); }
INLINE float gelu_slope_float(float x) {
    return normal_share(x) + x * (exp_quickly(x * x * -0.5f) * NORMAL_DENSITY);
}

#endif
