/* How loops over the functions of floats.h are compiled, and erf, which no loop of a program needs. */

#ifndef TAPER_CURVES_H
#define TAPER_CURVES_H

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

#include "floats.h" /* of src/taper/program */

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

#endif
