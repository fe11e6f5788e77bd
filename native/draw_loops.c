/* The loops of random draws, compiled for three levels of processor. */

#include <math.h>
#include <string.h>

#include "draw_loops.h"
#include "floats.h" /* of src/taper/program */

#define TWIST(this, next)                                                                 \
    ((((this) & 0x80000000u) | ((next) & 0x7fffffffu)) >> 1 ^ (-((next) & 1u) & 0x9908b0dfu))

/* A word as a number: processors convert signed ones. */
#define WIDENED(word) ((double)(int32_t)((word) ^ 0x80000000u) + 2147483648.0)

/* The low 24 bits of a word; the low 53 bits of two. */
#define UNIFORM24(word) ((float)(int32_t)((word) & 0xffffffu) * 5.9604644775390625e-8f)
#define UNIFORM53(high, low)                                                              \
    (((double)(int32_t)((high) & 0x1fffffu) * 4294967296.0 + WIDENED(low)) * 1.1102230246251565e-16)

/* Where the processor does not fuse: the product of two floats is exact in double precision. */
#if defined(__FP_FAST_FMAF)
#define FUSED32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FUSED32(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c)))
#endif
#define FUSED64(a, b, c) fma(a, b, c)
#define LEVEL(name) name##_plain
#include "draw_level.h"
#undef LEVEL
#undef FUSED32
#undef FUSED64

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)

#define FUSED32(a, b, c) __builtin_fmaf(a, b, c)
#define FUSED64(a, b, c) __builtin_fma(a, b, c)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define LEVEL(name) name##_avx2
#include "draw_level.h"
#undef LEVEL
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512dq,fma")
#define LEVEL(name) name##_avx512
#include "draw_level.h"
#pragma GCC pop_options

const DrawLoops *draw_loops(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return &loops_plain;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return &loops_avx512;
    return &loops_avx2;
}

#else

const DrawLoops *draw_loops(void) { return &loops_plain; }

#endif
