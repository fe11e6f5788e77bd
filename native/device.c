/* What arrays on a GPU need to be quick: where they lie, and the launch of a kernel.
 *
 * Such an array is an ndarray of a class of its own, whose address the processor must never read.
 * Twins: `gpu.array.address_in_python`, and CuPy's launch.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "device.h"

#define MOST_PARAMETERS 24
#define MOST_BYTES 16

typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **);
static Launch start;

/* know_launch(address): that of the driver's cuLaunchKernel */
PyObject *taper_know_launch(PyObject *self, PyObject *address) {
    void *found = PyLong_AsVoidPtr(address);
    if (found == NULL && PyErr_Occurred()) return NULL;
    start = (Launch)found;
    Py_RETURN_NONE;
}

/* address_of(array) */
PyObject *taper_address_of(PyObject *self, PyObject *array) {
    if (!PyArray_Check(array)) return PyErr_Format(PyExc_TypeError, "address_of: no array");
    return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

/* launch(function, blocks, threads, shared, stream, *parameters): 0, or the driver's number of an error.  A
 * parameter is an array (its address), bytes (as they are), an int (of 64 bits) or a NumPy scalar. */
PyObject *taper_launch(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const Py_ssize_t given = count - 5;
    if (start == NULL || given < 0 || given > MOST_PARAMETERS)
        return PyErr_Format(PyExc_TypeError, "launch(function, blocks, threads, shared, stream, ...)");
    union {
        void *address;
        int64_t number;
        char bytes[MOST_BYTES];
    } values[MOST_PARAMETERS];
    void *places[MOST_PARAMETERS + 1];
    for (Py_ssize_t nr = 0; nr < given; nr++) {
        PyObject *each = args[5 + nr];
        places[nr] = &values[nr];
        if (PyArray_Check(each)) {
            values[nr].address = PyArray_DATA((PyArrayObject *)each);
        } else if (PyLong_CheckExact(each)) {
            values[nr].number = PyLong_AsLongLong(each);
            if (values[nr].number == -1 && PyErr_Occurred()) return NULL;
        } else if (PyBytes_CheckExact(each)) {
            places[nr] = PyBytes_AS_STRING(each);
        } else if (PyArray_IsScalar(each, Generic)) {
            PyArray_ScalarAsCtype(each, &values[nr]);
        } else {
            return PyErr_Format(PyExc_TypeError, "launch: parameter %zd", nr);
        }
    }
    void *function = PyLong_AsVoidPtr(args[0]), *stream = PyLong_AsVoidPtr(args[4]);
    const unsigned long blocks = PyLong_AsUnsignedLong(args[1]), threads = PyLong_AsUnsignedLong(args[2]),
                        shared = PyLong_AsUnsignedLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    const int error = start(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, stream,
                            places, NULL);
    return PyLong_FromLong(error);
}

/* --- room on the device -------------------------------------------------------------------------------------------
 *
 * A block is room that an array lies in.  When it goes, its address goes to the list of its size and stream, and the
 * next block of that size takes it.  Twins: `Pool.take` and `Pool.give` of gpu/memory.py. */

#define LISTS 4096 /* a power of two: sizes times streams in use */
#define SMALLEST 512

typedef struct {
    Py_ssize_t size, count, room;
    void *stream, **addresses;
} FreeList;

typedef struct {
    PyObject_HEAD
    void *address, *stream;
    Py_ssize_t size, nbytes;
    FreeList *home;
    PyObject *owner, *weak_references;
} Block;

static FreeList lists[LISTS];
static Py_ssize_t in_use, most_in_use, blocks_taken;
static PyObject *more_room; /* more_room(size): the address of new room for the current stream */
static void *current;       /* the current stream */

void *device_stream(void) { return current; }

static PyTypeObject block_type;

static FreeList *list_of(Py_ssize_t size, void *stream) {
    size_t place = ((size_t)size / SMALLEST * 2654435761u ^ ((size_t)stream >> 4) * 40503u) % LISTS;
    for (int tries = 0; tries < LISTS; tries++, place = (place + 1) % LISTS) {
        FreeList *list = &lists[place];
        if (list->size == 0) {
            list->size = size;
            list->stream = stream;
        }
        if (list->size == size && list->stream == stream) return list;
    }
    return NULL;
}

/* The size of the block that serves a request: 512 bytes, or one of eight steps an octave. */
static Py_ssize_t rounded_size(Py_ssize_t nbytes) {
    if (nbytes <= SMALLEST) return SMALLEST;
    const int bits = 64 - __builtin_clzll((unsigned long long)nbytes);
    Py_ssize_t step = (Py_ssize_t)1 << (bits - 4);
    if (step < SMALLEST) step = SMALLEST;
    return (nbytes + step - 1) & -step;
}

static int fitting; /* whether blocks come from the arena of the stream: a graph is being written */

/* fit_blocks(expected): from now on; room for so many bytes is taken at once.  None: no longer. */
PyObject *taper_fit_blocks(PyObject *self, PyObject *expected) {
    fitting = 0;
    if (expected == Py_None) Py_RETURN_NONE;
    const Py_ssize_t size = PyLong_AsSsize_t(expected);
    if (size == -1 && PyErr_Occurred()) return NULL;
    if (more_room == NULL) return PyErr_Format(PyExc_RuntimeError, "there is no pool of blocks");
    fitting = 1;
    if (size > 0 && arena_grow(current, (size_t)size & -(size_t)SMALLEST, more_room) < 0) return NULL;
    Py_RETURN_NONE;
}

static Block *new_block(void *address, Py_ssize_t size, Py_ssize_t nbytes, FreeList *home) {
    Block *block = PyObject_New(Block, &block_type);
    if (block == NULL) return NULL;
    block->address = address;
    block->stream = current;
    block->size = size;
    block->nbytes = nbytes;
    block->home = home;
    block->owner = block->weak_references = NULL;
    in_use += size;
    if (in_use > most_in_use) most_in_use = in_use;
    blocks_taken++;
    return block;
}

static Block *take(Py_ssize_t nbytes) {
    if (fitting && more_room != NULL) {
        const Py_ssize_t size = nbytes <= SMALLEST ? SMALLEST : (nbytes + SMALLEST - 1) & -SMALLEST;
        void *found = arena_take(current, (size_t)size, more_room);
        return found == NULL ? NULL : new_block(found, size, nbytes, NULL);
    }
    const Py_ssize_t size = rounded_size(nbytes);
    FreeList *list = list_of(size, current);
    if (list == NULL || more_room == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "there is no pool of blocks");
        return NULL;
    }
    void *address;
    if (list->count) {
        address = list->addresses[--list->count];
    } else {
        PyObject *found = PyObject_CallFunction(more_room, "n", size);
        if (found == NULL) return NULL;
        address = PyLong_AsVoidPtr(found);
        Py_DECREF(found);
        if (address == NULL) return PyErr_Occurred() ? NULL : (Block *)PyErr_NoMemory();
    }
    return new_block(address, size, nbytes, list);
}

static void give(PyObject *self) {
    Block *block = (Block *)self;
    FreeList *list = block->home;
    in_use -= block->size;
    if (list == NULL) {
        arena_give(block->stream, block->address, (size_t)block->size);
    } else {
        if (list->count == list->room) {
            const Py_ssize_t room = list->room ? 2 * list->room : 16;
            void **larger = PyMem_Realloc(list->addresses, (size_t)room * sizeof(void *));
            if (larger != NULL) {
                list->addresses = larger;
                list->room = room;
            }
        }
        if (list->count < list->room) list->addresses[list->count++] = block->address;
    }
    Py_XDECREF(block->owner);
    if (block->weak_references != NULL) PyObject_ClearWeakRefs(self);
    PyObject_Free(self);
}

/* NumPy takes the address; nobody may read it on the processor. */
static int show_bytes(PyObject *self, Py_buffer *view, int flags) {
    Block *block = (Block *)self;
    return PyBuffer_FillInfo(view, self, block->address, block->size, 0, flags);
}

static PyObject *get_address(PyObject *self, void *closure) { return PyLong_FromVoidPtr(((Block *)self)->address); }
static PyObject *get_stream(PyObject *self, void *closure) { return PyLong_FromVoidPtr(((Block *)self)->stream); }
static PyObject *get_size(PyObject *self, void *closure) { return PyLong_FromSsize_t(((Block *)self)->size); }
static PyObject *get_nbytes(PyObject *self, void *closure) { return PyLong_FromSsize_t(((Block *)self)->nbytes); }

static PyGetSetDef block_properties[] = {
    {"address", get_address, NULL, NULL, NULL},
    {"stream", get_stream, NULL, NULL, NULL},
    {"size", get_size, NULL, NULL, NULL},
    {"nbytes", get_nbytes, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyBufferProcs block_buffer = {.bf_getbuffer = show_bytes};

static PyTypeObject block_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "taper._native.DeviceBlock",
    .tp_basicsize = sizeof(Block),
    .tp_dealloc = give,
    .tp_getset = block_properties,
    .tp_as_buffer = &block_buffer,
    .tp_weaklistoffset = offsetof(Block, weak_references),
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

/* know_room(more_room): called with a size when no block of the size is free */
PyObject *taper_know_room(PyObject *self, PyObject *function) {
    if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "know_room(function)");
    if (PyType_Ready(&block_type) < 0) return NULL;
    Py_INCREF(function);
    Py_XSETREF(more_room, function);
    Py_RETURN_NONE;
}

/* use_stream(address): blocks from now on are for work in this stream */
PyObject *taper_use_stream(PyObject *self, PyObject *stream) {
    void *found = PyLong_AsVoidPtr(stream);
    if (found == NULL && PyErr_Occurred()) return NULL;
    current = found;
    Py_RETURN_NONE;
}

/* take_block(nbytes) */
PyObject *taper_take_block(PyObject *self, PyObject *nbytes) {
    const Py_ssize_t wanted = PyLong_AsSsize_t(nbytes);
    if (wanted == -1 && PyErr_Occurred()) return NULL;
    return (PyObject *)take(wanted);
}

/* block_counts(reset): bytes in use, the most so far, and blocks taken; resets the most if asked to */
PyObject *taper_block_counts(PyObject *self, PyObject *reset) {
    PyObject *found = Py_BuildValue("nnn", in_use, most_in_use, blocks_taken);
    if (reset == Py_True) most_in_use = in_use;
    return found;
}

/* drop_blocks(least): the addresses and sizes of free blocks of a size and more, which are no longer kept */
PyObject *taper_drop_blocks(PyObject *self, PyObject *least) {
    const Py_ssize_t smallest = PyLong_AsSsize_t(least);
    if (smallest == -1 && PyErr_Occurred()) return NULL;
    PyObject *found = PyList_New(0);
    for (int place = 0; found != NULL && place < LISTS; place++) {
        FreeList *list = &lists[place];
        while (list->size >= smallest && list->count) {
            PyObject *pair = Py_BuildValue("Nn", PyLong_FromVoidPtr(list->addresses[list->count - 1]), list->size);
            if (pair == NULL || PyList_Append(found, pair) < 0) {
                Py_XDECREF(pair);
                Py_CLEAR(found);
                return NULL;
            }
            Py_DECREF(pair);
            list->count--;
        }
    }
    if (found != NULL && arena_release(found) < 0) Py_CLEAR(found);
    return found;
}

/* hold_blocks(stream): all free blocks of a stream, which are in use from now on */
PyObject *taper_hold_blocks(PyObject *self, PyObject *stream) {
    void *wanted = PyLong_AsVoidPtr(stream);
    if (wanted == NULL && PyErr_Occurred()) return NULL;
    PyObject *found = PyList_New(0);
    void *before = current;
    current = wanted;
    for (int place = 0; found != NULL && place < LISTS; place++) {
        while (lists[place].size && lists[place].stream == wanted && lists[place].count) {
            PyObject *block = (PyObject *)take(lists[place].size);
            if (block == NULL || PyList_Append(found, block) < 0) {
                Py_XDECREF(block);
                Py_CLEAR(found);
                break;
            }
            Py_DECREF(block);
        }
    }
    void *address;
    size_t size;
    while (found != NULL && arena_any(wanted, &address, &size)) {
        PyObject *block = (PyObject *)new_block(address, (Py_ssize_t)size, (Py_ssize_t)size, NULL);
        if (block == NULL || PyList_Append(found, block) < 0) Py_CLEAR(found);
        Py_XDECREF(block);
    }
    current = before;
    return found;
}

PyObject *device_array(PyTypeObject *kind, PyArray_Descr *dtype, int ndim, const npy_intp *shape, npy_intp size) {
    Block *block = take(size * PyDataType_ELSIZE(dtype));
    if (block == NULL) return NULL;
    Py_INCREF(dtype);
    PyObject *made = PyArray_NewFromDescr(kind, dtype, ndim, shape, NULL, block->address,
                                          NPY_ARRAY_CARRAY, NULL);
    if (made == NULL || PyArray_SetBaseObject((PyArrayObject *)made, (PyObject *)block) < 0) {
        if (made == NULL) Py_DECREF(block);
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}

PyTypeObject *taper_device_class;
static objobjargproc plain_assign;

/* What `array[key] = value` runs once there is a class of arrays on the device.  NumPy has no protocol for this one
 * way: it would read the elements of any ndarray, and the process would end. */
static int guarded_assign(PyObject *array, PyObject *key, PyObject *value) {
    if (value != NULL && Py_IS_TYPE(value, taper_device_class)) {
        PyErr_SetString(PyExc_TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy "
                                         "the tensor to host memory first.");
        return -1;
    }
    return plain_assign(array, key, value);
}

/* know_device_class(class): of all arrays on the device */
PyObject *taper_know_device_class(PyObject *self, PyObject *kind) {
    if (!PyType_Check(kind)) return PyErr_Format(PyExc_TypeError, "know_device_class(class)");
    Py_INCREF(kind);
    Py_XSETREF(taper_device_class, (PyTypeObject *)kind);
    PyMappingMethods *methods = PyArray_Type.tp_as_mapping;
    if (plain_assign == NULL && methods != NULL && methods->mp_ass_subscript != NULL) {
        plain_assign = methods->mp_ass_subscript;
        methods->mp_ass_subscript = guarded_assign;
    }
    Py_RETURN_NONE;
}

int taper_has_whole_block(PyArrayObject *array) {
    PyObject *base = PyArray_BASE(array);
    while (base != NULL && PyArray_Check(base) && Py_REFCNT(base) == 1) base = PyArray_BASE((PyArrayObject *)base);
    return base != NULL && Py_IS_TYPE(base, &block_type) && Py_REFCNT(base) == 1 &&
           ((Block *)base)->nbytes == PyArray_NBYTES(array);
}

/* device_empty(class, shape, dtype): an array of the class, row by row */
PyObject *taper_device_empty(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3 || !PyType_Check(args[0]) || !PyArray_DescrCheck(args[2]) || !PyTuple_Check(args[1]) ||
        PyTuple_GET_SIZE(args[1]) > NPY_MAXDIMS)
        return PyErr_Format(PyExc_TypeError, "device_empty(class, shape, dtype)");
    npy_intp shape[NPY_MAXDIMS], size = 1;
    const int ndim = (int)PyTuple_GET_SIZE(args[1]);
    for (int dim = 0; dim < ndim; dim++) {
        shape[dim] = PyNumber_AsSsize_t(PyTuple_GET_ITEM(args[1], dim), PyExc_OverflowError);
        if (shape[dim] == -1 && PyErr_Occurred()) return NULL;
        if (shape[dim] < 0) return PyErr_Format(PyExc_ValueError, "negative dimensions are not allowed");
        if (__builtin_mul_overflow(size, shape[dim], &size)) return PyErr_NoMemory();
    }
    return device_array((PyTypeObject *)args[0], (PyArray_Descr *)args[2], ndim, shape, size);
}

/* map_dense(function, class, dtype, operands...): a kernel over arrays that lie alike, row by row; the others are
 * arrays of the processor's with one element.  None if they do not.  In the place of the dtype may stand an operand,
 * which the result is written into. */
PyObject *taper_map_dense(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 4 || count > 8 || start == NULL || !PyType_Check(args[1]) ||
        !(PyArray_DescrCheck(args[2]) || args[2] == args[3]))
        return PyErr_Format(PyExc_TypeError, "map_dense(function, class, dtype, ...)");
    PyTypeObject *kind = (PyTypeObject *)args[1];
    PyArrayObject *first = NULL;
    union {
        void *address;
        char bytes[MOST_BYTES];
    } values[8];
    void *places[9];
    for (Py_ssize_t nr = 3; nr < count; nr++) {
        places[nr - 2] = &values[nr];
        if (Py_IS_TYPE(args[nr], kind)) {
            PyArrayObject *array = (PyArrayObject *)args[nr];
            if (!PyArray_IS_C_CONTIGUOUS(array) || (first != NULL && !PyArray_SAMESHAPE(first, array)))
                Py_RETURN_NONE;
            if (first == NULL) first = array;
            values[nr].address = PyArray_DATA(array);
        } else if (PyArray_CheckExact(args[nr]) && PyArray_NDIM((PyArrayObject *)args[nr]) == 0 &&
                   PyArray_ITEMSIZE((PyArrayObject *)args[nr]) <= MOST_BYTES) {
            memcpy(values[nr].bytes, PyArray_DATA((PyArrayObject *)args[nr]),
                   (size_t)PyArray_ITEMSIZE((PyArrayObject *)args[nr]));
        } else {
            Py_RETURN_NONE;
        }
    }
    if (first == NULL) Py_RETURN_NONE;
    /* Dimensions of length 1 may have any stride, which a rule of the layout would look at. */
    npy_intp step = PyArray_ITEMSIZE(first), size = PyArray_SIZE(first);
    for (int dim = PyArray_NDIM(first) - 1; dim >= 0 && size; dim--) {
        if (PyArray_STRIDE(first, dim) != step) Py_RETURN_NONE;
        step *= PyArray_DIM(first, dim);
    }
    void *function = PyLong_AsVoidPtr(args[0]);
    if (function == NULL) return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "map_dense: no function");
    PyObject *made = args[2] == (PyObject *)first
                         ? Py_NewRef(args[2])
                         : device_array(kind, (PyArray_Descr *)args[2], PyArray_NDIM(first), PyArray_DIMS(first), size);
    if (made == NULL || size == 0) return made;
    void *out = PyArray_DATA((PyArrayObject *)made);
    int64_t elements = size;
    places[0] = &out;
    places[count - 2] = &elements;
    int64_t grid = (elements + 255) / 256;
    if (grid > 132 * 16) grid = 132 * 16;
    const int error = start(function, (unsigned)grid, 1, 1, 256, 1, 1, 0, current, places, NULL);
    if (error) {
        Py_DECREF(made);
        return PyErr_Format(PyExc_RuntimeError, "CUDA error: launch failed (%d)", error);
    }
    return made;
}
