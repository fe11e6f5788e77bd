/* Sums, products and extremes of rows of floats, sixteen numbers at a time.
 *
 * A row is added in blocks: sixteen partial sums of a block in single precision, blocks in double.
 * So the sum of a row does not depend on the processor or on what stands beside the row, and is as
 * exact as one by pairs.
 */

#ifndef TAPER_LANES_H
#define TAPER_LANES_H

#include "curves.h"

#define LANES 16
#define BLOCK 2048 /* elements that are added in single precision */

typedef float Lanes __attribute__((vector_size(64)));
typedef int32_t Bits __attribute__((vector_size(64)));
typedef float LooseLanes __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t LooseBits __attribute__((vector_size(64), aligned(4), may_alias));

/* From element k on: k lanes that are cut off, then lanes that are kept. */
static const int32_t kept_lanes[2 * LANES] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
};

INLINE Lanes lanes_at(const float *from) { return *(const LooseLanes *)from; }

/* Zeros, but the last `rest` lanes as they are. */
INLINE Lanes keep_last(Lanes lanes, npy_intp rest) {
    return (Lanes)((Bits)lanes & *(const LooseBits *)(kept_lanes + rest));
}

/* The last `rest` of `count` elements, below LANES of them, behind zeros. */
INLINE Lanes last_lanes(const float *from, npy_intp count, npy_intp rest) {
    if (count >= LANES) return keep_last(lanes_at(from + count - LANES), rest);
    float padded[LANES] = {0};
    for (npy_intp i = 0; i < rest; i++) padded[LANES - rest + i] = from[count - rest + i];
    return lanes_at(padded);
}

/* Lane i + k at the place of lane i, around the end. */
#if defined(__clang__)
#define ROLL(lanes, k)                                                                             \
    __builtin_shufflevector(lanes, lanes, k, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8, \
                            k + 9, k + 10, k + 11, k + 12, k + 13, k + 14, k + 15)
#else
#define ROLL(lanes, k)                                                                          \
    __builtin_shuffle(lanes, (Bits){k, k + 1, k + 2, k + 3, k + 4, k + 5, k + 6, k + 7, k + 8,  \
                                    k + 9, k + 10, k + 11, k + 12, k + 13, k + 14, k + 15})
#endif

/* Put all lanes together two by two: the first has the result. */
#define FOLD(lanes, BOTH)                \
    lanes = BOTH(ROLL(lanes, 8), lanes); \
    lanes = BOTH(ROLL(lanes, 4), lanes); \
    lanes = BOTH(ROLL(lanes, 2), lanes); \
    lanes = BOTH(ROLL(lanes, 1), lanes)
#define SUM_OF_TWO(one, other) ((one) + (other))

INLINE float sum_of_lanes(Lanes lanes) {
    FOLD(lanes, SUM_OF_TWO);
    return lanes[0];
}

INLINE Lanes square_of_lanes(Lanes lanes) { return lanes * lanes; }

INLINE Lanes larger_lanes(Lanes first, Lanes second) {
    const Bits mask = first > second;
    return (Lanes)(((Bits)first & mask) | ((Bits)second & ~mask));
}

/* The largest element of a row; NaN does not count. */
INLINE float largest_of(const float *row, npy_intp length) {
    float largest = -INFINITY;
    if (length < LANES) {
        for (npy_intp i = 0; i < length; i++) largest = row[i] > largest ? row[i] : largest;
        return largest;
    }
    Lanes first = lanes_at(row + length - LANES), second = first;
    npy_intp i = 0;
    for (; i + 2 * LANES <= length; i += 2 * LANES) {
        first = larger_lanes(lanes_at(row + i), first);
        second = larger_lanes(lanes_at(row + i + LANES), second);
    }
    if (i + LANES <= length) first = larger_lanes(lanes_at(row + i), first);
    first = larger_lanes(first, second);
    FOLD(first, larger_lanes);
    return first[0];
}

/* The sum over a row of TERM, lanes read by AT or, at the end, by LAST. */
#define ADD_ROW(TERM)                                                                          \
    do {                                                                                       \
        double total = 0;                                                                      \
        for (npy_intp start = 0; start < length; start += BLOCK) {                             \
            const npy_intp stop = length - start < BLOCK ? length : start + BLOCK;             \
            Lanes one = {0}, two = {0}, three = {0}, four = {0};                               \
            npy_intp i = start;                                                                \
            for (; i + 4 * LANES <= stop; i += 4 * LANES) {                                    \
                one += TERM(AT, i);                                                            \
                two += TERM(AT, i + LANES);                                                    \
                three += TERM(AT, i + 2 * LANES);                                              \
                four += TERM(AT, i + 3 * LANES);                                               \
            }                                                                                  \
            for (; i + LANES <= stop; i += LANES) one += TERM(AT, i);                          \
            if (i < stop) two += TERM(LAST, stop - i);                                         \
            total += sum_of_lanes((one + two) + (three + four));                               \
        }                                                                                      \
        return total;                                                                          \
    } while (0)
#define AT(row, i) lanes_at((row) + (i))
#define LAST(row, rest) last_lanes(row, length, rest)

INLINE double sum_of(const float *row, npy_intp length) {
#define PLAIN(READ, i) READ(row, i)
    ADD_ROW(PLAIN);
#undef PLAIN
}

/* The sum of the products of two rows. */
INLINE double dot_of(const float *row, const float *other, npy_intp length) {
#define PRODUCT(READ, i) (READ(row, i) * READ(other, i))
    ADD_ROW(PRODUCT);
#undef PRODUCT
}

/* The sum of the squares of a row less its mean. */
INLINE double squares_of(const float *row, float mean, npy_intp length) {
#define CENTRED(READ, i) square_of_lanes(WHOLE_##READ(READ(row, i) - mean, i))
#define WHOLE_AT(lanes, i) (lanes)
#define WHOLE_LAST(lanes, rest) keep_last(lanes, rest)
    ADD_ROW(CENTRED);
#undef CENTRED
}

/* The sum of the products of a row and another less its mean. */
INLINE double dot_with_centred(const float *row, const float *other, float mean, npy_intp length) {
#define PRODUCT(READ, i) (READ(row, i) * (READ(other, i) - mean))
    ADD_ROW(PRODUCT);
#undef PRODUCT
}

/* --- columns ------------------------------------------------------------------------------------ */

#define TURN 32   /* rows that are added in single precision before their sum is */
#define STRIP 256 /* columns of a strip at most */

/* How many columns a strip has: fewer where there would not be one for each of several threads. */
static inline npy_intp strip_of(npy_intp columns) {
    return columns < 2 * STRIP ? STRIP / 4 : STRIP;
}

INLINE void turn_over(float *partial, double *totals, npy_intp width) {
    for (npy_intp i = 0; i < width; i++) {
        totals[i] += partial[i];
        partial[i] = 0;
    }
}

/* Add the columns of `x`, or of their squared distances from the means, four rows at a time. */
INLINE void add_columns(const float *restrict x, const float *restrict mean, int squared,
                        npy_intp rows, npy_intp step, npy_intp width, double *restrict totals) {
    float partial[STRIP] = {0};
    for (npy_intp i = 0; i < width; i++) totals[i] = 0;
    for (npy_intp row = 0; row < rows; row += 4) {
        const float *restrict one = x + row * step, *restrict two = one + step;
        const float *restrict three = two + step, *restrict four = three + step;
        if (rows - row < 4) { /* the last rows, one by one */
            for (npy_intp k = 0; k < rows - row; k++, one += step)
                for (npy_intp i = 0; i < width; i++) {
                    const float value = squared ? one[i] - mean[i] : one[i];
                    partial[i] += squared ? value * value : value;
                }
        } else if (squared) {
            for (npy_intp i = 0; i < width; i++) {
                const float a = one[i] - mean[i], b = two[i] - mean[i];
                const float c = three[i] - mean[i], d = four[i] - mean[i];
                partial[i] += (a * a + b * b) + (c * c + d * d);
            }
        } else {
            for (npy_intp i = 0; i < width; i++)
                partial[i] += (one[i] + two[i]) + (three[i] + four[i]);
        }
        if ((row + 4) % TURN == 0 || row + 4 >= rows) turn_over(partial, totals, width);
    }
}

/* --- arguments ---------------------------------------------------------------------------------- */

/* Read arguments one after the other: after an error nothing of Python's is called any more. */
INLINE int truth_of(PyObject *value) { return PyErr_Occurred() ? 0 : PyObject_IsTrue(value); }
INLINE Py_ssize_t whole_of(PyObject *value) { return PyErr_Occurred() ? -1 : PyLong_AsSsize_t(value); }
INLINE double number_of(PyObject *value) { return PyErr_Occurred() ? -1 : PyFloat_AsDouble(value); }

#endif
