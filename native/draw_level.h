/* Loops of `draw_loops.h` for one level of processor; no guard: it is included for each level.
 *
 * LEVEL(name) is a name of the level; FUSED32 and FUSED64 multiply and add with one rounding.
 */

static void LEVEL(refill)(uint32_t *key) {
    const int distance = 397, rest = KEY_WORDS - distance;
    for (int k = 0; k < rest; k++) key[k] = key[k + distance] ^ TWIST(key[k], key[k + 1]);
    for (int k = rest; k < KEY_WORDS - 1; k++) key[k] = key[k - rest] ^ TWIST(key[k], key[k + 1]);
    key[KEY_WORDS - 1] = key[distance - 1] ^ TWIST(key[KEY_WORDS - 1], key[0]);
}

static void LEVEL(temper)(const uint32_t *key, uint32_t *restrict to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        uint32_t word = key[i];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680u;
        word ^= (word << 15) & 0xefc60000u;
        to[i] = word ^ (word >> 18);
    }
}

static void LEVEL(uniform_float)(const uint32_t *words, float *restrict to, npy_intp count,
                                 float low, float high) {
    const float range = high - low;
    if (low == 0 && high == 1) {
        for (npy_intp i = 0; i < count; i++) to[i] = UNIFORM24(words[i]);
        return;
    }
    for (npy_intp i = 0; i < count; i++) {
        float value = FUSED32(UNIFORM24(words[i]), range, low);
        to[i] = value == high ? low : value; /* rounding can reach the bound that is excluded */
    }
}

static void LEVEL(uniform_double)(const uint32_t *words, double *restrict to, npy_intp count,
                                  double low, double high) {
    const double range = high - low;
    if (low == 0 && high == 1) {
        for (npy_intp i = 0; i < count; i++) to[i] = UNIFORM53(words[2 * i], words[2 * i + 1]);
        return;
    }
    for (npy_intp i = 0; i < count; i++) {
        double value = FUSED64(UNIFORM53(words[2 * i], words[2 * i + 1]), range, low);
        to[i] = value == high ? low : value;
    }
}

/* The polynomials of `sampling/normals.py`, in the same order.  Against float64 the logarithm of a
 * number in (0, 1] is off by at most 1 unit in the last place; sine and cosine of an angle in
 * [0, 2 pi] by at most 1.5, and near their zeros by 1e-7 of 1. */
static inline float LEVEL(log32)(float x) {
    const int32_t bits = (int32_t)bits_of(x);
    const float mantissa = float_of(((uint32_t)bits & 0x7fffffu) | 0x3f000000u); /* in [0.5, 1) */
    const int32_t small = mantissa < 0.70710678118654752f;
    const float exponent = (float)((bits >> 23) - 126 - small);
    x = (mantissa - 1.0f) + (small ? mantissa : 0.0f);
    const float square = x * x;
    float y = 7.0376836292e-2f;
    y = FUSED32(y, x, -1.1514610310e-1f);
    y = FUSED32(y, x, 1.1676998740e-1f);
    y = FUSED32(y, x, -1.2420140846e-1f);
    y = FUSED32(y, x, 1.4249322787e-1f);
    y = FUSED32(y, x, -1.6668057665e-1f);
    y = FUSED32(y, x, 2.0000714765e-1f);
    y = FUSED32(y, x, -2.4999993993e-1f);
    y = FUSED32(y, x, 3.3333331174e-1f);
    y = y * x;
    y = FUSED32(y, square, exponent * -2.12194440e-4f);
    y = FUSED32(square, -0.5f, y);
    return FUSED32(exponent, 0.693359375f, x + y);
}

static inline void LEVEL(sincos32)(float angle, float *sine, float *cosine) {
    const int32_t octant = ((int32_t)(angle * 1.27323954473516268615f) + 1) & ~1;
    const float distance = (float)octant;
    angle = FUSED32(distance, -0.78515625f, angle);
    angle = FUSED32(distance, -2.4187564849853515625e-4f, angle);
    angle = FUSED32(distance, -3.77489497744594e-8f, angle);
    const float square = angle * angle;
    float c = FUSED32(2.443315711809948e-5f, square, -1.388731625493765e-3f);
    c = FUSED32(c, square, 4.1666645683e-2f) * square;
    c = FUSED32(c, square, -(square * 0.5f)) + 1.0f;
    float s = FUSED32(-1.9515295891e-4f, square, 8.3321608736e-3f);
    s = FUSED32(s, square, -1.6666654611e-1f) * square;
    s = FUSED32(s, angle, angle);
    /* Exchange the two in every second quadrant, then the signs, all without a branch. */
    const uint32_t exchanged = (bits_of(s) ^ bits_of(c)) & -((uint32_t)octant >> 1 & 1);
    *sine = float_of(bits_of(s) ^ exchanged ^ (((uint32_t)octant & 4) << 29));
    *cosine = float_of(bits_of(c) ^ exchanged ^ (((uint32_t)(octant + 2) & 4) << 29));
}

/* Halves of groups are put side by side first: long loops use registers of any width. */
static void LEVEL(normal_float)(float *values, npy_intp groups, float mean, float std) {
    enum { TOGETHER = 32, HALF = GROUP / 2 };
    uint32_t first[TOGETHER * HALF], second[TOGETHER * HALF];
    float cosines[TOGETHER * HALF], sines[TOGETHER * HALF];
    for (npy_intp start = 0; start < groups; start += TOGETHER) {
        const npy_intp some = groups - start < TOGETHER ? groups - start : TOGETHER;
        float *at = values + start * GROUP;
        for (npy_intp k = 0; k < some; k++) {
            memcpy(first + k * HALF, at + k * GROUP, sizeof(float) * HALF);
            memcpy(second + k * HALF, at + k * GROUP + HALF, sizeof(float) * HALF);
        }
        for (npy_intp i = 0; i < some * HALF; i++) {
            const float radius = sqrtf(-2.0f * LEVEL(log32)(1.0f - UNIFORM24(first[i])));
            float sine, cosine;
            LEVEL(sincos32)(6.28318530717958647692f * UNIFORM24(second[i]), &sine, &cosine);
            cosines[i] = FUSED32(radius * cosine, std, mean);
            sines[i] = FUSED32(radius * sine, std, mean);
        }
        for (npy_intp k = 0; k < some; k++) {
            memcpy(at + k * GROUP, cosines + k * HALF, sizeof(float) * HALF);
            memcpy(at + k * GROUP + HALF, sines + k * HALF, sizeof(float) * HALF);
        }
    }
}

/* Numbers of 53 bits are compared by their halves: all lanes have 32 bits. */
#undef TRIALS
#define TRIALS(TYPE)                                                                      \
    for (npy_intp i = 0; i < count; i++) {                                                \
        const uint32_t upper = words[2 * i] & 0x1fffffu, lower = words[2 * i + 1];        \
        const int below = (upper < high) | ((upper == high) & (lower < low));             \
        ((TYPE *)to)[i] = below ? (TYPE)value : 0;                                        \
    }

static void LEVEL(trials)(const uint32_t *words, void *restrict to, npy_intp count, int power,
                          uint64_t limit, uint64_t value) {
    const uint32_t high = (uint32_t)(limit >> 32), low = (uint32_t)limit;
    if (power == 0) TRIALS(uint8_t)
    else if (power == 1) TRIALS(uint16_t)
    else if (power == 2) TRIALS(uint32_t)
    else TRIALS(uint64_t)
}

/* The reciprocal is larger than 1 / span by more than a rounding of the product, and by so little
 * that no product reaches the next integer: quotients are exact. */
static void LEVEL(remainders)(uint32_t *words, npy_intp count, uint32_t span) {
    if ((span & (span - 1)) == 0) {
        for (npy_intp i = 0; i < count; i++) words[i] &= span - 1;
        return;
    }
    const double reciprocal = 1.0 / span * (1.0 + 4.440892098500626e-16);
    for (npy_intp i = 0; i < count; i++)
        words[i] -= (uint32_t)(int32_t)(WIDENED(words[i]) * reciprocal) * span;
}

/* Rounded in double precision, a quotient of two words never reaches the next integer. */
static void LEVEL(falling_remainders)(uint32_t *words, npy_intp count, uint32_t last) {
    for (npy_intp i = 0; i < count; i++) {
        const uint32_t divisor = last - (uint32_t)i;
        words[i] -= (uint32_t)(int32_t)(WIDENED(words[i]) / WIDENED(divisor)) * divisor;
    }
}

static const DrawLoops LEVEL(loops) = {
    LEVEL(refill),       LEVEL(temper), LEVEL(uniform_float), LEVEL(uniform_double),
    LEVEL(normal_float), LEVEL(trials), LEVEL(remainders),    LEVEL(falling_remainders),
};
