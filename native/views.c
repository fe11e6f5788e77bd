/* Views: the tensor on part of another's memory, and the record that says whose and how.
 *
 * Twins: `new_view_in_python` and `new_views_in_python` of autograd/new_views.py; for the rest the functions of
 * ops/shape/ that call them.
 */

#include "slots.h"

PyObject *taper_know_views(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5 || !PyType_Check(args[0]) || !PyType_Check(args[1]) || !PyTuple_CheckExact(args[2]) ||
        PyTuple_GET_SIZE(args[2]) != 4)
        return PyErr_Format(PyExc_TypeError,
                            "know_views(ViewRecord, VersionCounter, creations, new_view, new_views)");
    return taper_find_views(args) < 0 ? NULL : held(Py_None);
}

/* How a view that an operator makes now of a view comes to be, given how that one did (V9 to V14). */
static PyObject *creation_after(PyObject *parent, PyObject *creation) {
    PyObject *const *known = taper_known.creations;
    if (parent == known[PLAIN_VIEW]) return creation;
    return creation == known[PLAIN_VIEW] || parent == known[INFERENCE_VIEW] ? parent : creation;
}

/* The plain counter of a tensor, made on first use, borrowed; NULL without an error if it has another. */
static PyObject *plain_counter(PyObject *source) {
    const struct Known *known = &taper_known;
    PyObject *counter = SLOT(source, known->of_tensor.counter);
    if (counter == Py_None && SLOT(source, known->of_tensor.grad_fn) == Py_None) {
        counter = known->counter->tp_alloc(known->counter, 0);
        if (counter == NULL) return NULL;
        SLOT(counter, known->of_counter.value) = held(known->zero);
        SLOT(counter, known->of_counter.code) = held(Py_None);
        SLOT(counter, known->of_counter.offset) = held(known->zero);
        put(source, known->of_tensor.counter, counter);
    }
    if (counter == NULL || !Py_IS_TYPE(counter, known->counter)) return NULL;
    return SLOT(counter, known->of_counter.value) == NULL ? NULL : counter;
}

/* What the views that one call makes have in common. */
typedef struct {
    PyObject *base, *counter, *creation; /* borrowed */
    PyObject *replay, *code, *offset;    /* owned */
} Common;

static void forget(Common *common) {
    Py_XDECREF(common->replay);
    Py_XDECREF(common->code);
    Py_XDECREF(common->offset);
}

/* Fill `common` and take over `step`: 1, 0 if this is no case for here, -1 with an error. */
static int agree(Common *common, PyObject *source, PyObject *state, PyObject *frame, PyObject *creation,
                 PyObject *step) {
    const struct Known *known = &taper_known;
    PyObject *parent = SLOT(source, known->of_tensor.view), *before = Py_None;
    memset(common, 0, sizeof *common);
    common->counter = plain_counter(source);
    if (common->counter == NULL || parent == NULL || (parent != Py_None && !Py_IS_TYPE(parent, known->record))) {
        Py_DECREF(step);
        return PyErr_Occurred() ? -1 : 0;
    }
    common->base = source;
    common->creation = creation;
    if (parent != Py_None) {
        common->base = full_slot(parent, known->of_record.base, "base");
        PyObject *made = full_slot(parent, known->of_record.creation, "creation");
        before = full_slot(parent, known->of_record.replay, "replay");
        if (common->base == NULL || made == NULL || before == NULL) {
            Py_DECREF(step);
            return -1;
        }
        common->creation = creation_after(made, creation);
    }
    common->replay = PyTuple_New(2);
    if (common->replay == NULL) {
        Py_DECREF(step);
        return -1;
    }
    PyTuple_SET_ITEM(common->replay, 0, held(before));
    PyTuple_SET_ITEM(common->replay, 1, step);
    if (taper_find_line(state, frame, &common->code, &common->offset) == 0) return 1;
    forget(common);
    return -1;
}

/* One view; takes over the array. */
static PyObject *view_on(PyObject *array, const Common *common) {
    const struct Known *known = &taper_known;
    PyObject *record = known->record->tp_alloc(known->record, 0);
    PyObject *view = record == NULL ? NULL : taper_new_tensor(array, known->ask, Py_None);
    Py_DECREF(array);
    if (view == NULL) {
        Py_XDECREF(record);
        return NULL;
    }
    SLOT(record, known->of_record.base) = held(common->base);
    SLOT(record, known->of_record.creation) = held(common->creation);
    SLOT(record, known->of_record.version) = held(SLOT(common->counter, known->of_counter.value));
    SLOT(record, known->of_record.replay) = held(common->replay);
    SLOT(record, known->of_record.requires_grad) = held(Py_False);
    SLOT(record, known->of_record.code) = held(common->code);
    SLOT(record, known->of_record.offset) = held(common->offset);
    put(view, known->of_tensor.counter, held(common->counter));
    put(view, known->of_tensor.view, record);
    return view;
}

static int are_valid(PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    if (count >= 5 && known->record != NULL && known->internal != NULL &&
        PyObject_TypeCheck(args[0], known->tensor) && Py_IS_TYPE(args[2], known->state) && PyFrame_Check(args[3]))
        return 1;
    PyErr_SetString(PyExc_TypeError, "(source, array, state, frame, function, ...)");
    return 0;
}

/* new_view(source, array, state, frame, function, *arguments): the view that a view operator makes. */
PyObject *taper_new_view(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_valid(args, count)) return NULL;
    PyObject *arguments = PyTuple_New(count - 5), *step;
    if (arguments == NULL) return NULL;
    for (Py_ssize_t index = 5; index < count; index++) PyTuple_SET_ITEM(arguments, index - 5, held(args[index]));
    step = PyTuple_Pack(2, args[4], arguments);
    Py_DECREF(arguments);
    if (step == NULL) return NULL;
    const int recorded = SLOT(args[2], taper_known.of_state.mode) == taper_known.zero;
    PyObject *creation = taper_known.creations[recorded ? PLAIN_VIEW : NO_GRAD_VIEW];
    Common common;
    const int agreed = agree(&common, args[0], args[2], args[3], creation, step);
    if (agreed < 0) return NULL;
    if (!agreed) return PyObject_Vectorcall(taper_known.new_view, args, count, NULL);
    PyObject *view = view_on(held(args[1]), &common);
    forget(&common);
    return view;
}

/* new_views(source, arrays, state, frame, function, *arguments): those of an operator that makes several. */
PyObject *taper_new_views(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_valid(args, count)) return NULL;
    if (!PyList_CheckExact(args[1])) return PyObject_Vectorcall(taper_known.new_views, args, count, NULL);
    const int recorded = SLOT(args[2], taper_known.of_state.mode) == taper_known.zero;
    PyObject *creation = taper_known.creations[recorded ? MULTIPLE_VIEW : NO_GRAD_VIEW];
    Common common;
    const int agreed = agree(&common, args[0], args[2], args[3], creation, held(Py_None));
    if (agreed < 0) return NULL;
    if (!agreed) return PyObject_Vectorcall(taper_known.new_views, args, count, NULL);
    PyObject *views = PyTuple_New(PyList_GET_SIZE(args[1]));
    for (Py_ssize_t index = 0; views != NULL && index < PyTuple_GET_SIZE(views); index++) {
        PyObject *view = view_on(held(PyList_GET_ITEM(args[1], index)), &common);
        if (view == NULL)
            Py_CLEAR(views);
        else
            PyTuple_SET_ITEM(views, index, view);
    }
    forget(&common);
    return views;
}

/* Whether an operation on a tensor is not to be recorded, and nobody wants to see it; rather no. */
static int is_quiet(PyObject *state, PyObject *tensor) {
    const struct Known *known = &taper_known;
    if (!Py_IS_TYPE(state, known->state) || known->record == NULL || known->internal == NULL) return 0;
    PyObject *mode = SLOT(state, known->of_state.mode);
    if (mode == known->one) return 1;
    if (mode != known->zero) return 0;
    for (;;) {
        PyObject *flag = SLOT(tensor, known->of_tensor.requires_grad);
        if (flag != known->ask) return flag == Py_False;
        PyObject *record = SLOT(tensor, known->of_tensor.view), *counter = SLOT(tensor, known->of_tensor.counter);
        if (record == NULL || !Py_IS_TYPE(record, known->record) || counter == NULL ||
            !Py_IS_TYPE(counter, known->counter) || SLOT(tensor, known->of_tensor.grad_fn) != Py_None ||
            SLOT(record, known->of_record.requires_grad) != Py_False)
            return 0;
        PyObject *seen = SLOT(record, known->of_record.version), *now = SLOT(counter, known->of_counter.value);
        if (seen == NULL || seen != now) return 0; /* the history may be out of date */
        PyObject *base = SLOT(record, known->of_record.base);
        if (base == NULL || !PyObject_TypeCheck(base, known->tensor)) return 0;
        tensor = base; /* a base is no view */
    }
}

PyArrayObject *taper_quiet_array(PyObject *tensor, PyObject *state) {
    if (taper_known.tensor == NULL || !Py_IS_TYPE(tensor, taper_known.tensor)) return NULL;
    PyObject *array = SLOT(tensor, taper_known.of_tensor.array);
    return array != NULL && PyArray_CheckExact(array) && is_quiet(state, tensor) ? (PyArrayObject *)array : NULL;
}

PyObject *taper_part_of(PyArrayObject *array, int ndim, const npy_intp *shape, const npy_intp *strides,
                         npy_intp offset) {
    PyArray_Descr *dtype = PyArray_DESCR(array);
    Py_INCREF(dtype);
    PyObject *part =
        PyArray_NewFromDescr(&PyArray_Type, dtype, ndim, shape, strides, PyArray_BYTES(array) + offset,
                             PyArray_FLAGS(array) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED), NULL);
    if (part == NULL) return NULL;
    if (PyArray_SetBaseObject((PyArrayObject *)part, held((PyObject *)array)) == 0) return part;
    Py_DECREF(part);
    return NULL;
}

/* Read sizes that fit `elements`, of which one may be -1: how many, or -1 if they are anything else. */
static int read_sizes(PyObject *sizes, npy_intp elements, npy_intp *shape) {
    const Py_ssize_t ndim = PyTuple_GET_SIZE(sizes);
    npy_intp product = 1;
    int unknown = -1;
    if (ndim > NPY_MAXDIMS || elements == 0) return -1;
    for (int dim = 0; dim < ndim; dim++) {
        PyObject *size = PyTuple_GET_ITEM(sizes, dim);
        if (!PyLong_CheckExact(size)) return -1;
        int overflow;
        const long long length = PyLong_AsLongLongAndOverflow(size, &overflow);
        if (overflow || length < -1 || length == 0 || length > elements) return -1;
        shape[dim] = (npy_intp)length;
        if (length < 0) {
            if (unknown >= 0) return -1;
            unknown = dim;
        } else {
            if (product > elements / length) return -1;
            product *= (npy_intp)length;
        }
    }
    if (unknown >= 0) {
        if (elements % product) return -1;
        shape[unknown] = elements / product;
    } else if (product != elements) {
        return -1;
    }
    return (int)ndim;
}

/* Quick ways: each gives what `function(tensor, ...)` gives of a tensor without a history, and None, with nothing
 * done, where there is anything unusual. */

static int are_quick(PyObject *const *args, Py_ssize_t count, Py_ssize_t wanted) {
    if (count == wanted && PyFrame_Check(args[2])) return 1;
    PyErr_SetString(PyExc_TypeError, "(tensor, state, frame, function, ...)");
    return 0;
}

/* The view on `part`, which is taken over; `head` is (tensor, state, frame, function). */
static PyObject *quick_view(PyObject *const *head, PyObject *part, PyObject *const *arguments, int count) {
    PyObject *all[9] = {head[0], part, head[1], head[2], head[3]};
    if (part == NULL) return NULL;
    for (int index = 0; index < count; index++) all[5 + index] = arguments[index];
    PyObject *view = taper_new_view(NULL, all, 5 + count);
    Py_DECREF(part);
    return view;
}

npy_intp taper_place_in(PyObject *value, npy_intp size) {
    int overflow = 1;
    long long place = PyLong_CheckExact(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    if (overflow || place < -size || place >= size) return -1;
    return (npy_intp)(place < 0 ? place + size : place);
}

/* What was given as `*sizes`: itself, or the one tuple in it; a new reference to a plain tuple. */
static PyObject *only_tuple(PyObject *given) {
    if (PyTuple_GET_SIZE(given) == 1 && PyTuple_Check(PyTuple_GET_ITEM(given, 0)))
        given = PyTuple_GET_ITEM(given, 0);
    return PySequence_Tuple(given);
}

/* Whether strides are those of rows one after the other, also where a dimension has length 1: a view takes
 * over the stride of such a dimension, as in PyTorch, and only the general way knows how. */
static int is_row_major(PyArrayObject *array) {
    npy_intp step = PyArray_ITEMSIZE(array);
    for (int dim = PyArray_NDIM(array) - 1; dim >= 0; dim--) {
        if (PyArray_STRIDE(array, dim) != step) return 0;
        step *= PyArray_DIM(array, dim) > 1 ? PyArray_DIM(array, dim) : 1;
    }
    return 1;
}

/* reshaped(tensor, state, frame, function, sizes); None for `sizes`: all dimensions as one, if there are several. */
PyObject *taper_reshaped(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_quick(args, count, 5)) return NULL;
    PyArrayObject *array = taper_quiet_array(args[0], args[1]);
    if (array == NULL || !PyArray_IS_C_CONTIGUOUS(array) || !is_row_major(array)) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS];
    PyObject *sizes;
    int ndim = 1;
    if (args[4] == Py_None) {
        shape[0] = PyArray_SIZE(array);
        if (PyArray_NDIM(array) < 2 || shape[0] == 0) Py_RETURN_NONE;
        sizes = Py_BuildValue("(n)", (Py_ssize_t)shape[0]);
    } else {
        if (!PyTuple_Check(args[4])) Py_RETURN_NONE;
        sizes = only_tuple(args[4]);
        if (sizes != NULL && (ndim = read_sizes(sizes, PyArray_SIZE(array), shape)) < 0) {
            Py_DECREF(sizes);
            Py_RETURN_NONE;
        }
    }
    if (sizes == NULL) return NULL;
    PyObject *view = quick_view(args, taper_part_of(array, ndim, shape, NULL, 0), &sizes, 1);
    Py_DECREF(sizes);
    return view;
}

/* permuted(tensor, state, frame, function, dims) */
PyObject *taper_permuted(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_quick(args, count, 5)) return NULL;
    PyArrayObject *array = taper_quiet_array(args[0], args[1]);
    if (array == NULL || !PyTuple_Check(args[4])) Py_RETURN_NONE;
    const int ndim = PyArray_NDIM(array);
    PyObject *dims = only_tuple(args[4]);
    if (dims == NULL) return NULL;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char seen[NPY_MAXDIMS] = {0};
    int known = PyTuple_GET_SIZE(dims) == ndim;
    for (int to = 0; known && to < ndim; to++) {
        const npy_intp from = taper_place_in(PyTuple_GET_ITEM(dims, to), ndim);
        known = from >= 0 && !seen[from];
        if (!known) break;
        seen[from] = 1;
        shape[to] = PyArray_DIM(array, (int)from);
        strides[to] = PyArray_STRIDE(array, (int)from);
    }
    PyObject *view = known ? quick_view(args, taper_part_of(array, ndim, shape, strides, 0), &dims, 1) : held(Py_None);
    Py_DECREF(dims);
    return view;
}

/* selected(tensor, state, frame, function, dim, index) */
PyObject *taper_selected(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_quick(args, count, 6)) return NULL;
    PyArrayObject *array = taper_quiet_array(args[0], args[1]);
    if (array == NULL) Py_RETURN_NONE;
    const int ndim = PyArray_NDIM(array);
    const npy_intp dim = taper_place_in(args[4], ndim);
    const npy_intp index = dim < 0 ? -1 : taper_place_in(args[5], PyArray_DIM(array, (int)dim));
    if (index < 0) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int from = 0, to = 0; from < ndim; from++) {
        if (from == dim) continue;
        shape[to] = PyArray_DIM(array, from);
        strides[to++] = PyArray_STRIDE(array, from);
    }
    const npy_intp offset = index * PyArray_STRIDE(array, (int)dim);
    return quick_view(args, taper_part_of(array, ndim - 1, shape, strides, offset), args + 4, 2);
}

/* narrowed(tensor, state, frame, function, dim, start, length); the operator gets (dim, start, end, 1). */
PyObject *taper_narrowed(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_quick(args, count, 7)) return NULL;
    PyArrayObject *array = taper_quiet_array(args[0], args[1]);
    if (array == NULL || PyArray_SIZE(array) == 0) Py_RETURN_NONE;
    const int ndim = PyArray_NDIM(array);
    const npy_intp dim = taper_place_in(args[4], ndim);
    if (dim < 0) Py_RETURN_NONE;
    const npy_intp size = PyArray_DIM(array, (int)dim), start = taper_place_in(args[5], size);
    int overflow = 1;
    const long long length = PyLong_CheckExact(args[6]) ? PyLong_AsLongLongAndOverflow(args[6], &overflow) : 0;
    if (start < 0 || overflow || length < 1 || length > size - start) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS];
    memcpy(shape, PyArray_DIMS(array), ndim * sizeof *shape);
    shape[dim] = (npy_intp)length;
    const npy_intp offset = start * PyArray_STRIDE(array, (int)dim);
    PyObject *arguments[4] = {args[4], PyLong_FromSsize_t(start), PyLong_FromSsize_t(start + (npy_intp)length),
                              taper_known.one};
    PyObject *view = NULL;
    if (arguments[1] != NULL && arguments[2] != NULL)
        view = quick_view(args, taper_part_of(array, ndim, shape, PyArray_STRIDES(array), offset), arguments, 4);
    Py_XDECREF(arguments[1]);
    Py_XDECREF(arguments[2]);
    return view;
}

/* squeezed(tensor, state, frame, function) */
PyObject *taper_squeezed(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (!are_quick(args, count, 4)) return NULL;
    PyArrayObject *array = taper_quiet_array(args[0], args[1]);
    if (array == NULL) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    int to = 0;
    for (int from = 0; from < PyArray_NDIM(array); from++) {
        if (PyArray_DIM(array, from) == 1) continue;
        shape[to] = PyArray_DIM(array, from);
        strides[to++] = PyArray_STRIDE(array, from);
    }
    return quick_view(args, taper_part_of(array, to, shape, strides, 0), NULL, 0);
}

/* unsqueezed(array, dim): an array with a dimension of length 1 more, with the strides that PyTorch gives it. */
PyObject *taper_unsqueezed(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyArray_CheckExact(args[0])) Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(array);
    const npy_intp dim = taper_place_in(args[1], ndim + 1);
    if (dim < 0 || ndim == NPY_MAXDIMS || PyArray_SIZE(array) == 0) Py_RETURN_NONE;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int to = 0; to <= ndim; to++) {
        const int from = to - (to > dim);
        if (to == dim) {
            shape[to] = 1;
            strides[to] = to < ndim ? PyArray_DIM(array, to) * PyArray_STRIDE(array, to) : PyArray_ITEMSIZE(array);
        } else {
            shape[to] = PyArray_DIM(array, from);
            strides[to] = PyArray_STRIDE(array, from);
        }
    }
    return taper_part_of(array, ndim + 1, shape, strides, 0);
}

/* cut(array, dim, length, drop): views of consecutive parts of a dimension, a list; with `drop` the parts have
 * length 1 and lose the dimension.  None if the arguments are unusual. */
PyObject *taper_cut(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4 || !PyArray_CheckExact(args[0]) || !PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2]))
        Py_RETURN_NONE;
    PyArrayObject *array = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(array), drop = args[3] == Py_True;
    int overflow, beyond;
    long long dim = PyLong_AsLongLongAndOverflow(args[1], &overflow);
    const long long length = PyLong_AsLongLongAndOverflow(args[2], &beyond);
    if (dim < 0) dim += ndim;
    if (overflow || beyond || dim < 0 || dim >= ndim || length < 1 || PyArray_SIZE(array) == 0) Py_RETURN_NONE;
    const npy_intp whole = PyArray_DIM(array, (int)dim), step = PyArray_STRIDE(array, (int)dim);
    const npy_intp each = drop ? 1 : length < whole ? (npy_intp)length : whole, parts = (whole + each - 1) / each;
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    for (int from = 0, to = 0; from < ndim; from++) {
        if (drop && from == dim) continue;
        shape[to] = PyArray_DIM(array, from);
        strides[to++] = PyArray_STRIDE(array, from);
    }
    PyObject *found = PyList_New(parts);
    for (npy_intp index = 0; found != NULL && index < parts; index++) {
        const npy_intp start = index * each;
        if (!drop) shape[dim] = start + each > whole ? whole - start : each;
        PyObject *part = taper_part_of(array, ndim - drop, shape, strides, start * step);
        if (part == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, index, part);
    }
    return found;
}

/* detached(state, tensor): a tensor on the same memory and counter, of one that requires no gradient. */
PyObject *taper_detached(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const struct Known *known = &taper_known;
    if (count != 2 || known->record == NULL || !Py_IS_TYPE(args[0], known->state) ||
        !Py_IS_TYPE(args[1], known->tensor))
        Py_RETURN_NONE;
    PyObject *mode = SLOT(args[0], known->of_state.mode), *transforms = SLOT(args[0], known->of_state.transforms);
    PyObject *array = SLOT(args[1], known->of_tensor.array);
    if ((mode != known->zero && mode != known->one) || array == NULL || transforms == NULL ||
        !PyTuple_CheckExact(transforms) || PyTuple_GET_SIZE(transforms) ||
        SLOT(args[1], known->of_tensor.requires_grad) != Py_False)
        Py_RETURN_NONE;
    PyObject *counter = plain_counter(args[1]);
    if (counter == NULL) return PyErr_Occurred() ? NULL : held(Py_None);
    PyObject *alias = taper_new_tensor(array, Py_False, Py_None);
    if (alias != NULL) put(alias, known->of_tensor.counter, held(counter));
    return alias;
}
