/* Matrix products through the BLAS that NumPy brought along, cut into pieces for the pool.
 *
 * OpenBLAS's own threads wait for each other in busy loops: beside other processes one that is not
 * let run makes all others burn their time (40 times the idle time of a perceptron, beside four
 * busy processes).  So a large product is cut into strips of rows or columns, which the pool
 * computes with BLAS on one thread each.  Every element is computed as if there were no strips.
 * Where the processor has AVX-512, larger products of floats are made of our own tiles (`tiles.h`).
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#if defined(__linux__)
#include <link.h>
#endif

#include "pool.h"
#include "products.h"
#include "tiles.h"

/* In multiplications and additions: what is not worth a thread, and the least of a piece. */
#define SMALL ((double)(1 << 20))
#define PIECE ((double)(1 << 23))
#define ROWS 48    /* of a strip for BLAS, */
#define TALL 12    /* for tiles, or */
#define COLUMNS 32 /* of one: multiples of what these compute at once; few, so that threads get the same */
#define TURNED_AT_ONCE ((npy_intp)1 << 16) /* floats of a right matrix: they stay in the second-level cache */

enum { ROW_MAJOR = 101, AS_IS = 111, TURNED = 112 };

typedef void (*Gemm64f)(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t,
                        const void *, int64_t, float, void *, int64_t);
typedef void (*Gemm64d)(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t,
                        const void *, int64_t, double, void *, int64_t);
typedef void (*Gemm32f)(int, int, int, int, int, int, float, const void *, int, const void *, int,
                        float, void *, int);
typedef void (*Gemm32d)(int, int, int, int, int, int, double, const void *, int, const void *, int,
                        double, void *, int);

static struct {
    int looked, wide; /* wide: numbers have 64 bits */
    void *single, *twice;
    void (*set_threads)(int);
    int (*get_threads)(void);
} blas;

static void *find(void *library, const char *name, int wide, int prefixed) {
    char symbol[96];
    snprintf(symbol, sizeof symbol, "%s%s%s", prefixed ? "scipy_" : "", name, wide ? "64_" : "");
    return dlsym(library, symbol);
}

static int take_library(void *library) {
    for (int wide = 1; wide >= 0; wide--)
        for (int prefixed = 1; prefixed >= 0; prefixed--) {
            blas.single = find(library, "cblas_sgemm", wide, prefixed);
            blas.twice = find(library, "cblas_dgemm", wide, prefixed);
            *(void **)&blas.set_threads = find(library, "openblas_set_num_threads", wide, prefixed);
            *(void **)&blas.get_threads = find(library, "openblas_get_num_threads", wide, prefixed);
            blas.wide = wide;
            if (blas.single && blas.twice && blas.set_threads && blas.get_threads) return 1;
        }
    blas.single = blas.twice = NULL;
    return 0;
}

#if defined(__linux__)
static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "openblas") == NULL) return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return library != NULL && take_library(library);
}
#endif

/* Whether there is a BLAS that can be called: an OpenBLAS that is loaded already. */
int have_products(void) {
    if (!blas.looked) {
#if defined(__linux__)
        dl_iterate_phdr(look_at, NULL);
#endif
        blas.looked = 1;
    }
    return blas.single != NULL;
}

static void product_by_blas(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left,
                            Matrix right, void *to, npy_intp to_step, double scale) {
    int a = left.turned ? TURNED : AS_IS, b = right.turned ? TURNED : AS_IS;
    if (blas.wide && !is_double)
        ((Gemm64f)blas.single)(ROW_MAJOR, a, b, rows, columns, inner, 1, left.data, left.step,
                               right.data, right.step, (float)scale, to, to_step);
    else if (blas.wide)
        ((Gemm64d)blas.twice)(ROW_MAJOR, a, b, rows, columns, inner, 1, left.data, left.step,
                              right.data, right.step, scale, to, to_step);
    else if (!is_double)
        ((Gemm32f)blas.single)(ROW_MAJOR, a, b, (int)rows, (int)columns, (int)inner, 1, left.data,
                               (int)left.step, right.data, (int)right.step, (float)scale, to,
                               (int)to_step);
    else
        ((Gemm32d)blas.twice)(ROW_MAJOR, a, b, (int)rows, (int)columns, (int)inner, 1, left.data,
                              (int)left.step, right.data, (int)right.step, scale, to, (int)to_step);
}

/* Whether tiles are faster than BLAS, which has functions for small matrices; that for rows times rows is
 * slow.  It must not depend on how a product is cut into strips, so it is asked for the whole product. */
static int suits_tiles(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right) {
    if (is_double || rows < 4 || columns * 4 < (columns + 15) / 16 * 16 * 3 || !have_tiles()) return 0;
    const double least = left.turned || !right.turned ? SMALL : rows < 32 ? SMALL / 4 : SMALL / 16;
    return (double)rows * (double)inner * (double)columns >= least;
}

/* to = start + left @ right, the right matrix turned over some columns at a time. */
static int product_by_tiles(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right,
                            float *to, npy_intp to_step, const float *start, npy_intp start_step) {
    if (!right.turned) {
        multiply_tiles(rows, inner, columns, left, right, to, to_step, start, start_step);
        return 1;
    }
    npy_intp wide = TURNED_AT_ONCE / inner / COLUMNS * COLUMNS;
    wide = wide < COLUMNS ? COLUMNS : wide < columns ? wide : columns;
    const npy_intp step = turned_step(wide);
    float *turned = scratch_take((size_t)(inner * step) * sizeof(float));
    if (turned == NULL) return 0;
    for (npy_intp first = 0; first < columns; first += wide) {
        const npy_intp count = columns - first < wide ? columns - first : wide;
        turn_matrix(inner, count, (const float *)right.data + first * right.step, right.step, turned, step);
        multiply_tiles(rows, inner, count, left, (Matrix){turned, step, 0}, to + first, to_step,
                       start == NULL ? NULL : start + first, start_step);
    }
    scratch_give(turned);
    return 1;
}

int product(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left,
            Matrix right, void *to, npy_intp to_step, int add) {
    if (!have_products()) return 0;
    if (!suits_tiles(is_double, rows, inner, columns, left, right) ||
        !product_by_tiles(rows, inner, columns, left, right, to, to_step, add ? to : NULL, to_step))
        product_by_blas(is_double, rows, inner, columns, left, right, to, to_step, add);
    return 1;
}

typedef struct {
    int is_double, by_tiles, by_rows;
    npy_intp rows, inner, columns;
    Matrix left, right;
    char *to;
    npy_intp to_step;
    const char *start; /* what the product is added to: NULL for zeros, rows `start_step` apart */
    npy_intp start_step;
    npy_intp left_batch, right_batch, to_batch; /* bytes from one product to the next */
} Task;

/* The product of a task on this thread. */
static void whole(const Task *task) {
    const npy_intp width = task->is_double ? 8 : 4;
    if (task->by_tiles &&
        product_by_tiles(task->rows, task->inner, task->columns, task->left, task->right, (float *)task->to,
                         task->to_step, (const float *)task->start, task->start_step))
        return;
    for (npy_intp row = 0; row < task->rows && task->start != NULL && task->start != task->to; row++)
        memcpy(task->to + row * task->to_step * width, task->start + row * task->start_step * width,
               (size_t)(task->columns * width));
    product_by_blas(task->is_double, task->rows, task->inner, task->columns, task->left, task->right,
                    task->to, task->to_step, task->start != NULL);
}

static const void *moved(Matrix matrix, npy_intp along, int rows, npy_intp width) {
    /* `along` rows (or columns) further: over the step, unless they lie in one piece */
    int stepped = rows != matrix.turned;
    return (const char *)matrix.data + along * (stepped ? matrix.step : 1) * width;
}

/* Rows, or columns, of a strip. */
static npy_intp unit_of(const Task *task) { return !task->by_rows ? COLUMNS : task->by_tiles ? TALL : ROWS; }

static void strip(void *context, npy_intp start, npy_intp stop) {
    Task task = *(const Task *)context;
    const npy_intp width = task.is_double ? 8 : 4, unit = unit_of(&task);
    const npy_intp all = task.by_rows ? task.rows : task.columns, first = start * unit;
    const npy_intp count = (stop * unit < all ? stop * unit : all) - first;
    if (task.by_rows) {
        task.left.data = moved(task.left, first, 1, width);
        task.rows = count;
    } else {
        task.right.data = moved(task.right, first, 0, width);
        task.columns = count;
    }
    task.to += first * (task.by_rows ? task.to_step : 1) * width;
    if (task.start != NULL) task.start += first * (task.by_rows ? task.start_step : 1) * width;
    whole(&task);
}

/* Run parts while BLAS itself uses one thread: its own would start from 64x64x64 on. */
void products_on_pool(Part part, void *context, npy_intp count, npy_intp grain) {
    int before = blas.get_threads();
    if (before > 1) blas.set_threads(1);
    pool_run(part, context, count, grain);
    if (before > 1) blas.set_threads(before);
}

/* How many pieces: a power of two, so that two or four threads get the same; few, since BLAS
 * rearranges the smaller matrix anew for each. */
static npy_intp pieces_of(double work) {
    npy_intp pieces = work < SMALL * 4 ? 1 : 2;
    while (pieces < 8 && work / (double)pieces > PIECE * 2) pieces *= 2;
    while (pieces < 256 && work / (double)pieces > PIECE * 16) pieces *= 2;
    return pieces;
}

typedef struct {
    const Task *of;
    npy_intp step;
    float *to;
} Turning;

static void turn_columns(void *context, npy_intp start, npy_intp stop) {
    const Turning *all = context;
    const npy_intp first = start * COLUMNS, last = stop * COLUMNS < all->of->columns ? stop * COLUMNS : all->of->columns;
    const Matrix from = all->of->right;
    turn_matrix(all->of->inner, last - first, (const float *)from.data + first * from.step, from.step, all->to + first,
                all->step);
}

/* Turn the right matrix of a product over, all threads together: NULL if that is not worth it.  Then each thread
 * computes rows, which it has mostly written itself and will read again, instead of columns. */
static float *turned_over(Task *task) {
    if (!task->by_tiles || !task->right.turned || task->rows < task->columns || pool_threads() < 2 ||
        task->inner * task->columns > TURNED_AT_ONCE * 2)
        return NULL;
    Turning all = {task, turned_step(task->columns), NULL};
    all.to = scratch_take((size_t)(task->inner * all.step) * sizeof(float));
    if (all.to == NULL) return NULL;
    pool_run(turn_columns, &all, (task->columns + COLUMNS - 1) / COLUMNS, 1);
    task->right = (Matrix){all.to, all.step, 0};
    return all.to;
}

/* By columns, parts of the right matrix are turned over once and not in every piece. */
static void in_pieces(Task *task) {
    const double work = (double)task->rows * (double)task->columns * (double)task->inner;
    const npy_intp pieces = pieces_of(work);
    task->by_tiles = suits_tiles(task->is_double, task->rows, task->inner, task->columns, task->left, task->right);
    float *turned = pieces > 1 ? turned_over(task) : NULL;
    task->by_rows = task->by_tiles && task->right.turned ? task->columns < pieces * COLUMNS && task->rows >= task->columns
                                                         : task->rows >= task->columns;
    const npy_intp unit = unit_of(task), all = task->by_rows ? task->rows : task->columns;
    const npy_intp strips = (all + unit - 1) / unit;
    products_on_pool(strip, task, strips, (strips + pieces - 1) / pieces);
    if (turned != NULL) scratch_give(turned);
}

int product_onto(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right,
                 void *to, npy_intp to_step, const void *start, npy_intp start_step) {
    if (!have_products()) return 0;
    Task task = {.is_double = is_double, .rows = rows, .inner = inner, .columns = columns, .left = left,
                 .right = right, .to = to, .to_step = to_step, .start = start, .start_step = start_step};
    in_pieces(&task);
    return 1;
}

int product_in_pieces(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left,
                      Matrix right, void *to, npy_intp to_step, int add) {
    return product_onto(is_double, rows, inner, columns, left, right, to, to_step, add ? to : NULL, to_step);
}

/* --- NumPy's matmul --------------------------------------------------------------------------- */

static PyUFuncGenericFunction plain_float, plain_double;

/* A matrix from its strides in bytes; 0 if neither rows nor columns lie in one piece. */
static int as_matrix(const void *data, npy_intp rows, npy_intp columns, npy_intp over_rows,
                     npy_intp over_columns, npy_intp width, Matrix *matrix) {
    if (over_rows % width || over_columns % width) return 0;
    npy_intp down = over_rows / width, along = over_columns / width;
    if ((along == 1 || columns == 1) && (down >= columns || rows == 1) && down >= 0) {
        *matrix = (Matrix){data, down > columns ? down : columns, 0};
        return columns > 1 || rows == 1 || down >= 1;
    }
    if ((down == 1 || rows == 1) && (along >= rows || columns == 1) && along >= 0) {
        *matrix = (Matrix){data, along > rows ? along : rows, 1};
        return rows > 1 || columns == 1 || along >= 1;
    }
    return 0;
}

static void products_of_batch(void *context, npy_intp start, npy_intp stop) {
    for (npy_intp nr = start; nr < stop; nr++) {
        Task task = *(const Task *)context;
        task.left.data = (const char *)task.left.data + nr * task.left_batch;
        task.right.data = (const char *)task.right.data + nr * task.right_batch;
        task.to += nr * task.to_batch;
        whole(&task);
    }
}

/* The products of a call of `matmul`; 0 if NumPy shall do it. */
static int multiply(int is_double, char **args, const npy_intp *dims, const npy_intp *steps) {
    const npy_intp batch = dims[0], rows = dims[1], inner = dims[2], columns = dims[3];
    const npy_intp width = is_double ? 8 : 4;
    const double one = (double)rows * (double)inner * (double)columns;
    Matrix left, right;
    if (one * (double)batch < SMALL || rows == 1 || columns == 1 || !have_products()) return 0;
    if (steps[8] != width || steps[7] < columns * width || steps[7] % width) return 0;
    if (!as_matrix(args[0], rows, inner, steps[3], steps[4], width, &left) ||
        !as_matrix(args[1], inner, columns, steps[5], steps[6], width, &right))
        return 0;
    if (!blas.wide && (rows | inner | columns | left.step | right.step | (steps[7] / width)) >> 31)
        return 0;
    Task task = {.is_double = is_double, .by_tiles = suits_tiles(is_double, rows, inner, columns, left, right),
                 .rows = rows, .inner = inner, .columns = columns, .left = left, .right = right, .to = args[2],
                 .to_step = steps[7] / width, .left_batch = steps[0], .right_batch = steps[1], .to_batch = steps[2]};
    if (batch == 1 || one >= 4 * PIECE) {
        for (npy_intp nr = 0; nr < batch; nr++) {
            left.data = args[0] + nr * steps[0];
            right.data = args[1] + nr * steps[1];
            product_in_pieces(is_double, rows, inner, columns, left, right,
                              args[2] + nr * steps[2], task.to_step, 0);
        }
        return 1;
    }
    npy_intp grain = (npy_intp)(PIECE / 4 / one);
    products_on_pool(products_of_batch, &task, batch, grain < 1 ? 1 : grain);
    return 1;
}

static void multiply_float(char **args, const npy_intp *dims, const npy_intp *steps, void *data) {
    if (!multiply(0, args, dims, steps)) plain_float(args, dims, steps, data);
}

static void multiply_double(char **args, const npy_intp *dims, const npy_intp *steps, void *data) {
    if (!multiply(1, args, dims, steps)) plain_double(args, dims, steps, data);
}

int thread_products(PyUFuncObject *matmul) {
    int floats[] = {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT}, doubles[] = {NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
    if (plain_float != NULL || matmul->nargs != 3 || !have_products()) return 0;
    for (int nr = 0; nr < matmul->ntypes; nr++) {
        if (matmul->types[nr * 3] == NPY_FLOAT) plain_float = matmul->functions[nr];
        if (matmul->types[nr * 3] == NPY_DOUBLE) plain_double = matmul->functions[nr];
    }
    if (plain_float == NULL || plain_double == NULL) return 0;
    /* From now on BLAS's own threads would only get in the way: each looks for work in a busy loop for
     * 25 ms after a product of NumPy's `dot`, on the core that the pool needs. */
    blas.set_threads(1);
    return (PyUFunc_ReplaceLoopBySignature(matmul, multiply_float, floats, &plain_float) >= 0) +
           (PyUFunc_ReplaceLoopBySignature(matmul, multiply_double, doubles, &plain_double) >= 0);
}

/* --- two matrices, for `ops.linalg.matmul` ----------------------------------------------------- */

/* An array as a matrix for BLAS, of the given type; 0 if it is none. */
static int matrix_of(PyObject *value, int type, Matrix *matrix) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *array = (PyArrayObject *)value;
    return PyArray_NDIM(array) == 2 && PyArray_TYPE(array) == type && PyArray_ISBEHAVED_RO(array) &&
           as_matrix(PyArray_DATA(array), PyArray_DIM(array, 0), PyArray_DIM(array, 1),
                     PyArray_STRIDE(array, 0), PyArray_STRIDE(array, 1), PyArray_ITEMSIZE(array),
                     matrix);
}

/* Whether it is a vector of this type and length, in one piece. */
static int is_bias(PyObject *value, int type, npy_intp columns) {
    if (!PyArray_CheckExact(value)) return 0;
    PyArrayObject *bias = (PyArrayObject *)value;
    return PyArray_NDIM(bias) == 1 && PyArray_TYPE(bias) == type && PyArray_ISCARRAY_RO(bias) &&
           PyArray_DIM(bias, 0) == columns;
}

/* product(left, right, bias): left @ right, plus the bias if there is one, for two matrices of floats
 * or doubles; None for others. */
PyObject *taper_product(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 2 || count > 3) return PyErr_Format(PyExc_TypeError, "product(left, right, bias)");
    Matrix left, right;
    if (!PyArray_CheckExact(args[0])) Py_RETURN_NONE;
    int type = PyArray_TYPE((PyArrayObject *)args[0]);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || !matrix_of(args[0], type, &left) ||
        !matrix_of(args[1], type, &right) || !have_products())
        Py_RETURN_NONE;
    PyArrayObject *first = (PyArrayObject *)args[0], *second = (PyArrayObject *)args[1];
    npy_intp inner = PyArray_DIM(first, 1);
    npy_intp shape[2] = {PyArray_DIM(first, 0), PyArray_DIM(second, 1)};
    /* BLAS wants something to multiply; vectors have faster functions, which NumPy calls. */
    if (inner != PyArray_DIM(second, 0) || shape[0] < 2 || shape[1] < 2 || inner < 1) Py_RETURN_NONE;
    if (!blas.wide && (shape[0] | shape[1] | inner | left.step | right.step) >> 31) Py_RETURN_NONE;
    if (count == 3 && !is_bias(args[2], type, shape[1])) Py_RETURN_NONE;
    PyObject *result = PyArray_SimpleNew(2, shape, type);
    if (result == NULL) return NULL;
    Task task = {.is_double = type == NPY_DOUBLE, .rows = shape[0], .inner = inner, .columns = shape[1],
                 .left = left, .right = right, .to = PyArray_DATA((PyArrayObject *)result), .to_step = shape[1],
                 .start = count == 3 ? PyArray_DATA((PyArrayObject *)args[2]) : NULL};
    if ((double)shape[0] * (double)shape[1] * (double)inner < SMALL / 16) { /* too short to leave */
        whole(&task);
        return result;
    }
    Py_BEGIN_ALLOW_THREADS;
    in_pieces(&task);
    Py_END_ALLOW_THREADS;
    return result;
}
