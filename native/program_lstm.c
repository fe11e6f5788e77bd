/* The layers of an LSTM in programs: each thread takes some rows of the batch through all steps, the products of
 * the input and of the state by tiles.  Eager mode computes the products of the input before the loop, for all steps;
 * here they are added up where those of the state are.
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

typedef struct {
    npy_intp steps, batch, size, inputs;
    npy_intp over_steps, over_rows; /* of the input, in elements */
    int reverse;
    int failed;
    const float *input, *of_input, *of_state, *bias, *initial, *before, *grad;
    float *state, *cell, *gates, *cells, *output, *change, *gathered;
} Layer;

/* to (rows x columns) = left @ strips, added to it if `add`. */
static void by_strips(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, const float *strips, float *to,
                      npy_intp to_step, int add) {
    for (npy_intp first = 0; first < columns; first += STRIP, strips += inner * STRIP)
        multiply_tiles(rows, inner, columns - first < STRIP ? columns - first : STRIP, left, (Matrix){strips, STRIP, 0},
                       to + first, to_step, add ? to + first : NULL, to_step);
}

#define APART 1024 /* floats between what threads write */

/* Memory of a task: so many floats for each row, and space around. */
static float *own_memory(npy_intp rows, npy_intp floats) {
    return scratch_take((size_t)(rows * floats + 2 * APART) * sizeof(float));
}

/* Items are rows of the batch. */
static void forward_part(void *context, npy_intp first, npy_intp last) {
    Layer *all = context;
    const npy_intp size = all->size, rows = last - first;
    float *memory = own_memory(rows, 6 * size);
    if (memory == NULL) return (void)__atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    float *state = memory + APART, *cell = state + rows * size, *gates = cell + rows * size;
    memcpy(state, all->state + first * size, (size_t)(rows * size) * sizeof(float));
    memcpy(cell, all->cell + first * size, (size_t)(rows * size) * sizeof(float));
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp time = all->reverse ? all->steps - 1 - step : step, place = time * all->batch + first;
        const Matrix input = {all->input + time * all->over_steps + first * all->over_rows, all->over_rows, 0};
        by_strips(rows, all->inputs, 4 * size, input, all->of_input, gates, 4 * size, 0);
        by_strips(rows, size, 4 * size, (Matrix){state, size, 0}, all->of_state, gates, 4 * size, 1);
        for (npy_intp row = 0; row < rows; row++)
            lstm_row(gates + row * 4 * size, all->bias, cell + row * size, all->cells + (place + row) * size,
                     all->output + (place + row) * size, state + row * size, size);
        memcpy(all->gates + place * 4 * size, gates, (size_t)(rows * 4 * size) * sizeof(float));
    }
    memcpy(all->state + first * size, state, (size_t)(rows * size) * sizeof(float));
    memcpy(all->cell + first * size, cell, (size_t)(rows * size) * sizeof(float));
    scratch_give(memory);
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
                          all->grad == NULL ? NULL : all->grad + (place + row) * size, state + row * size,
                          cell + row * size, change + row * 4 * size, output + row * size, size);
        by_strips(rows, 4 * size, size, (Matrix){change, 4 * size, 0}, all->of_state, state, size, 0);
    }
    memcpy(all->state + first * size, state, (size_t)(rows * size) * sizeof(float));
    memcpy(all->cell + first * size, cell, (size_t)(rows * size) * sizeof(float));
    scratch_give(memory);
}

/* The rows of the input, (batch, inputs) of each step, in the order of `backward_part`. */
static void gather_part(void *context, npy_intp first, npy_intp last) {
    const Layer *all = context;
    const npy_intp rows = last - first;
    float *to = all->gathered + first * all->steps * all->inputs;
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp time = all->reverse ? all->steps - 1 - step : step;
        for (npy_intp row = 0; row < rows; row++, to += all->inputs)
            memcpy(to, all->input + time * all->over_steps + (first + row) * all->over_rows,
                   (size_t)all->inputs * sizeof(float));
    }
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

/* The input, (steps, batch, inputs), whose rows lie in one piece. */
static int read_input(PyObject *value, Layer *all) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != NPY_FLOAT || PyArray_NDIM(array) != 3 || !PyArray_ISBEHAVED_RO(array)) return 0;
    const npy_intp *lengths = PyArray_DIMS(array), *strides = PyArray_STRIDES(array), width = sizeof(float);
    if (lengths[0] != all->steps || lengths[1] != all->batch || lengths[2] < 1 || lengths[2] >= 1 << 20 ||
        (strides[2] != width && lengths[2] > 1) || strides[0] < 0 || strides[1] < 0 || strides[0] % width ||
        strides[1] % width || (strides[1] < lengths[2] * width && lengths[1] > 1))
        return 0;
    all->inputs = lengths[2], all->over_steps = strides[0] / width;
    all->over_rows = lengths[1] > 1 ? strides[1] / width : lengths[2];
    all->input = PyArray_DATA(array);
    return 1;
}

/* Rows of a task: as many tasks for each of two threads, and tiles as tall as they can be. */
static npy_intp rows_of_task(npy_intp batch) {
    const npy_intp tasks = ((batch + TALL - 1) / TALL + 1) / 2 * 2;
    return (batch + tasks - 1) / tasks;
}

/* lstm_layer(input, of_input, of_state, bias, state, cell, gates, cells, output, reverse): state and cell are the first
 * ones, and become the last; gates, cells and output are written.  None, with nothing done, if another way shall. */
PyObject *taper_lstm_layer(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Layer all = {0};
    if (count != 10) return PyErr_Format(PyExc_TypeError, "lstm_layer takes 10 arguments");
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 3 ||
        !read_sizes(args[4], PyArray_DIM((PyArrayObject *)args[0], 0), &all) || !read_input(args[0], &all))
        Py_RETURN_NONE;
    const npy_intp size = all.size, rows = all.steps * all.batch;
    if (!(all.of_input = floats(args[1], 4 * size * all.inputs, 0)) || !(all.of_state = floats(args[2], 4 * size * size, 0)) ||
        !(all.bias = floats(args[3], 4 * size, 0)) || !(all.state = floats(args[4], all.batch * size, 1)) ||
        !(all.cell = floats(args[5], all.batch * size, 1)) || !(all.gates = floats(args[6], rows * 4 * size, 1)) ||
        !(all.cells = floats(args[7], rows * size, 1)) || !(all.output = floats(args[8], rows * size, 1)))
        Py_RETURN_NONE;
    all.reverse = args[9] == Py_True;
    float *of_input, *of_state;
    Py_BEGIN_ALLOW_THREADS;
    all.of_input = of_input = in_strips(all.of_input, all.inputs, 4 * size, 1);
    all.of_state = of_state = in_strips(all.of_state, size, 4 * size, 1);
    if (of_input != NULL && of_state != NULL) pool_run(forward_part, &all, all.batch, rows_of_task(all.batch));
    scratch_give(of_input);
    scratch_give(of_state);
    Py_END_ALLOW_THREADS;
    if (of_input == NULL || of_state == NULL || all.failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}

/* lstm_layer_back(input, of_state, to_state, to_cell, gates, cells, first state, first cells, grad or None, change,
 * before, rows, reverse): the gradients of state and cell are those of the last ones, and become those of the first.
 * Written are change, the gradient of the gates, the state before each step, and the rows of the input, all three
 * with the rows in one order of their own. */
PyObject *taper_lstm_layer_back(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Layer all = {0};
    if (count != 13) return PyErr_Format(PyExc_TypeError, "lstm_layer_back takes 13 arguments");
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 3 ||
        !read_sizes(args[2], PyArray_DIM((PyArrayObject *)args[0], 0), &all) || !read_input(args[0], &all))
        Py_RETURN_NONE;
    const npy_intp size = all.size, rows = all.steps * all.batch;
    if (!(all.of_state = floats(args[1], 4 * size * size, 0)) || !(all.state = floats(args[2], all.batch * size, 1)) ||
        !(all.cell = floats(args[3], all.batch * size, 1)) || !(all.gates = floats(args[4], rows * 4 * size, 0)) ||
        !(all.cells = floats(args[5], rows * size, 0)) || !(all.before = floats(args[6], all.batch * size, 0)) ||
        !(all.initial = floats(args[7], all.batch * size, 0)) ||
        (args[8] != Py_None && !(all.grad = floats(args[8], rows * size, 0))) ||
        !(all.change = floats(args[9], rows * 4 * size, 1)) || !(all.output = floats(args[10], rows * size, 1)) ||
        !(all.gathered = floats(args[11], rows * all.inputs, 1)))
        Py_RETURN_NONE;
    all.reverse = args[12] == Py_True;
    float *of_state;
    Py_BEGIN_ALLOW_THREADS;
    all.of_state = of_state = in_strips(all.of_state, 4 * size, size, 0);
    if (of_state != NULL) {
        pool_run(backward_part, &all, all.batch, rows_of_task(all.batch));
        pool_run(gather_part, &all, all.batch, rows_of_task(all.batch));
    }
    scratch_give(of_state);
    Py_END_ALLOW_THREADS;
    if (of_state == NULL || all.failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}
