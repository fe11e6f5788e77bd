/* Normalisation with mean 0 and variance 1, and its gradients, of row-major floats; the twins stand
 * in `ops/norm/sample.py` and `ops/norm/batch.py`.
 *
 * Rows: `layer_norm`, with a weight for each place of a row.  Segments: groups of channels and whole
 * channels of (N, C, L), with a weight for each channel.  Columns: channels of (N, C).
 * A chunk for the pool has whole rows, groups, channels or strips of columns; only gradients of the
 * weights of rows are sums over chunks, which are added in their order.
 */

#include "lanes.h"
#include "pool.h"

#define GRAIN 16384 /* elements of a chunk */
#define TILE 4096   /* elements of rows that are computed step by step together */
#define MOST_CHUNKS 32

static int is_plain(PyObject *value, npy_intp size) {
    PyArrayObject *array = plain_array(value, NPY_FLOAT);
    return array != NULL && (size < 0 || PyArray_SIZE(array) == size);
}

/* Put the data of plain floats, or NULL for None; 0 if it is anything else or of another size. */
static int take(PyObject *value, npy_intp size, const float **data) {
    *data = NULL;
    if (value == Py_None) return 1;
    if (!is_plain(value, size)) return 0;
    *data = PyArray_DATA((PyArrayObject *)value);
    return 1;
}

static PyObject *new_like(PyObject *array, float **data) {
    PyArrayObject *from = (PyArrayObject *)array;
    PyObject *made = PyArray_SimpleNew(PyArray_NDIM(from), PyArray_DIMS(from), NPY_FLOAT);
    if (made != NULL) *data = PyArray_DATA((PyArrayObject *)made);
    return made;
}

static PyObject *new_array(int ndim, npy_intp *shape, float **data) {
    PyObject *made = PyArray_SimpleNew(ndim, shape, NPY_FLOAT);
    if (made != NULL) *data = PyArray_DATA((PyArrayObject *)made);
    return made;
}

/* A tuple of new references, some of them NULL where the results were not wanted: those are None. */
static PyObject *tuple_of(int count, PyObject **results, int failed) {
    PyObject *all = failed ? NULL : PyTuple_New(count);
    for (int nr = 0; nr < count; nr++) {
        if (all == NULL) Py_XDECREF(results[nr]);
        else PyTuple_SET_ITEM(all, nr, results[nr] ? results[nr] : Py_NewRef(Py_None));
    }
    return all;
}

/* --- rows --------------------------------------------------------------------------------------- */

typedef struct {
    const float *x, *grad, *weight, *bias;
    float *mean, *inverse, *to;
    npy_intp rows, length, grain;
    double eps;
    int centred;
    float *for_weight, *for_bias;
    float *scratch; /* for each chunk its sums for weight and bias, and those of a turn */
} Rows;

INLINE void normalise_row(const Rows *task, npy_intp row) {
    const npy_intp length = task->length;
    const float *restrict weight = task->weight, *restrict bias = task->bias;
    const float *restrict x = task->x + row * length;
    float *restrict to = task->to + row * length;
    const float mean = task->mean[row], inverse = task->inverse[row];
    if (weight != NULL && bias != NULL)
        for (npy_intp i = 0; i < length; i++) to[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
    else if (weight != NULL)
        for (npy_intp i = 0; i < length; i++) to[i] = (x[i] - mean) * inverse * weight[i];
    else if (bias != NULL)
        for (npy_intp i = 0; i < length; i++) to[i] = (x[i] - mean) * inverse + bias[i];
    else
        for (npy_intp i = 0; i < length; i++) to[i] = (x[i] - mean) * inverse;
}

/* Step by step for the rows of a tile, which stays in the cache: no row waits for its own last step. */
FAST static void normalise_rows(void *context, npy_intp start, npy_intp stop) {
    const Rows *task = context;
    const npy_intp length = task->length, most = length < TILE ? TILE / length : 1;
    const double part = 1.0 / (double)length;
    float *mean = task->mean, *inverse = task->inverse;
    for (npy_intp first = start; first < stop; first += most) {
        const npy_intp end = stop - first < most ? stop : first + most;
        for (npy_intp row = first; row < end; row++)
            mean[row] = task->centred ? (float)(sum_of(task->x + row * length, length) * part) : 0;
        for (npy_intp row = first; row < end; row++)
            inverse[row] = (float)(squares_of(task->x + row * length, mean[row], length) * part);
        for (npy_intp row = first; row < end; row++)
            inverse[row] = (float)(1.0 / sqrt(inverse[row] + task->eps));
        for (npy_intp row = first; row < end; row++) normalise_row(task, row);
    }
}

/* layer_norm(x, lead, weight, bias, eps, centred): the normalised rows of `x`, which has `lead`
 * dimensions before those of a row, their means and inverse deviations; or None. */
PyObject *taper_layer_norm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 6) return PyErr_Format(PyExc_TypeError, "layer_norm(x, lead, weight, bias, eps, centred)");
    const long lead = whole_of(args[1]);
    Rows task = {.eps = number_of(args[4]), .centred = truth_of(args[5])};
    if (PyErr_Occurred()) return NULL;
    if (!is_plain(args[0], -1)) Py_RETURN_NONE;
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(x);
    if (lead < 0 || lead >= ndim || PyArray_SIZE(x) == 0) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS];
    task.rows = task.length = 1;
    for (int dim = 0; dim < ndim; dim++) {
        shape[dim] = dim < lead ? PyArray_DIM(x, dim) : 1;
        *(dim < lead ? &task.rows : &task.length) *= PyArray_DIM(x, dim);
    }
    if (!take(args[2], task.length, &task.weight) || !take(args[3], task.length, &task.bias))
        Py_RETURN_NONE;
    task.x = PyArray_DATA(x);
    PyObject *results[3] = {new_like(args[0], &task.to), new_array(ndim, shape, &task.mean),
                            new_array(ndim, shape, &task.inverse)};
    const int failed = !results[0] || !results[1] || !results[2];
    if (!failed) pool_compute(normalise_rows, &task, task.rows, GRAIN / task.length, PyArray_SIZE(x) <= GRAIN);
    return tuple_of(3, results, failed);
}

/* The sum over a row of weight * grad * (x - mean). */
INLINE double weighted_dot(const float *weight, const float *grad, const float *x, float mean,
                           npy_intp length) {
#define TERM(READ, i) (READ(weight, i) * READ(grad, i) * (READ(x, i) - mean))
    ADD_ROW(TERM);
#undef TERM
}

/* The gradients of up to TURN rows: first what each row's elements share, then the elements. */
FAST static void gradient_of_turn(const Rows *task, npy_intp first, npy_intp stop,
                                  float *restrict for_weight, float *restrict for_bias) {
    const npy_intp length = task->length;
    const float *restrict weight = task->weight;
    float slopes[TURN], shifts[TURN];
    for (npy_intp row = first; row < stop && task->to != NULL; row++) {
        const float *x = task->x + row * length, *grad = task->grad + row * length;
        const float mean = task->mean[row];
        const double inverse = task->inverse[row], part = inverse / (double)length;
        const double along = weight ? weighted_dot(weight, grad, x, mean, length)
                                    : dot_with_centred(grad, x, mean, length);
        const double total = weight ? dot_of(weight, grad, length) : sum_of(grad, length);
        slopes[row - first] = (float)(-along * inverse * inverse * part);
        shifts[row - first] = (float)(-total * part);
    }
    for (npy_intp row = first; row < stop; row++) {
        const float *restrict x = task->x + row * length, *restrict grad = task->grad + row * length;
        const float mean = task->mean[row], inverse = task->inverse[row];
        if (for_weight != NULL)
            for (npy_intp i = 0; i < length; i++)
                for_weight[i] += grad[i] * ((x[i] - mean) * inverse);
        if (for_bias != NULL)
            for (npy_intp i = 0; i < length; i++) for_bias[i] += grad[i];
        if (task->to == NULL) continue;
        const float slope = slopes[row - first], shift = shifts[row - first];
        float *restrict to = task->to + row * length;
        if (weight != NULL)
            for (npy_intp i = 0; i < length; i++)
                to[i] = grad[i] * weight[i] * inverse + ((x[i] - mean) * slope + shift);
        else
            for (npy_intp i = 0; i < length; i++)
                to[i] = grad[i] * inverse + ((x[i] - mean) * slope + shift);
    }
}

FAST static void add_and_clear(float *from, float *to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        to[i] += from[i];
        from[i] = 0;
    }
}

/* The gradients of some rows, and what they add to those of weight and bias: into the chunk's own
 * sums, by turns of rows. */
static void gradient_of_rows(void *context, npy_intp start, npy_intp stop) {
    const Rows *task = context;
    const npy_intp length = task->length;
    float *own = task->scratch ? task->scratch + start / task->grain * 4 * length : NULL;
    float *sums[2] = {task->for_weight, task->for_bias}, *turns[2] = {sums[0], sums[1]};
    for (int nr = 0; nr < 2; nr++) {
        if (sums[nr] == NULL) continue;
        if (own != NULL) {
            sums[nr] = own + nr * length, turns[nr] = own + (2 + nr) * length;
            memset(turns[nr], 0, (size_t)length * sizeof(float));
        }
        memset(sums[nr], 0, (size_t)length * sizeof(float));
    }
    for (npy_intp row = start; row < stop; row += TURN) {
        gradient_of_turn(task, row, stop - row < TURN ? stop : row + TURN, turns[0], turns[1]);
        for (int nr = 0; nr < 2 && own != NULL; nr++)
            if (sums[nr] != NULL) add_and_clear(turns[nr], sums[nr], length);
    }
}

/* Run the gradient, where there are many rows with sums for each chunk that are added at the end;
 * 0 if there is no memory for them. */
static int run_with_sums(Rows *task) {
    const npy_intp chunks = (task->rows + task->grain - 1) / task->grain, length = task->length;
    float *sums[2] = {task->for_weight, task->for_bias};
    if ((sums[0] || sums[1]) && (chunks > 1 || task->rows > TURN)) {
        task->scratch = scratch_take((size_t)(chunks * length) * 4 * sizeof(float));
        if (task->scratch == NULL) return 0;
    }
    pool_compute(gradient_of_rows, task, task->rows, task->grain, task->rows * length <= GRAIN);
    if (task->scratch == NULL) return 1;
    for (int which = 0; which < 2; which++) {
        if (sums[which] == NULL) continue;
        memset(sums[which], 0, (size_t)length * sizeof(float));
        for (npy_intp nr = 0; nr < chunks; nr++)
            add_and_clear(task->scratch + (nr * 4 + which) * length, sums[which], length);
    }
    scratch_give(task->scratch);
    return 1;
}

/* Which gradients are wanted: three flags, as a tuple of a formula's `needs`. */
static int wanted(PyObject *needs, int *flags) {
    if (!PyTuple_Check(needs) || PyTuple_GET_SIZE(needs) < 3) {
        PyErr_SetString(PyExc_TypeError, "needs must be a tuple of three");
        return 0;
    }
    for (int nr = 0; nr < 3; nr++) flags[nr] = truth_of(PyTuple_GET_ITEM(needs, nr));
    return !PyErr_Occurred();
}

/* layer_norm_backward(grad, x, mean, inverse, weight, lead, needs): the gradients of input, weight and
 * bias; or None. */
PyObject *taper_layer_norm_backward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 7)
        return PyErr_Format(PyExc_TypeError,
                            "layer_norm_backward(grad, x, mean, inverse, weight, lead, needs)");
    const long lead = whole_of(args[5]);
    int needs[3];
    if (PyErr_Occurred() || !wanted(args[6], needs)) return NULL;
    if (!is_plain(args[1], -1)) Py_RETURN_NONE;
    PyArrayObject *x = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(x);
    const npy_intp size = PyArray_SIZE(x);
    if (lead < 0 || lead >= ndim || size == 0) Py_RETURN_NONE;
    const float *mean, *inverse;
    Rows task = {.rows = 1};
    for (int dim = 0; dim < lead; dim++) task.rows *= PyArray_DIM(x, dim);
    task.length = size / task.rows;
    if (!is_plain(args[0], size) || !is_plain(args[2], task.rows) || !is_plain(args[3], task.rows) ||
        !take(args[4], task.length, &task.weight) || !take(args[0], size, &task.grad) ||
        !take(args[2], task.rows, &mean) || !take(args[3], task.rows, &inverse))
        Py_RETURN_NONE;
    task.x = PyArray_DATA(x), task.mean = (float *)mean, task.inverse = (float *)inverse;
    task.grain = task.length < GRAIN ? GRAIN / task.length : 1;
    if (task.grain * MOST_CHUNKS < task.rows) task.grain = (task.rows - 1) / MOST_CHUNKS + 1;
    npy_intp *shape = PyArray_DIMS(x) + lead;
    PyObject *results[3] = {needs[0] ? new_like(args[1], &task.to) : NULL,
                            needs[1] ? new_array(ndim - (int)lead, shape, &task.for_weight) : NULL,
                            needs[2] ? new_array(ndim - (int)lead, shape, &task.for_bias) : NULL};
    int failed = 0;
    for (int nr = 0; nr < 3; nr++) failed |= needs[nr] && results[nr] == NULL;
    if (!failed && !run_with_sums(&task)) {
        PyErr_NoMemory();
        failed = 1;
    }
    return tuple_of(3, results, failed);
}

/* --- segments: channels and groups of channels of (N, C, L) ---------------------------------------- */

typedef struct {
    const float *x, *grad, *weight, *bias;
    float *mean, *inverse, *variance, *to; /* variance: of channels only; NULL if not wanted */
    double *sums; /* of gradients, and of their products with the normalised input, by (N, C) */
    npy_intp samples, channels, length;
    npy_intp groups; /* of each sample; 0: channels over all samples */
    double eps;
    int given; /* whether mean and inverse deviation are given, and constants */
} Segments;

/* A set that is normalised together: its segments, and where their channels are. */
typedef struct {
    npy_intp start, step, segments; /* in elements */
    npy_intp place, place_step;     /* in (N, C) */
} Set;

static Set set_of(const Segments *task, npy_intp nr) {
    const npy_intp channels = task->channels, length = task->length;
    if (task->groups == 0) return (Set){nr * length, channels * length, task->samples, nr, channels};
    const npy_intp size = channels / task->groups;
    return (Set){nr * size * length, length, size, nr * size, 1};
}

FAST static void normalise_sets(void *context, npy_intp first, npy_intp stop) {
    const Segments *task = context;
    const npy_intp length = task->length;
    for (npy_intp nr = first; nr < stop; nr++) {
        const Set set = set_of(task, nr);
        const float *x = task->x + set.start;
        /* the segments of a group lie in one piece */
        const npy_intp pieces = task->groups ? 1 : set.segments;
        const npy_intp piece = task->groups ? set.segments * length : length;
        const double all = (double)(set.segments * length);
        double total = 0;
        if (!task->given) {
            for (npy_intp k = 0; k < pieces; k++) total += sum_of(x + k * set.step, piece);
            const float mean = (float)(total / all);
            total = 0;
            for (npy_intp k = 0; k < pieces; k++) total += squares_of(x + k * set.step, mean, piece);
            task->mean[nr] = mean;
            task->inverse[nr] = (float)(1.0 / sqrt(total / all + task->eps));
            if (task->variance != NULL) task->variance[nr] = (float)(total / all);
        }
        const float mean = task->mean[nr];
        for (npy_intp k = 0; k < set.segments; k++) {
            const npy_intp channel = (set.place + k * set.place_step) % task->channels;
            const float *restrict from = x + k * set.step;
            float *restrict to = task->to + set.start + k * set.step;
            const float scale = task->inverse[nr] * (task->weight ? task->weight[channel] : 1.0f);
            const float shift = task->bias ? task->bias[channel] : 0.0f;
            for (npy_intp i = 0; i < length; i++) to[i] = (from[i] - mean) * scale + shift;
        }
    }
}

FAST static void gradient_of_sets(void *context, npy_intp first, npy_intp stop) {
    const Segments *task = context;
    const npy_intp length = task->length;
    for (npy_intp nr = first; nr < stop; nr++) {
        const Set set = set_of(task, nr);
        const float mean = task->mean[nr], inverse = task->inverse[nr];
        double along = 0, total = 0;
        for (npy_intp k = 0; k < set.segments; k++) {
            const npy_intp at = set.start + k * set.step, place = set.place + k * set.place_step;
            const double weight = task->weight ? task->weight[place % task->channels] : 1.0;
            const double sum = sum_of(task->grad + at, length);
            const double dot = dot_with_centred(task->grad + at, task->x + at, mean, length) * inverse;
            task->sums[2 * place] = sum, task->sums[2 * place + 1] = dot;
            total += weight * sum, along += weight * dot;
        }
        if (task->to == NULL) continue;
        const double part = task->given ? 0 : inverse / (double)(set.segments * length);
        const float slope = (float)(-along * inverse * part), shift = (float)(-total * part);
        for (npy_intp k = 0; k < set.segments; k++) {
            const npy_intp at = set.start + k * set.step;
            const npy_intp channel = (set.place + k * set.place_step) % task->channels;
            const float *restrict x = task->x + at, *restrict grad = task->grad + at;
            float *restrict to = task->to + at;
            const float scale = inverse * (task->weight ? task->weight[channel] : 1.0f);
            if (task->given)
                for (npy_intp i = 0; i < length; i++) to[i] = grad[i] * scale;
            else
                for (npy_intp i = 0; i < length; i++)
                    to[i] = grad[i] * scale + ((x[i] - mean) * slope + shift);
        }
    }
}

/* --- columns: channels of (N, C) ------------------------------------------------------------------- */

/* Add the columns of `grad`, and of its products with `x` less the means. */
INLINE void add_products(const float *restrict grad, const float *restrict x,
                         const float *restrict mean, npy_intp rows, npy_intp step, npy_intp width,
                         double *restrict totals, double *restrict along) {
    float partial[STRIP] = {0}, products[STRIP] = {0};
    for (npy_intp i = 0; i < width; i++) totals[i] = along[i] = 0;
    for (npy_intp row = 0; row < rows; row++, x += step, grad += step) {
        for (npy_intp i = 0; i < width; i++) {
            partial[i] += grad[i];
            products[i] += grad[i] * (x[i] - mean[i]);
        }
        if ((row + 1) % TURN && row + 1 < rows) continue;
        turn_over(partial, totals, width);
        turn_over(products, along, width);
    }
}

FAST static void normalise_strips(void *context, npy_intp first, npy_intp stop) {
    const Segments *task = context;
    const npy_intp rows = task->samples, step = task->channels, most = strip_of(step);
    for (npy_intp nr = first; nr < stop; nr++) {
        const npy_intp start = nr * most, width = step - start < most ? step - start : most;
        const float *x = task->x + start;
        float *mean = task->mean + start, *inverse = task->inverse + start;
        float scale[STRIP], shift[STRIP];
        double totals[STRIP];
        if (!task->given) {
            add_columns(x, NULL, 0, rows, step, width, totals);
            for (npy_intp i = 0; i < width; i++) mean[i] = (float)(totals[i] / (double)rows);
            add_columns(x, mean, 1, rows, step, width, totals);
            for (npy_intp i = 0; i < width; i++) {
                task->variance[start + i] = (float)(totals[i] / (double)rows);
                inverse[i] = (float)(1.0 / sqrt(totals[i] / (double)rows + task->eps));
            }
        }
        for (npy_intp i = 0; i < width; i++) {
            scale[i] = task->weight ? inverse[i] * task->weight[start + i] : inverse[i];
            shift[i] = task->bias ? task->bias[start + i] : 0.0f;
        }
        for (npy_intp row = 0; row < rows; row++) {
            const float *restrict from = x + row * step;
            float *restrict to = task->to + start + row * step;
            for (npy_intp i = 0; i < width; i++) to[i] = (from[i] - mean[i]) * scale[i] + shift[i];
        }
    }
}

FAST static void gradient_of_strips(void *context, npy_intp first, npy_intp stop) {
    const Segments *task = context;
    const npy_intp rows = task->samples, step = task->channels, most = strip_of(step);
    for (npy_intp nr = first; nr < stop; nr++) {
        const npy_intp start = nr * most, width = step - start < most ? step - start : most;
        const float *x = task->x + start, *grad = task->grad + start, *mean = task->mean + start;
        const float *inverse = task->inverse + start;
        float scale[STRIP], slope[STRIP], shift[STRIP];
        double total[STRIP], along[STRIP];
        add_products(grad, x, mean, rows, step, width, total, along);
        for (npy_intp i = 0; i < width; i++) {
            along[i] *= inverse[i];
            task->sums[2 * (start + i)] = total[i], task->sums[2 * (start + i) + 1] = along[i];
            scale[i] = task->weight ? inverse[i] * task->weight[start + i] : inverse[i];
            const double part = task->given ? 0 : scale[i] / (double)rows;
            slope[i] = (float)(-along[i] * inverse[i] * part), shift[i] = (float)(-total[i] * part);
        }
        if (task->to == NULL) continue;
        for (npy_intp row = 0; row < rows; row++) {
            const float *restrict xs = x + row * step, *restrict grads = grad + row * step;
            float *restrict to = task->to + start + row * step;
            if (task->given)
                for (npy_intp i = 0; i < width; i++) to[i] = grads[i] * scale[i];
            else
                for (npy_intp i = 0; i < width; i++)
                    to[i] = grads[i] * scale[i] + ((xs[i] - mean[i]) * slope[i] + shift[i]);
        }
    }
}

/* --- for Python --------------------------------------------------------------------------------------- */

/* Compute all sets of a task; `backward` says which way. */
static void run_segments(Segments *task, int backward) {
    const npy_intp size = task->samples * task->channels * task->length;
    if (task->groups == 0 && task->length == 1) {
        const npy_intp each = strip_of(task->channels), strips = (task->channels + each - 1) / each;
        pool_compute(backward ? gradient_of_strips : normalise_strips, task, strips,
                     GRAIN / (task->samples * each), size <= GRAIN);
        return;
    }
    const npy_intp sets = task->groups ? task->samples * task->groups : task->channels;
    pool_compute(backward ? gradient_of_sets : normalise_sets, task, sets, GRAIN / (size / sets),
                 size <= GRAIN);
}

/* The sizes of an array (samples, channels, length) and groups from four numbers; 0 if they are none,
 * or if it is left to the twin. */
static int take_sizes(PyObject *array, PyObject *const *numbers, Segments *task) {
    npy_intp found[4];
    for (int nr = 0; nr < 4; nr++) found[nr] = whole_of(numbers[nr]);
    if (PyErr_Occurred() || !is_plain(array, -1)) return 0;
    for (int nr = 0; nr < 3; nr++)
        if (found[nr] < 1 || found[nr] > PyArray_SIZE((PyArrayObject *)array)) return 0;
    task->samples = found[0], task->channels = found[1], task->length = found[2];
    task->groups = found[3];
    if (found[3] < 0 || found[3] > found[1] || (found[3] && (found[1] % found[3] || found[2] == 1)))
        return 0;
    task->x = PyArray_DATA((PyArrayObject *)array);
    return found[0] * found[1] == PyArray_SIZE((PyArrayObject *)array) / found[2] &&
           PyArray_SIZE((PyArrayObject *)array) % found[2] == 0;
}

/* An array of the inverse deviations of given variances. */
static PyObject *inverses_of(const float *variance, npy_intp channels, double eps, float **data) {
    PyObject *made = new_array(1, &channels, data);
    for (npy_intp i = 0; made != NULL && i < channels; i++)
        (*data)[i] = (float)(1.0 / sqrt((double)variance[i] + eps));
    return made;
}

/* channel_norm(x, samples, channels, length, groups, weight, bias, mean, variance, eps): the normalised
 * input, means, inverse deviations and, of channels, variances; only the first is of use if mean and
 * variance are given, which are None otherwise.  Or None. */
PyObject *taper_channel_norm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 10) return PyErr_Format(PyExc_TypeError, "channel_norm takes 10 arguments");
    Segments task = {.eps = number_of(args[9])};
    const float *mean, *variance;
    if (PyErr_Occurred()) return NULL;
    if (!take_sizes(args[0], args + 1, &task) || !take(args[5], task.channels, &task.weight) ||
        !take(args[6], task.channels, &task.bias) || !take(args[7], task.channels, &mean) ||
        !take(args[8], task.channels, &variance) || !mean != !variance || (mean && task.groups)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    task.mean = (float *)mean, task.given = mean != NULL;
    PyObject *results[4] = {new_like(args[0], &task.to), NULL, NULL, NULL};
    if (task.given) results[1] = inverses_of(variance, task.channels, task.eps, &task.inverse);
    int failed = !results[0] || (task.given && !results[1]);
    const int kept = task.given ? 2 : task.groups ? 3 : 4;
    npy_intp shape[2] = {task.groups ? task.samples : task.channels, task.groups};
    float **places[4] = {NULL, &task.mean, &task.inverse, &task.variance};
    for (int nr = 1; nr < kept && !task.given && !failed; nr++) {
        results[nr] = new_array(task.groups ? 2 : 1, shape, places[nr]);
        failed = results[nr] == NULL;
    }
    if (!failed) run_segments(&task, 0);
    return tuple_of(kept, results, failed);
}

/* The gradients of weight and bias from the sums by (N, C). */
static void add_samples(const Segments *task, float *for_weight, float *for_bias) {
    const int columns = task->groups == 0 && task->length == 1;
    const npy_intp samples = columns ? 1 : task->samples;
    for (npy_intp channel = 0; channel < task->channels; channel++) {
        double sum = 0, dot = 0;
        for (npy_intp nr = 0; nr < samples; nr++) {
            const double *pair = task->sums + 2 * (nr * task->channels + channel);
            sum += pair[0], dot += pair[1];
        }
        if (for_weight) for_weight[channel] = (float)dot;
        if (for_bias) for_bias[channel] = (float)sum;
    }
}

/* channel_norm_backward(grad, x, samples, channels, length, groups, weight, mean, inverse, eps, needs):
 * the gradients of input, weight and bias; or None.  Unless `eps` is None, mean and, in the place of
 * the inverse deviation, variance are given and constant. */
PyObject *taper_channel_norm_backward(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 11) return PyErr_Format(PyExc_TypeError, "channel_norm_backward takes 11 arguments");
    int needs[3];
    const float *mean, *spread;
    Segments task = {.given = args[9] != Py_None};
    if (task.given) task.eps = number_of(args[9]);
    if (PyErr_Occurred() || !wanted(args[10], needs)) return NULL;
    const int fits = take_sizes(args[1], args + 2, &task);
    if (PyErr_Occurred()) return NULL;
    const npy_intp sets = task.groups ? task.samples * task.groups : task.channels;
    if (!fits || !is_plain(args[0], PyArray_SIZE((PyArrayObject *)args[1])) ||
        !take(args[6], task.channels, &task.weight) || !take(args[7], sets, &mean) ||
        !take(args[8], sets, &spread) || !mean || !spread || (task.given && task.groups))
        Py_RETURN_NONE;
    task.grad = PyArray_DATA((PyArrayObject *)args[0]);
    task.mean = (float *)mean, task.inverse = (float *)spread;
    float *sums[2] = {NULL, NULL};
    const npy_intp samples = task.length == 1 ? 1 : task.samples;
    task.sums = scratch_take((size_t)(samples * task.channels) * 2 * sizeof(double));
    if (task.sums == NULL) return PyErr_NoMemory();
    PyObject *inverse =
        task.given ? inverses_of(spread, task.channels, task.eps, &task.inverse) : Py_NewRef(Py_None);
    PyObject *results[3] = {needs[0] ? new_like(args[1], &task.to) : NULL,
                            needs[1] ? new_array(1, &task.channels, &sums[0]) : NULL,
                            needs[2] ? new_array(1, &task.channels, &sums[1]) : NULL};
    int failed = inverse == NULL;
    for (int nr = 0; nr < 3; nr++) failed |= needs[nr] && results[nr] == NULL;
    if (!failed) {
        run_segments(&task, 1);
        add_samples(&task, sums[0], sums[1]);
    }
    scratch_give(task.sums);
    Py_XDECREF(inverse);
    return tuple_of(3, results, failed);
}
