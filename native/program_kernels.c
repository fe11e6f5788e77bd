/* Kernels in programs: calls of Python's kernels that run without Python, on memory that is there.
 *
 * A kernel gets the memory of the arguments and outputs of its call.  It may find that the case is not
 * for it (a target out of range); then the call is made, which knows all cases and raises the errors.
 * Which instructions have one says `program/kernels.py`.
 */

#include <stdint.h>
#include <string.h>

#include "program_steps.h"
#include "tiles.h"

int is_rows(const Shape *shape, int type, int dims) {
    npy_intp step = type == NPY_FLOAT ? 4 : 8;
    if (shape->type != type || shape->dims != dims) return 0;
    for (int dim = dims - 1; dim >= 0; dim--) {
        if (shape->strides[dim] != step) return 0;
        step *= shape->lengths[dim];
    }
    return 1;
}

static int is_real(const Shape *shape) { return shape->type == NPY_FLOAT || shape->type == NPY_DOUBLE; }

/* Whether arguments are a matrix and for each of its rows a number of a column, without weights. */
static int picks(const Call *call, int matrix, int target, int weight, int ignored) {
    const Shape *rows = given_shape(call, matrix), *picked = given_shape(call, target);
    if (rows == NULL || picked == NULL || call->args <= ignored || !is_real(rows)) return 0;
    if (!is_rows(rows, rows->type, 2) || !is_rows(picked, NPY_LONG, 1)) return 0;
    if (rows->lengths[0] < 1 || rows->lengths[0] != picked->lengths[0] || call->arg_list[weight].plain != Py_None)
        return 0;
    PyObject *without = call->arg_list[ignored].plain, *reduction = call->arg_list[ignored - 1].plain;
    if (without == NULL || reduction == NULL || !PyLong_CheckExact(without) || !PyLong_CheckExact(reduction)) return 0;
    const long long nr = PyLong_AsLongLong(without), how = PyLong_AsLongLong(reduction);
    if (PyErr_Occurred()) return PyErr_Clear(), 0;
    return (nr < 0 || nr >= rows->lengths[1]) && (how == 1 || how == 2);
}

static int is_mean(const Call *call, int reduction) { return PyLong_AsLong(call->arg_list[reduction].plain) == 1; }

/* --- nll_loss(self, target, weight, reduction, ignore_index): the loss, the number of rows ---------- */

static int suits_nll_loss(const Call *call) {
    if (!picks(call, 0, 1, 2, 4) || call->output_count != 2) return 0;
    for (int nr = 0; nr < 2; nr++)
        if (output_shape(call, nr) != NULL && !is_rows(output_shape(call, nr), given_shape(call, 0)->type, 0)) return 0;
    return 1;
}

static void put_number(char *to, int type, double value) {
    if (to == NULL) return;
    if (type == NPY_FLOAT) *(float *)to = (float)value;
    else *(double *)to = value;
}

static int run_nll_loss(const Call *call, char *const *data, char *const *outputs) {
    const Shape *shape = given_shape(call, 0);
    const npy_intp rows = shape->lengths[0], columns = shape->lengths[1];
    const int64_t *target = (const int64_t *)data[1];
    double total = 0;
    for (npy_intp row = 0; row < rows; row++) {
        if ((uint64_t)target[row] >= (uint64_t)columns) return 0;
        const npy_intp place = row * columns + target[row];
        total += shape->type == NPY_FLOAT ? ((const float *)data[0])[place] : ((const double *)data[0])[place];
    }
    total = 0.0 - total;
    put_number(outputs[0], shape->type, is_mean(call, 3) ? total / (double)rows : total);
    put_number(outputs[1], shape->type, (double)rows);
    return 1;
}

/* --- its derivative: (grad, self, target, weight, total_weight, reduction, ignore_index) ------------- */

static int suits_nll_loss_backward(const Call *call) {
    if (!picks(call, 1, 2, 3, 6) || call->output_count != 1 || output_shape(call, 0) == NULL) return 0;
    const Shape *rows = given_shape(call, 1), *to = output_shape(call, 0);
    for (int nr = 0; nr < 5; nr += 4)
        if (given_shape(call, nr) == NULL || !is_rows(given_shape(call, nr), rows->type, 0)) return 0;
    return is_rows(to, rows->type, 2) && to->lengths[0] == rows->lengths[0] && to->lengths[1] == rows->lengths[1];
}

#define PUT(TYPE)                                                                                    \
    TYPE value = -*(const TYPE *)data[0];                                                            \
    if (*(const TYPE *)data[4] != (TYPE)rows) return 0;                                              \
    if (is_mean(call, 5)) value /= (TYPE)rows;                                                       \
    memset(outputs[0], 0, (size_t)(rows * columns) * sizeof(TYPE));                                  \
    for (npy_intp row = 0; row < rows; row++) {                                                      \
        if ((uint64_t)target[row] >= (uint64_t)columns) return 0;                                    \
        ((TYPE *)outputs[0])[row * columns + target[row]] = value;                                   \
    }

static int run_nll_loss_backward(const Call *call, char *const *data, char *const *outputs) {
    const Shape *shape = given_shape(call, 1);
    const npy_intp rows = shape->lengths[0], columns = shape->lengths[1];
    const int64_t *target = (const int64_t *)data[2];
    if (shape->type == NPY_FLOAT) {
        PUT(float)
    } else {
        PUT(double)
    }
    return 1;
}

/* --- running values of a BatchNorm: (mean, variance, those of the batch, momentum, input) ------------- */

static int is_vector(const Shape *shape, const Shape *like) {
    return shape != NULL && is_rows(shape, like->type, 1) && shape->lengths[0] == like->lengths[0];
}

static int suits_running_values(const Call *call) {
    const Shape *first = given_shape(call, 0), *input = given_shape(call, 5);
    if (call->args != 6 || call->output_count || first == NULL || input == NULL || !is_real(first) || input->dims < 2 ||
        call->arg_list[4].plain == NULL || !PyFloat_CheckExact(call->arg_list[4].plain))
        return 0;
    for (int nr = 0; nr < 4; nr++)
        if (!is_vector(given_shape(call, nr), first)) return 0;
    return input->lengths[1] == first->lengths[0] && input->lengths[1] > 0;
}

/* Rounded after each operation, as the twin's (`ops/norm/batch.py`) are. */
#define MOVE(TYPE)                                                                       \
    for (npy_intp i = 0; i < channels; i++) {                                            \
        volatile TYPE kept = ((TYPE *)to)[i] * (TYPE)(1.0 - momentum);                   \
        volatile TYPE step = ((const TYPE *)from)[i] * (TYPE)(momentum * factor);        \
        ((TYPE *)to)[i] = kept + step;                                                   \
    }

static void move_towards(int type, char *to, const char *from, npy_intp channels, double momentum, double factor) {
    if (type == NPY_FLOAT) {
        MOVE(float)
    } else {
        MOVE(double)
    }
}

static int run_running_values(const Call *call, char *const *data, char *const *outputs) {
    const Shape *input = given_shape(call, 5);
    const npy_intp channels = input->lengths[1];
    const double momentum = PyFloat_AS_DOUBLE(call->arg_list[4].plain);
    npy_intp count = 1; /* of a channel */
    for (int dim = 0; dim < input->dims; dim++) count *= dim == 1 ? 1 : input->lengths[dim];
    if (count < 2) return 0;
    move_towards(given_shape(call, 0)->type, data[0], data[2], channels, momentum, 1);
    move_towards(given_shape(call, 0)->type, data[1], data[3], channels, momentum, (double)count / (double)(count - 1));
    return 1;
}

/* --- all kernels -------------------------------------------------------------------------------- */

#define PIECES 16 /* of a call that runs in parts: as many for each of a few threads */

static int run_in_parts(const Call *call, char *const *data, char *const *outputs) {
    Parts parts = {0};
    if (!call->prepare(call, data, outputs, PIECES, &parts)) return 0;
    pool_compute(parts.part, parts.context, parts.items, (parts.items + PIECES - 1) / PIECES, 0);
    return parts.finish == NULL || parts.finish(parts.context);
}

static int always(void) { return 1; }

#define WHOLE(name) {#name, always, suits_##name, run_##name, NULL}
#define IN_PARTS(name, is_here) {#name, is_here, suits_##name, run_in_parts, prepare_##name}
static const struct {
    const char *name;
    int (*is_here)(void); /* whether this processor has it */
    int (*suits)(const Call *call);
    Kernel run;
    Preparation prepare;
} kernels[] = {
    WHOLE(nll_loss),
    WHOLE(nll_loss_backward),
    WHOLE(running_values),
    IN_PARTS(attention, have_tiles),
    IN_PARTS(attention_backward, have_tiles),
    IN_PARTS(layer_norm, have_tiles),
    IN_PARTS(layer_norm_backward, have_tiles),
    IN_PARTS(join, always),
    IN_PARTS(select_backward, always),
};
#define KERNELS (sizeof kernels / sizeof *kernels)

void use_kernel(const char *name, Call *call) {
    for (size_t nr = 0; nr < KERNELS; nr++)
        if (strcmp(name, kernels[nr].name) == 0 && kernels[nr].suits(call))
            call->kernel = kernels[nr].run, call->prepare = kernels[nr].prepare;
}

/* has_kernel(name): whether there is a kernel of this name, for this processor. */
PyObject *taper_has_kernel(PyObject *self, PyObject *value) {
    const char *name = PyUnicode_AsUTF8(value);
    if (name == NULL) return NULL;
    for (size_t nr = 0; nr < KERNELS; nr++)
        if (strcmp(name, kernels[nr].name) == 0) return PyBool_FromLong(kernels[nr].is_here());
    Py_RETURN_FALSE;
}
