/* Sums, means, extremes, variances and logarithms of summed exponentials of row-major floats, of all
 * elements or along neighbouring dimensions; the twins stand in `arrays/reduction.py` and
 * `ops/reduction/`.
 *
 * An array is seen as (outer, length, inner).  Rows (inner is 1) are cut into pieces if they are long,
 * and what the pieces give is put together in their order; else strips of columns are taken.
 */

#include <float.h>

#include "lanes.h"
#include "pool.h"

#define GRAIN 16384 /* elements of a chunk, and of a piece of a long row */
#define SHORT 256   /* below it exponentials of several rows are one loop */
#define NARROW 32   /* columns below which several rows are added side by side */

enum { SUM, MEAN, MAX, MIN, LOG_TOTAL, LENGTH, KINDS };

typedef struct {
    const float *x;
    float *to, *mean; /* mean: of variances */
    double *pieces;
    npy_intp outer, length, inner;
    int kind;
    double divisor; /* of variances */
} Task;

/* --- rows --------------------------------------------------------------------------------------- */

INLINE double sum_of_short(const float *row, npy_intp length) {
    if (length < LANES) {
        double total = 0;
        for (npy_intp i = 0; i < length; i++) total += row[i];
        return total;
    }
    Lanes all = {0};
    npy_intp i = 0;
    for (; i + LANES <= length; i += LANES) all += lanes_at(row + i);
    if (i < length) all += last_lanes(row, length, length - i);
    return sum_of_lanes(all);
}

INLINE Lanes flipped(const float *from, int32_t flip) {
    return (Lanes)((Bits)lanes_at(from) ^ flip);
}

INLINE float extreme_one_by_one(const float *row, npy_intp length, int32_t flip) {
    float found = float_of(bits_of(row[0]) ^ flip);
    for (npy_intp i = 1; i < length; i++) {
        const float value = float_of(bits_of(row[i]) ^ flip);
        found = value > found || value != value ? value : found;
    }
    return float_of(bits_of(found) ^ flip);
}

/* The largest element with `flip` 0, the smallest with the sign bit; a NaN if there is one.
 * What is no number differs from itself: then, which is rare, the row is read again. */
INLINE float extreme_of(const float *row, npy_intp length, int32_t flip) {
    if (length < LANES) return extreme_one_by_one(row, length, flip);
    Lanes best[4], strange[4];
    for (int k = 0; k < 4; k++) {
        best[k] = flipped(row + length - LANES, flip);
        strange[k] = best[k] - best[k];
    }
    npy_intp i = 0;
    for (; i + 4 * LANES <= length; i += 4 * LANES)
        for (int k = 0; k < 4; k++) {
            const Lanes value = flipped(row + i + k * LANES, flip);
            strange[k] += value - value;
            best[k] = larger_lanes(value, best[k]);
        }
    for (; i + LANES <= length; i += LANES) {
        const Lanes value = flipped(row + i, flip);
        strange[0] += value - value;
        best[0] = larger_lanes(value, best[0]);
    }
    if (sum_of_lanes((strange[0] + strange[1]) + (strange[2] + strange[3])) != 0)
        return extreme_one_by_one(row, length, flip);
    best[0] = larger_lanes(larger_lanes(best[0], best[1]), larger_lanes(best[2], best[3]));
    FOLD(best[0], larger_lanes);
    return float_of(bits_of(best[0][0]) ^ flip);
}

#define SIGN ((int32_t)(-2147483647 - 1))

/* What is taken from numbers before their exponentials are added, so that none is infinite. */
INLINE float shift_of(float largest) { return fabsf(largest) <= FLT_MAX ? largest : 0; }

/* The logarithm of the sum of the exponentials of a row. */
INLINE double log_total_of(const float *row, npy_intp length) {
    const float shift = shift_of(largest_of(row, length));
    double total = 0;
    for (npy_intp start = 0; start < length; start += BLOCK) {
        const npy_intp count = length - start < BLOCK ? length - start : BLOCK;
        float powers[BLOCK];
        for (npy_intp i = 0; i < count; i++) powers[i] = exp_quickly(row[start + i] - shift);
        total += sum_of(powers, count);
    }
    return shift + log(total);
}

/* Likewise of short rows, several at once: their exponentials are one loop. */
INLINE void log_totals_of(const float *x, float *to, npy_intp rows, npy_intp length) {
    float powers[BLOCK];
    for (npy_intp row = 0; row < rows; row++) {
        const float *from = x + row * length;
        const float shift = to[row] = shift_of(largest_of(from, length));
        for (npy_intp i = 0; i < length; i++) powers[row * length + i] = from[i] - shift;
    }
    for (npy_intp i = 0; i < rows * length; i++) powers[i] = exp_quickly(powers[i]);
    for (npy_intp row = 0; row < rows; row++)
        to[row] += log_float((float)sum_of_short(powers + row * length, length));
}

FAST static void log_totals_of_rows(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp length = task->length, several = length < SHORT ? BLOCK / length : 1;
    for (npy_intp row = start; row < stop; row += several) {
        const float *x = task->x + row * length;
        if (several > 1) log_totals_of(x, task->to + row, stop - row < several ? stop - row : several, length);
        else task->to[row] = (float)log_total_of(x, length);
    }
}

FAST static double value_of(const float *row, npy_intp length, int kind) {
    if (kind == LOG_TOTAL) return log_total_of(row, length);
    if (kind == LENGTH) return dot_of(row, row, length);
    return kind < MAX ? sum_of(row, length) : extreme_of(row, length, kind == MIN ? SIGN : 0);
}

FAST static void reduce_rows(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp length = task->length;
    const double part = task->kind == MEAN ? 1.0 / (double)length : 1.0;
    const float *x = task->x;
    float *to = task->to;
    if (task->kind == LENGTH)
        for (npy_intp row = start; row < stop; row++)
            to[row] = (float)sqrt(dot_of(x + row * length, x + row * length, length));
    else if (task->kind >= MAX)
        for (npy_intp row = start; row < stop; row++)
            to[row] = extreme_of(x + row * length, length, task->kind == MIN ? SIGN : 0);
    else if (length < 8 * LANES)
        for (npy_intp row = start; row < stop; row++)
            to[row] = (float)(sum_of_short(x + row * length, length) * part);
    else
        for (npy_intp row = start; row < stop; row++)
            to[row] = (float)(sum_of(x + row * length, length) * part);
}

/* Pieces of the only row. */
static void reduce_pieces(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    for (npy_intp nr = start; nr < stop; nr++) {
        const npy_intp first = nr * GRAIN, left = task->length - first;
        task->pieces[nr] = value_of(task->x + first, left < GRAIN ? left : GRAIN, task->kind);
    }
}

static double put_together(const double *pieces, npy_intp count, int kind) {
    double found = pieces[0];
    if (kind == LOG_TOTAL) {
        const double largest = put_together(pieces, count, MAX), shift = isfinite(largest) ? largest : 0;
        for (npy_intp nr = found = 0; nr < count; nr++) found += exp(pieces[nr] - shift);
        return shift + log(found);
    }
    for (npy_intp nr = 1; nr < count; nr++) {
        const double next = pieces[nr];
        if (kind < MAX || kind == LENGTH) found += next;
        else if (next != next || (kind == MAX ? next > found : next < found)) found = next;
    }
    return found;
}

static int reduce_long_row(Task *task) {
    const npy_intp count = (task->length + GRAIN - 1) / GRAIN;
    task->pieces = scratch_take((size_t)count * sizeof(double));
    if (task->pieces == NULL) return 0;
    Py_BEGIN_ALLOW_THREADS;
    pool_run(reduce_pieces, task, count, 1);
    Py_END_ALLOW_THREADS;
    const double found = put_together(task->pieces, count, task->kind);
    task->to[0] = (float)(task->kind == MEAN ? found / (double)task->length : task->kind == LENGTH ? sqrt(found) : found);
    scratch_give(task->pieces);
    return 1;
}

FAST static void vary_rows(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp length = task->length;
    const double part = 1.0 / (double)length;
    for (npy_intp row = start; row < stop; row++) {
        const float *x = task->x + row * length;
        const float mean = (float)(sum_of(x, length) * part);
        task->mean[row] = mean;
        task->to[row] = (float)(squares_of(x, mean, length) / task->divisor);
    }
}

/* --- columns ------------------------------------------------------------------------------------ */

/* Sums of a few columns: rows side by side as one, then what stands at the same column. */
INLINE void add_narrow(const float *x, npy_intp rows, npy_intp width, double *totals) {
    const npy_intp beside = 2 * NARROW / width, joined = rows / beside, all = beside * width;
    double wide[2 * NARROW];
    add_columns(x, NULL, 0, joined, all, all, wide);
    for (npy_intp i = 0; i < width; i++) {
        totals[i] = 0;
        for (npy_intp k = i; k < all; k += width) totals[i] += wide[k];
        for (npy_intp row = joined * beside; row < rows; row++) totals[i] += x[row * width + i];
    }
}

typedef struct {
    const float *x;
    npy_intp place, width; /* of its result; its columns */
} Strip;

INLINE Strip strip_at(const Task *task, npy_intp nr) {
    const npy_intp step = task->inner, most = strip_of(step), strips = (step + most - 1) / most;
    const npy_intp column = nr % strips * most, outer = nr / strips;
    return (Strip){task->x + outer * task->length * step + column, outer * step + column,
                   step - column < most ? step - column : most};
}

FAST static void reduce_strips(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp rows = task->length, step = task->inner;
    double totals[STRIP];
    for (npy_intp nr = start; nr < stop; nr++) {
        const Strip strip = strip_at(task, nr);
        const float *x = strip.x;
        const npy_intp width = strip.width;
        float *to = task->to + strip.place;
        if (step < NARROW && rows > NARROW) add_narrow(x, rows, step, totals);
        else add_columns(x, NULL, 0, rows, step, width, totals);
        const double part = task->kind == MEAN ? 1.0 / (double)rows : 1.0;
        for (npy_intp i = 0; i < width; i++) to[i] = (float)(totals[i] * part);
    }
}

FAST static void log_totals_of_strips(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp rows = task->length, step = task->inner;
    for (npy_intp nr = start; nr < stop; nr++) {
        const Strip strip = strip_at(task, nr);
        const float *x = strip.x;
        const npy_intp width = strip.width;
        float *to = task->to + strip.place, partial[STRIP] = {0};
        double totals[STRIP] = {0};
        for (npy_intp i = 0; i < width; i++) to[i] = -INFINITY;
        for (npy_intp row = 0; row < rows; row++)
            for (npy_intp i = 0; i < width; i++) {
                const float value = x[row * step + i];
                to[i] = value > to[i] ? value : to[i];
            }
        for (npy_intp i = 0; i < width; i++) to[i] = shift_of(to[i]);
        for (npy_intp row = 0; row < rows; row++) {
            for (npy_intp i = 0; i < width; i++) partial[i] += exp_quickly(x[row * step + i] - to[i]);
            if ((row + 1) % TURN == 0 || row + 1 == rows) turn_over(partial, totals, width);
        }
        for (npy_intp i = 0; i < width; i++) to[i] += log_float((float)totals[i]);
    }
}

FAST static void vary_strips(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    const npy_intp rows = task->length, step = task->inner;
    double totals[STRIP];
    for (npy_intp nr = start; nr < stop; nr++) {
        const Strip strip = strip_at(task, nr);
        const float *x = strip.x;
        const npy_intp width = strip.width;
        float *mean = task->mean + strip.place, *to = task->to + strip.place;
        add_columns(x, NULL, 0, rows, step, width, totals);
        for (npy_intp i = 0; i < width; i++) mean[i] = (float)(totals[i] / (double)rows);
        add_columns(x, mean, 1, rows, step, width, totals);
        for (npy_intp i = 0; i < width; i++) to[i] = (float)(totals[i] / task->divisor);
    }
}

/* --- for Python --------------------------------------------------------------------------------- */

/* The sizes of an array, and the shape of its reduction over `axes`: a tuple of neighbouring
 * dimensions, or None for all; -1 if it is left to the twin. */
static int take_sizes(PyObject *value, PyObject *axes, int keep, Task *task, npy_intp *shape) {
    if (!PyArray_CheckExact(value)) return -1;
    PyArrayObject *array = (PyArrayObject *)value;
    if (PyArray_TYPE(array) != NPY_FLOAT || !PyArray_ISCARRAY_RO(array) || PyArray_SIZE(array) == 0)
        return -1;
    const int ndim = PyArray_NDIM(array);
    long first = 0, last = ndim - 1;
    if (axes != Py_None) {
        if (!PyTuple_CheckExact(axes) || PyTuple_GET_SIZE(axes) == 0) return -1;
        for (Py_ssize_t nr = 0; nr < PyTuple_GET_SIZE(axes); nr++) {
            PyObject *axis = PyTuple_GET_ITEM(axes, nr);
            const long found = PyLong_CheckExact(axis) ? whole_of(axis) : -1;
            if (found < 0 || found >= ndim || (nr && found != last + 1)) {
                PyErr_Clear();
                return -1;
            }
            if (nr == 0) first = found;
            last = found;
        }
    }
    int kept = 0;
    task->x = PyArray_DATA(array);
    task->outer = task->length = task->inner = 1;
    for (int dim = 0; dim < ndim; dim++) {
        const npy_intp size = PyArray_DIM(array, dim);
        if (dim < first || dim > last) {
            *(dim < first ? &task->outer : &task->inner) *= size;
            shape[kept++] = size;
        } else {
            task->length *= size;
            if (keep) shape[kept++] = 1;
        }
    }
    return kept;
}

static void run(Task *task, Part rows, Part strips) {
    const npy_intp most = strip_of(task->inner);
    const int along = task->inner == 1;
    const npy_intp items = along ? task->outer : task->outer * ((task->inner + most - 1) / most);
    const npy_intp size = task->outer * task->length * task->inner, each = size / items;
    pool_compute(along ? rows : strips, task, items, GRAIN / each, size <= GRAIN);
}

/* reduce(kind, array, axes, keepdims): a new array, or None; kinds are 0 sum, 1 mean, 2 max, 3 min, 4 the logarithm of
 * the sum of exponentials, 5 the length of a vector; the largest, the smallest and lengths only along the last
 * dimensions. */
PyObject *taper_reduce(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "reduce(kind, array, axes, keepdims)");
    const long kind = whole_of(args[0]);
    const int keep = truth_of(args[3]);
    if (PyErr_Occurred()) return NULL;
    if (kind < 0 || kind >= KINDS) return PyErr_Format(PyExc_ValueError, "no such reduction");
    Task task = {.kind = (int)kind};
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = take_sizes(args[1], args[2], keep, &task, shape);
    /* NumPy finds the extremes of columns fast */
    if (ndim < 0 || ((kind == MAX || kind == MIN || kind == LENGTH) && task.inner > 1)) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, shape, NPY_FLOAT);
    if (result == NULL) return NULL;
    task.to = PyArray_DATA((PyArrayObject *)result);
    if (task.outer * task.inner > 1 || task.length <= GRAIN) {
        if (kind == LOG_TOTAL) run(&task, log_totals_of_rows, log_totals_of_strips);
        else run(&task, reduce_rows, reduce_strips);
    } else if (!reduce_long_row(&task)) {
        Py_DECREF(result);
        return PyErr_NoMemory();
    }
    return result;
}

/* variance(array, axes, keepdims, divisor): the sums of squared distances from the means over `divisor`,
 * and the means; or None. */
PyObject *taper_variance(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "variance(array, axes, keepdims, divisor)");
    const int keep = truth_of(args[2]);
    Task task = {.divisor = number_of(args[3])};
    if (PyErr_Occurred()) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = take_sizes(args[0], args[1], keep, &task, shape);
    if (ndim < 0) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(ndim, shape, NPY_FLOAT);
    PyObject *mean = result ? PyArray_SimpleNew(ndim, shape, NPY_FLOAT) : NULL;
    if (mean == NULL) {
        Py_XDECREF(result);
        return NULL;
    }
    task.to = PyArray_DATA((PyArrayObject *)result);
    task.mean = PyArray_DATA((PyArrayObject *)mean);
    run(&task, vary_rows, vary_strips);
    return Py_BuildValue("(NN)", result, mean);
}

/* Least, greatest (NaN if there is one), sum and sum of squares of what was seen. */
INLINE void take_in(double *seen, double least, double greatest, double sum, double squares) {
    if (least != least || least < seen[0]) seen[0] = least;
    if (greatest != greatest || greatest > seen[1]) seen[1] = greatest;
    seen[2] += sum;
    seen[3] += squares;
}

FAST static void glance_at_pieces(void *context, npy_intp start, npy_intp stop) {
    const Task *task = context;
    for (npy_intp nr = start; nr < stop; nr++) {
        const npy_intp first = nr * GRAIN, end = first + GRAIN < task->length ? first + GRAIN : task->length;
        double seen[4] = {INFINITY, -INFINITY, 0, 0};
        for (npy_intp at = first; at < end; at += BLOCK) { /* four readings, three of them in cache */
            const npy_intp size = end - at < BLOCK ? end - at : BLOCK;
            const float *x = task->x + at;
            take_in(seen, extreme_of(x, size, SIGN), extreme_of(x, size, 0), sum_of(x, size), dot_of(x, x, size));
        }
        memcpy(task->pieces + 4 * nr, seen, sizeof seen);
    }
}

/* glance(array): the least and the greatest element (NaN if there is one), the sum and the sum of squares
 * with one pass over the memory; or None. */
PyObject *taper_glance(PyObject *self, PyObject *value) {
    Task task = {0};
    npy_intp shape[NPY_MAXDIMS];
    if (take_sizes(value, Py_None, 0, &task, shape) < 0) Py_RETURN_NONE;
    const npy_intp count = (task.length + GRAIN - 1) / GRAIN;
    task.pieces = scratch_take((size_t)count * 4 * sizeof(double));
    if (task.pieces == NULL) return PyErr_NoMemory();
    pool_compute(glance_at_pieces, &task, count, 1, count == 1);
    double found[4] = {INFINITY, -INFINITY, 0, 0};
    for (const double *piece = task.pieces; piece < task.pieces + 4 * count; piece += 4)
        take_in(found, piece[0], piece[1], piece[2], piece[3]);
    scratch_give(task.pieces);
    return Py_BuildValue("(dddd)", found[0], found[1], found[2], found[3]);
}
