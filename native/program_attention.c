/* Attention of short heads in programs, which may round otherwise than eager mode.
 *
 * The scores of a head stay in the cache as a whole, so that the gradients of keys and values are two products
 * over all rows, of which the parts that a causal mask leaves out are not computed.  Rows are changed into weights
 * sixteen at a time, the last ones under a mask.  What is longer, or has a mask of its own, is left to the call
 * (`attention.c`).
 *
 * Measured on one thread, 12x4 heads of 64x32, causal, forward and backward: see D15.
 */

#include <string.h>

#include "floats.h" /* of src/taper/program */
#include "program_steps.h"
#include "tiles.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <math.h>

#define LANES 16
#define TALL 12             /* rows at once: those of a tile */
#define MOST_SCORES 16384   /* of a head: two such matrices stay in the second-level cache */
#define MOST_WIDTH 256
#define VECTORS __attribute__((target("avx512f")))
#undef INLINE
#define INLINE static inline __attribute__((always_inline, target("avx512f")))

/* (batch, heads, rows, width) with steps in elements; elements of a row lie in one piece. */
typedef struct {
    float *data;
    npy_intp step[3];
} Heads;

enum { QUERY, KEY, VALUE, OUTPUT, GRAD, TO_QUERY, TO_KEY, TO_VALUE, MOST_HEADS };

typedef struct {
    Heads of[MOST_HEADS], sums;
    npy_intp batch, heads, rows, keys, width;
    int causal;
    float scale;
    int failed;
} Attention;
_Static_assert(sizeof(Attention) <= sizeof(((Parts *)0)->context), "a context is larger");

static float *row_at(const Heads *heads, npy_intp batch, npy_intp head, npy_intp row) {
    return heads->data + batch * heads->step[0] + head * heads->step[1] + row * heads->step[2];
}

static Matrix matrix_at(const Attention *all, int which, npy_intp batch, npy_intp head, npy_intp row) {
    return (Matrix){row_at(&all->of[which], batch, head, row), all->of[which].step[2], 0};
}

/* The rows of a head as columns. */
static Matrix columns_of(const Attention *all, int which, npy_intp batch, npy_intp head, float *room) {
    const npy_intp step = turned_step(all->keys);
    turn_matrix(all->width, all->keys, row_at(&all->of[which], batch, head, 0), all->of[which].step[2], room, step);
    return (Matrix){room, step, 0};
}

static npy_intp last_of(const Attention *all, npy_intp first) {
    return first + TALL < all->rows ? first + TALL : all->rows;
}

/* How many keys the rows before `last` see. */
static npy_intp seen(const Attention *all, npy_intp last) { return all->causal ? last : all->keys; }

/* How many scores are computed for them: whole registers, which are stored without a mask. */
static npy_intp computed(const Attention *all, npy_intp seen) {
    const npy_intp whole = (seen + LANES - 1) / LANES * LANES;
    return whole < all->keys ? whole : all->keys;
}

INLINE __mmask16 lanes_before(npy_intp count) {
    return count >= LANES ? 0xffff : count <= 0 ? 0 : (__mmask16)((1u << count) - 1);
}

/* Under a mask a store takes several times as long. */
INLINE void store(float *to, npy_intp count, __m512 value) {
    if (count >= LANES) _mm512_storeu_ps(to, value);
    else _mm512_mask_storeu_ps(to, lanes_before(count), value);
}

/* `exp_quickly` of floats.h, of arguments that are not much above 0. */
INLINE __m512 exponentials(__m512 x) {
    const __m512 magic = _mm512_set1_ps(12582912.0f); /* 1.5 * 2^23: rounds to a whole number */
    const __m512 sum = _mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504f), magic), n = _mm512_sub_ps(sum, magic);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
    __m512 p = _mm512_fmadd_ps(_mm512_set1_ps(0.00139261836f), r, _mm512_set1_ps(0.00836317905f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.0416665546f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.16666577f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), _mm512_set1_ps(1.0f));
    const __m512i power = _mm512_slli_epi32(_mm512_castps_si512(sum), 23);
    const __mmask16 large = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ); /* or not a number */
    return _mm512_maskz_mov_ps(large, _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(p), power)));
}

/* --- forward ------------------------------------------------------------------------------------ */

/* A row of scores becomes weights, not yet divided by their sum, with zeros behind; the sum and the largest. */
INLINE float weights_of(float *row, npy_intp count, npy_intp wide, float scale, float *most) {
    const __m512 low = _mm512_set1_ps(-INFINITY), factor = _mm512_set1_ps(scale);
    __m512 largest = low, total = _mm512_setzero_ps();
    for (npy_intp at = 0; at < count; at += LANES)
        largest = _mm512_max_ps(largest, _mm512_mask_loadu_ps(low, lanes_before(count - at), row + at));
    *most = _mm512_reduce_max_ps(largest) * scale;
    const __m512 shift = _mm512_set1_ps(*most);
    for (npy_intp at = 0; at < wide; at += LANES) {
        const __mmask16 mask = lanes_before(count - at);
        const __m512 scores = _mm512_maskz_loadu_ps(mask, row + at);
        const __m512 found = _mm512_maskz_mov_ps(mask, exponentials(_mm512_fmsub_ps(scores, factor, shift)));
        total = _mm512_add_ps(total, found);
        store(row + at, wide - at, found);
    }
    return _mm512_reduce_add_ps(total);
}

/* The logarithms of the sums of exponentials. */
VECTORS static void note_sums(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, npy_intp rows,
                              const float *total, const float *most) {
    float found[LANES];
    for (int lane = 0; lane < LANES; lane++) found[lane] = log_float(lane < rows ? total[lane] : 1.0f) + most[lane];
    for (npy_intp row = 0; row < rows; row++) *row_at(&all->sums, batch, head, first + row) = found[row];
}

VECTORS static void forward_rows(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, Matrix keys,
                                 float *scores) {
    const npy_intp last = last_of(all, first), rows = last - first, wide = seen(all, last), width = all->width;
    const npy_intp scored = computed(all, wide);
    float most[LANES] = {0}, total[LANES] = {0};
    multiply_tiles(rows, width, scored, matrix_at(all, QUERY, batch, head, first), keys, scores, keys.step, NULL, 0);
    for (npy_intp row = 0; row < rows; row++)
        total[row] = weights_of(scores + row * keys.step, seen(all, first + row + 1), scored, all->scale, &most[row]);
    const npy_intp step = all->of[OUTPUT].step[2];
    float *to = row_at(&all->of[OUTPUT], batch, head, first);
    multiply_tiles(rows, wide, width, (Matrix){scores, keys.step, 0}, matrix_at(all, VALUE, batch, head, 0), to, step,
                   NULL, 0);
    if (all->sums.data != NULL) note_sums(all, batch, head, first, rows, total, most);
    for (npy_intp row = 0; row < rows; row++, to += step) {
        const __m512 part = _mm512_set1_ps(1.0f / total[row]);
        for (npy_intp at = 0; at < width; at += LANES) {
            const __mmask16 mask = lanes_before(width - at);
            store(to + at, width - at, _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, to + at), part));
        }
    }
}

/* Items are heads. */
static void forward_part(void *context, npy_intp start, npy_intp stop) {
    Attention *all = context;
    const npy_intp step = turned_step(all->keys);
    float *room = scratch_take((size_t)((all->width + TALL) * step) * sizeof(float));
    if (room == NULL) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    for (npy_intp item = start; room != NULL && item < stop; item++) {
        const npy_intp batch = item / all->heads, head = item % all->heads;
        const Matrix keys = columns_of(all, KEY, batch, head, room);
        for (npy_intp first = 0; first < all->rows; first += TALL)
            forward_rows(all, batch, head, first, keys, room + all->width * step);
    }
    scratch_give(room);
}

/* --- backward ----------------------------------------------------------------------------------- */

INLINE float dot(const float *one, const float *other, npy_intp count) {
    __m512 total = _mm512_setzero_ps();
    for (npy_intp at = 0; at < count; at += LANES) {
        const __mmask16 mask = lanes_before(count - at);
        total = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, one + at), _mm512_maskz_loadu_ps(mask, other + at), total);
    }
    return _mm512_reduce_add_ps(total);
}

/* Scores become weights, from the logarithms of their sums, and `change`, the gradient of weights, that of scores. */
INLINE void slopes_of(float *row, float *change, npy_intp count, npy_intp wide, float scale, float sum, float mean) {
    const __m512 factor = _mm512_set1_ps(scale), shift = _mm512_set1_ps(sum), centre = _mm512_set1_ps(mean);
    for (npy_intp at = 0; at < wide; at += LANES) {
        const __mmask16 mask = lanes_before(count - at);
        const __m512 scores = _mm512_maskz_loadu_ps(mask, row + at), slope = _mm512_maskz_loadu_ps(mask, change + at);
        const __m512 weights = _mm512_maskz_mov_ps(mask, exponentials(_mm512_fmsub_ps(scores, factor, shift)));
        store(row + at, wide - at, weights);
        store(change + at, wide - at, _mm512_mul_ps(_mm512_mul_ps(_mm512_sub_ps(slope, centre), weights), factor));
    }
}

VECTORS static void backward_rows(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, Matrix keys,
                                  Matrix values, float *weights, float *change) {
    const npy_intp last = last_of(all, first), rows = last - first, wide = seen(all, last), width = all->width;
    const npy_intp step = keys.step, scored = computed(all, wide);
    weights += first * step, change += first * step;
    multiply_tiles(rows, width, scored, matrix_at(all, QUERY, batch, head, first), keys, weights, step, NULL, 0);
    multiply_tiles(rows, width, scored, matrix_at(all, GRAD, batch, head, first), values, change, step, NULL, 0);
    for (npy_intp row = 0; row < rows; row++) {
        const float mean = dot(row_at(&all->of[GRAD], batch, head, first + row),
                               row_at(&all->of[OUTPUT], batch, head, first + row), width);
        slopes_of(weights + row * step, change + row * step, seen(all, first + row + 1), scored, all->scale,
                  *row_at(&all->sums, batch, head, first + row), mean);
    }
    multiply_tiles(rows, wide, width, (Matrix){change, step, 0}, matrix_at(all, KEY, batch, head, 0),
                   row_at(&all->of[TO_QUERY], batch, head, first), all->of[TO_QUERY].step[2], NULL, 0);
}

/* The gradient of some keys, or values: of all rows that see them. */
static void gather_rows(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, const float *factors,
                        npy_intp step, int from, int to) {
    const npy_intp count = all->keys - first < TALL ? all->keys - first : TALL, start = all->causal ? first : 0;
    multiply_tiles(count, all->rows - start, all->width, (Matrix){factors + start * step + first, step, 1},
                   matrix_at(all, from, batch, head, start), row_at(&all->of[to], batch, head, first),
                   all->of[to].step[2], NULL, 0);
}

static void backward_part(void *context, npy_intp start, npy_intp stop) {
    Attention *all = context;
    const npy_intp step = turned_step(all->keys), columns = all->width * step, scores = all->rows * step;
    float *room = scratch_take((size_t)(2 * (columns + scores)) * sizeof(float));
    if (room == NULL) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    float *weights = room + 2 * columns, *change = weights + scores;
    for (npy_intp item = start; room != NULL && item < stop; item++) {
        const npy_intp batch = item / all->heads, head = item % all->heads;
        const Matrix keys = columns_of(all, KEY, batch, head, room);
        const Matrix values = columns_of(all, VALUE, batch, head, room + columns);
        for (npy_intp first = 0; first < all->rows; first += TALL)
            backward_rows(all, batch, head, first, keys, values, weights, change);
        for (npy_intp first = 0; first < all->keys; first += TALL) {
            gather_rows(all, batch, head, first, weights, step, GRAD, TO_VALUE);
            gather_rows(all, batch, head, first, change, step, QUERY, TO_KEY);
        }
    }
    scratch_give(room);
}

/* --- calls -------------------------------------------------------------------------------------- */

static int read_heads(const Shape *shape, npy_intp rows, const Attention *all, Heads *heads) {
    if (shape == NULL || shape->type != NPY_FLOAT || shape->dims != 4 || shape->lengths[0] != all->batch ||
        shape->lengths[1] != all->heads || shape->lengths[2] != rows || shape->lengths[3] != all->width ||
        shape->strides[3] != sizeof(float))
        return 0;
    for (int dim = 0; dim < 3; dim++) {
        if (shape->strides[dim] < 0 || shape->strides[dim] % (npy_intp)sizeof(float)) return 0;
        heads->step[dim] = shape->strides[dim] / (npy_intp)sizeof(float);
    }
    return heads->step[2] >= all->width;
}

/* The logarithms of the sums: (batch, heads, rows). */
static int read_sums(const Shape *shape, const Attention *all, Heads *heads) {
    if (shape == NULL || shape->type != NPY_FLOAT || shape->dims != 3 || shape->lengths[0] != all->batch ||
        shape->lengths[1] != all->heads || shape->lengths[2] != all->rows)
        return 0;
    for (int dim = 0; dim < 3; dim++) {
        if (shape->strides[dim] < 0 || shape->strides[dim] % (npy_intp)sizeof(float)) return 0;
        heads->step[dim] = shape->strides[dim] / (npy_intp)sizeof(float);
    }
    return 1;
}

/* Arguments from `first` on are query, key, value; from `rest` on dropout, causal, mask, scale. */
static int read_call_of(const Call *call, int first, int rest, Attention *all) {
    const Shape *query = given_shape(call, first), *key = given_shape(call, first + 1);
    if (!have_tiles() || call->args != rest + 4 || query == NULL || key == NULL || query->dims != 4 || key->dims != 4)
        return 0;
    all->batch = query->lengths[0], all->heads = query->lengths[1], all->rows = query->lengths[2];
    all->width = query->lengths[3], all->keys = key->lengths[2];
    PyObject *causal = call->arg_list[rest + 1].plain, *scale = call->arg_list[rest + 3].plain;
    if ((causal != Py_True && causal != Py_False) || call->arg_list[rest + 2].plain != Py_None || scale == NULL)
        return 0;
    all->causal = causal == Py_True;
    all->scale = scale == Py_None ? 1.0f / sqrtf((float)all->width) : PyFloat_Check(scale) ? (float)PyFloat_AS_DOUBLE(scale) : 0;
    if (all->batch < 1 || all->heads < 1 || all->rows < 1 || all->keys < 1 || all->width < 1 || all->width > MOST_WIDTH ||
        all->rows > MOST_SCORES / all->keys || (all->causal && all->rows != all->keys) || !(all->scale > 0) ||
        all->scale > 1e30f)
        return 0;
    return read_heads(query, all->rows, all, &all->of[QUERY]) && read_heads(key, all->keys, all, &all->of[KEY]) &&
           read_heads(given_shape(call, first + 2), all->keys, all, &all->of[VALUE]);
}

static int read_forward(const Call *call, Attention *all) {
    return read_call_of(call, 0, 3, all) && call->output_count == 2 &&
           read_heads(output_shape(call, 0), all->rows, all, &all->of[OUTPUT]) &&
           (call->outputs[1] < 0 || read_sums(output_shape(call, 1), all, &all->sums));
}

static int read_backward(const Call *call, Attention *all) {
    if (!read_call_of(call, 1, 6, all) || call->output_count != 3 ||
        !read_heads(given_shape(call, 0), all->rows, all, &all->of[GRAD]) ||
        !read_heads(given_shape(call, 4), all->rows, all, &all->of[OUTPUT]) ||
        !read_sums(given_shape(call, 5), all, &all->sums))
        return 0;
    for (int nr = 0; nr < 3; nr++)
        if (!read_heads(output_shape(call, nr), nr ? all->keys : all->rows, all, &all->of[TO_QUERY + nr])) return 0;
    return 1;
}

static int has_not_failed(void *context) { return !((Attention *)context)->failed; }

static int made_ready(Attention *all, Part part, Parts *parts) {
    parts->part = part, parts->items = all->batch * all->heads, parts->finish = has_not_failed;
    return 1;
}

int suits_attention(const Call *call) {
    Attention all = {0};
    return read_forward(call, &all);
}

int prepare_attention(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) {
    Attention *all = memset(parts->context, 0, sizeof(Attention));
    if (!read_forward(call, all)) return 0;
    for (int nr = 0; nr < 3; nr++) all->of[QUERY + nr].data = (float *)data[nr];
    all->of[OUTPUT].data = (float *)outputs[0], all->sums.data = (float *)outputs[1];
    return made_ready(all, forward_part, parts);
}

int suits_attention_backward(const Call *call) {
    Attention all = {0};
    return read_backward(call, &all);
}

int prepare_attention_backward(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) {
    Attention *all = memset(parts->context, 0, sizeof(Attention));
    if (!read_backward(call, all)) return 0;
    all->of[GRAD].data = (float *)data[0];
    for (int nr = 0; nr < 3; nr++) all->of[QUERY + nr].data = (float *)data[1 + nr];
    all->of[OUTPUT].data = (float *)data[4], all->sums.data = (float *)data[5];
    for (int nr = 0; nr < 3; nr++) all->of[TO_QUERY + nr].data = (float *)outputs[nr];
    return made_ready(all, backward_part, parts);
}

#else

#define NO_KERNEL(name)                              \
    int suits_##name(const Call *call) { return 0; } \
    int prepare_##name(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) { return 0; }
NO_KERNEL(attention)
NO_KERNEL(attention_backward)

#endif
