/* softmax and log_softmax with their gradients, along one dimension of row-major floats.
 *
 * An array is seen as (outer, length, inner).  Rows (inner is 1) are taken in tiles that stay in the
 * first-level cache, whose exponentials are one flat loop however short the rows are.  Else strips of
 * neighbouring columns are taken.  The twins stand in `ops/activation/softmax.py`.
 */

#include "lanes.h"
#include "pool.h"

#define TILE 4096   /* elements of a tile of rows */
#define MOST_ROWS 256
#define SHORT 200   /* below it a row's last elements are worth a flat loop over all rows */
#define GRAIN 16384 /* elements of a chunk for the pool */

typedef struct {
    const float *x, *grad; /* x: the input, for gradients the result */
    float *to;
    npy_intp outer, length, inner, strips;
    int logarithm;
} Task;

/* --- rows ------------------------------------------------------------------------------------- */

INLINE void exponentials(const float *from, float *to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = exp_quickly(from[i]);
}

INLINE void subtract(const float *from, float number, float *to, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) to[i] = from[i] - number;
}

INLINE void scale(float *row, float factor, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) row[i] *= factor;
}

/* Rows that fit a tile together. */
FAST static void normalise_tile(const float *x, float *to, npy_intp rows, npy_intp length,
                                int logarithm) {
    float totals[MOST_ROWS], kept[TILE], *powers = logarithm ? kept : to;
    for (npy_intp row = 0; row < rows; row++) {
        const float *from = x + row * length;
        subtract(from, largest_of(from, length), to + row * length, length);
    }
    exponentials(to, powers, rows * length);
    for (npy_intp row = 0; row < rows; row++)
        totals[row] = (float)sum_of(powers + row * length, length);
    if (logarithm) {
        for (npy_intp row = 0; row < rows; row++) totals[row] = log_float(totals[row]);
        for (npy_intp row = 0; row < rows; row++)
            subtract(to + row * length, totals[row], to + row * length, length);
    } else {
        for (npy_intp row = 0; row < rows; row++)
            scale(to + row * length, 1.0f / totals[row], length);
    }
}

FAST static void normalise_long_row(const float *x, float *to, npy_intp length, int logarithm) {
    float kept[TILE];
    const float largest = largest_of(x, length);
    double total = 0;
    for (npy_intp start = 0; start < length; start += TILE) {
        const npy_intp count = length - start < TILE ? length - start : TILE;
        float *powers = logarithm ? kept : to + start;
        subtract(x + start, largest, to + start, count);
        exponentials(to + start, powers, count);
        total += sum_of(powers, count);
    }
    if (logarithm) subtract(to, (float)log(total), to, length);
    else scale(to, (float)(1.0 / total), length);
}

FAST static void gradient_of_rows(const Task *task, npy_intp first, npy_intp rows) {
    const npy_intp length = task->length;
    for (npy_intp row = first; row < first + rows; row++) {
        const float *x = task->x + row * length, *grad = task->grad + row * length;
        float *to = task->to + row * length;
        const float along = (float)dot_of(grad, x, length);
        for (npy_intp i = 0; i < length; i++) to[i] = (grad[i] - along) * x[i];
    }
}

FAST static void log_gradient_of_rows(const Task *task, npy_intp first, npy_intp rows) {
    const npy_intp length = task->length;
    const int apart = length < SHORT;
    if (apart) exponentials(task->x + first * length, task->to + first * length, rows * length);
    for (npy_intp row = first; row < first + rows; row++) {
        const float *x = task->x + row * length, *grad = task->grad + row * length;
        float *to = task->to + row * length;
        const float total = (float)sum_of(grad, length);
        if (apart)
            for (npy_intp i = 0; i < length; i++) to[i] = grad[i] - to[i] * total;
        else
            for (npy_intp i = 0; i < length; i++) to[i] = grad[i] - exp_quickly(x[i]) * total;
    }
}

static void part_of_rows(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp length = task->length;
    npy_intp rows = TILE / length < MOST_ROWS ? TILE / length : MOST_ROWS;
    if (rows < 1) rows = 1;
    for (npy_intp row = start; row < stop; row += rows) {
        const npy_intp count = stop - row < rows ? stop - row : rows;
        const float *x = task->x + row * length;
        if (task->grad != NULL && task->logarithm) log_gradient_of_rows(task, row, count);
        else if (task->grad != NULL) gradient_of_rows(task, row, count);
        else if (length > TILE)
            normalise_long_row(x, task->to + row * length, length, task->logarithm);
        else normalise_tile(x, task->to + row * length, count, length, task->logarithm);
    }
}

/* --- strips of columns -------------------------------------------------------------------------- */

FAST static void normalise_strip(const float *x, float *to, npy_intp length, npy_intp step,
                                 npy_intp width, int logarithm) {
    float largest[STRIP], partial[STRIP], rest[STRIP];
    double totals[STRIP];
    for (npy_intp i = 0; i < width; i++) largest[i] = -INFINITY, totals[i] = partial[i] = 0;
    for (npy_intp k = 0; k < length; k++)
        for (npy_intp i = 0; i < width; i++) {
            const float value = x[k * step + i];
            largest[i] = value > largest[i] ? value : largest[i];
        }
    for (npy_intp k = 0; k < length; k++) {
        const float *from = x + k * step;
        float *row = to + k * step;
        for (npy_intp i = 0; i < width; i++) {
            const float shifted = from[i] - largest[i], power = exp_quickly(shifted);
            row[i] = logarithm ? shifted : power;
            partial[i] += power;
        }
        if ((k + 1) % TURN == 0) turn_over(partial, totals, width);
    }
    turn_over(partial, totals, width);
    for (npy_intp i = 0; i < width; i++)
        rest[i] = logarithm ? log_float((float)totals[i]) : 1.0f / (float)totals[i];
    for (npy_intp k = 0; k < length; k++) {
        float *row = to + k * step;
        if (logarithm)
            for (npy_intp i = 0; i < width; i++) row[i] -= rest[i];
        else
            for (npy_intp i = 0; i < width; i++) row[i] *= rest[i];
    }
}

FAST static void gradient_of_strip(const float *x, const float *grad, float *to, npy_intp length,
                                   npy_intp step, npy_intp width, int logarithm) {
    float partial[STRIP];
    double totals[STRIP];
    for (npy_intp i = 0; i < width; i++) totals[i] = partial[i] = 0;
    for (npy_intp k = 0; k < length; k++) {
        const float *one = x + k * step, *other = grad + k * step;
        if (logarithm)
            for (npy_intp i = 0; i < width; i++) partial[i] += other[i];
        else
            for (npy_intp i = 0; i < width; i++) partial[i] += other[i] * one[i];
        if ((k + 1) % TURN == 0) turn_over(partial, totals, width);
    }
    turn_over(partial, totals, width);
    for (npy_intp i = 0; i < width; i++) partial[i] = (float)totals[i];
    for (npy_intp k = 0; k < length; k++) {
        const float *restrict one = x + k * step, *restrict other = grad + k * step;
        float *restrict row = to + k * step;
        if (logarithm)
            for (npy_intp i = 0; i < width; i++) row[i] = other[i] - exp_quickly(one[i]) * partial[i];
        else
            for (npy_intp i = 0; i < width; i++) row[i] = (other[i] - partial[i]) * one[i];
    }
}

static void part_of_strips(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    for (npy_intp nr = start; nr < stop; nr++) {
        const npy_intp most = strip_of(task->inner), column = nr % task->strips * most;
        const npy_intp place = nr / task->strips * task->length * task->inner + column;
        const npy_intp width = task->inner - column < most ? task->inner - column : most;
        if (task->grad == NULL)
            normalise_strip(task->x + place, task->to + place, task->length, task->inner, width,
                            task->logarithm);
        else
            gradient_of_strip(task->x + place, task->grad + place, task->to + place, task->length,
                              task->inner, width, task->logarithm);
    }
}

/* --- for Python --------------------------------------------------------------------------------- */

static void run(Task *task) {
    const Part part = task->inner == 1 ? part_of_rows : part_of_strips;
    const npy_intp items = task->outer * task->strips;
    const npy_intp size = task->outer * task->length * task->inner, each = size / items;
    pool_compute(part, task, items, GRAIN / each, size <= GRAIN);
}

/* softmax(logarithm, axis, x, grad), the last for the gradient, with the result as x: a new array, or
 * None unless both are row-major floats of one shape that is not empty. */
PyObject *taper_softmax(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 3 || count > 4)
        return PyErr_Format(PyExc_TypeError, "softmax(logarithm, axis, x, grad)");
    const int logarithm = truth_of(args[0]);
    const Py_ssize_t axis = whole_of(args[1]);
    if (PyErr_Occurred()) return NULL;
    if (PyBool_Check(args[1])) Py_RETURN_NONE; /* no dimension: the twin says so */
    if (!plain_array(args[2], NPY_FLOAT) || (count > 3 && !plain_array(args[3], NPY_FLOAT))) Py_RETURN_NONE;
    PyArrayObject *x = (PyArrayObject *)args[2], *grad = count > 3 ? (PyArrayObject *)args[3] : NULL;
    const int ndim = PyArray_NDIM(x);
    if (axis < 0 || axis >= ndim || PyArray_SIZE(x) == 0) Py_RETURN_NONE;
    if (grad != NULL && !PyArray_SAMESHAPE(x, grad)) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, PyArray_DIMS(x), NPY_FLOAT);
    if (result == NULL) return NULL;
    Task task = {PyArray_DATA(x), grad == NULL ? NULL : PyArray_DATA(grad),
                 PyArray_DATA((PyArrayObject *)result), 1, PyArray_DIM(x, (int)axis), 1, 1, logarithm};
    for (int dim = 0; dim < axis; dim++) task.outer *= PyArray_DIM(x, dim);
    for (int dim = (int)axis + 1; dim < ndim; dim++) task.inner *= PyArray_DIM(x, dim);
    task.strips = (task.inner + strip_of(task.inner) - 1) / strip_of(task.inner);
    run(&task);
    return result;
}
