/* The loops of random draws: words of the generator in, numbers out.
 *
 * `draw_level.h` holds them once; `draw_loops.c` compiles them for each level of processor, and
 * `draw_loops()` is the widest that this one has.
 */

#ifndef TAPER_DRAW_LOOPS_H
#define TAPER_DRAW_LOOPS_H

#include <stdint.h>

#include "native.h"

#define KEY_WORDS 624
#define GROUP 16 /* normals that are made together */

typedef struct {
    /* Make the next 624 words of the twister. */
    void (*refill)(uint32_t *key);
    /* Make outputs of words. */
    void (*temper)(const uint32_t *key, uint32_t *to, npy_intp count);
    /* Uniform numbers of one word each, and of two. */
    void (*uniform_float)(const uint32_t *words, float *to, npy_intp count, float low, float high);
    void (*uniform_double)(const uint32_t *words, double *to, npy_intp count, double low,
                           double high);
    /* Normal numbers where their words lie, in groups of 16. */
    void (*normal_float)(float *values, npy_intp groups, float mean, float std);
    /* `value` with the probability that two words are below `limit` / 2^53, else zero; elements of
     * 1 << `power` bytes. */
    void (*trials)(const uint32_t *words, void *to, npy_intp count, int power, uint64_t limit,
                   uint64_t value);
    /* What division by `span` leaves of each word. */
    void (*remainders)(uint32_t *words, npy_intp count, uint32_t span);
    /* What division by `last`, `last` - 1, ... leaves of each word; all are at least 2. */
    void (*falling_remainders)(uint32_t *words, npy_intp count, uint32_t last);
} DrawLoops;

const DrawLoops *draw_loops(void);

#endif
