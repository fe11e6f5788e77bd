/* Programs: reading what `program/plan.py` has planned.  Every number is checked here, once. */

#include <stdlib.h>
#include <string.h>

#include "program_steps.h"
#include "slots.h"
#include "tiles.h"

#define MOST_REGISTERS 128

static int unsound(const char *what) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "not a program: %s", what);
    return -1;
}

/* Whole numbers from a tuple; at most `most`. */
static int read_numbers(PyObject *tuple, npy_intp *to, int most) {
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) > most) return unsound("numbers");
    for (Py_ssize_t nr = 0; nr < PyTuple_GET_SIZE(tuple); nr++) {
        to[nr] = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, nr));
        if (to[nr] == -1 && PyErr_Occurred()) return -1;
    }
    return (int)PyTuple_GET_SIZE(tuple);
}

/* Bytes of memory that elements reach over; -1 if one lies before the start. */
static npy_intp reach(int dims, const npy_intp *lengths, const npy_intp *strides, npy_intp width) {
    npy_intp low = 0, high = 0;
    for (int dim = 0; dim < dims; dim++) {
        if (lengths[dim] == 0) return 0;
        if (strides[dim] < 0) low += (lengths[dim] - 1) * strides[dim];
        else high += (lengths[dim] - 1) * strides[dim];
    }
    return low < 0 ? -1 : high + width;
}

/* Whether elements from `offset` on lie in the memory of a slot. */
static int fits(const Program *program, Place place, int dims, const npy_intp *lengths, const npy_intp *strides,
                npy_intp width) {
    if (place.base < 0 || place.base >= program->slots) return unsound("a slot");
    if (!program->slot_list[place.base].there) return unsound("memory that is not there yet, or not any more");
    npy_intp low = place.offset, high = place.offset + width;
    for (int dim = 0; dim < dims; dim++) {
        if (lengths[dim] < 0) return unsound("a length");
        if (lengths[dim] == 0) return 0;
        if (strides[dim] < 0) low += (lengths[dim] - 1) * strides[dim];
        else high += (lengths[dim] - 1) * strides[dim];
    }
    return low < 0 || high > program->slot_list[place.base].bytes ? unsound("memory outside of a slot") : 0;
}

static int read_shape(PyObject *type, PyObject *lengths, PyObject *strides, Shape *shape) {
    shape->type = (int)PyLong_AsLong(type);
    if (PyErr_Occurred()) return -1;
    if (shape->type < 0 || shape->type >= NPY_OBJECT) return unsound("a type");
    shape->dims = read_numbers(lengths, shape->lengths, MOST_LENGTHS);
    if (shape->dims < 0) return -1;
    for (int dim = 0; dim < shape->dims; dim++)
        if (shape->lengths[dim] < 0) return unsound("a length");
    return read_numbers(strides, shape->strides, MOST_LENGTHS) == shape->dims ? 0 : unsound("strides");
}

static npy_intp width_of(int type) {
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    if (dtype == NULL) return 0;
    const npy_intp width = PyDataType_ELSIZE(dtype);
    Py_DECREF(dtype);
    return width;
}

/* (kind, index or offset, bytes, object, written, type, lengths, strides) */
static int read_slot(Program *program, PyObject *from, int nr) {
    Slot *slot = &program->slot_list[nr];
    PyObject *object, *type, *lengths, *strides;
    if (!PyArg_ParseTuple(from, "innOiOOO", &slot->kind, &slot->index, &slot->bytes, &object, &slot->written, &type,
                          &lengths, &strides) ||
        read_shape(type, lengths, strides, &slot->shape) < 0)
        return -1;
    const Shape *shape = &slot->shape;
    slot->there = slot->kind != FRESH && slot->kind != CALLED;
    const npy_intp bytes = reach(shape->dims, shape->lengths, shape->strides, width_of(shape->type));
    if (slot->kind == ARENA) {
        PyArrayObject *arena = (PyArrayObject *)program->arena;
        if (slot->index < 0 || slot->bytes < 0 || slot->index + slot->bytes > PyArray_NBYTES(arena))
            return unsound("memory outside of the arena");
        program->bases[nr] = PyArray_BYTES(arena) + slot->index;
        return 0;
    }
    if (bytes < 0) return unsound("an array that begins before its memory");
    slot->bytes = bytes;
    if (slot->kind == FIXED) {
        if (!PyArray_CheckExact(object) || PyArray_NDIM((PyArrayObject *)object) != shape->dims ||
            PyArray_TYPE((PyArrayObject *)object) != shape->type ||
            !PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)object), shape->lengths, shape->dims) ||
            !PyArray_CompareLists(PyArray_STRIDES((PyArrayObject *)object), shape->strides, shape->dims))
            return unsound("a constant");
        program->bases[nr] = PyArray_BYTES((PyArrayObject *)object);
    } else if (slot->kind == INPUT) {
        if (slot->index < 0 || slot->index >= program->inputs) return unsound("an input");
        return 0;
    } else if (slot->kind == TENSOR) {
        if (taper_known.tensor == NULL || !PyObject_TypeCheck(object, taper_known.tensor)) return unsound("a tensor");
    } else if (slot->kind == FRESH || slot->kind == CALLED) {
        return 0;
    } else {
        return unsound("a kind of slot");
    }
    slot->object = held(object);
    return 0;
}

/* (slot, offset, whole, type, lengths, strides) */
static int read_handle(Program *program, PyObject *from, Handle *handle) {
    PyObject *type, *lengths, *strides;
    if (!PyArg_ParseTuple(from, "iniOOO", &handle->place.base, &handle->place.offset, &handle->whole, &type, &lengths,
                          &strides) ||
        read_shape(type, lengths, strides, &handle->shape) < 0)
        return -1;
    const Shape *shape = &handle->shape;
    if (fits(program, handle->place, shape->dims, shape->lengths, shape->strides, width_of(shape->type)) < 0) return -1;
    const Slot *slot = &program->slot_list[handle->place.base];
    if (slot->kind == ARENA) {
        handle->ready = array_on(shape, program->bases[handle->place.base] + handle->place.offset, program->arena);
        return handle->ready == NULL ? -1 : 0;
    }
    if (slot->kind == FIXED && handle->whole) handle->ready = held(slot->object);
    return 0;
}

/* --- groups ---------------------------------------------------------------------------------------- */

/* (kind, width, slot, offset, scratch, lengths, steps, value) */
static int read_register(const Program *program, const Group *group, PyObject *from, Register *to) {
    PyObject *lengths, *steps;
    const char *value;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(from, "iiinnOOy#", &to->kind, &to->width, &to->place.base, &to->place.offset, &to->scratch,
                          &lengths, &steps, &value, &size))
        return -1;
    if (to->width != 1 && to->width != 2 && to->width != 4 && to->width != 8) return unsound("a width");
    to->dims = read_numbers(lengths, to->lengths, MOST_DIMS);
    if (to->dims < 0 || read_numbers(steps, to->steps, MOST_DIMS) != to->dims) return unsound("dimensions");
    const npy_intp width = to->width;
    if (to->kind == CONSTANT) {
        if (size != width) return unsound("a number");
        memcpy(to->value, value, (size_t)size);
        return 0;
    }
    if (to->kind == SINGLE) return fits(program, to->place, 0, NULL, NULL, width);
    if (to->kind == DIRECT) return fits(program, to->place, 1, &group->count, &width, width);
    if (to->scratch < 0 || to->scratch % 64 || to->scratch + group->block * width > group->scratch)
        return unsound("scratch memory");
    if (to->kind == BLOCKED) return 0;
    npy_intp count = 1;
    for (int dim = 0; dim < to->dims; dim++) count *= to->lengths[dim];
    if ((to->kind != GATHERED && to->kind != SCATTERED) || to->dims < 1 || count != group->count)
        return unsound("a register");
    return fits(program, to->place, to->dims, to->lengths, to->steps, width);
}

/* The loop of a ufunc for types: 0 if there is none. */
static int find_loop(PyObject *ufunc, const npy_intp *types, Instruction *to) {
    if (strcmp(Py_TYPE(ufunc)->tp_name, "numpy.ufunc") != 0) return 0;
    const PyUFuncObject *found = (PyUFuncObject *)ufunc;
    if (found->nargs != to->args || found->nout != 1 || found->core_enabled) return 0;
    for (int nr = 0; nr < found->ntypes; nr++) {
        int same = 1;
        for (int arg = 0; arg < found->nargs; arg++) same &= found->types[nr * found->nargs + arg] == types[arg];
        if (!same) continue;
        to->loop = found->functions[nr];
        to->data = found->data == NULL ? NULL : found->data[nr];
        return to->loop != NULL;
    }
    return 0;
}

/* (name, ufunc or None, types, registers) */
static int read_instruction(const Group *group, PyObject *from, Instruction *to, PyObject *keeps) {
    const char *name;
    PyObject *ufunc, *types, *registers;
    npy_intp kinds[MOST_ARGS + 1], numbers[MOST_ARGS + 1];
    if (!PyArg_ParseTuple(from, "sOOO", &name, &ufunc, &types, &registers)) return -1;
    to->args = read_numbers(registers, numbers, MOST_ARGS + 1);
    if (to->args < 2 || read_numbers(types, kinds, MOST_ARGS + 1) != to->args) return unsound("operands");
    for (int arg = 0; arg < to->args; arg++) {
        if (numbers[arg] < 0 || numbers[arg] >= group->registers) return unsound("a register");
        if (width_of((int)kinds[arg]) != group->register_list[numbers[arg]].width) return unsound("a type");
        to->registers[arg] = (int)numbers[arg];
    }
    const Register *target = &group->register_list[to->registers[to->args - 1]];
    if (target->kind != BLOCKED && target->kind != DIRECT && target->kind != SCATTERED) return unsound("a target");
    const int first = (int)kinds[0], is_where = strcmp(name, "where") == 0;
    if (strcmp(name, "cast") == 0) to->run = conversion(first, (int)kinds[1]);
    else to->run = operation_of(name, is_where ? (int)kinds[1] : first);
    if (to->run != NULL) return 0;
    if (!find_loop(ufunc, kinds, to)) return unsound(name);
    return PyList_Append(keeps, ufunc);
}

/* (what, register, is_double, slot, offset, outer, length, inner) */
static int read_reduction(const Program *program, const Group *group, PyObject *from, Reduction *to) {
    if (!PyArg_ParseTuple(from, "iiiinnnn", &to->what, &to->from, &to->is_double, &to->to.base, &to->to.offset,
                          &to->outer, &to->length, &to->inner))
        return -1;
    const npy_intp width = to->is_double ? 8 : 4;
    if (to->what < SUM || to->what > SMALLEST || to->from < 0 || to->from >= group->registers ||
        group->register_list[to->from].width != width || group->register_list[to->from].kind == SINGLE ||
        group->register_list[to->from].kind == CONSTANT)
        return unsound("a reduction");
    if (to->outer < 1 || to->inner < 1 || to->length < 1 || (to->outer > 1 && to->inner > 1) ||
        to->outer * to->length * to->inner != group->count ||
        (to->outer > 1 && group->block % to->length) || (to->inner > 1 && group->block % to->inner))
        return unsound("the shape of a reduction");
    const npy_intp results = to->outer * to->inner;
    return fits(program, to->to, 1, &results, &width, width);
}

/* (count, block, grain, scratch, registers, instructions, reductions) */
static int read_group(Program *program, PyObject *from, Step *step) {
    Group *group = &step->of.group;
    PyObject *registers, *instructions, *reductions;
    if (!PyArg_ParseTuple(from, "nnnnO!O!O!", &group->count, &group->block, &group->grain, &group->scratch, &PyList_Type,
                          &registers, &PyList_Type, &instructions, &PyList_Type, &reductions))
        return -1;
    if (group->count < 0 || group->block < 1 || group->grain < 1 || group->scratch < 0 || group->scratch > 1 << 20 ||
        PyList_GET_SIZE(registers) > MOST_REGISTERS)
        return unsound("a group");
    group->register_list = calloc((size_t)PyList_GET_SIZE(registers) + 1, sizeof(Register));
    group->instruction_list = calloc((size_t)PyList_GET_SIZE(instructions) + 1, sizeof(Instruction));
    group->reduction_list = calloc((size_t)PyList_GET_SIZE(reductions) + 1, sizeof(Reduction));
    step->keeps = PyList_New(0);
    if (!group->register_list || !group->instruction_list || !group->reduction_list || !step->keeps)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(registers); nr++, group->registers++)
        if (read_register(program, group, PyList_GET_ITEM(registers, nr), &group->register_list[nr]) < 0) return -1;
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(instructions); nr++, group->instructions++)
        if (read_instruction(group, PyList_GET_ITEM(instructions, nr), &group->instruction_list[nr], step->keeps) < 0)
            return -1;
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(reductions); nr++, group->reductions++)
        if (read_reduction(program, group, PyList_GET_ITEM(reductions, nr), &group->reduction_list[nr]) < 0) return -1;
    return 0;
}

/* --- other steps ----------------------------------------------------------------------------------- */

/* (slot, offset, step, turned): a matrix of rows x columns */
static int read_matrix(Program *program, PyObject *from, npy_intp rows, npy_intp columns, npy_intp width, Matrix *matrix,
                       Place *place) {
    if (!PyArg_ParseTuple(from, "inni", &place->base, &place->offset, &matrix->step, &matrix->turned)) return -1;
    const npy_intp lengths[2] = {matrix->turned ? columns : rows, matrix->turned ? rows : columns};
    const npy_intp strides[2] = {matrix->step * width, width};
    if (matrix->step < lengths[1]) return unsound("a matrix");
    return fits(program, *place, 2, lengths, strides, width);
}

/* (is_double, rows, inner, columns, left, right, slot, offset, step, start): start is (slot, offset, step) or None */
static int read_product(Program *program, PyObject *from, Step *step) {
    Product *to = &step->of.product;
    PyObject *left, *right, *start;
    if (!PyArg_ParseTuple(from, "innnOOinnO", &to->is_double, &to->rows, &to->inner, &to->columns, &left, &right,
                          &to->to.base, &to->to.offset, &to->to_step, &start))
        return -1;
    to->start_step = -1;
    if (start != Py_None && !PyArg_ParseTuple(start, "inn", &to->start.base, &to->start.offset, &to->start_step)) return -1;
    const npy_intp width = to->is_double ? 8 : 4;
    if (to->rows < 1 || to->inner < 1 || to->columns < 1 || !have_products() ||
        (to->rows | to->inner | to->columns | to->to_step) >> 31)
        return unsound("a product");
    if (read_matrix(program, left, to->rows, to->inner, width, &to->left, &to->left_place) < 0 ||
        read_matrix(program, right, to->inner, to->columns, width, &to->right, &to->right_place) < 0)
        return -1;
    const npy_intp lengths[2] = {to->rows, to->columns}, strides[2] = {to->to_step * width, width};
    if (to->to_step < to->columns || (to->left.step | to->right.step) >> 31) return unsound("a product");
    if (start != Py_None) {
        const npy_intp over[2] = {to->start_step * width, width};
        if (to->start_step < 0 || to->start_step >> 31 || fits(program, to->start, 2, lengths, over, width) < 0)
            return unsound("what a product is added to");
    }
    return fits(program, to->to, 2, lengths, strides, width);
}

/* Outputs of a call: slots of what it returns, or, for a kernel, handles; -1 for what is not wanted. */
static int read_outputs(Program *program, PyObject *from, int by_kernel, Call *call) {
    if (!PyTuple_CheckExact(from) || PyTuple_GET_SIZE(from) > MOST_CALL_ARGS) return unsound("outputs");
    const Py_ssize_t count = PyTuple_GET_SIZE(from);
    call->outputs = calloc((size_t)count + 1, sizeof(int));
    if (by_kernel) call->places = calloc((size_t)count + 1, sizeof(Handle));
    if (call->outputs == NULL || (by_kernel && call->places == NULL)) return PyErr_NoMemory(), -1;
    for (Py_ssize_t nr = 0; nr < count; nr++, call->output_count++) {
        PyObject *each = PyTuple_GET_ITEM(from, nr);
        if (PyLong_CheckExact(each)) {
            const long slot = PyLong_AsLong(each);
            if (PyErr_Occurred() || slot < -1 || slot >= program->slots || (slot >= 0 && by_kernel)) return unsound("an output");
            if (slot >= 0 && program->slot_list[slot].kind != CALLED) return unsound("an output");
            call->outputs[nr] = (int)slot;
            continue;
        }
        if (!by_kernel || !PyTuple_CheckExact(each)) return unsound("an output");
        call->output_count++;
        const int done = read_handle(program, each, &call->places[nr]);
        call->output_count--;
        if (done < 0) return -1;
        call->outputs[nr] = call->places[nr].place.base;
        const Slot *slot = &program->slot_list[call->outputs[nr]];
        if (slot->kind != ARENA && slot->kind != FRESH) return unsound("an output");
    }
    return 0;
}

/* (function, arguments, outputs, kernel): arguments are (handle,) or (None, plain value); the kernel may be None */
static int read_call(Program *program, PyObject *from, Step *step) {
    Call *call = &step->of.call;
    PyObject *function, *arguments, *outputs;
    const char *kernel;
    if (!PyArg_ParseTuple(from, "OO!Oz", &function, &PyList_Type, &arguments, &outputs, &kernel)) return -1;
    const Py_ssize_t count = PyList_GET_SIZE(arguments);
    if (count > MOST_CALL_ARGS) return unsound("a call");
    call->function = held(function);
    call->arg_list = calloc((size_t)count + 1, sizeof(Argument));
    if (!call->arg_list) return PyErr_NoMemory(), -1;
    for (Py_ssize_t nr = 0; nr < count; nr++, call->args++) {
        PyObject *each = PyList_GET_ITEM(arguments, nr), *handle, *plain = NULL;
        if (!PyArg_ParseTuple(each, "O|O", &handle, &plain)) return -1;
        if (plain != NULL) call->arg_list[nr].plain = held(plain);
        else if (read_handle(program, handle, &call->arg_list[nr].handle) < 0) {
            call->args++; /* so that what is there is freed */
            return -1;
        }
    }
    if (read_outputs(program, outputs, kernel != NULL, call) < 0) return -1;
    for (int nr = 0; nr < call->output_count; nr++)
        if (call->outputs[nr] >= 0) program->slot_list[call->outputs[nr]].there = 1;
    if (kernel != NULL) use_kernel(kernel, call);
    return 0;
}

static int read_slot_number(Program *program, PyObject *from, int least, Step *step) {
    if (!PyArg_ParseTuple(from, "i", &step->of.slot)) return -1;
    if (step->of.slot < 0 || step->of.slot >= program->slots) return unsound("a slot");
    Slot *slot = &program->slot_list[step->of.slot];
    slot->there = least == FRESH;
    return slot->kind == FRESH || slot->kind == least ? 0 : unsound("a slot");
}

/* (handle, leaf, otherwise) */
static int read_arrival(Program *program, PyObject *from, Step *step) {
    Arrival *to = &step->of.arrival;
    PyObject *handle, *leaf, *otherwise;
    if (!PyArg_ParseTuple(from, "OOO", &handle, &leaf, &otherwise)) return -1;
    if (taper_known.tensor == NULL || !PyObject_TypeCheck(leaf, taper_known.tensor)) return unsound("a leaf");
    to->leaf = held(leaf);
    to->otherwise = held(otherwise);
    return read_handle(program, handle, &to->handle);
}

/* Whether a step can run by units of rows. */
static int has_units(const Step *step, npy_intp units) {
    if (step->kind == GROUP) {
        const Group *group = &step->of.group;
        return group->count == units * group->grain * group->block;
    }
    if (step->kind == PRODUCT) {
        const Product *product = &step->of.product;
        return !product->is_double && !product->left.turned && product->rows % units == 0 && have_tiles();
    }
    return step->kind == CALL && step->of.call.prepare != NULL;
}

static int read_step(Program *program, PyObject *from, Step *step);

/* (units, steps) */
static int read_strand(Program *program, PyObject *from, Step *step) {
    Strand *to = &step->of.strand;
    PyObject *steps;
    if (!PyArg_ParseTuple(from, "nO!", &to->units, &PyList_Type, &steps)) return -1;
    if (to->units < 1 || PyList_GET_SIZE(steps) > MOST_STEPS) return unsound("a strand");
    to->steps = calloc((size_t)PyList_GET_SIZE(steps) + 1, sizeof(Step));
    if (to->steps == NULL) return PyErr_NoMemory(), -1;
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(steps); nr++) {
        to->count++;
        if (read_step(program, PyList_GET_ITEM(steps, nr), &to->steps[nr]) < 0) return -1;
        if (!has_units(&to->steps[nr], to->units)) return unsound("a step of a strand");
    }
    return 0;
}

static int read_step(Program *program, PyObject *from, Step *step) {
    PyObject *rest;
    if (!PyArg_ParseTuple(from, "iO!", &step->kind, &PyTuple_Type, &rest)) return -1;
    switch (step->kind) {
    case GROUP: return read_group(program, rest, step);
    case PRODUCT: return read_product(program, rest, step);
    case CALL: return read_call(program, rest, step);
    case RENEW: return read_slot_number(program, rest, FRESH, step);
    case DROP: return read_slot_number(program, rest, CALLED, step);
    case ARRIVE: return read_arrival(program, rest, step);
    case STRAND: return read_strand(program, rest, step);
    default: step->kind = RENEW; return unsound("a kind of step");
    }
}

static int read_all(Program *program, PyObject *slots, PyObject *steps, PyObject *results) {
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(slots); nr++, program->slots++)
        if (read_slot(program, PyList_GET_ITEM(slots, nr), (int)nr) < 0) return -1;
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(steps); nr++) {
        program->steps++;
        if (read_step(program, PyList_GET_ITEM(steps, nr), &program->step_list[nr]) < 0) return -1;
    }
    for (Py_ssize_t nr = 0; nr < PyList_GET_SIZE(results); nr++) {
        program->results++;
        if (read_handle(program, PyList_GET_ITEM(results, nr), &program->result_list[nr]) < 0) return -1;
    }
    return 0;
}

Program *read_program(PyObject *const *args) {
    if (plain_array(args[0], NPY_UINT8) == NULL || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2]) ||
        !PyList_CheckExact(args[3])) {
        unsound("its parts");
        return NULL;
    }
    const long inputs = PyLong_AsLong(args[4]);
    if (inputs < 0) return unsound("inputs"), NULL;
    Program *program = calloc(1, sizeof(Program));
    if (program == NULL) return (Program *)PyErr_NoMemory();
    program->inputs = (int)inputs;
    program->arena = held(args[0]);
    program->bases = calloc((size_t)PyList_GET_SIZE(args[1]) + 1, sizeof(char *));
    program->slot_list = calloc((size_t)PyList_GET_SIZE(args[1]) + 1, sizeof(Slot));
    program->step_list = calloc((size_t)PyList_GET_SIZE(args[2]) + 1, sizeof(Step));
    program->result_list = calloc((size_t)PyList_GET_SIZE(args[3]) + 1, sizeof(Handle));
    if (!program->bases || !program->slot_list || !program->step_list || !program->result_list) PyErr_NoMemory();
    if (PyErr_Occurred() || read_all(program, args[1], args[2], args[3]) < 0) {
        free_program(program);
        return NULL;
    }
    return program;
}
