/* Kernels whose results may be laid out in memory differently from PyTorch's.
 *
 * The twin is `layouts.settled`, a closure that takes 0.15 us; this takes 0.01.  A kernel that is a ufunc is not even
 * called where the operands are of the usual kind: its loop is, which NumPy takes 0.2 us to find.
 */

#include <stddef.h>
#include <string.h>

#include "native.h"
#include "pool.h"

#define ALONE 4096 /* elements up to which nobody else gets the GIL meanwhile */
#define MANY 32768 /* elements from which rows are shared out */
#define SHORT 64   /* elements of a row below which NumPy's way is as good */
#define LONG 65536 /* elements above which a row is shared out by `ufuncs.c` */
#define MOST_DIMS 8

/* The loop of a ufunc for operands of one type: its number, -1 if there is none, and the type of what it gives. */
typedef struct {
    int nr, result;
} Loop;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *kernel, *settle; /* `settle` is NULL if results are written to a given array */
    Loop single, twice;
} Settled;

/* Whether an array is row-major, even in dimensions of length 1, which NumPy ignores. */
static int in_rows(PyArrayObject *array) {
    if (!PyArray_IS_C_CONTIGUOUS(array)) return 0;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0 && step > 0; dim--) {
        if (PyArray_DIM(array, dim) == 1 && PyArray_STRIDE(array, dim) != step) return 0;
        step *= PyArray_DIM(array, dim);
    }
    return 1;
}

static PyTypeObject *foreign; /* the class of arrays that are no ndarrays */

/* know_foreign(ForeignArray) */
PyObject *taper_know_foreign(PyObject *self, PyObject *kind) {
    if (!PyType_Check(kind)) return PyErr_Format(PyExc_TypeError, "know_foreign(class)");
    Py_INCREF(kind);
    foreign = (PyTypeObject *)kind;
    Py_RETURN_NONE;
}

/* Whether a value is no array or a row-major one; of a tuple or list, whether all are.  The rule asks a
 * foreign array itself. */
static int row_major(PyObject *value) {
    if (PyArray_Check(value)) return in_rows((PyArrayObject *)value);
    if (!PyTuple_Check(value) && !PyList_Check(value)) return foreign == NULL || !PyObject_TypeCheck(value, foreign);
    for (Py_ssize_t index = 0; index < PySequence_Fast_GET_SIZE(value); index++)
        if (!row_major(PySequence_Fast_GET_ITEM(value, index))) return 0;
    return 1;
}

static Loop find_loop(PyObject *kernel, int type) {
    const PyUFuncObject *ufunc = (PyUFuncObject *)kernel;
    if (strcmp(Py_TYPE(kernel)->tp_name, "numpy.ufunc") != 0 || ufunc->nin > 2 || ufunc->nout != 1 ||
        ufunc->core_enabled || ufunc->functions == NULL)
        return (Loop){-1, 0};
    for (int nr = 0; nr < ufunc->ntypes; nr++) {
        const char *types = ufunc->types + nr * ufunc->nargs;
        if (types[0] == type && types[ufunc->nin - 1] == type) return (Loop){nr, types[ufunc->nin]};
    }
    return (Loop){-1, 0};
}

/* Whether one array may be written while another is read: they have no byte in common, or all. */
static int are_apart(PyArrayObject *one, PyArrayObject *other) {
    const char *first = PyArray_BYTES(one), *second = PyArray_BYTES(other);
    const npy_intp bytes = PyArray_NBYTES(one), more = PyArray_NBYTES(other);
    return first + bytes <= second || second + more <= first || (first == second && bytes == more);
}

typedef struct {
    PyArrayObject *one, *other;
    int ndim; /* of the result */
    npy_intp *shape;
} Operands;

/* What a loop writes to, a new reference: the array that was given, if it fits, or a new one. */
static PyArrayObject *target_of(const Operands *all, int type, PyObject *given) {
    if (given == NULL) return (PyArrayObject *)PyArray_SimpleNew(all->ndim, all->shape, type);
    PyArrayObject *target = plain_array(given, type);
    if (target == NULL || !PyArray_ISWRITEABLE(target) || PyArray_NDIM(target) != all->ndim ||
        !PyArray_CompareLists(PyArray_DIMS(target), all->shape, all->ndim) || !are_apart(target, all->one) ||
        !are_apart(target, all->other))
        return NULL;
    Py_INCREF(target);
    return target;
}

/* Two operands of which one is repeated along dimensions of the other: rows that one call of a loop computes, and the
 * dimensions over them. */
typedef struct {
    PyUFuncGenericFunction loop;
    void *with;
    char *data[3];
    npy_intp steps[3], length; /* of a row */
    int ndim;
    npy_intp shape[MOST_DIMS], strides[2][MOST_DIMS], count;
} Rows;

static void run_rows(void *context, npy_intp start, npy_intp stop) {
    const Rows *rows = context;
    for (npy_intp row = start; row < stop; row++) {
        npy_intp number = row, length = rows->length;
        char *args[3] = {rows->data[0], rows->data[1], rows->data[2] + row * length * rows->steps[2]};
        for (int dim = 0; dim < rows->ndim; dim++) { /* the innermost is the first */
            const npy_intp at = number % rows->shape[dim];
            number /= rows->shape[dim];
            args[0] += at * rows->strides[0][dim];
            args[1] += at * rows->strides[1][dim];
        }
        rows->loop(args, &length, rows->steps, rows->with);
    }
}

/* The step of an operand in a dimension of the result, counted from the last one. */
static npy_intp step_of(PyArrayObject *array, int back) {
    const int dim = PyArray_NDIM(array) - 1 - back;
    return dim < 0 || PyArray_DIM(array, dim) == 1 ? 0 : PyArray_STRIDE(array, dim);
}

/* Find rows and the shape of the result; 0 if the shapes clash, or NumPy's way is as good. */
static int find_rows(Rows *rows, Operands *all) {
    const int ndims[] = {PyArray_NDIM(all->one), PyArray_NDIM(all->other)};
    all->ndim = ndims[0] > ndims[1] ? ndims[0] : ndims[1];
    rows->ndim = -1; /* dimensions over the rows; -1: there are no rows yet */
    rows->length = rows->count = 1;
    for (int back = 0; back < all->ndim; back++) {
        const npy_intp first = back < ndims[0] ? PyArray_DIM(all->one, ndims[0] - 1 - back) : 1;
        const npy_intp second = back < ndims[1] ? PyArray_DIM(all->other, ndims[1] - 1 - back) : 1;
        const npy_intp length = first == 1 ? second : first;
        if (second != 1 && second != length) return 0;
        all->shape[all->ndim - 1 - back] = length;
        if (length == 1) continue;
        const npy_intp steps[] = {step_of(all->one, back), step_of(all->other, back)};
        const int last = rows->ndim - 1;
        npy_intp *inner = rows->ndim <= 0 ? &rows->length : &rows->shape[last];
        const npy_intp before[] = {rows->ndim <= 0 ? rows->steps[0] : rows->strides[0][last],
                                   rows->ndim <= 0 ? rows->steps[1] : rows->strides[1][last]};
        if (rows->ndim < 0) {
            rows->length = length, rows->steps[0] = steps[0], rows->steps[1] = steps[1], rows->ndim = 0;
        } else if (steps[0] == before[0] * *inner && steps[1] == before[1] * *inner) {
            *inner *= length; /* goes on where the dimension inside ends */
        } else {
            if (rows->ndim == MOST_DIMS) return 0;
            rows->shape[rows->ndim] = length;
            rows->strides[0][rows->ndim] = steps[0], rows->strides[1][rows->ndim++] = steps[1];
        }
    }
    for (int dim = 0; dim < rows->ndim; dim++) rows->count *= rows->shape[dim];
    return rows->length >= SHORT && rows->length <= LONG && rows->count * rows->length >= MANY;
}

/* Do what a ufunc of two operands does where one is repeated along dimensions of the other, with rows shared out over
 * the threads: a matrix of a million elements and a row 0.35 to 0.1 ms. */
static PyObject *run_repeated(const PyUFuncObject *ufunc, Loop loop, PyArrayObject *one, PyArrayObject *other,
                              PyObject *given) {
    npy_intp shape[NPY_MAXDIMS];
    Operands all = {one, other, 0, shape};
    Rows rows = {ufunc->functions[loop.nr], ufunc->data == NULL ? NULL : ufunc->data[loop.nr]};
    if (!find_rows(&rows, &all)) return NULL;
    PyArrayObject *target = target_of(&all, loop.result, given);
    if (target == NULL) return NULL;
    rows.data[0] = PyArray_BYTES(one), rows.data[1] = PyArray_BYTES(other), rows.data[2] = PyArray_BYTES(target);
    rows.steps[2] = PyArray_ITEMSIZE(target);
    pool_compute(run_rows, &rows, rows.count, MANY / 2 / rows.length, 0);
    return (PyObject *)target;
}

/* Do what a ufunc does with row-major floats, or doubles, into a new array or a given one; NULL, maybe with an error,
 * if the operands are anything else. */
static PyObject *run_loop(const Settled *settled, PyObject *const *args, PyObject *given) {
    const PyUFuncObject *ufunc = (PyUFuncObject *)settled->kernel;
    PyArrayObject *one = plain_array(args[0], REAL);
    if (one == NULL || !in_rows(one)) return NULL;
    const Loop loop = PyArray_TYPE(one) == NPY_FLOAT ? settled->single : settled->twice;
    PyArrayObject *other = ufunc->nin == 1 ? one : plain_array(args[1], PyArray_TYPE(one));
    if (loop.nr < 0 || other == NULL || !in_rows(other)) return NULL;
    PyArrayObject *form = PyArray_NDIM(one) ? one : other;
    if (!PyArray_SAMESHAPE(form, other) && PyArray_NDIM(other)) return run_repeated(ufunc, loop, one, other, given);
    const Operands all = {one, other, PyArray_NDIM(form), PyArray_DIMS(form)};
    PyArrayObject *target = target_of(&all, loop.result, given);
    if (target == NULL) return NULL;
    const npy_intp count = PyArray_SIZE(form), width = PyArray_ITEMSIZE(one);
    char *data[] = {PyArray_BYTES(one), PyArray_BYTES(ufunc->nin == 1 ? target : other), PyArray_BYTES(target)};
    npy_intp steps[] = {PyArray_NDIM(one) ? width : 0, PyArray_NDIM(other) ? width : 0, PyArray_ITEMSIZE(target)};
    if (ufunc->nin == 1) steps[1] = steps[2];
    void *with = ufunc->data == NULL ? NULL : ufunc->data[loop.nr];
    if (count > ALONE) {
        Py_BEGIN_ALLOW_THREADS;
        ufunc->functions[loop.nr](data, &count, steps, with);
        Py_END_ALLOW_THREADS;
    } else if (count) {
        ufunc->functions[loop.nr](data, &count, steps, with);
    }
    return (PyObject *)target;
}

/* Call a ufunc that is to write to the last argument. */
static PyObject *write_to_last(PyObject *ufunc, PyObject *const *args, Py_ssize_t count) {
    static PyObject *names;
    if (names == NULL && (names = Py_BuildValue("(s)", "out")) == NULL) return NULL;
    if (count < 1) return PyErr_Format(PyExc_TypeError, "there is nothing to write to");
    return PyObject_Vectorcall(ufunc, args, (size_t)(count - 1), names);
}

/* Call the kernel; unless all is row-major, lay the result out by `settle(result, arguments)`. */
static PyObject *call(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {
    Settled *settled = (Settled *)self;
    PyObject *result = NULL;
    if (names == NULL && (settled->single.nr >= 0 || settled->twice.nr >= 0)) {
        const Py_ssize_t operands = ((PyUFuncObject *)settled->kernel)->nin, written = settled->settle == NULL;
        if (PyVectorcall_NARGS(flags) == operands + written)
            result = run_loop(settled, args, written ? args[operands] : NULL);
        if (result != NULL || PyErr_Occurred()) return result;
    }
    if (settled->settle == NULL) return write_to_last(settled->kernel, args, PyVectorcall_NARGS(flags));
    result = PyObject_Vectorcall(settled->kernel, args, flags, names);
    if (result == NULL) return NULL;
    Py_ssize_t count = PyVectorcall_NARGS(flags) + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    int usual = row_major(result);
    for (Py_ssize_t index = 0; usual && index < count; index++)
        if (PyArray_Check(args[index]) || PyList_Check(args[index])) usual = row_major(args[index]);
    if (usual) return result;
    PyObject *given = PyTuple_New(count), *laid_out = NULL;
    if (given != NULL) {
        for (Py_ssize_t index = 0; index < count; index++) {
            Py_INCREF(args[index]);
            PyTuple_SET_ITEM(given, index, args[index]);
        }
        laid_out = PyObject_CallFunctionObjArgs(settled->settle, result, given, NULL);
        Py_DECREF(given);
    }
    Py_DECREF(result);
    return laid_out;
}

static void forget(PyObject *self) {
    Settled *settled = (Settled *)self;
    Py_XDECREF(settled->kernel);
    Py_XDECREF(settled->settle);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "taper._native.Settled",
    .tp_basicsize = sizeof(Settled),
    .tp_dealloc = forget,
    .tp_vectorcall_offset = offsetof(Settled, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

/* settled(kernel, settle): with None for `settle`, a ufunc that is given the array to write to as well. */
PyObject *taper_settled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyCallable_Check(args[0]) || (args[1] != Py_None && !PyCallable_Check(args[1])))
        return PyErr_Format(PyExc_TypeError, "settled(kernel, settle)");
    if (PyType_Ready(&type) < 0) return NULL;
    Settled *made = PyObject_New(Settled, &type);
    if (made == NULL) return NULL;
    made->vectorcall = call;
    Py_INCREF(args[0]);
    made->kernel = args[0];
    made->settle = args[1] == Py_None ? NULL : Py_NewRef(args[1]);
    made->single = find_loop(args[0], NPY_FLOAT);
    made->twice = find_loop(args[0], NPY_DOUBLE);
    return (PyObject *)made;
}
