/* Kernels of programs over rows of floats: layer norms, and arrays put side by side.
 *
 * They run in parts, so that a strand takes some rows through them while these are in the cache.  The norms round
 * otherwise than eager mode's (`norms.c`): rows are added in sixteen lanes of single precision.
 */

#include <math.h>
#include <string.h>

#include "program_steps.h"
#include "tiles.h"

#define NO_KERNEL(name)                              \
    int suits_##name(const Call *call) { return 0; } \
    int prepare_##name(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) { return 0; }

static npy_intp size_of(const Shape *shape) {
    npy_intp size = 1;
    for (int dim = 0; dim < shape->dims; dim++) size *= shape->lengths[dim];
    return size;
}

/* Whether an argument or output is floats, row by row, so many. */
static int is_floats(const Shape *shape, npy_intp size) {
    return shape != NULL && is_rows(shape, NPY_FLOAT, shape->dims) && size_of(shape) == size;
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define LANES 16
#define LONGEST 4096
#define VECTORS __attribute__((target("avx512f")))
#define INLINE static inline __attribute__((always_inline, target("avx512f")))
#define EACH(at) for (npy_intp at = 0; at < length; at += LANES)
#define LOAD(from, at) _mm512_maskz_loadu_ps(lanes_before(length - (at)), (from) + (at))
#define STORE(to, at, value) store((to) + (at), length - (at), value)

INLINE __mmask16 lanes_before(npy_intp count) { return count >= LANES ? 0xffff : (__mmask16)((1u << count) - 1); }

/* Under a mask a store takes several times as long. */
INLINE void store(float *to, npy_intp count, __m512 value) {
    if (count >= LANES) _mm512_storeu_ps(to, value);
    else _mm512_mask_storeu_ps(to, lanes_before(count), value);
}

typedef struct {
    npy_intp rows, length, units, of_unit; /* of_unit: rows */
    const float *x, *grad, *weight, *bias;
    float *mean, *inverse, *to, *for_weight, *for_bias;
    float *sums; /* for each unit: those for weight and bias */
    double eps;
} Norm;
_Static_assert(sizeof(Norm) <= sizeof(((Parts *)0)->context), "a context is larger");

INLINE float mean_of(const float *x, npy_intp length) {
    __m512 sum = _mm512_setzero_ps();
    EACH(at) sum = _mm512_add_ps(sum, LOAD(x, at));
    return _mm512_reduce_add_ps(sum) / (float)length;
}

INLINE float variance_of(const float *x, npy_intp length, float mean) {
    const __m512 centre = _mm512_set1_ps(mean);
    __m512 sum = _mm512_setzero_ps();
    EACH(at) {
        const __m512 apart = _mm512_maskz_sub_ps(lanes_before(length - at), LOAD(x, at), centre);
        sum = _mm512_fmadd_ps(apart, apart, sum);
    }
    return _mm512_reduce_add_ps(sum) / (float)length;
}

/* Items are rows. */
VECTORS static void normalise(void *context, npy_intp start, npy_intp stop) {
    const Norm *task = context;
    const npy_intp length = task->length;
    for (npy_intp row = start; row < stop; row++) {
        const float *x = task->x + row * length, mean = mean_of(x, length);
        const float inverse = (float)(1.0 / sqrt(variance_of(x, length, mean) + task->eps));
        const __m512 centre = _mm512_set1_ps(mean), factor = _mm512_set1_ps(inverse);
        float *to = task->to + row * length;
        EACH(at) {
            const __m512 value = _mm512_mul_ps(_mm512_sub_ps(LOAD(x, at), centre), factor);
            STORE(to, at, _mm512_fmadd_ps(value, LOAD(task->weight, at), LOAD(task->bias, at)));
        }
        if (task->mean != NULL) task->mean[row] = mean;
        if (task->inverse != NULL) task->inverse[row] = inverse;
    }
}

INLINE void gradient_of_row(const Norm *task, npy_intp row, float *for_weight, float *for_bias) {
    const npy_intp length = task->length;
    const float *x = task->x + row * length, *grad = task->grad + row * length, *weight = task->weight;
    const float inverse = task->inverse[row], part = inverse / (float)length;
    const __m512 centre = _mm512_set1_ps(task->mean[row]), factor = _mm512_set1_ps(inverse);
    __m512 along = _mm512_setzero_ps(), total = _mm512_setzero_ps();
    EACH(at) {
        const __m512 slope = LOAD(grad, at), weighted = _mm512_mul_ps(slope, LOAD(weight, at));
        const __m512 apart = _mm512_sub_ps(LOAD(x, at), centre);
        along = _mm512_fmadd_ps(weighted, apart, along); /* where there is no slope nothing is added */
        total = _mm512_add_ps(total, weighted);
        STORE(for_weight, at, _mm512_fmadd_ps(slope, _mm512_mul_ps(apart, factor), LOAD(for_weight, at)));
        STORE(for_bias, at, _mm512_add_ps(slope, LOAD(for_bias, at)));
    }
    const __m512 slope = _mm512_set1_ps(-_mm512_reduce_add_ps(along) * inverse * inverse * part);
    const __m512 shift = _mm512_set1_ps(-_mm512_reduce_add_ps(total) * part);
    float *to = task->to + row * length;
    EACH(at) {
        const __m512 apart = _mm512_sub_ps(LOAD(x, at), centre), rest = _mm512_fmadd_ps(apart, slope, shift);
        STORE(to, at, _mm512_fmadd_ps(_mm512_mul_ps(LOAD(grad, at), LOAD(weight, at)), factor, rest));
    }
}

VECTORS static void gradients(void *context, npy_intp start, npy_intp stop) {
    const Norm *task = context;
    float *for_weight = task->sums + start / task->of_unit * 2 * task->length, *for_bias = for_weight + task->length;
    memset(for_weight, 0, (size_t)(2 * task->length) * sizeof(float));
    for (npy_intp row = start; row < stop; row++) gradient_of_row(task, row, for_weight, for_bias);
}

/* Put the sums of all units together. */
static int add_units(void *context) {
    const Norm *task = context;
    const npy_intp length = task->length, units = (task->rows + task->of_unit - 1) / task->of_unit;
    float *to[2] = {task->for_weight, task->for_bias};
    if (task->sums == NULL) return 0;
    for (int which = 0; which < 2; which++)
        for (npy_intp i = 0; i < length && to[which] != NULL; i++) {
            double total = 0;
            for (npy_intp unit = 0; unit < units; unit++) total += task->sums[(unit * 2 + which) * length + i];
            to[which][i] = (float)total;
        }
    scratch_give(task->sums);
    return 1;
}

/* The number of elements of a row, from the weight; 0 if the call is not for us. */
static npy_intp length_of(const Call *call, int input, int weight) {
    const Shape *x = given_shape(call, input), *w = given_shape(call, weight);
    if (x == NULL || w == NULL || x->dims < w->dims || !is_floats(x, size_of(x)) || !is_floats(w, size_of(w))) return 0;
    for (int dim = 1; dim <= w->dims; dim++)
        if (x->lengths[x->dims - dim] != w->lengths[w->dims - dim]) return 0;
    const npy_intp length = size_of(w);
    return length <= LONGEST && size_of(x) > 0 ? length : 0;
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps) */
int suits_layer_norm(const Call *call) {
    const npy_intp length = call->args == 5 ? length_of(call, 0, 2) : 0;
    if (!length || call->output_count != 3 || !is_floats(given_shape(call, 3), length)) return 0;
    const npy_intp size = size_of(given_shape(call, 0));
    PyObject *shape = call->arg_list[1].plain, *eps = call->arg_list[4].plain;
    if (shape == NULL || !PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != given_shape(call, 2)->dims) return 0;
    for (int nr = 1; nr < 3; nr++)
        if (output_shape(call, nr) != NULL && !is_floats(output_shape(call, nr), size / length)) return 0;
    return eps != NULL && PyFloat_Check(eps) && is_floats(output_shape(call, 0), size);
}

int prepare_layer_norm(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) {
    const npy_intp length = length_of(call, 0, 2), rows = size_of(given_shape(call, 0)) / length;
    Norm task = {.rows = rows, .length = length, .x = (float *)data[0], .weight = (float *)data[2], .bias = (float *)data[3],
                 .to = (float *)outputs[0], .mean = (float *)outputs[1], .inverse = (float *)outputs[2],
                 .eps = PyFloat_AS_DOUBLE(call->arg_list[4].plain)};
    memcpy(parts->context, &task, sizeof task);
    parts->part = normalise, parts->items = rows;
    return 1;
}

/* The derivative: (grad, input, normalized_shape, weight, bias, means, inverse deviations, needs) */
int suits_layer_norm_backward(const Call *call) {
    const npy_intp length = call->args == 8 ? length_of(call, 1, 3) : 0;
    if (!length || call->output_count != 3) return 0;
    const npy_intp size = size_of(given_shape(call, 1));
    for (int nr = 1; nr < 3; nr++)
        if (output_shape(call, nr) != NULL && !is_floats(output_shape(call, nr), length)) return 0;
    return is_floats(given_shape(call, 0), size) && is_floats(given_shape(call, 5), size / length) &&
           is_floats(given_shape(call, 6), size / length) && is_floats(output_shape(call, 0), size);
}

int prepare_layer_norm_backward(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) {
    const npy_intp length = length_of(call, 1, 3), rows = size_of(given_shape(call, 1)) / length;
    Norm task = {.rows = rows, .length = length, .of_unit = (rows + units - 1) / units, .grad = (float *)data[0],
                 .x = (float *)data[1], .weight = (float *)data[3], .mean = (float *)data[5], .inverse = (float *)data[6],
                 .to = (float *)outputs[0], .for_weight = (float *)outputs[1], .for_bias = (float *)outputs[2],
                 .sums = scratch_take((size_t)(units * 2 * length) * sizeof(float))};
    memcpy(parts->context, &task, sizeof task);
    parts->part = gradients, parts->items = rows, parts->finish = add_units;
    return task.sums != NULL;
}

#else

NO_KERNEL(layer_norm)
NO_KERNEL(layer_norm_backward)

#endif

/* --- arrays side by side -------------------------------------------------------------------------- */

#define MOST_JOINED 8

typedef struct {
    int count;
    npy_intp steps[MOST_JOINED], bytes[MOST_JOINED], to_step; /* from row to row, and of a row */
    const char *from[MOST_JOINED];
    char *to;
} Joined;

static void join_rows(void *context, npy_intp start, npy_intp stop) {
    const Joined *task = context;
    for (npy_intp row = start; row < stop; row++) {
        char *to = task->to + row * task->to_step;
        for (int nr = 0; nr < task->count; to += task->bytes[nr++])
            memcpy(to, task->from[nr] + row * task->steps[nr], (size_t)task->bytes[nr]);
    }
}

/* An array as rows, one step apart, of the last dimension; 0 if it is none. */
static int read_rows(const Shape *shape, const Shape *like, npy_intp *step) {
    const int last = like->dims - 1;
    if (shape == NULL || shape->type != NPY_FLOAT || shape->dims != like->dims || shape->strides[last] != sizeof(float))
        return 0;
    *step = shape->strides[last - 1];
    for (int dim = 0; dim < last; dim++) {
        if (shape->lengths[dim] != like->lengths[dim]) return 0;
        if (dim + 1 < last && shape->strides[dim] != shape->strides[dim + 1] * shape->lengths[dim + 1]) return 0;
    }
    return 1;
}

static int read_join(const Call *call, Joined *task) {
    const Shape *to = output_shape(call, 0);
    if (call->output_count != 1 || to == NULL || to->dims < 2 || !is_rows(to, NPY_FLOAT, to->dims) ||
        call->args > MOST_JOINED || size_of(to) == 0)
        return 0;
    npy_intp width = 0;
    for (int nr = 0; nr < call->args; nr++) {
        const Shape *from = given_shape(call, nr);
        if (!read_rows(from, to, &task->steps[nr])) return 0;
        task->bytes[nr] = from->lengths[to->dims - 1] * (npy_intp)sizeof(float);
        width += from->lengths[to->dims - 1];
    }
    task->count = call->args, task->to_step = width * (npy_intp)sizeof(float);
    return width == to->lengths[to->dims - 1];
}

int suits_join(const Call *call) {
    Joined task = {0};
    return read_join(call, &task);
}

int prepare_join(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts) {
    Joined *task = memset(parts->context, 0, sizeof(Joined));
    if (!read_join(call, task)) return 0;
    for (int nr = 0; nr < task->count; nr++) task->from[nr] = data[nr];
    task->to = outputs[0];
    parts->part = join_rows, parts->items = size_of(output_shape(call, 0)) * (npy_intp)sizeof(float) / task->to_step;
    return 1;
}
