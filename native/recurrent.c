/* The loops over time of LSTM and GRU; the twins are in `arrays/recurrent.py`, which says what the
 * arrays hold.
 *
 * Rows of a batch do not depend on each other, so a task is some rows through all steps: threads never
 * wait for each other between steps.  float32 only.
 */

#include "curves.h"
#include "pool.h"
#include "recurrent.h"
#include "tiles.h"

#define ROWS 8 /* rows of the batch in a task */

typedef struct {
    npy_intp steps, batch, size;
    const npy_intp *starts, *counts; /* the first row and the number of rows of each step, in order */
    const float *weight, *initial, *grad, *shift, *before;
    float *gates, *cells, *output, *state, *cell, *change;
} Recurrence;

/* --- products of a few rows ------------------------------------------------------------------ */

/* BLAS would rearrange the weight at every step.  Here that is done once: strips of COLUMNS columns
 * lie one after the other, the last one filled up with zeros; sums of a strip stay in registers. */
#define COLUMNS 32

static npy_intp strips_of(npy_intp columns) { return (columns + COLUMNS - 1) / COLUMNS; }

typedef struct {
    const float *weight; /* inner x columns, or, if `turned`, columns x inner */
    float *strips;
    npy_intp inner, columns;
    int turned;
} Arrangement;

/* Items are strips. */
static void arrange(void *context, npy_intp start, npy_intp stop) {
    const Arrangement *all = context;
    const npy_intp inner = all->inner, columns = all->columns;
    for (npy_intp nr = start; nr < stop; nr++) {
        const npy_intp first = nr * COLUMNS, wide = columns - first < COLUMNS ? columns - first : COLUMNS;
        float *to = all->strips + first * inner;
        if (wide < COLUMNS) memset(to, 0, (size_t)(inner * COLUMNS) * sizeof(float));
        if (all->turned && have_tiles()) /* 8 us instead of 36 for 512 x 128 */
            turn_matrix(inner, wide, all->weight + first * inner, inner, to, COLUMNS);
        else if (all->turned)
            for (npy_intp k = 0; k < wide; k++)
                for (npy_intp i = 0; i < inner; i++) to[i * COLUMNS + k] = all->weight[(first + k) * inner + i];
        else
            for (npy_intp i = 0; i < inner; i++)
                memcpy(to + i * COLUMNS, all->weight + i * columns + first, (size_t)wide * sizeof(float));
    }
}

float *in_strips(const float *weight, npy_intp inner, npy_intp columns, int turned) {
    const npy_intp count = strips_of(columns);
    Arrangement all = {weight, scratch_take((size_t)(count * inner * COLUMNS) * sizeof(float)), inner, columns, turned};
    if (all.strips != NULL) pool_run(arrange, &all, count, 1 + 16384 / (inner * COLUMNS));
    return all.strips;
}

INLINE void tile(int rows, npy_intp wide, npy_intp inner, const float *left, npy_intp left_step,
                 const float *strip, float *to, npy_intp to_step, int add) {
    float sums[ROWS][COLUMNS] = {{0}};
    for (npy_intp i = 0; i < inner; i++, strip += COLUMNS)
        for (int row = 0; row < rows; row++)
            for (int k = 0; k < COLUMNS; k++) sums[row][k] += left[row * left_step + i] * strip[k];
    for (int row = 0; row < rows; row++)
        for (npy_intp k = 0; k < wide; k++)
            to[row * to_step + k] = add ? to[row * to_step + k] + sums[row][k] : sums[row][k];
}

/* to (rows x columns) = left (rows x inner) @ strips, added to it if `add`. */
FAST static void few_rows(npy_intp rows, npy_intp inner, npy_intp columns, const float *left, npy_intp left_step,
                          const float *strips, float *to, npy_intp to_step, int add) {
    for (npy_intp first = 0; first < columns; first += COLUMNS, strips += inner * COLUMNS) {
        const npy_intp wide = columns - first < COLUMNS ? columns - first : COLUMNS;
        npy_intp row = 0;
        for (; row + ROWS <= rows; row += ROWS)
            tile(ROWS, wide, inner, left + row * left_step, left_step, strips, to + row * to_step + first, to_step, add);
        for (; row + 2 <= rows; row += 2)
            tile(2, wide, inner, left + row * left_step, left_step, strips, to + row * to_step + first, to_step, add);
        for (; row < rows; row++)
            tile(1, wide, inner, left + row * left_step, left_step, strips, to + row * to_step + first, to_step, add);
    }
}

/* How many rows of a task take part in a step. */
static npy_intp rows_in(const Recurrence *all, npy_intp step, npy_intp first, npy_intp last) {
    const npy_intp count = all->counts[step] < last ? all->counts[step] : last;
    return count > first ? count - first : 0;
}

/* --- LSTM ------------------------------------------------------------------------------------ */

FAST void lstm_row(float *restrict gate, const float *restrict bias, float *restrict cell, float *restrict cell_now,
                          float *restrict output, float *restrict state, npy_intp size) {
    for (npy_intp k = 0; k < size; k++) {
        const float open = logistic_quickly(gate[k] + bias[k]);
        const float keep = logistic_quickly(gate[size + k] + bias[size + k]);
        const float candidate = tanh_quickly(gate[2 * size + k] + bias[2 * size + k]);
        const float leave = logistic_quickly(gate[3 * size + k] + bias[3 * size + k]);
        const float now = keep * cell[k] + open * candidate;
        gate[k] = open;
        gate[size + k] = keep;
        gate[2 * size + k] = candidate;
        gate[3 * size + k] = leave;
        cell[k] = cell_now[k] = now;
        output[k] = state[k] = tanh_quickly(now) * leave;
    }
}

/* Items are rows of the batch. */
static void lstm_part(void *context, npy_intp first, npy_intp last) {
    const Recurrence *all = context;
    const npy_intp size = all->size;
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp count = rows_in(all, step, first, last), place = all->starts[step] + first;
        float *gates = all->gates + place * 4 * size;
        if (!count) continue;
        few_rows(count, size, 4 * size, all->state + first * size, size, all->weight, gates, 4 * size, 1);
        for (npy_intp row = 0; row < count; row++)
            lstm_row(gates + row * 4 * size, all->shift, all->cell + (first + row) * size, all->cells + (place + row) * size,
                     all->output + (place + row) * size, all->state + (first + row) * size, size);
    }
}

/* `state` and `cell` are the gradients that arrive, and become those that go on. */
FAST void lstm_row_back(const float *restrict gate, const float *restrict cell_now, const float *restrict cell_before,
                               const float *restrict grad, float *restrict state, float *restrict cell, float *restrict change, float *restrict output,
                               npy_intp size) {
    for (npy_intp k = 0; k < size; k++) {
        const float open = gate[k], keep = gate[size + k], candidate = gate[2 * size + k];
        const float leave = gate[3 * size + k], bent = tanh_quickly(cell_now[k]);
        const float to_output = grad == NULL ? state[k] : state[k] + grad[k];
        const float to_cell = cell[k] + to_output * leave * (1.0f - bent * bent);
        change[k] = to_cell * candidate * open * (1.0f - open);
        change[size + k] = to_cell * cell_before[k] * keep * (1.0f - keep);
        change[2 * size + k] = to_cell * open * (1.0f - candidate * candidate);
        change[3 * size + k] = to_output * bent * leave * (1.0f - leave);
        cell[k] = to_cell * keep;
        output[k] = bent * leave;
    }
}

static void lstm_back_part(void *context, npy_intp first, npy_intp last) {
    const Recurrence *all = context;
    const npy_intp size = all->size;
    for (npy_intp step = all->steps - 1; step >= 0; step--) {
        const npy_intp count = rows_in(all, step, first, last), place = all->starts[step] + first;
        const npy_intp earlier = step ? rows_in(all, step - 1, first, last) : 0;
        float *change = all->change + place * 4 * size;
        if (!count) continue;
        for (npy_intp row = 0; row < count; row++) {
            const float *before = row < earlier ? all->cells + (all->starts[step - 1] + first + row) * size
                                                : all->initial + (first + row) * size;
            lstm_row_back(all->gates + (place + row) * 4 * size, all->cells + (place + row) * size, before,
                          all->grad == NULL ? NULL : all->grad + (place + row) * size,
                          all->state + (first + row) * size, all->cell + (first + row) * size,
                          change + row * 4 * size, all->output + (place + row) * size, size);
        }
        few_rows(count, 4 * size, size, change, 4 * size, all->weight, all->state + first * size, size, 0);
    }
}

/* --- GRU ------------------------------------------------------------------------------------- */

/* `moved`: what the state adds to the gates; `hidden` keeps its part of the candidate. */
FAST static void gru_row(float *restrict gate, const float *restrict moved, const float *restrict shift, float *restrict hidden, float *restrict output,
                         float *restrict state, npy_intp size) {
    for (npy_intp k = 0; k < size; k++) {
        const float kept = moved[2 * size + k] + (shift == NULL ? 0.0f : shift[k]);
        const float reset = logistic_quickly(gate[k] + moved[k]);
        const float update = logistic_quickly(gate[size + k] + moved[size + k]);
        const float candidate = tanh_quickly(gate[2 * size + k] + reset * kept);
        gate[k] = reset;
        gate[size + k] = update;
        gate[2 * size + k] = candidate;
        hidden[k] = kept;
        output[k] = state[k] = (state[k] - candidate) * update + candidate;
    }
}

static void gru_part(void *context, npy_intp first, npy_intp last) {
    const Recurrence *all = context;
    const npy_intp size = all->size;
    for (npy_intp step = 0; step < all->steps; step++) {
        const npy_intp count = rows_in(all, step, first, last), place = all->starts[step] + first;
        float *moved = all->change + first * 3 * size;
        if (!count) continue;
        few_rows(count, size, 3 * size, all->state + first * size, size, all->weight, moved, 3 * size, 0);
        for (npy_intp row = 0; row < count; row++)
            gru_row(all->gates + (place + row) * 3 * size, moved + row * 3 * size, all->shift,
                    all->cells + (place + row) * size, all->output + (place + row) * size,
                    all->state + (first + row) * size, size);
    }
}

/* `change` has the gradients of reset, update, the state's part of the candidate and the input's. */
FAST static void gru_row_back(const float *restrict gate, const float *restrict hidden, const float *restrict before, const float *restrict grad,
                              float *restrict state, float *restrict change, npy_intp size) {
    for (npy_intp k = 0; k < size; k++) {
        const float reset = gate[k], update = gate[size + k], candidate = gate[2 * size + k];
        const float arrives = grad == NULL ? state[k] : state[k] + grad[k];
        const float inner = arrives * (1.0f - candidate * candidate) * (1.0f - update);
        change[k] = inner * hidden[k] * reset * (1.0f - reset);
        change[size + k] = arrives * (before[k] - candidate) * update * (1.0f - update);
        change[2 * size + k] = inner * reset;
        change[3 * size + k] = inner;
        state[k] = arrives * update;
    }
}

static void gru_back_part(void *context, npy_intp first, npy_intp last) {
    const Recurrence *all = context;
    const npy_intp size = all->size;
    for (npy_intp step = all->steps - 1; step >= 0; step--) {
        const npy_intp count = rows_in(all, step, first, last), place = all->starts[step] + first;
        float *change = all->change + place * 4 * size;
        if (!count) continue;
        for (npy_intp row = 0; row < count; row++)
            gru_row_back(all->gates + (place + row) * 3 * size, all->cells + (place + row) * size,
                         all->before + (place + row) * size,
                         all->grad == NULL ? NULL : all->grad + (place + row) * size,
                         all->state + (first + row) * size, change + row * 4 * size, size);
        few_rows(count, 3 * size, size, change, 4 * size, all->weight, all->state + first * size, size, 1);
    }
}

/* --- what Python calls ------------------------------------------------------------------------ */

/* The data of a row-major float matrix of so many rows and columns; NULL if it is none. */
static float *matrix(PyObject *value, npy_intp rows, npy_intp columns, int written) {
    PyArrayObject *array = plain_array(value, NPY_FLOAT);
    if (array == NULL || PyArray_NDIM(array) != 2 || (written && !PyArray_ISWRITEABLE(array)) ||
        PyArray_DIM(array, 0) != rows || PyArray_DIM(array, 1) != columns || PyArray_SIZE(array) == 0)
        return NULL;
    return PyArray_DATA(array);
}

static PyArrayObject *numbers(PyObject *value) {
    PyArrayObject *array = plain_array(value, NPY_INTP);
    return array != NULL && PyArray_NDIM(array) == 1 && PyArray_SIZE(array) ? array : NULL;
}

/* Starts and counts of the steps, for a state of (batch, size); the rows of all steps, or -1. */
static npy_intp read_steps(PyObject *starts, PyObject *counts, PyObject *state, Recurrence *all) {
    PyArrayObject *first = numbers(starts), *count = numbers(counts);
    if (first == NULL || count == NULL || PyArray_SIZE(first) != PyArray_SIZE(count)) return -1;
    if (!PyArray_CheckExact(state) || PyArray_NDIM((PyArrayObject *)state) != 2) return -1;
    all->batch = PyArray_DIM((PyArrayObject *)state, 0), all->size = PyArray_DIM((PyArrayObject *)state, 1);
    all->steps = PyArray_SIZE(count), all->starts = PyArray_DATA(first), all->counts = PyArray_DATA(count);
    npy_intp total = 0;
    if (all->size >= 1 << 24) return -1;
    for (npy_intp step = 0; step < all->steps; step++) {
        if (all->counts[step] < 1 || all->counts[step] > all->batch) return -1;
        total += all->counts[step];
    }
    for (npy_intp step = 0; step < all->steps; step++)
        if (all->starts[step] < 0 || all->starts[step] > total - all->counts[step]) return -1;
    return total;
}

/* `inner` and `columns` are those of the weight, of which `turned` says how it lies. */
static PyObject *run(Part part, Recurrence *all, npy_intp inner, npy_intp columns, int turned) {
    float *strips;
    Py_BEGIN_ALLOW_THREADS;
    all->weight = strips = in_strips(all->weight, inner, columns, turned);
    if (strips != NULL) pool_run(part, all, all->batch, ROWS);
    scratch_give(strips);
    Py_END_ALLOW_THREADS;
    if (strips == NULL) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}

/* lstm(starts, counts, state, cell, gates, cells, output, weight, bias): all but the numbers, the
 * weight and the bias are written. */
PyObject *taper_lstm(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Recurrence all = {0};
    if (count != 9) return PyErr_Format(PyExc_TypeError, "lstm takes 9 arguments");
    const npy_intp rows = read_steps(args[0], args[1], args[2], &all), size = all.size;
    if (rows < 0 || !(all.state = matrix(args[2], all.batch, size, 1)) ||
        !(all.cell = matrix(args[3], all.batch, size, 1)) || !(all.gates = matrix(args[4], rows, 4 * size, 1)) ||
        !(all.cells = matrix(args[5], rows, size, 1)) || !(all.output = matrix(args[6], rows, size, 1)) ||
        !(all.weight = matrix(args[7], 4 * size, size, 0)) ||
        !(all.shift = matrix(args[8], 1, 4 * size, 0)))
        Py_RETURN_NONE;
    return run(lstm_part, &all, size, 4 * size, 1);
}

/* lstm_back(starts, counts, to_state, to_cell, gates, cells, first cells, weight, grad or None, change,
 * output): the two gradients, change and output are written. */
PyObject *taper_lstm_back(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Recurrence all = {0};
    if (count != 11) return PyErr_Format(PyExc_TypeError, "lstm_back takes 11 arguments");
    const npy_intp rows = read_steps(args[0], args[1], args[2], &all), size = all.size;
    if (rows < 0 || !(all.state = matrix(args[2], all.batch, size, 1)) ||
        !(all.cell = matrix(args[3], all.batch, size, 1)) || !(all.gates = matrix(args[4], rows, 4 * size, 0)) ||
        !(all.cells = matrix(args[5], rows, size, 0)) || !(all.initial = matrix(args[6], all.batch, size, 0)) ||
        !(all.weight = matrix(args[7], 4 * size, size, 0)) ||
        (args[8] != Py_None && !(all.grad = matrix(args[8], rows, size, 0))) ||
        !(all.change = matrix(args[9], rows, 4 * size, 1)) || !(all.output = matrix(args[10], rows, size, 1)))
        Py_RETURN_NONE;
    return run(lstm_back_part, &all, 4 * size, size, 0);
}

/* gru(starts, counts, state, gates, hidden, output, weight, shift or None, moved): all but the numbers
 * and the weights are written. */
PyObject *taper_gru(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Recurrence all = {0};
    if (count != 9) return PyErr_Format(PyExc_TypeError, "gru takes 9 arguments");
    const npy_intp rows = read_steps(args[0], args[1], args[2], &all), size = all.size;
    if (rows < 0 || !(all.state = matrix(args[2], all.batch, size, 1)) ||
        !(all.gates = matrix(args[3], rows, 3 * size, 1)) || !(all.cells = matrix(args[4], rows, size, 1)) ||
        !(all.output = matrix(args[5], rows, size, 1)) || !(all.weight = matrix(args[6], 3 * size, size, 0)) ||
        (args[7] != Py_None && !(all.shift = matrix(args[7], 1, size, 0))) ||
        !(all.change = matrix(args[8], all.batch, 3 * size, 1)))
        Py_RETURN_NONE;
    return run(gru_part, &all, size, 3 * size, 1);
}

/* gru_back(starts, counts, to_state, gates, hidden, before, weight, grad or None, change): the first
 * gradient and change are written. */
PyObject *taper_gru_back(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Recurrence all = {0};
    if (count != 9) return PyErr_Format(PyExc_TypeError, "gru_back takes 9 arguments");
    const npy_intp rows = read_steps(args[0], args[1], args[2], &all), size = all.size;
    if (rows < 0 || !(all.state = matrix(args[2], all.batch, size, 1)) ||
        !(all.gates = matrix(args[3], rows, 3 * size, 0)) || !(all.cells = matrix(args[4], rows, size, 0)) ||
        !(all.before = matrix(args[5], rows, size, 0)) || !(all.weight = matrix(args[6], 3 * size, size, 0)) ||
        (args[7] != Py_None && !(all.grad = matrix(args[7], rows, size, 0))) ||
        !(all.change = matrix(args[8], rows, 4 * size, 1)))
        Py_RETURN_NONE;
    return run(gru_back_part, &all, 3 * size, size, 0);
}
