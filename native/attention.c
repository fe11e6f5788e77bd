/* Attention without the matrix of all weights; the twin is in `ops/attention/scaled.py`.
 *
 * Some rows of one head are computed at once: their scores stay in the second-level cache between
 * the two products.  A task has all rows of a head, or some if there are few heads; backwards all rows of
 * the heads that share keys and values, since their gradients are sums over rows.  Under a causal mask
 * the keys after the last row are left out.  float32 only.
 */

#include "lanes.h"
#include "pool.h"
#include "products.h"
#include "tiles.h"

#define MOST_ROWS 96 /* at once; short rows of scores are better in fewer */
#define FEW_ROWS 24
#define MANY_KEYS 256
#define MANY_HEADS 16 /* enough tasks without cutting the rows of a head */

/* (batch, heads, rows, width) with steps in elements; elements of a row lie in one piece. */
typedef struct {
    float *data;
    npy_intp size[4], step[4];
} Heads;

typedef struct {
    Heads query, key, value, output, sums, mask, grad, to_query, to_key, to_value;
    int causal, has_mask, failed, by_tiles;
    float scale;
    npy_intp heads, shared, rows, keys, width, tall, blocks, own; /* tall: rows at once, own: of a task */
} Attention;

static float *row_of(const Heads *all, npy_intp batch, npy_intp head, npy_intp row) {
    return all->data + batch * all->step[0] + head * all->step[1] + row * all->step[2];
}

static Matrix matrix_at(const Heads *all, npy_intp batch, npy_intp head, npy_intp row, int turned) {
    return (Matrix){row_of(all, batch, head, row), all->step[2], turned};
}

/* Products of blocks are too small for `product` to choose tiles, but here nothing is copied for them. */
static void multiply(const Attention *all, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right,
                     float *to, npy_intp to_step, int add) {
    if (all->by_tiles) multiply_tiles(rows, inner, columns, left, right, to, to_step, add ? to : NULL, to_step);
    else product(0, rows, inner, columns, left, right, to, to_step, add);
}

/* The first rows of a head as columns: turned over into `room` for tiles, BLAS takes them as they are. */
static Matrix columns_at(const Attention *all, const Heads *heads, npy_intp batch, npy_intp head, npy_intp count, float *room) {
    if (!all->by_tiles) return matrix_at(heads, batch, head, 0, 1);
    turn_matrix(all->width, count, row_of(heads, batch, head, 0), heads->step[2], room, turned_step(count));
    return (Matrix){room, turned_step(count), 0};
}

static npy_intp room_for_columns(const Attention *all) { return all->by_tiles ? all->width * turned_step(all->keys) : 0; }

/* scores = scores * scale + mask */
FAST static void scale_row(float *scores, npy_intp count, float scale, const float *mask, npy_intp step) {
    if (mask != NULL)
        for (npy_intp k = 0; k < count; k++) scores[k] = scores[k] * scale + mask[k * step];
    else
        for (npy_intp k = 0; k < count; k++) scores[k] = scores[k] * scale;
}

FAST static float largest_score(const float *scores, npy_intp count) { return largest_of(scores, count); }

FAST static float sum_of_row(const float *row, npy_intp count) { return (float)sum_of(row, count); }

/* scores = exp(scores * scale - most) */
FAST static void exponentials(float *scores, npy_intp count, float scale, float most) {
    for (npy_intp k = 0; k < count; k++) scores[k] = exp_quickly(scores[k] * scale - most);
}

/* The gradient of scores: weights * (change - mean) * scale, into `change`. */
FAST static void slope_row(float *change, const float *weights, npy_intp count, float mean, float scale) {
    for (npy_intp i = 0; i < count; i++) change[i] = (change[i] - mean) * weights[i] * scale;
}

FAST static float product_of_rows(const float *first, const float *second, npy_intp count) {
    return (float)dot_of(first, second, count);
}

/* How many keys the rows up to `last` see, and how many one row does. */
static npy_intp seen(const Attention *all, npy_intp last) {
    return all->causal && last < all->keys ? last : all->keys;
}

static const float *mask_of(const Attention *all, npy_intp batch, npy_intp head, npy_intp row) {
    return all->has_mask ? row_of(&all->mask, batch, head, row) : NULL;
}

/* The factor that scores still need: a positive one can wait for `exponentials` if there is no mask. */
static float masked(const Attention *all, npy_intp batch, npy_intp head, npy_intp row, float *scores, npy_intp count) {
    const float *mask = mask_of(all, batch, head, row);
    if (mask == NULL && all->scale > 0 && all->scale < INFINITY) return all->scale;
    scale_row(scores, count, all->scale, mask, all->mask.step[3]);
    return 1;
}

static void forward_rows(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, npy_intp last,
                         Matrix keys, float *scores) {
    const npy_intp wide = seen(all, last), from = head / all->shared;
    float total[MOST_ROWS];
    multiply(all, last - first, all->width, wide, matrix_at(&all->query, batch, head, first, 0), keys, scores, wide, 0);
    for (npy_intp row = first; row < last; row++) {
        float *own = scores + (row - first) * wide;
        const npy_intp count = seen(all, row + 1);
        const float scale = masked(all, batch, head, row, own, count);
        float most = largest_score(own, count) * scale;
        if (most == -INFINITY) most = 0; /* a row that is masked out gives zero */
        exponentials(own, count, scale, most);
        const float sum = sum_of_row(own, count);
        for (npy_intp k = count; k < wide; k++) own[k] = 0;
        *row_of(&all->sums, batch, head, row) = sum == 0 ? 0 : logf(sum) + most;
        total[row - first] = sum == 0 ? 1 : sum;
    }
    float *to = row_of(&all->output, batch, head, first);
    multiply(all, last - first, wide, all->width, (Matrix){scores, wide, 0}, matrix_at(&all->value, batch, from, 0, 0),
             to, all->output.step[2], 0);
    for (npy_intp row = first; row < last; row++, to += all->output.step[2])
        for (npy_intp k = 0; k < all->width; k++) to[k] /= total[row - first];
}

/* Items are (batch, head, block of rows). */
static void forward_part(void *context, npy_intp start, npy_intp stop) {
    Attention *all = context;
    float *room = scratch_take((size_t)(room_for_columns(all) + all->tall * all->keys) * sizeof(float));
    if (room == NULL) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    for (npy_intp item = start; room != NULL && item < stop; item++) {
        const npy_intp head = item / all->blocks % all->heads, batch = item / all->blocks / all->heads;
        const npy_intp first = item % all->blocks * all->own;
        const npy_intp last = first + all->own < all->rows ? first + all->own : all->rows;
        Matrix keys = columns_at(all, &all->key, batch, head / all->shared, seen(all, last), room);
        for (npy_intp row = first; row < last; row += all->tall)
            forward_rows(all, batch, head, row, row + all->tall < last ? row + all->tall : last, keys,
                         room + room_for_columns(all));
    }
    scratch_give(room);
}

/* `keys` and `values` as columns. */
static void backward_rows(const Attention *all, npy_intp batch, npy_intp head, npy_intp first, npy_intp last,
                          Matrix keys, Matrix values, float *weights, float *change) {
    const npy_intp wide = seen(all, last), rows = last - first, from = head / all->shared;
    Matrix grad = matrix_at(&all->grad, batch, head, first, 0), query = matrix_at(&all->query, batch, head, first, 0);
    multiply(all, rows, all->width, wide, query, keys, weights, wide, 0);
    for (npy_intp row = first; row < last; row++) { /* once more, from the logarithms of their sums */
        float *own = weights + (row - first) * wide;
        const npy_intp count = seen(all, row + 1);
        const float scale = masked(all, batch, head, row, own, count);
        exponentials(own, count, scale, *row_of(&all->sums, batch, head, row));
        for (npy_intp k = count; k < wide; k++) own[k] = 0;
    }
    multiply(all, wide, rows, all->width, (Matrix){weights, wide, 1}, grad, row_of(&all->to_value, batch, from, 0),
             all->to_value.step[2], 1);
    multiply(all, rows, all->width, wide, grad, values, change, wide, 0);
    for (npy_intp row = first; row < last; row++) {
        const npy_intp place = (row - first) * wide;
        float mean = product_of_rows(row_of(&all->grad, batch, head, row), row_of(&all->output, batch, head, row), all->width);
        slope_row(change + place, weights + place, wide, mean, all->scale);
    }
    multiply(all, rows, wide, all->width, (Matrix){change, wide, 0}, matrix_at(&all->key, batch, from, 0, 0),
             row_of(&all->to_query, batch, head, first), all->to_query.step[2], 0);
    multiply(all, wide, rows, all->width, (Matrix){change, wide, 1}, query, row_of(&all->to_key, batch, from, 0),
             all->to_key.step[2], 1);
}

/* Items are (batch, head of keys and values). */
static void backward_part(void *context, npy_intp start, npy_intp stop) {
    Attention *all = context;
    const npy_intp kept = all->heads / all->shared, size = all->tall * all->keys, columns = room_for_columns(all);
    float *room = scratch_take((size_t)(2 * columns + 2 * size) * sizeof(float));
    if (room == NULL) __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    for (npy_intp item = start; room != NULL && item < stop; item++) {
        const npy_intp batch = item / kept, from = item % kept;
        Matrix keys = columns_at(all, &all->key, batch, from, all->keys, room);
        Matrix values = columns_at(all, &all->value, batch, from, all->keys, room + columns);
        for (npy_intp head = from * all->shared; head < (from + 1) * all->shared; head++)
            for (npy_intp first = 0; first < all->rows; first += all->tall)
                backward_rows(all, batch, head, first, first + all->tall < all->rows ? first + all->tall : all->rows,
                              keys, values, room + 2 * columns, room + 2 * columns + size);
    }
    scratch_give(room);
}

/* --- what Python calls ------------------------------------------------------------------------ */

/* An array of four dimensions whose rows can be a matrix for BLAS; `width` 0: any last step. */
static int read_heads(PyObject *value, npy_intp width, int written, Heads *heads) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != NPY_FLOAT || PyArray_NDIM(array) != 4 || !PyArray_ISBEHAVED_RO(array) ||
        PyArray_SIZE(array) == 0 || (written && !PyArray_ISWRITEABLE(array)))
        return 0;
    heads->data = PyArray_DATA(array);
    for (int dim = 0; dim < 4; dim++) {
        heads->size[dim] = PyArray_DIM(array, dim);
        if (PyArray_STRIDE(array, dim) % (npy_intp)sizeof(float) || heads->size[dim] >> 31) return 0;
        heads->step[dim] = PyArray_STRIDE(array, dim) / (npy_intp)sizeof(float);
    }
    if (width == 0) return 1;
    if (heads->size[2] == 1) heads->step[2] = width; /* one row: its step means nothing */
    return heads->size[3] == width && (heads->step[3] == 1 || width == 1) && heads->step[2] >= width &&
           heads->step[2] < (npy_intp)1 << 31;
}

static int same_size(const Heads *heads, npy_intp batch, npy_intp count, npy_intp rows, npy_intp width) {
    return heads->size[0] == batch && heads->size[1] == count && heads->size[2] == rows && heads->size[3] == width;
}

/* query, key, value, output, sums (batch, heads, rows, 1), mask or None, causal, scale */
static int read_attention(PyObject *const *args, int backward, Attention *all) {
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 4 || !have_products()) return 0;
    const npy_intp width = PyArray_DIM((PyArrayObject *)args[0], 3);
    if (width == 0 || !read_heads(args[0], width, 0, &all->query) || !read_heads(args[1], width, 0, &all->key) ||
        !read_heads(args[2], width, 0, &all->value) || !read_heads(args[3], width, !backward, &all->output) ||
        !read_heads(args[4], 0, !backward, &all->sums))
        return 0;
    const npy_intp batch = all->query.size[0];
    all->heads = all->query.size[1], all->rows = all->query.size[2], all->width = width;
    all->keys = all->key.size[2];
    const npy_intp kept = all->key.size[1];
    if (all->heads % kept || all->keys > 1 << 20) return 0;
    all->shared = all->heads / kept;
    all->tall = all->keys < MANY_KEYS ? FEW_ROWS : MOST_ROWS;
    all->own = batch * all->heads < MANY_HEADS ? all->tall : all->rows;
    all->blocks = (all->rows + all->own - 1) / all->own;
    all->by_tiles = have_tiles();
    all->has_mask = args[5] != Py_None;
    if (all->has_mask && (!read_heads(args[5], 0, 0, &all->mask) ||
                          !same_size(&all->mask, batch, all->heads, all->rows, all->keys)))
        return 0;
    all->causal = args[6] == Py_True;
    all->scale = (float)PyFloat_AsDouble(args[7]);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return same_size(&all->key, batch, kept, all->keys, width) &&
           same_size(&all->value, batch, kept, all->keys, width) &&
           same_size(&all->output, batch, all->heads, all->rows, width) &&
           same_size(&all->sums, batch, all->heads, all->rows, 1);
}

static PyObject *run(Attention *all, Part part, npy_intp items, npy_intp grain) {
    Py_BEGIN_ALLOW_THREADS;
    products_on_pool(part, all, items, grain);
    Py_END_ALLOW_THREADS;
    if (all->failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}

/* How many items of `work` multiplications each a chunk has: a thread needs something to do. */
static npy_intp grain_of(const Attention *all, npy_intp rows) {
    npy_intp grain = ((npy_intp)1 << 18) / (rows * all->keys * all->width + 1);
    return grain < 1 ? 1 : grain;
}

/* attend(query, key, value, output, sums, mask, causal, scale): writes output and sums. */
PyObject *taper_attend(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Attention all = {0};
    if (count != 8) return PyErr_Format(PyExc_TypeError, "attend takes 8 arguments");
    if (!read_attention(args, 0, &all)) Py_RETURN_NONE;
    const npy_intp rows = all.rows < all.own ? all.rows : all.own;
    return run(&all, forward_part, all.query.size[0] * all.heads * all.blocks, grain_of(&all, rows));
}

/* attend_backward(query, key, value, output, sums, mask, causal, scale, grad, to_query, to_key,
 * to_value): the last three are zeros, which gradients are added to. */
PyObject *taper_attend_backward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Attention all = {0};
    if (count != 12) return PyErr_Format(PyExc_TypeError, "attend_backward takes 12 arguments");
    if (!read_attention(args, 1, &all)) Py_RETURN_NONE;
    const npy_intp batch = all.query.size[0], kept = all.key.size[1];
    if (!read_heads(args[8], all.width, 0, &all.grad) || !read_heads(args[9], all.width, 1, &all.to_query) ||
        !read_heads(args[10], all.width, 1, &all.to_key) || !read_heads(args[11], all.width, 1, &all.to_value) ||
        !same_size(&all.grad, batch, all.heads, all.rows, all.width) ||
        !same_size(&all.to_query, batch, all.heads, all.rows, all.width) ||
        !same_size(&all.to_key, batch, kept, all.keys, all.width) ||
        !same_size(&all.to_value, batch, kept, all.keys, all.width))
        Py_RETURN_NONE;
    return run(&all, backward_part, batch * kept, grain_of(&all, all.rows * all.shared));
}
