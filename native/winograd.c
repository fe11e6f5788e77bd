/* Convolutions of 3x3 windows with 4 multiplications in the place of 9, after Winograd: F(2x2, 3x3).
 *
 * The windows of 2x2 neighbouring places see 4x4 numbers.  These, and the weights, are changed into 16 others
 * by sums and differences; 16 products of matrices (channels by channels, channels by tiles) are all that is
 * multiplied; sums and differences of them are the places.  The gradients of input and weight are the same
 * with the parts exchanged.  Sums are formed in another order than by windows, so eager mode, whose results
 * are PyTorch's, does without: captured programs that may round otherwise call this.
 *
 * Measured on one thread, 8 images, this way's convolution and gradients of input and weight, then oneDNN's
 * convolution: 64 channels of 24x24 1.8, 1.8 and 2.1 ms, 3.1; 128 of 12x12 1.8, 1.8 and 1.9, 2.9; 256 of 6x6 2.1,
 * 2.2 and 2.1, 2.7.  Largest errors against float64, relative to the largest number: 3e-7 to 7e-7, oneDNN's 3e-7 to
 * 1.3e-6.
 */

#include <stdatomic.h>
#include <string.h>

#include "slots.h"
#include "tiles.h"

#define FREQUENCIES 16
#define NUMBERS 24576   /* tiles times channels of a block: what is changed stays in the second-level cache */
#define FEWEST_TILES 96 /* of a block, if there are as many */
#define LEAST_TILES 48  /* of all images: below, changing the weights costs more than it saves */
#define LEAST_CHANNELS 16
#define WEIGHTS 16384 /* of a block of channels, if all tiles are in one block: these stay in the same cache */
#define MOST_PARTS 8       /* of the sums of a weight's gradient, which threads share */
#define MOST_SUMS 540672   /* numbers of them, if there are more than two parts */
#define USEFUL 0.7 /* part of the places of tiles that are places of the image */
#define LONGEST (1 << 30)

enum { TO_OUTPUT, TO_INPUT, TO_WEIGHT };

typedef struct {
    int which;
    npy_intp images, inputs, outputs;  /* channels */
    npy_intp height, width;            /* of an image of the array that is cut into 4x4 */
    npy_intp rows, columns;            /* of one of the array that is cut into 2x2 */
    npy_intp top, left;                /* zeros in front of the first */
    npy_intp down, across;             /* tiles of an image */
    npy_intp first, count, most;       /* rows of tiles of this block, and of the largest */
    npy_intp parts;                    /* of the sums of a weight's gradient */
    int adds;                          /* whether products are added to what is there */
    atomic_int *failed;                /* whether there was no memory */
    npy_intp channel, channels;        /* of this block: of the places, or of the windows of a weight's gradient */
    npy_intp step, apart, apart_places; /* from channel to channel, from frequency to frequency: of 4x4 and 2x2 */
    npy_intp size;                      /* from frequency to frequency of weights */
    npy_intp of_windows, of_places;    /* channels of both */
    const float *windows, *bias;
    float *weight, *places;
    float *changed_windows, *changed_places, *changed_weight;
} Winograd;

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define LANES 16
#define VECTORS __attribute__((target("avx512f")))
#define INLINE static inline __attribute__((always_inline, target("avx512f")))

INLINE __mmask16 lanes_of(npy_intp first, npy_intp length) { /* whose number, counted from `first`, is inside */
    const npy_intp low = first < 0 ? -first : 0, high = length - first;
    if (low >= LANES || high <= low) return 0;
    return (__mmask16)((high >= LANES ? 0xffffu : (1u << high) - 1) & (0xffffu << low));
}

/* Every second of 32 numbers, from the first or second on; and two times 16 numbers in turn. */
INLINE __m512i every_second(int first) {
    int32_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = 2 * lane + first;
    return _mm512_loadu_si512(lanes);
}
INLINE __m512i in_turn(int first) {
    int32_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++) lanes[lane] = first + lane / 2 + lane % 2 * LANES;
    return _mm512_loadu_si512(lanes);
}
static npy_intp fewer(npy_intp one, npy_intp other) { return one < other ? one : other; }

#define ADD _mm512_add_ps
#define LESS _mm512_sub_ps

/* --- windows of 4x4 ----------------------------------------------------------------------------- */

/* A row of 16 windows, from the column `at` on, with sums and differences along it. */
INLINE void change_row(const float *row, npy_intp at, npy_intp width, __m512 to[4]) {
    const __m512i even = every_second(0), odd = every_second(1);
    const __m512 one = _mm512_maskz_loadu_ps(lanes_of(at, width), row + at);
    const __m512 two = _mm512_maskz_loadu_ps(lanes_of(at + 16, width), row + at + 16);
    const __m512 next = _mm512_maskz_loadu_ps(lanes_of(at + 2, width), row + at + 2);
    const __m512 last = _mm512_maskz_loadu_ps(lanes_of(at + 18, width), row + at + 18);
    const __m512 a = _mm512_permutex2var_ps(one, even, two), b = _mm512_permutex2var_ps(one, odd, two);
    const __m512 c = _mm512_permutex2var_ps(next, even, last), d = _mm512_permutex2var_ps(next, odd, last);
    to[0] = LESS(a, c), to[1] = ADD(b, c), to[2] = LESS(c, b), to[3] = LESS(b, d);
}

INLINE void change_windows(const Winograd *of, const float *plane, npy_intp top, npy_intp at, float *to, __mmask16 mask) {
    __m512 rows[4][4];
#pragma GCC unroll 4
    for (int row = 0; row < 4; row++) {
        const npy_intp y = top + row;
        if (y >= 0 && y < of->height) change_row(plane + y * of->width, at, of->width, rows[row]);
        else
            for (int nr = 0; nr < 4; nr++) rows[row][nr] = _mm512_setzero_ps();
    }
#pragma GCC unroll 4
    for (int nr = 0; nr < 4; nr++) {
        _mm512_mask_storeu_ps(to + nr * of->apart, mask, LESS(rows[0][nr], rows[2][nr]));
        _mm512_mask_storeu_ps(to + (4 + nr) * of->apart, mask, ADD(rows[1][nr], rows[2][nr]));
        _mm512_mask_storeu_ps(to + (8 + nr) * of->apart, mask, LESS(rows[2][nr], rows[1][nr]));
        _mm512_mask_storeu_ps(to + (12 + nr) * of->apart, mask, LESS(rows[1][nr], rows[3][nr]));
    }
}

VECTORS static void windows_part(void *context, npy_intp start, npy_intp stop) {
    const Winograd *of = context;
    for (npy_intp channel = start; channel < stop; channel++)
        for (npy_intp nr = 0; nr < of->count; nr++) {
            const npy_intp row = of->first + nr, image = row / of->down, top = row % of->down * 2 - of->top;
            const npy_intp place = image * of->of_windows + channel + (of->which == TO_WEIGHT ? of->channel : 0);
            const float *plane = of->windows + place * of->height * of->width;
            float *to = of->changed_windows + channel * of->step + nr * of->across;
            for (npy_intp tile = 0; tile < of->across; tile += LANES)
                change_windows(of, plane, top, 2 * tile - of->left, to + tile, lanes_of(tile, of->across));
        }
}

/* --- places of 2x2 ------------------------------------------------------------------------------ */

/* From the products of a channel and row of tiles to the places. */
INLINE void places_of(const Winograd *of, const float *from, float *to, npy_intp tile, int second, __m512 bias) {
    const __mmask16 mask = lanes_of(tile, of->across);
    __m512 sums[2][4];
#pragma GCC unroll 4
    for (int nr = 0; nr < 4; nr++) {
        const __m512 a = _mm512_maskz_loadu_ps(mask, from + nr * of->apart_places);
        const __m512 b = _mm512_maskz_loadu_ps(mask, from + (4 + nr) * of->apart_places);
        const __m512 c = _mm512_maskz_loadu_ps(mask, from + (8 + nr) * of->apart_places);
        const __m512 d = _mm512_maskz_loadu_ps(mask, from + (12 + nr) * of->apart_places);
        sums[0][nr] = ADD(a, ADD(b, c)), sums[1][nr] = LESS(LESS(b, c), d);
    }
#pragma GCC unroll 2
    for (int row = 0; row < 2; row++) {
        if (row && !second) break;
        const __m512 *s = sums[row];
        const __m512 even = ADD(ADD(s[0], ADD(s[1], s[2])), bias), odd = ADD(LESS(LESS(s[1], s[2]), s[3]), bias);
        float *place = to + row * of->columns;
        const npy_intp at = 2 * tile;
        _mm512_mask_storeu_ps(place + at, lanes_of(at, of->columns), _mm512_permutex2var_ps(even, in_turn(0), odd));
        _mm512_mask_storeu_ps(place + at + 16, lanes_of(at + 16, of->columns),
                              _mm512_permutex2var_ps(even, in_turn(8), odd));
    }
}

VECTORS static void places_part(void *context, npy_intp start, npy_intp stop) {
    const Winograd *of = context;
    for (npy_intp channel = start; channel < stop; channel++) {
        const __m512 bias = _mm512_set1_ps(of->bias == NULL ? 0 : of->bias[of->channel + channel]);
        for (npy_intp nr = 0; nr < of->count; nr++) {
            const npy_intp row = of->first + nr, image = row / of->down, top = row % of->down * 2;
            const npy_intp place = image * of->of_places + of->channel + channel;
            float *to = of->places + (place * of->rows + top) * of->columns;
            const float *from = of->changed_places + channel * of->step + nr * of->across;
            for (npy_intp tile = 0; tile < of->across; tile += LANES)
                places_of(of, from + tile, to, tile, top + 1 < of->rows, bias);
        }
    }
}

/* The other way: gradients of places become 4x4. */
VECTORS static void gradients_part(void *context, npy_intp start, npy_intp stop) {
    const Winograd *of = context;
    const __m512i even = every_second(0), odd = every_second(1);
    for (npy_intp channel = start; channel < stop; channel++)
        for (npy_intp nr = 0; nr < of->count; nr++) {
            const npy_intp row = of->first + nr, image = row / of->down, top = row % of->down * 2;
            const float *from = of->places + ((image * of->of_places + channel) * of->rows + top) * of->columns;
            float *to = of->changed_places + channel * of->step + nr * of->across;
            for (npy_intp tile = 0; tile < of->across; tile += LANES) {
                const __mmask16 mask = lanes_of(tile, of->across);
                __m512 parts[2][4];
#pragma GCC unroll 2
                for (int y = 0; y < 2; y++) {
                    const npy_intp width = top + y < of->rows ? of->columns : 0, at = 2 * tile;
                    const float *place = from + y * of->columns + at;
                    const __m512 one = _mm512_maskz_loadu_ps(lanes_of(at, width), place);
                    const __m512 two = _mm512_maskz_loadu_ps(lanes_of(at + 16, width), place + 16);
                    const __m512 a = _mm512_permutex2var_ps(one, even, two), b = _mm512_permutex2var_ps(one, odd, two);
                    parts[y][0] = a, parts[y][1] = ADD(a, b), parts[y][2] = LESS(a, b);
                    parts[y][3] = LESS(_mm512_setzero_ps(), b);
                }
#pragma GCC unroll 4
                for (int x = 0; x < 4; x++) {
                    float *place = to + tile + x * of->apart_places;
                    const npy_intp down = 4 * of->apart_places;
                    _mm512_mask_storeu_ps(place, mask, parts[0][x]);
                    _mm512_mask_storeu_ps(place + down, mask, ADD(parts[0][x], parts[1][x]));
                    _mm512_mask_storeu_ps(place + 2 * down, mask, LESS(parts[0][x], parts[1][x]));
                    _mm512_mask_storeu_ps(place + 3 * down, mask, LESS(_mm512_setzero_ps(), parts[1][x]));
                }
            }
        }
}

/* --- weights of 3x3 ----------------------------------------------------------------------------- */

/* The 9 weights of each of 16 inputs are turned over in registers: gathered one by one, they took 0.7 of the 2.6 ms
 * of 256 channels of 6x6.
 *
 * The weights of a block: some outputs with all inputs, or all outputs with some inputs. */
typedef struct {
    npy_intp output, input, inputs;
} Weights;

static Weights part_of_weights(const Winograd *of) {
    if (of->which == TO_OUTPUT) return (Weights){of->channel, 0, of->inputs};
    return (Weights){0, of->channel, of->channels};
}

VECTORS static void weights_part(void *context, npy_intp start, npy_intp stop) {
    const Winograd *of = context;
    const npy_intp size = of->size;
    const Weights part = part_of_weights(of);
    const __m512 half = _mm512_set1_ps(0.5f);
    for (npy_intp output = start; output < stop; output++)
        for (npy_intp input = 0; input < part.inputs; input += LANES) {
            const float *from = of->weight + ((part.output + output) * of->inputs + part.input + input) * 9;
            const __mmask16 mask = lanes_of(input, part.inputs);
            __m512 g[9], rows[4][3];
            turn_matrix(9, fewer(LANES, part.inputs - input), from, 9, (float *)g, LANES);
#pragma GCC unroll 3
            for (int x = 0; x < 3; x++) {
                const __m512 outer = _mm512_mul_ps(ADD(g[x], g[6 + x]), half), middle = _mm512_mul_ps(g[3 + x], half);
                rows[0][x] = g[x], rows[1][x] = ADD(outer, middle);
                rows[2][x] = LESS(outer, middle), rows[3][x] = g[6 + x];
            }
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) {
                float *to = of->changed_weight + output * part.inputs + input + 4 * y * size;
                const __m512 outer = _mm512_mul_ps(ADD(rows[y][0], rows[y][2]), half);
                const __m512 middle = _mm512_mul_ps(rows[y][1], half);
                _mm512_mask_storeu_ps(to, mask, rows[y][0]);
                _mm512_mask_storeu_ps(to + size, mask, ADD(outer, middle));
                _mm512_mask_storeu_ps(to + 2 * size, mask, LESS(outer, middle));
                _mm512_mask_storeu_ps(to + 3 * size, mask, rows[y][2]);
            }
        }
}

INLINE __m512 sum_of_parts(const Winograd *of, const float *from, __mmask16 mask) {
    __m512 sum = _mm512_maskz_loadu_ps(mask, from);
    for (npy_intp part = 1; part < of->parts; part++)
        sum = ADD(sum, _mm512_maskz_loadu_ps(mask, from + part * FREQUENCIES * of->size));
    return sum;
}

/* The other way: sums for 4x4 become the gradient of 3x3. */
VECTORS static void weight_gradient_part(void *context, npy_intp start, npy_intp stop) {
    const Winograd *of = context;
    const npy_intp size = of->size;
    const Weights part = part_of_weights(of);
    const __m512 half = _mm512_set1_ps(0.5f);
    for (npy_intp output = start; output < stop; output++)
        for (npy_intp input = 0; input < part.inputs; input += LANES) {
            const __mmask16 mask = lanes_of(input, part.inputs);
            __m512 g[9], rows[4][3];
#pragma GCC unroll 4
            for (int y = 0; y < 4; y++) {
                const float *from = of->changed_weight + output * part.inputs + input + 4 * y * size;
                const __m512 a = sum_of_parts(of, from, mask), b = sum_of_parts(of, from + size, mask);
                const __m512 c = sum_of_parts(of, from + 2 * size, mask), d = sum_of_parts(of, from + 3 * size, mask);
                const __m512 sum = _mm512_mul_ps(ADD(b, c), half);
                rows[y][0] = ADD(a, sum), rows[y][1] = _mm512_mul_ps(LESS(b, c), half), rows[y][2] = ADD(sum, d);
            }
#pragma GCC unroll 3
            for (int x = 0; x < 3; x++) {
                const __m512 sum = _mm512_mul_ps(ADD(rows[1][x], rows[2][x]), half);
                g[x] = ADD(rows[0][x], sum), g[6 + x] = ADD(sum, rows[3][x]);
                g[3 + x] = _mm512_mul_ps(LESS(rows[1][x], rows[2][x]), half);
            }
            float *to = of->weight + ((part.output + output) * of->inputs + part.input + input) * 9;
            turn_matrix(fewer(LANES, part.inputs - input), 9, (const float *)g, LANES, to, 9);
        }
}

/* --- products ----------------------------------------------------------------------------------- */

static void products_part(void *context, npy_intp start, npy_intp stop) {
    /* Turning a window around exchanges its first and last row, and column. */
    static const int turned[4] = {3, 1, 2, 0};
    const Winograd *of = context;
    const npy_intp size = of->size, tiles = of->count * of->across;
    for (npy_intp nr = start; nr < stop; nr++) {
        float *windows = of->changed_windows + nr * of->apart, *places = of->changed_places + nr * of->apart_places;
        if (of->which == TO_WEIGHT) {
            product(0, of->outputs, tiles, of->channels, (Matrix){places, of->step, 0},
                    (Matrix){windows, of->step, 1}, of->changed_weight + nr * size, of->channels, of->adds);
            continue;
        }
        const int back = of->which == TO_INPUT;
        const npy_intp other = back ? 4 * turned[nr / 4] + turned[nr % 4] : nr;
        const Matrix weight = {of->changed_weight + other * size, back ? of->channels : of->inputs, back};
        multiply_tiles(of->channels, of->of_windows, tiles, weight, (Matrix){windows, of->step, 0}, places, of->step,
                       NULL, 0);
    }
}

/* --- blocks ------------------------------------------------------------------------------------- */

/* Each thread computes whole blocks, so that what it has changed stays in its own cache: blocks of tiles with
 * all channels, or, if all tiles are one block, blocks of channels with all tiles.  Sums of a weight's
 * gradient over tiles are formed in parts, whose number does not depend on the number of threads. */

static void note_failure(Winograd *of) { atomic_store(of->failed, 1); }

/* Blocks of tiles: from the windows to the places.  Products of a frequency lie where the windows of the one before
 * were, which nobody reads any more. */
static void tiles_part(void *context, npy_intp start, npy_intp stop) {
    Winograd own = *(Winograd *)context;
    const npy_intp all = own.images * own.down;
    float *memory = scratch_take(sizeof(float) * (size_t)((FREQUENCIES + 1) * own.apart));
    if (memory == NULL) return note_failure(&own);
    own.changed_places = memory, own.changed_windows = memory + own.apart;
    for (own.first = start * own.most; own.first < all && own.first < stop * own.most; own.first += own.most) {
        own.count = all - own.first < own.most ? all - own.first : own.most;
        windows_part(&own, 0, own.of_windows);
        products_part(&own, 0, FREQUENCIES);
        places_part(&own, 0, own.channels);
    }
    scratch_give(memory);
}

/* Blocks of channels: what the others share has been changed before. */
static void channels_part(void *context, npy_intp start, npy_intp stop) {
    Winograd own = *(Winograd *)context;
    const npy_intp is_weight = own.which == TO_WEIGHT, all = is_weight ? own.of_windows : own.of_places;
    const npy_intp wide = own.channels, apart = is_weight ? own.apart : own.apart_places;
    float *memory = scratch_take(sizeof(float) * (size_t)(FREQUENCIES * (apart + own.size)));
    if (memory == NULL) return note_failure(&own);
    *(is_weight ? &own.changed_windows : &own.changed_places) = memory;
    own.changed_weight = memory + FREQUENCIES * apart;
    for (own.channel = start * wide; own.channel < all && own.channel < stop * wide; own.channel += wide) {
        own.channels = all - own.channel < wide ? all - own.channel : wide;
        if (is_weight) windows_part(&own, 0, own.channels);
        else weights_part(&own, 0, own.which == TO_OUTPUT ? own.channels : own.outputs);
        products_part(&own, 0, FREQUENCIES);
        if (is_weight) weight_gradient_part(&own, 0, own.outputs);
        else places_part(&own, 0, own.channels);
    }
    scratch_give(memory);
}

/* Parts of the tiles, each with sums of its own. */
static void sums_part(void *context, npy_intp start, npy_intp stop) {
    Winograd own = *(Winograd *)context;
    const npy_intp rows = own.images * own.down, most = own.most;
    float *memory = scratch_take(sizeof(float) * (size_t)(FREQUENCIES * (own.apart + own.apart_places)));
    if (memory == NULL) return note_failure(&own);
    own.changed_windows = memory, own.changed_places = memory + FREQUENCIES * own.apart;
    for (npy_intp part = start; part < stop; part++) {
        const npy_intp end = rows * (part + 1) / own.parts;
        own.changed_weight = ((Winograd *)context)->changed_weight + part * FREQUENCIES * own.size;
        own.adds = 0;
        for (own.first = rows * part / own.parts; own.first < end; own.first += most, own.adds = 1) {
            own.count = end - own.first < most ? end - own.first : most;
            windows_part(&own, 0, own.of_windows);
            gradients_part(&own, 0, own.of_places);
            products_part(&own, 0, FREQUENCIES);
        }
    }
    scratch_give(memory);
}

static void run_tiles(Winograd *of) {
    const npy_intp all = of->images * of->down, grain = 1 + 512 / of->inputs;
    if (of->which == TO_WEIGHT) {
        products_on_pool(sums_part, of, of->parts, 1);
        if (!atomic_load(of->failed)) pool_run(weight_gradient_part, of, of->outputs, grain);
    } else {
        pool_run(weights_part, of, of->outputs, grain);
        products_on_pool(tiles_part, of, (all + of->most - 1) / of->most, 1);
    }
}

static void run_channels(Winograd *of) {
    const npy_intp is_weight = of->which == TO_WEIGHT, all = is_weight ? of->of_windows : of->of_places;
    of->count = of->images * of->down;
    const npy_intp planes = 1 + 128 / of->count;
    if (is_weight) pool_run(gradients_part, of, of->of_places, planes);
    else pool_run(windows_part, of, of->of_windows, planes);
    products_on_pool(channels_part, of, (all + of->channels - 1) / of->channels, 1);
}

#else

static void run_tiles(Winograd *of) {}
static void run_channels(Winograd *of) {}

#endif

/* --- what Python calls -------------------------------------------------------------------------- */

/* How many rows of tiles are a block: as many for each thread, since all have the same to do. */
static npy_intp rows_of_block(const Winograd *of, npy_intp all) {
    const npy_intp channels = of->of_windows + of->of_places, is_weight = of->which == TO_WEIGHT;
    npy_intp tiles = NUMBERS / channels < FEWEST_TILES ? FEWEST_TILES : NUMBERS / channels;
    if (tiles / of->across >= all) return all;
    if (is_weight) tiles /= 2; /* there are sums besides */
    const npy_intp most = tiles / of->across < 1 ? 1 : tiles / of->across;
    const npy_intp threads = is_weight ? of->parts : pool_threads();
    const npy_intp rounds = (all + most * threads - 1) / (most * threads);
    return (all + rounds * threads - 1) / (rounds * threads);
}

/* Lay everything out and compute; 0 if there is no memory. */
static int compute(Winograd *of) {
    atomic_int failed = 0;
    const npy_intp all = of->images * of->down, is_weight = of->which == TO_WEIGHT;
    const npy_intp size = of->of_windows * of->of_places + 16; /* the 16: see below */
    of->parts = MOST_SUMS / (FREQUENCIES * size) < 2 ? 2 : MOST_SUMS / (FREQUENCIES * size);
    of->parts = of->parts > MOST_PARTS ? MOST_PARTS : of->parts;
    of->most = rows_of_block(of, all);
    npy_intp wide = is_weight ? of->of_windows : of->of_places;
    const npy_intp other = of->of_windows + of->of_places - wide, few = WEIGHTS / other / 16 * 16;
    const int by_channels = of->most == all;
    if (by_channels) of->parts = 1;
    if (by_channels && few < wide) wide = few < 2 * LEAST_CHANNELS ? 2 * LEAST_CHANNELS : few;
    of->step = 16 * ((of->most * of->across + 15) / 16 | 1); /* an odd number of lines: rows lie in different
                                                              * parts of the cache, and with 16 more matrices do */
    of->apart = (is_weight ? wide : of->of_windows) * of->step + 16;
    of->apart_places = (is_weight ? of->of_places : wide) * of->step + 16;
    if (!by_channels && !is_weight) /* one place for both, see `tiles_part` */
        of->apart = of->apart_places = of->apart > of->apart_places ? of->apart : of->apart_places;
    of->size = wide * other + 16;
    of->channels = wide, of->failed = &failed;
    const npy_intp shared = by_channels ? (is_weight ? of->apart_places : of->apart)
                                        : of->size * (is_weight ? of->parts : 1);
    float *memory = scratch_take(sizeof(float) * (size_t)(FREQUENCIES * shared));
    if (memory == NULL) return 0;
    *(by_channels ? (is_weight ? &of->changed_places : &of->changed_windows) : &of->changed_weight) = memory;
    (by_channels ? run_channels : run_tiles)(of);
    scratch_give(memory);
    return !atomic_load(&failed);
}

static PyArrayObject *array_of_rank(PyObject *value, int rank) {
    PyArrayObject *array = plain_array(value, NPY_FLOAT);
    return array != NULL && PyArray_NDIM(array) == rank && PyArray_SIZE(array) < LONGEST ? array : NULL;
}

/* The geometry from arrays (images, channels, height, width), (outputs, inputs, 3, 3) and (images, channels,
 * rows, columns); 0 if it is not for us. */
static int read_arrays(PyObject *const *args, Winograd *of) {
    PyArrayObject *input = array_of_rank(args[1], 4), *weight = array_of_rank(args[2], 4);
    PyArrayObject *output = array_of_rank(args[3], 4);
    if (input == NULL || weight == NULL || output == NULL) return 0;
    const npy_intp *in = PyArray_DIMS(input), *window = PyArray_DIMS(weight), *out = PyArray_DIMS(output);
    npy_intp padding[2];
    if (!PyArg_ParseTuple(args[4], "nn", &padding[0], &padding[1])) return PyErr_Clear(), 0;
    for (int dim = 0; dim < 2; dim++)
        if (padding[dim] < 0 || padding[dim] > 2 || window[2 + dim] != 3 || in[2 + dim] < 1 || out[2 + dim] < 1 ||
            out[2 + dim] != in[2 + dim] + 2 * padding[dim] - 2)
            return 0;
    of->images = in[0], of->outputs = window[0], of->inputs = window[1];
    if (out[0] != in[0] || in[1] != of->inputs || out[1] != of->outputs) return 0;
    const int back = of->which == TO_INPUT;
    const npy_intp *large = back ? out : in, *small = back ? in : out;
    of->height = large[2], of->width = large[3], of->rows = small[2], of->columns = small[3];
    of->of_windows = large[1], of->of_places = small[1];
    of->top = back ? 2 - padding[0] : padding[0], of->left = back ? 2 - padding[1] : padding[1];
    of->windows = PyArray_DATA(back ? output : input), of->places = PyArray_DATA(back ? input : output);
    of->weight = PyArray_DATA(weight);
    of->down = (of->rows + 1) / 2, of->across = (of->columns + 1) / 2;
    return PyArray_ISWRITEABLE(of->which == TO_OUTPUT ? output : back ? input : weight);
}

static int read_bias(PyObject *value, Winograd *of) {
    if (value == Py_None) return 1;
    PyArrayObject *bias = array_of_rank(value, 1);
    if (bias == NULL || of->which != TO_OUTPUT || PyArray_SIZE(bias) != of->outputs) return 0;
    of->bias = PyArray_DATA(bias);
    return 1;
}

static int is_worth_it(const Winograd *of) {
    const double tiles = (double)of->images * (double)of->down * (double)of->across;
    return have_tiles() && have_products() && tiles >= LEAST_TILES && tiles < LONGEST &&
           of->inputs >= LEAST_CHANNELS && of->outputs >= LEAST_CHANNELS &&
           (double)(of->rows * of->columns) >= USEFUL * 4 * (double)of->down * (double)of->across;
}

/* winograd(which, input, weight, output, padding, bias): writes the output, input or weight of a convolution
 * in steps of 1; None, with nothing done, if the usual way shall. */
PyObject *taper_winograd(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Winograd of;
    memset(&of, 0, sizeof of);
    if (count != 6 || !PyLong_Check(args[0]) || !PyTuple_Check(args[4]))
        return PyErr_Format(PyExc_TypeError, "winograd(which, input, weight, output, padding, bias)");
    of.which = (int)PyLong_AsLong(args[0]);
    if (of.which < TO_OUTPUT || of.which > TO_WEIGHT || !read_arrays(args, &of) || !read_bias(args[5], &of) ||
        !is_worth_it(&of))
        return PyErr_Occurred() ? NULL : held(Py_None);
    int done;
    Py_BEGIN_ALLOW_THREADS;
    done = compute(&of);
    Py_END_ALLOW_THREADS;
    return done ? held(Py_True) : PyErr_NoMemory();
}
