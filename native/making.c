/* New tensors: filled with one number, or with whatever the memory held.
 *
 * The twin is what stands behind the call in each function of ops/creation/: these functions return None, with
 * nothing done, where there is anything but sizes, a dtype and `requires_grad` to see to.
 */

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "pool.h"
#include "slots.h"

#define GRAIN 65536 /* elements that one thread fills at once */

static Py_ssize_t elsewhere; /* how many threads and blocks want tensors on another device */

/* count_elsewhere(change) */
PyObject *taper_count_elsewhere(PyObject *self, PyObject *change) {
    const Py_ssize_t by = PyLong_AsSsize_t(change);
    if (by == -1 && PyErr_Occurred()) return NULL;
    elsewhere += by;
    Py_RETURN_NONE;
}

/* know_making(dtypes.default, dtypes.dtype, strided, CPU) */
PyObject *taper_know_making(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyType_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "know_making(default, dtype, strided, cpu)");
    return taper_find_making(args) < 0 ? NULL : held(Py_None);
}

typedef struct {
    void *to;
    uint64_t bits;
} Filling;

#define DEFINE_FILL(T)                                                            \
    WIDE static void fill_##T(void *context, npy_intp start, npy_intp stop) {     \
        T *to = ((Filling *)context)->to;                                         \
        const T value = (T)((Filling *)context)->bits;                            \
        for (npy_intp index = start; index < stop; index++) to[index] = value;    \
    }

DEFINE_FILL(uint8_t)
DEFINE_FILL(uint16_t)
DEFINE_FILL(uint32_t)
DEFINE_FILL(uint64_t)

/* The bits of a number as an element of a type: 0, or -1 if it needs a closer look. */
static int bits_of(PyObject *number, int type, uint64_t *bits) {
    *bits = 0;
    if (PyFloat_CheckExact(number)) {
        const double value = PyFloat_AS_DOUBLE(number);
        if (type == NPY_DOUBLE) {
            memcpy(bits, &value, sizeof value);
            return 0;
        }
        const float single = (float)value;
        if (type != NPY_FLOAT || (isfinite(value) && fabs(value) > FLT_MAX)) return -1;
        memcpy(bits, &single, sizeof single);
        return 0;
    }
    if (!PyLong_CheckExact(number)) return -1;
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow || value < 0 || value > 127) return -1;
    if (value == 0) return PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type) || PyTypeNum_ISUSERDEF(type) ? 0 : -1;
    const double wide = (double)value;
    const float single = (float)value;
    switch (type) {
    case NPY_BOOL: *bits = 1; return 0;
    case NPY_FLOAT: memcpy(bits, &single, sizeof single); return 0;
    case NPY_DOUBLE: memcpy(bits, &wide, sizeof wide); return 0;
    default: *bits = (uint64_t)value; return PyTypeNum_ISINTEGER(type) ? 0 : -1;
    }
}

/* An array filled with a number, or not at all if it is None; NULL without an error if it needs a closer look. */
static PyObject *filled(int ndim, const npy_intp *shape, PyArray_Descr *dtype, PyObject *number) {
    Filling filling = {NULL, 0};
    if (number != Py_None && bits_of(number, dtype->type_num, &filling.bits) < 0) return NULL;
    Py_INCREF(dtype);
    const int zero = number != Py_None && filling.bits == 0;
    PyObject *made = zero ? PyArray_Zeros(ndim, shape, dtype, 0) : PyArray_Empty(ndim, shape, dtype, 0);
    if (made == NULL) {
        PyErr_Clear(); /* the twin finds PyTorch's words */
        return NULL;
    }
    if (zero || number == Py_None) return made;
    filling.to = PyArray_DATA((PyArrayObject *)made);
    const npy_intp elements = PyArray_SIZE((PyArrayObject *)made);
    const npy_intp width = PyArray_ITEMSIZE((PyArrayObject *)made);
    const Part part = width == 1 ? fill_uint8_t : width == 2 ? fill_uint16_t : width == 4 ? fill_uint32_t : fill_uint64_t;
    pool_compute(part, &filling, elements, GRAIN, elements <= GRAIN);
    return made;
}

/* Whether nobody wants to see or change what is made. */
static int is_usual(PyObject *state) {
    const struct Known *known = &taper_known;
    if (known->state == NULL || known->strided == NULL || !Py_IS_TYPE(state, known->state) || elsewhere) return 0;
    PyObject *mode = SLOT(state, known->of_state.mode), *transforms = SLOT(state, known->of_state.transforms);
    return (mode == known->zero || mode == known->one) && transforms != NULL && PyTuple_CheckExact(transforms) &&
           PyTuple_GET_SIZE(transforms) == 0;
}

/* Whether all options are as if they had not been given, or say what is usual, as `device=x.device` mostly does. */
static int are_absent(PyObject *const *options, Py_ssize_t count) {
    for (Py_ssize_t index = 0; index < count; index++) {
        PyObject *option = options[index];
        if (option != Py_None && option != Py_False && option != taper_known.strided && option != taper_known.cpu)
            return 0;
    }
    return 1;
}

/* NumPy's dtype of one of taper's, borrowed; NULL if it is none. */
static PyArray_Descr *numpy_dtype(PyObject *dtype) {
    if (!Py_IS_TYPE(dtype, taper_known.dtype)) return NULL;
    PyObject *found = SLOT(dtype, taper_known.of_dtype.numpy);
    return found != NULL && PyArray_DescrCheck(found) ? (PyArray_Descr *)found : NULL;
}

/* The dtype if there is none: that of a number, or the default one. */
static PyArray_Descr *usual_dtype(PyObject *number, int by_number) {
    static PyArray_Descr *of_integers;
    if (by_number && PyLong_CheckExact(number)) {
        if (of_integers == NULL) of_integers = PyArray_DescrFromType(NPY_INT64);
        return of_integers;
    }
    if (by_number && !PyFloat_CheckExact(number)) return NULL;
    PyObject *found = SLOT(taper_known.default_dtype, taper_known.of_default.float_numpy);
    return found != NULL && PyArray_DescrCheck(found) ? (PyArray_Descr *)found : NULL;
}

static PyObject *finished(PyObject *array, PyObject *requires_grad) {
    if (array == NULL) return PyErr_Occurred() ? NULL : held(Py_None);
    PyObject *tensor = taper_new_tensor(array, requires_grad, Py_None);
    Py_DECREF(array);
    return tensor;
}

/* Whether `requires_grad` is a flag that the dtype can have. */
static int is_fitting(PyObject *requires_grad, const PyArray_Descr *dtype) {
    return requires_grad == Py_False ||
           (requires_grad == Py_True && (dtype->type_num == NPY_FLOAT || dtype->type_num == NPY_DOUBLE));
}

/* Lengths of dimensions, a tuple or a list: how many, or -1 if they need a closer look. */
static int read_lengths(PyObject *sizes, npy_intp *shape) {
    if (!(PyTuple_Check(sizes) || PyList_CheckExact(sizes)) || PySequence_Fast_GET_SIZE(sizes) > NPY_MAXDIMS)
        return -1;
    const int ndim = (int)PySequence_Fast_GET_SIZE(sizes);
    for (int dim = 0; dim < ndim; dim++) {
        PyObject *size = PySequence_Fast_GET_ITEM(sizes, dim);
        int overflow = 1;
        const long long length = PyLong_CheckExact(size) ? PyLong_AsLongLongAndOverflow(size, &overflow) : -1;
        if (overflow || length < 0) return -1;
        shape[dim] = (npy_intp)length;
    }
    return ndim;
}

/* new_filled(state, number, sizes, dtype, requires_grad, by_number, *options): a tensor filled with a number, or
 * not if that is None.  `sizes` is what a function was given as `*sizes`; with `by_number` it is one argument, and
 * the dtype is that of the number. */
PyObject *taper_new_filled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 6) return PyErr_Format(PyExc_TypeError, "new_filled(state, number, sizes, dtype, ...)");
    if (!is_usual(args[0]) || !are_absent(args + 6, count - 6)) Py_RETURN_NONE;
    const int by_number = args[5] == Py_True;
    PyArray_Descr *dtype = args[3] == Py_None ? usual_dtype(args[1], by_number) : numpy_dtype(args[3]);
    PyObject *sizes = args[2];
    if (dtype == NULL || !is_fitting(args[4], dtype)) Py_RETURN_NONE;
    if (!by_number) {
        if (!PyTuple_CheckExact(sizes) || PyTuple_GET_SIZE(sizes) == 0) Py_RETURN_NONE;
        PyObject *first = PyTuple_GET_ITEM(sizes, 0);
        if (PyTuple_GET_SIZE(sizes) == 1 && !PyLong_CheckExact(first)) sizes = first;
    }
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = read_lengths(sizes, shape);
    if (ndim < 0) Py_RETURN_NONE;
    return finished(filled(ndim, shape, dtype, args[1]), args[4]);
}

/* new_like(state, number, tensor, dtype, requires_grad, *options): likewise in the form of a row-major tensor. */
PyObject *taper_new_like(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 5) return PyErr_Format(PyExc_TypeError, "new_like(state, number, tensor, dtype, ...)");
    if (!is_usual(args[0]) || !are_absent(args + 5, count - 5) || !PyObject_TypeCheck(args[2], taper_known.tensor))
        Py_RETURN_NONE;
    PyArrayObject *array = array_of(args[2]);
    if (array == NULL || !PyArray_CheckExact(array)) Py_RETURN_NONE;
    PyArray_Descr *dtype = args[3] == Py_None ? PyArray_DESCR(array) : numpy_dtype(args[3]);
    if (dtype == NULL || !is_fitting(args[4], dtype)) Py_RETURN_NONE;
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0; dim--) {
        if (PyArray_STRIDE(array, dim) != step) Py_RETURN_NONE;
        step *= PyArray_DIM(array, dim);
    }
    return finished(filled(PyArray_NDIM(array), PyArray_DIMS(array), dtype, args[1]), args[4]);
}

/* The dtype, lengths and options of a function that makes an array of some other kind; NULL if they need a closer
 * look.  `options` begins with the dtype and `requires_grad`. */
static PyArray_Descr *asked_dtype(PyObject *state, PyObject *const *options, Py_ssize_t count) {
    if (count < 2 || !is_usual(state) || !are_absent(options + 2, count - 2)) return NULL;
    PyArray_Descr *dtype = options[0] == Py_None ? usual_dtype(Py_None, 0) : numpy_dtype(options[0]);
    return dtype != NULL && is_fitting(options[1], dtype) ? dtype : NULL;
}

/* A length: -1 if it is anything but an exact integer that is not negative. */
static npy_intp length_of(PyObject *value) {
    int overflow = 1;
    const long long length = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
    return overflow || length < 0 ? -1 : (npy_intp)length;
}

/* new_eye(state, n, m, dtype, requires_grad, *options) */
PyObject *taper_new_eye(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyArray_Descr *dtype = count < 5 ? NULL : asked_dtype(args[0], args + 3, count - 3);
    uint64_t one;
    if (dtype == NULL || bits_of(taper_known.one, dtype->type_num, &one) < 0) Py_RETURN_NONE;
    const npy_intp rows = length_of(args[1]), columns = args[2] == Py_None ? rows : length_of(args[2]);
    if (rows < 0 || columns < 0) Py_RETURN_NONE;
    PyObject *made = filled(2, (npy_intp[]){rows, columns}, dtype, taper_known.zero);
    const npy_intp width = PyDataType_ELSIZE(dtype);
    for (npy_intp place = 0; made != NULL && place < (rows < columns ? rows : columns); place++) {
        char *to = PyArray_BYTES((PyArrayObject *)made) + place * (columns + 1) * width;
        memcpy(to, &one, width); /* the first bytes: numbers lie with their lowest byte first, or are */
    }
    return finished(made, args[4]);
}

typedef struct {
    int64_t *to;
    long long start, step;
} Range;

WIDE static void count_up(void *context, npy_intp start, npy_intp stop) {
    const Range range = *(const Range *)context;
    for (npy_intp index = start; index < stop; index++) range.to[index] = range.start + index * range.step;
}

/* new_range(state, start, end, step, dtype, requires_grad, *options): `arange` of small integers. */
PyObject *taper_new_range(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    PyObject *dtype = count < 6 ? NULL : args[4];
    if (dtype == NULL || !is_usual(args[0]) || !are_absent(args + 5, count - 5)) Py_RETURN_NONE;
    if (dtype != Py_None) {
        PyArray_Descr *asked = numpy_dtype(dtype);
        if (asked == NULL || asked->type_num != NPY_INT64) Py_RETURN_NONE;
    }
    PyObject *given[] = {args[2] == Py_None ? known->zero : args[1], args[2] == Py_None ? args[1] : args[2],
                         args[3] == Py_None ? known->one : args[3]};
    long long numbers[3];
    for (int index = 0; index < 3; index++) {
        int overflow = 1;
        numbers[index] = PyLong_CheckExact(given[index]) ? PyLong_AsLongLongAndOverflow(given[index], &overflow) : 0;
        if (overflow || numbers[index] > INT32_MAX || numbers[index] < -INT32_MAX) Py_RETURN_NONE;
    }
    const long long start = numbers[0], end = numbers[1], step = numbers[2];
    if ((args[2] == Py_None && args[3] != Py_None) || step == 0 || (end - start) * (step < 0 ? -1 : 1) <= 0)
        Py_RETURN_NONE;
    const npy_intp length = (npy_intp)((end - start + step - (step < 0 ? -1 : 1)) / step);
    PyArray_Descr *integers = PyArray_DescrFromType(NPY_INT64);
    PyObject *made = filled(1, &length, integers, Py_None);
    Py_DECREF(integers);
    if (made == NULL) return finished(NULL, Py_False);
    Range range = {PyArray_DATA((PyArrayObject *)made), start, step};
    pool_compute(count_up, &range, length, GRAIN / 2, length <= GRAIN / 2);
    return finished(made, Py_False);
}

typedef struct {
    float *to;
    double first, last, step;
    npy_intp count;
} Line;

/* Counted from the start in the first half and from the end after it, rounded once. */
WIDE static void draw_line(void *context, npy_intp start, npy_intp stop) {
    const Line *line = context;
    const npy_intp half = line->count / 2, middle = half < start ? start : half < stop ? half : stop;
    const double first = line->first, last = line->last, step = line->step;
    float *to = line->to;
    for (npy_intp index = start; index < middle; index++) to[index] = (float)((double)index * step + first);
    const npy_intp end = line->count - 1;
    for (npy_intp index = middle; index < stop; index++) to[index] = (float)((double)(end - index) * -step + last);
}

/* new_line(state, start, end, steps, dtype, requires_grad, *options): `linspace` of float32. */
PyObject *taper_new_line(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    PyArray_Descr *dtype = count < 6 ? NULL : asked_dtype(args[0], args + 4, count - 4);
    const npy_intp length = count < 6 ? -1 : length_of(args[3]);
    if (dtype == NULL || dtype->type_num != NPY_FLOAT || length < 2) Py_RETURN_NONE;
    float ends[2];
    for (int index = 0; index < 2; index++) {
        PyObject *given = args[1 + index];
        int overflow = 0;
        if (PyFloat_CheckExact(given))
            ends[index] = (float)PyFloat_AS_DOUBLE(given);
        else if (PyLong_CheckExact(given)) /* NumPy's conversion goes through double, too */
            ends[index] = (float)(double)PyLong_AsLongLongAndOverflow(given, &overflow);
        else
            Py_RETURN_NONE;
        if (overflow || !isfinite(ends[index])) Py_RETURN_NONE;
    }
    Line line = {NULL, ends[0], ends[1], (ends[1] - ends[0]) / (float)(length - 1), length};
    PyObject *made = filled(1, &length, dtype, Py_None);
    if (made == NULL) return finished(NULL, Py_False);
    line.to = PyArray_DATA((PyArrayObject *)made);
    pool_compute(draw_line, &line, length, GRAIN, length <= GRAIN);
    return finished(made, args[5]);
}

/* on_array(state, array): a tensor on the memory of an array, whose storage begins at its first element. */
PyObject *taper_on_array(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !is_usual(args[0]) || !PyArray_CheckExact(args[1])) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(array), ndim = PyArray_NDIM(array);
    if (!PyArray_ISWRITEABLE(array) || !PyArray_ISALIGNED(array) || PyArray_SIZE(array) == 0 ||
        (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64 && type != NPY_INT32 && type != NPY_UINT8))
        Py_RETURN_NONE;
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    Py_DECREF(dtype); /* NumPy holds it for good */
    const npy_intp width = PyArray_ITEMSIZE(array);
    npy_intp extent = width;
    for (int dim = 0; dim < ndim; dim++) {
        const npy_intp step = PyArray_STRIDE(array, dim);
        if (step < 0 || step % width) Py_RETURN_NONE;
        extent += (PyArray_DIM(array, dim) - 1) * step;
    }
    if (PyArray_DESCR(array) != dtype) Py_RETURN_NONE;
    /* What keeps the array alive is no array, so that the storage ends there. */
    PyObject *owner = PyTuple_Pack(1, array), *bytes = NULL, *made = NULL;
    if (owner != NULL)
        bytes = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_UINT8), 1, &extent, NULL,
                                     PyArray_DATA(array), NPY_ARRAY_CARRAY, NULL);
    if (bytes != NULL && PyArray_SetBaseObject((PyArrayObject *)bytes, held(owner)) == 0) {
        Py_INCREF(dtype);
        made = PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, PyArray_DIMS(array), PyArray_STRIDES(array),
                                    PyArray_DATA(array), NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL);
        if (made != NULL && PyArray_SetBaseObject((PyArrayObject *)made, held(bytes)) < 0) Py_CLEAR(made);
    }
    Py_XDECREF(owner);
    Py_XDECREF(bytes);
    return made == NULL ? NULL : finished(made, Py_False);
}

/* as_it_is(tensor, dtype, device): a tensor itself, if nothing else was asked for. */
PyObject *taper_as_it_is(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || elsewhere || taper_known.tensor == NULL || args[1] != Py_None || args[2] != Py_None ||
        !PyObject_TypeCheck(args[0], taper_known.tensor))
        Py_RETURN_NONE;
    return held(args[0]);
}
