/* The layers of an LSTM in programs: each thread takes some rows of the batch through all steps.
 *
 * A thread keeps what it reads again soon, state, cell and gates, in memory of its own: rows of several threads that lie
 * beside each other are fetched by all of them, which then take lines of the cache away from each other (two
 * threads took as long as one).  For the same reason the gradient of the gates is laid out task by task.
 *
 * Twin: `recurrent.c`, which knows packed sequences and processors without AVX-512.
 */

#include <string.h>

#include "recurrent.h"
#include "tiles.h"

#define STRIP 32 /* columns */
#define TALL 12  /* rows of a tile */
#define MOST_PARTS 4 /* of a weight's gradient: each is as large as the weight */

/* (steps, batch, ...), in elements from one to the next; those of a row lie in one piece. */
typedef struct {
    const float *data;
    npy_intp over_steps, over_rows, width;
} Sequence;

static const float *row_at(const Sequence *rows, npy_intp step, npy_intp row) {
    return rows->data + step * rows->over_steps + row * rows->over_rows;
}

typedef struct {
    npy_intp steps, batch, size;
    int reverse, failed;
    Sequence input, grad;
    const float *of_input, *of_state, *bias, *initial, *before;
    float *state, *cell, *gates, *cells, *output, *change, *gathered;
    float *to_input, *to_state, *to_bias; /* gradients of weights and biases, or NULL */
    float *sums;                          /* of each task: parts of these */
} Layer;

/* to (rows x columns) = left @ strips, added to what is in `start`, if there is something. */
static void by_strips(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, const float *strips, float *to,
                      const float *start) {
    for (npy_intp first = 0; first < columns; first += STRIP, strips += inner * STRIP)
        multiply_tiles(rows, inner, columns - first < STRIP ? columns - first : STRIP, left, (Matrix){strips, STRIP, 0},
                       to + first, columns, start == NULL ? NULL : start + first, columns);
}

/* Rows of a task: as many tasks for each of two threads, and tiles as tall as they can be. */
static npy_intp rows_of_task(npy_intp batch) {
    const npy_intp tasks = ((batch + TALL - 1) / TALL + 1) / 2 * 2;
    return (batch + tasks - 1) / tasks;
}

#define APART 1024 /* floats between what threads write */

/* Memory of a task: so many floats for each row, and space around. */
static float *own_memory(npy_intp rows, npy_intp floats) {
    return scratch_take((size_t)(rows * floats + 2 * APART) * sizeof(float));
}

/* Products of the input's rows of a few steps, from `step` on, with its weight. */
static void input_products(const Layer *all, npy_intp first, npy_intp rows, npy_intp step, npy_intp count, float *room,
                           float *to) {
    const npy_intp width = all->input.width;
    for (npy_intp nr = 0; nr < count; nr++)
        for (npy_intp row = 0; row < rows; row++)
            memcpy(room + (nr * rows + row) * width,
                   row_at(&all->input, all->reverse ? all->steps - 1 - step - nr : step + nr, first + row),
                   (size_t)width * sizeof(float));
    by_strips(count * rows, width, 4 * all->size, (Matrix){room, width, 0}, all->of_input, to, NULL);
}

/* Items are rows of the batch. */
static void forward_part(void *context, npy_intp first, npy_intp last) {
    Layer *all = context;
    const npy_intp size = all->size, rows = last - first, few = rows < 2 * TALL ? 2 * TALL / rows : 1;
    float *memory = own_memory(rows, 6 * size + few * (all->input.width + 4 * size));
    if (memory == NULL) return (void)__atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    float *state = memory + APART, *cell = state + rows * size, *gates = cell + rows * size;
    float *room = gates + rows * 4 * size, *products = room + few * rows * all->input.width;
    memcpy(state, all->state + first * size, (size_t)(rows * size) * sizeof(float));
    memcpy(cell, all->cell + first * size, (size_t)(rows * size) * sizeof(float));
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp time = all->reverse ? all->steps - 1 - step : step, place = time * all->batch + first;
        if (step % few == 0)
            input_products(all, first, rows, step, few < all->steps - step ? few : all->steps - step, room, products);
        by_strips(rows, size, 4 * size, (Matrix){state, size, 0}, all->of_state, gates,
                  products + step % few * rows * 4 * size);
        for (npy_intp row = 0; row < rows; row++)
            lstm_row(gates + row * 4 * size, all->bias, cell + row * size, all->cells + (place + row) * size,
                     all->output + (place + row) * size, state + row * size, size);
        memcpy(all->gates + place * 4 * size, gates, (size_t)(rows * 4 * size) * sizeof(float));
    }
    memcpy(all->state + first * size, state, (size_t)(rows * size) * sizeof(float));
    memcpy(all->cell + first * size, cell, (size_t)(rows * size) * sizeof(float));
    scratch_give(memory);
}

/* The rows of the input, (batch, inputs) of each step, in the order of `backward_part`. */
static void gather_rows(const Layer *all, npy_intp first, npy_intp last) {
    const npy_intp width = all->input.width;
    float *to = all->gathered + first * all->steps * width;
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp time = all->reverse ? all->steps - 1 - step : step;
        for (npy_intp row = first; row < last; row++, to += width)
            memcpy(to, row_at(&all->input, time, row), (size_t)width * sizeof(float));
    }
}

/* Numbers of the gradients of weights and biases. */
static npy_intp all_gradients(const Layer *all) { return 4 * all->size * (all->input.width + all->size + 1); }

/* The part of a task of the gradients of weights and biases. */
static void add_own_rows(const Layer *all, npy_intp first, npy_intp rows, float *to) {
    const npy_intp size = all->size, width = all->input.width, own = first * all->steps, inner = rows * all->steps;
    const Matrix change = {all->change + own * 4 * size, 4 * size, 1};
    multiply_tiles(4 * size, inner, width, change, (Matrix){all->gathered + own * width, width, 0}, to, width, NULL, 0);
    to += 4 * size * width;
    multiply_tiles(4 * size, inner, size, change, (Matrix){all->output + own * size, size, 0}, to, size, NULL, 0);
    to += 4 * size * size;
    for (npy_intp start = 0; start < 4 * size; start += STRIP) {
        const npy_intp wide = 4 * size - start < STRIP ? 4 * size - start : STRIP;
        double sums[STRIP] = {0};
        for (npy_intp row = 0; row < inner; row++)
            for (npy_intp k = 0; k < wide; k++) sums[k] += all->change[(own + row) * 4 * size + start + k];
        for (npy_intp k = 0; k < wide; k++) to[start + k] = (float)sums[k];
    }
}

/* Put the parts of all tasks together; items are numbers of them. */
static void add_tasks(void *context, npy_intp start, npy_intp stop) {
    const Layer *all = context;
    const npy_intp count = all_gradients(all), tasks = (all->batch + rows_of_task(all->batch) - 1) / rows_of_task(all->batch);
    const npy_intp ends[3] = {4 * all->size * all->input.width, 4 * all->size * (all->input.width + all->size), count};
    float *const to[3] = {all->to_input, all->to_state, all->to_bias};
    for (int which = 0; which < 3; which++) {
        const npy_intp begin = which ? ends[which - 1] : 0, from = start > begin ? start : begin;
        for (npy_intp i = from; i < stop && i < ends[which] && to[which] != NULL; i++) {
            float sum = all->sums[i];
            for (npy_intp task = 1; task < tasks; task++) sum += all->sums[task * count + i];
            to[which][i - begin] = sum;
        }
    }
}

/* Change and output are laid out task by task, then step by step; to `output` goes the state before each step. */
static void backward_part(void *context, npy_intp first, npy_intp last) {
    Layer *all = context;
    const npy_intp size = all->size, rows = last - first, own = first * all->steps;
    float *memory = own_memory(rows, 3 * size);
    if (memory == NULL) return (void)__atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    float *state = memory + APART, *cell = state + rows * size, *unread = cell + rows * size;
    memcpy(state, all->state + first * size, (size_t)(rows * size) * sizeof(float));
    memcpy(cell, all->cell + first * size, (size_t)(rows * size) * sizeof(float));
    memcpy(all->output + own * size, all->before + first * size, (size_t)(rows * size) * sizeof(float));
    for (npy_intp step = all->steps - 1; step >= 0; step--) {
        const npy_intp time = all->reverse ? all->steps - 1 - step : step, place = time * all->batch + first;
        const npy_intp earlier = place + (all->reverse ? all->batch : -all->batch);
        const float *before = step ? all->cells + earlier * size : all->initial + first * size;
        float *change = all->change + (own + step * rows) * 4 * size;
        float *output = step + 1 < all->steps ? all->output + (own + (step + 1) * rows) * size : unread;
        for (npy_intp row = 0; row < rows; row++)
            lstm_row_back(all->gates + (place + row) * 4 * size, all->cells + (place + row) * size, before + row * size,
                          all->grad.data == NULL ? NULL : row_at(&all->grad, time, first + row), state + row * size,
                          cell + row * size, change + row * 4 * size, output + row * size, size);
        by_strips(rows, 4 * size, size, (Matrix){change, 4 * size, 0}, all->of_state, state, NULL);
    }
    memcpy(all->state + first * size, state, (size_t)(rows * size) * sizeof(float));
    memcpy(all->cell + first * size, cell, (size_t)(rows * size) * sizeof(float));
    scratch_give(memory);
    gather_rows(all, first, last);
    if (all->sums != NULL)
        add_own_rows(all, first, rows, all->sums + first / rows_of_task(all->batch) * all_gradients(all));
}

/* --- what Python calls ------------------------------------------------------------------------ */

/* The data of row-major floats, so many; NULL if there are others. */
static float *floats(PyObject *value, npy_intp count, int written) {
    PyArrayObject *array = plain_array(value, NPY_FLOAT);
    if (array == NULL || PyArray_SIZE(array) != count || (written && !PyArray_ISWRITEABLE(array))) return NULL;
    return PyArray_DATA(array);
}

/* The sizes, from the state (batch, size) and the number of steps; 0 if it is none. */
static int read_sizes(PyObject *state, npy_intp steps, Layer *all) {
    PyArrayObject *array = plain_array(state, NPY_FLOAT);
    if (array == NULL || PyArray_NDIM(array) != 2 || !have_tiles()) return 0;
    all->batch = PyArray_DIM(array, 0), all->size = PyArray_DIM(array, 1), all->steps = steps;
    return all->batch > 0 && all->size > 0 && steps > 0 && all->size < 1 << 20 && all->batch < 1 << 20 &&
           (double)steps * (double)all->batch * (double)all->size < 1e9;
}

/* An array of (steps, batch, width), whose rows lie in one piece. */
static int read_sequence(PyObject *value, const Layer *all, Sequence *to) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != NPY_FLOAT || PyArray_NDIM(array) != 3 || !PyArray_ISBEHAVED_RO(array)) return 0;
    const npy_intp *lengths = PyArray_DIMS(array), *strides = PyArray_STRIDES(array), width = sizeof(float);
    if (lengths[0] != all->steps || lengths[1] != all->batch || lengths[2] < 1 || lengths[2] >= 1 << 20 ||
        (strides[2] != width && lengths[2] > 1) || strides[0] % width || strides[1] % width)
        return 0;
    *to = (Sequence){PyArray_DATA(array), strides[0] / width, strides[1] / width, lengths[2]};
    return 1;
}

/* lstm_layer(input, of_input, of_state, bias, state, cell, gates, cells, output, reverse): state and cell are the first
 * ones, and become the last; gates, what they let through, cells and output are written.  None, with nothing done, if
 * another way shall.  The input's products are made by the thread that needs them. */
PyObject *taper_lstm_layer(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Layer all = {0};
    if (count != 10) return PyErr_Format(PyExc_TypeError, "lstm_layer takes 10 arguments");
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 3 ||
        !read_sizes(args[4], PyArray_DIM((PyArrayObject *)args[0], 0), &all) || !read_sequence(args[0], &all, &all.input))
        Py_RETURN_NONE;
    const npy_intp size = all.size, rows = all.steps * all.batch, width = all.input.width;
    if (!(all.of_input = floats(args[1], 4 * size * width, 0)) || !(all.of_state = floats(args[2], 4 * size * size, 0)) ||
        !(all.bias = floats(args[3], 4 * size, 0)) || !(all.state = floats(args[4], all.batch * size, 1)) ||
        !(all.cell = floats(args[5], all.batch * size, 1)) || !(all.gates = floats(args[6], rows * 4 * size, 1)) ||
        !(all.cells = floats(args[7], rows * size, 1)) || !(all.output = floats(args[8], rows * size, 1)))
        Py_RETURN_NONE;
    all.reverse = args[9] == Py_True;
    float *of_state, *of_input;
    Py_BEGIN_ALLOW_THREADS;
    all.of_state = of_state = in_strips(all.of_state, size, 4 * size, 1);
    all.of_input = of_input = in_strips(all.of_input, width, 4 * size, 1);
    if (of_state != NULL && of_input != NULL) pool_run(forward_part, &all, all.batch, rows_of_task(all.batch));
    scratch_give(of_state);
    scratch_give(of_input);
    Py_END_ALLOW_THREADS;
    if (of_state == NULL || of_input == NULL || all.failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}

/* Room for what tasks add up; 0 if one is not what it should be. */
static int read_gradients(PyObject *const *args, Layer *all) {
    float **to[3] = {&all->to_input, &all->to_state, &all->to_bias};
    const npy_intp counts[3] = {all->input.width, all->size, 1};
    for (int nr = 0; nr < 3; nr++)
        if (args[nr] != Py_None && !(*to[nr] = floats(args[nr], 4 * all->size * counts[nr], 1))) return 0;
    return 1;
}

/* lstm_layer_back(input, of_state, to_state, to_cell, gates, cells, first state, first cells, grad or None, change,
 * before, rows, reverse, and those of the input's weight, the state's weight, the bias, or None): the gradients of state
 * and cell are those of the last ones, and become those of the first.  Written are change, the gradient of the gates,
 * the state before each step, and the rows of the input, all three with the rows in one order of their own.  A thread
 * adds up what its own rows give for weights and biases, where there are few tasks: the step of 128 2.5 to 2.2 ms. */
PyObject *taper_lstm_layer_back(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Layer all = {0};
    if (count != 16) return PyErr_Format(PyExc_TypeError, "lstm_layer_back takes 16 arguments");
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 3 ||
        !read_sizes(args[2], PyArray_DIM((PyArrayObject *)args[0], 0), &all) || !read_sequence(args[0], &all, &all.input) ||
        (args[8] != Py_None && (!read_sequence(args[8], &all, &all.grad) || all.grad.width != all.size)))
        Py_RETURN_NONE;
    const npy_intp size = all.size, rows = all.steps * all.batch;
    if (!(all.of_state = floats(args[1], 4 * size * size, 0)) || !(all.state = floats(args[2], all.batch * size, 1)) ||
        !(all.cell = floats(args[3], all.batch * size, 1)) || !(all.gates = floats(args[4], rows * 4 * size, 0)) ||
        !(all.cells = floats(args[5], rows * size, 0)) || !(all.before = floats(args[6], all.batch * size, 0)) ||
        !(all.initial = floats(args[7], all.batch * size, 0)) ||
        !(all.change = floats(args[9], rows * 4 * size, 1)) || !(all.output = floats(args[10], rows * size, 1)) ||
        !(all.gathered = floats(args[11], rows * all.input.width, 1)) || !read_gradients(args + 13, &all))
        Py_RETURN_NONE;
    all.reverse = args[12] == Py_True;
    const npy_intp of_task = rows_of_task(all.batch), tasks = (all.batch + of_task - 1) / of_task;
    const int is_wanted = all.to_input != NULL || all.to_state != NULL || all.to_bias != NULL;
    if (is_wanted && tasks > MOST_PARTS) Py_RETURN_NONE;
    float *of_state;
    Py_BEGIN_ALLOW_THREADS;
    all.of_state = of_state = in_strips(all.of_state, 4 * size, size, 0);
    if (is_wanted) all.sums = scratch_take((size_t)(tasks * all_gradients(&all)) * sizeof(float));
    if (of_state == NULL || (is_wanted && all.sums == NULL)) all.failed = 1;
    else pool_run(backward_part, &all, all.batch, of_task);
    if (is_wanted && !all.failed) pool_run(add_tasks, &all, all_gradients(&all), 1 << 14);
    scratch_give(all.sums);
    scratch_give(of_state);
    Py_END_ALLOW_THREADS;
    if (all.failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}
