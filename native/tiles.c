/* Products of float matrices by tiles that stay in registers, where the processor has AVX-512.
 *
 * BLAS copies both matrices before it multiplies, which costs a tenth of the products of a model of
 * width 128.  Here both are read where they lie: of the left one, along its rows or across, one number for
 * a whole row of a tile, of the right one pieces of rows.  Only a right matrix whose columns lie in one
 * piece must be turned over first.
 */

#include "tiles.h"

#define LANES 16  /* floats of a register */
#define WIDTH 32  /* columns of a tile */
#define TALL 12   /* rows of a tile: 24 sums, and registers left for what is multiplied */
#define DEEP 256  /* numbers that are added up before their sum goes to memory: 32 columns of them fit the first-level
                   * cache, and long sums are as exact as BLAS's */
#define ROUND 384 /* rows that go over all columns before the next: they stay in the second-level cache */

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define TILES __attribute__((target("avx512f")))
#define INLINE static inline __attribute__((always_inline, target("avx512f")))

int have_tiles(void) { return __builtin_cpu_supports("avx512f"); }

INLINE __mmask16 first_lanes(npy_intp count) {
    return count >= LANES ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

/* --- turning over ----------------------------------------------------------------------------- */

/* The lanes that rows `apart` from each other exchange: whose number has this bit, or has it not. */
INLINE __m512i exchanged(int apart, int high) {
    int32_t lanes[LANES];
    for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = lane & apart ? LANES + (lane & ~apart) + high * apart : lane + high * apart;
    return _mm512_loadu_si512(lanes);
}

INLINE void exchange(__m512i *rows, int apart) {
    const __m512i low = exchanged(apart, 0), high = exchanged(apart, 1);
#pragma GCC unroll 16
    for (int row = 0; row < LANES; row++) {
        if (row & apart) continue;
        const __m512i one = rows[row], other = rows[row + apart];
        rows[row] = _mm512_permutex2var_epi32(one, low, other);
        rows[row + apart] = _mm512_permutex2var_epi32(one, high, other);
    }
}

/* A block of at most 16 times 16. */
INLINE void turn_block(npy_intp inner, npy_intp columns, const float *from, npy_intp step, float *to, npy_intp to_step) {
    const __mmask16 read = first_lanes(inner), written = first_lanes(columns);
    __m512i rows[LANES];
#pragma GCC unroll 16
    for (int row = 0; row < LANES; row++)
        rows[row] = row < columns ? _mm512_maskz_loadu_epi32(read, from + row * step) : _mm512_setzero_si512();
    exchange(rows, 1);
    exchange(rows, 2);
    exchange(rows, 4);
    exchange(rows, 8);
#pragma GCC unroll 16
    for (int row = 0; row < LANES; row++)
        if (row < inner) _mm512_mask_storeu_epi32(to + row * to_step, written, rows[row]);
}

TILES void turn_matrix(npy_intp inner, npy_intp columns, const float *from, npy_intp step, float *to, npy_intp to_step) {
    for (npy_intp first = 0; first < columns; first += LANES)
        for (npy_intp at = 0; at < inner; at += LANES)
            turn_block(inner - at, columns - first, from + first * step + at, step, to + at * to_step + first, to_step);
}

/* --- tiles ------------------------------------------------------------------------------------ */

typedef struct {
    npy_intp inner, columns; /* of the tile */
    const float *left, *right, *start;
    npy_intp over_rows, over_inner, right_step, ahead, next, start_step, to_step; /* next: to the next tile's rows */
    float *to;
} Tile;

/* A tile of `rows` rows and `wide` registers of columns, both constants where this is called. */
INLINE void tile(const Tile *own, const int rows, const int wide, npy_intp over_rows, npy_intp over_inner) {
    __m512 sums[TALL][2];
    const __mmask16 masks[2] = {first_lanes(own->columns), first_lanes(own->columns - LANES)};
    const int full[2] = {own->columns >= LANES, own->columns >= 2 * LANES};
#pragma GCC unroll 12
    for (int row = 0; row < rows; row++)
        for (int part = 0; part < wide; part++) sums[row][part] = _mm512_setzero_ps();
#pragma GCC unroll 12
    for (int row = 0; row < rows; row++) /* what is written will be there: a tenth of the time of short sums */
        for (int part = 0; part < wide; part++) __builtin_prefetch(own->to + row * own->to_step + part * LANES, 1);
    const float *right = own->right, *lefts[TALL / 3]; /* one pointer for three rows: they stay in registers */
#pragma GCC unroll 4
    for (int three = 0; three < TALL / 3; three++) lefts[three] = own->left + 3 * three * over_rows;
#pragma GCC unroll 2
    for (npy_intp at = 0; at < own->inner; at++, right += own->right_step) {
        const __m512 one = wide > 1 ? _mm512_loadu_ps(right) : _mm512_maskz_loadu_ps(masks[0], right);
        const __m512 two = wide > 1 ? _mm512_maskz_loadu_ps(masks[1], right + LANES) : one;
#pragma GCC unroll 12
        for (int row = 0; row < rows; row++) {
            const __m512 factor = _mm512_set1_ps(lefts[row / 3][row % 3 * over_rows]);
            sums[row][0] = _mm512_fmadd_ps(factor, one, sums[row][0]);
            if (wide > 1) sums[row][1] = _mm512_fmadd_ps(factor, two, sums[row][1]);
        }
        /* what the next tile reads: row after row, or across */
        if (over_inner != 1) _mm_prefetch(lefts[0] + own->next + TALL - 1, _MM_HINT_T0);
        else _mm_prefetch(own->left + own->next + at % LANES * over_rows + at / LANES * LANES, _MM_HINT_T0);
        _mm_prefetch(right + own->ahead, _MM_HINT_T0);
#pragma GCC unroll 4
        for (int three = 0; three < TALL / 3; three++) lefts[three] += over_inner;
    }
#pragma GCC unroll 12
    for (int row = 0; row < rows; row++)
        for (int part = 0; part < wide; part++) {
            if (own->start != NULL) {
                const float *start = own->start + row * own->start_step + part * LANES;
                sums[row][part] = _mm512_add_ps(_mm512_maskz_loadu_ps(masks[part], start), sums[row][part]);
            }
            float *to = own->to + row * own->to_step + part * LANES;
            if (full[part]) _mm512_storeu_ps(to, sums[row][part]); /* under a mask it takes several times as long */
            else _mm512_mask_storeu_ps(to, masks[part], sums[row][part]);
        }
}

#define CASE(rows)                                                                        \
    case rows:                                                                            \
        tile(own, rows, wide, across ? 1 : own->over_rows, across ? own->over_inner : 1); \
        break;

/* `wide` and `across`, whether the left matrix is turned, are constants where this is called. */
INLINE void tile_of(const Tile *own, npy_intp rows, const int wide, const int across) {
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
    }
}

TILES static void wide_along(const Tile *own, npy_intp rows) { tile_of(own, rows, 2, 0); }
TILES static void wide_across(const Tile *own, npy_intp rows) { tile_of(own, rows, 2, 1); }
TILES static void narrow_along(const Tile *own, npy_intp rows) { tile_of(own, rows, 1, 0); }
TILES static void narrow_across(const Tile *own, npy_intp rows) { tile_of(own, rows, 1, 1); }

static void column_of_tiles(Tile own, npy_intp rows, int turned) {
    for (npy_intp row = 0; row < rows; row += TALL) {
        const npy_intp tall = rows - row < TALL ? rows - row : TALL;
        own.next = row + TALL < rows ? TALL * own.over_rows : 0; /* not what another thread may be writing */
        own.ahead = row == 0 ? WIDTH : row == TALL ? WIDTH + LANES : 0;
        if (own.columns > LANES) (turned ? wide_across : wide_along)(&own, tall);
        else (turned ? narrow_across : narrow_along)(&own, tall);
        own.left += TALL * own.over_rows;
        own.to += TALL * own.to_step;
        if (own.start != NULL) own.start += TALL * own.start_step;
    }
}

void multiply_tiles(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right, float *to,
                    npy_intp to_step, const float *start, npy_intp start_step) {
    const npy_intp over_rows = left.turned ? 1 : left.step, over_inner = left.turned ? left.step : 1;
    for (npy_intp at = 0; at < inner; at += DEEP) {
        for (npy_intp row = 0; row < rows; row += ROUND)
            for (npy_intp first = 0; first < columns; first += WIDTH) {
                Tile own = {.inner = inner - at < DEEP ? inner - at : DEEP, .columns = columns - first,
                            .left = (const float *)left.data + row * over_rows + at * over_inner,
                            .right = (const float *)right.data + at * right.step + first,
                            .start = start == NULL ? NULL : start + row * start_step + first,
                            .over_rows = over_rows, .over_inner = over_inner, .right_step = right.step,
                            .start_step = start_step, .to_step = to_step, .to = to + row * to_step + first};
                column_of_tiles(own, rows - row < ROUND ? rows - row : ROUND, left.turned);
            }
        start = to, start_step = to_step; /* the rest is added to what is there */
    }
}

#else

int have_tiles(void) { return 0; }

void turn_matrix(npy_intp inner, npy_intp columns, const float *from, npy_intp step, float *to, npy_intp to_step) {}

void multiply_tiles(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right, float *to,
                    npy_intp to_step, const float *start, npy_intp start_step) {}

#endif
