/* Programs: a list of steps with their memory, run one after the other without Python in between.
 *
 * `make_program` takes what `program/plan.py` has planned and checks every number in it;
 * `run_program` runs it.  The memory of a step is a slot and an offset: slots are places in one arena,
 * arrays that never change, the inputs, arrays of tensors (looked up at each run, since a tensor may
 * get other memory), arrays that leave the program, and results of calls.
 *
 * Twin: `program/executor.py`, which calls the instructions of the program one by one.
 */

#include <stdlib.h>
#include <time.h>

#include "program_steps.h"
#include "slots.h"

#define NAME "taper.program"
#define MUCH 65536  /* bytes that are not kept between runs: the allocator keeps them for everybody */
#define LARGE 65536 /* multiplications, or elements, from which other threads of Python may run meanwhile */

static void free_step(Step *step) {
    if (step->kind == GROUP) {
        free(step->of.group.register_list);
        free(step->of.group.instruction_list);
        free(step->of.group.reduction_list);
        Py_XDECREF(step->keeps);
    } else if (step->kind == CALL) {
        Call *call = &step->of.call;
        for (int nr = 0; nr < call->args; nr++) {
            Py_XDECREF(call->arg_list[nr].plain);
            Py_XDECREF(call->arg_list[nr].handle.ready);
        }
        for (int nr = 0; nr < call->output_count && call->places != NULL; nr++) Py_XDECREF(call->places[nr].ready);
        free(call->arg_list);
        free(call->places);
        free(call->outputs);
        Py_XDECREF(call->function);
    } else if (step->kind == ARRIVE) {
        Py_XDECREF(step->of.arrival.handle.ready);
        Py_XDECREF(step->of.arrival.leaf);
        Py_XDECREF(step->of.arrival.otherwise);
    } else if (step->kind == STRAND) {
        for (int nr = 0; nr < step->of.strand.count; nr++) free_step(&step->of.strand.steps[nr]);
        free(step->of.strand.steps);
    }
}

void free_program(Program *program) {
    for (int nr = 0; nr < program->steps; nr++) free_step(&program->step_list[nr]);
    for (int nr = 0; nr < program->slots; nr++) {
        Py_XDECREF(program->slot_list[nr].object);
        Py_XDECREF(program->slot_list[nr].bound);
    }
    for (int nr = 0; nr < program->results; nr++) Py_XDECREF(program->result_list[nr].ready);
    free(program->step_list);
    free(program->slot_list);
    free(program->result_list);
    free(program->bases);
    Py_XDECREF(program->arena);
    free(program);
}

/* --- arrays ---------------------------------------------------------------------------------------- */

static int is_like(const Shape *shape, PyArrayObject *array) {
    return PyArray_TYPE(array) == shape->type && PyArray_NDIM(array) == shape->dims &&
           PyArray_CompareLists(PyArray_DIMS(array), shape->lengths, shape->dims) &&
           PyArray_CompareLists(PyArray_STRIDES(array), shape->strides, shape->dims) && PyArray_ISBEHAVED_RO(array);
}

PyObject *array_on(const Shape *shape, char *data, PyObject *base) {
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(shape->type), shape->dims,
                                           shape->lengths, shape->strides, data, NPY_ARRAY_BEHAVED, NULL);
    if (array == NULL || base == NULL) return array;
    Py_INCREF(base);
    if (PyArray_SetBaseObject((PyArrayObject *)array, base) < 0) Py_CLEAR(array);
    return array;
}

/* The array of a handle; a new reference. */
static PyObject *array_of_handle(const Program *program, const Handle *handle) {
    if (handle->ready != NULL) return held(handle->ready);
    const Slot *slot = &program->slot_list[handle->place.base];
    PyObject *object = slot->kind == TENSOR || slot->kind == INPUT ? slot->bound : slot->object;
    if (object == NULL) return PyErr_Format(PyExc_RuntimeError, "a program reads an array that is not there");
    if (handle->whole) return held(object);
    return array_on(&handle->shape, program->bases[handle->place.base] + handle->place.offset, object);
}

/* --- steps ----------------------------------------------------------------------------------------- */

/* Let a slot have an array that nobody else sees. */
static int renew(Program *program, int nr) {
    Slot *slot = &program->slot_list[nr];
    if (slot->object != NULL && Py_REFCNT(slot->object) == 1) return 0;
    PyObject *array = array_on(&slot->shape, NULL, NULL);
    if (array == NULL) return -1;
    Py_XSETREF(slot->object, array);
    program->bases[nr] = PyArray_BYTES((PyArrayObject *)array);
    return 0;
}

#define MULTIPLY(TYPE)                                                                                          \
    for (npy_intp row = 0; row < rows; row++) {                                                                 \
        TYPE *target = (TYPE *)to + row * each->to_step;                                                        \
        for (npy_intp column = 0; column < columns; column++) {                                                 \
            const TYPE *first = (const TYPE *)left + row * over_rows, *second = (const TYPE *)right + column * aside; \
            TYPE total = 0;                                                                                     \
            for (npy_intp k = 0; k < inner; k++) total += first[k * along] * second[k * down];                  \
            target[column] = total;                                                                             \
        }                                                                                                       \
    }

/* A product of a few elements: BLAS takes longer to begin. */
static void multiply_directly(const Product *each, const void *left, const void *right, void *to) {
    const npy_intp rows = each->rows, inner = each->inner, columns = each->columns;
    const npy_intp over_rows = each->left.turned ? 1 : each->left.step, along = each->left.turned ? each->left.step : 1;
    const npy_intp aside = each->right.turned ? each->right.step : 1, down = each->right.turned ? 1 : each->right.step;
    if (each->is_double) {
        MULTIPLY(double)
    } else {
        MULTIPLY(float)
    }
}

static int run_product(Program *program, const Product *each) {
    Matrix left = each->left, right = each->right;
    left.data = program->bases[each->left_place.base] + each->left_place.offset;
    right.data = program->bases[each->right_place.base] + each->right_place.offset;
    char *to = program->bases[each->to.base] + each->to.offset;
    const double work = (double)each->rows * (double)each->inner * (double)each->columns;
    if (each->start_step >= 0) {
        const char *start = program->bases[each->start.base] + each->start.offset;
        Py_BEGIN_ALLOW_THREADS;
        product_onto(each->is_double, each->rows, each->inner, each->columns, left, right, to, each->to_step, start,
                     each->start_step);
        Py_END_ALLOW_THREADS;
    } else if (work <= TINY) {
        multiply_directly(each, left.data, right.data, to);
    } else if (work < LARGE) {
        product(each->is_double, each->rows, each->inner, each->columns, left, right, to, each->to_step, 0);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        product_in_pieces(each->is_double, each->rows, each->inner, each->columns, left, right, to, each->to_step, 0);
        Py_END_ALLOW_THREADS;
    }
    return 0;
}

static int run_elements(Program *program, const Group *group) {
    int done;
    if (group->count * group->instructions < LARGE) {
        done = run_group(group, program->bases);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        done = run_group(group, program->bases);
        Py_END_ALLOW_THREADS;
    }
    if (done < 0) PyErr_NoMemory();
    return done;
}

/* Whether an array lies in memory of the program, which will be written again. */
static int is_ours(const Program *program, PyArrayObject *array) {
    const char *data = PyArray_BYTES(array), *arena = PyArray_BYTES((PyArrayObject *)program->arena);
    if (data >= arena && data < arena + PyArray_NBYTES((PyArrayObject *)program->arena)) return 1;
    PyObject *base = PyArray_BASE(array);
    return base != NULL && PyArray_Check(base) && is_ours(program, (PyArrayObject *)base);
}

/* Copy a result of a call to where a kernel would have written it. */
static int copy_output(Program *program, const Handle *handle, PyObject *found) {
    PyObject *to = array_on(&handle->shape, program->bases[handle->place.base] + handle->place.offset, NULL);
    const int done = to == NULL ? -1 : PyArray_CopyInto((PyArrayObject *)to, (PyArrayObject *)found);
    Py_XDECREF(to);
    Py_DECREF(found);
    return done;
}

/* Take a result of a call: 0, or -1 with an error. */
static int take_output(Program *program, const Call *call, int output, PyObject *value) {
    const int nr = call->outputs[output];
    if (nr < 0) return 0;
    Slot *slot = &program->slot_list[nr];
    PyObject *found = PyArray_FromAny(value, NULL, 0, 0, 0, NULL);
    if (found == NULL) return -1;
    if (call->places != NULL) return copy_output(program, &call->places[output], found);
    PyArrayObject *array = (PyArrayObject *)found;
    if (!is_like(&slot->shape, array) || is_ours(program, array)) {
        if (PyArray_TYPE(array) != slot->shape.type || PyArray_NDIM(array) != slot->shape.dims ||
            !PyArray_CompareLists(PyArray_DIMS(array), slot->shape.lengths, slot->shape.dims)) {
            PyErr_Format(PyExc_RuntimeError, "a captured function does not hold any more: shape or dtype of %R", found);
            Py_DECREF(found);
            return -1;
        }
        PyObject *copy = array_on(&slot->shape, NULL, NULL);
        if (copy == NULL || PyArray_CopyInto((PyArrayObject *)copy, array) < 0) Py_CLEAR(copy);
        Py_SETREF(found, copy);
        if (found == NULL) return -1;
    }
    Py_XSETREF(slot->object, found);
    program->bases[nr] = PyArray_BYTES((PyArrayObject *)found);
    return 0;
}

static int take_outputs(Program *program, const Call *call, PyObject *result) {
    if (call->output_count == 0) return 0;
    if (call->output_count == 1 && !PyTuple_Check(result) && !PyList_Check(result))
        return take_output(program, call, 0, result);
    PyObject *several = PySequence_Fast(result, "a call of a program returns several arrays");
    if (several == NULL) return -1;
    int done = PySequence_Fast_GET_SIZE(several) == call->output_count ? 0 : -1;
    if (done < 0) PyErr_SetString(PyExc_RuntimeError, "a call of a program returns another number of arrays");
    for (int nr = 0; nr < call->output_count && done == 0; nr++)
        done = take_output(program, call, nr, PySequence_Fast_GET_ITEM(several, nr));
    Py_DECREF(several);
    return done;
}

void places_of_call(const Program *program, const Call *call, char **data, char **outputs) {
    for (int nr = 0; nr < call->args; nr++) {
        const Place place = call->arg_list[nr].handle.place;
        data[nr] = call->arg_list[nr].plain != NULL ? NULL : program->bases[place.base] + place.offset;
    }
    for (int nr = 0; nr < call->output_count; nr++)
        outputs[nr] = call->outputs[nr] < 0 ? NULL : program->bases[call->outputs[nr]] + call->places[nr].place.offset;
}

/* Run the kernel of a call; 0 if there is none, or if it leaves the case to the call. */
static int run_kernel(const Program *program, const Call *call) {
    char *data[MOST_CALL_ARGS], *outputs[MOST_CALL_ARGS];
    if (call->kernel == NULL) return 0;
    places_of_call(program, call, data, outputs);
    return call->kernel(call, data, outputs);
}

static int run_call(Program *program, const Call *call) {
    if (run_kernel(program, call)) return 0;
    PyObject *args[MOST_CALL_ARGS + 1];
    int made = 0;
    for (; made < call->args; made++) {
        const Argument *each = &call->arg_list[made];
        args[made + 1] = each->plain != NULL ? held(each->plain) : array_of_handle(program, &each->handle);
        if (args[made + 1] == NULL) break;
    }
    PyObject *result = NULL;
    if (made == call->args)
        result = PyObject_Vectorcall(call->function, args + 1, (size_t)made | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    for (int nr = 0; nr < made; nr++) Py_DECREF(args[nr + 1]);
    if (result == NULL) return -1;
    const int done = take_outputs(program, call, result);
    Py_DECREF(result);
    return done;
}

/* The gradient of a leaf arrives. */
static int run_arrival(Program *program, const Arrival *arrival) {
    if (arrival->handle.whole && arrival->handle.ready == NULL) {
        PyObject *object = program->slot_list[arrival->handle.place.base].object;
        const int done = object == NULL ? 0 : taper_take_first(arrival->leaf, object);
        if (done) return done < 0 ? -1 : 0;
    }
    PyObject *array = array_of_handle(program, &arrival->handle);
    if (array == NULL) return -1;
    PyObject *result = PyObject_CallOneArg(arrival->otherwise, array);
    Py_DECREF(array);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int run_step(Program *program, const Step *step) {
    switch (step->kind) {
    case GROUP: return run_elements(program, &step->of.group);
    case PRODUCT: return run_product(program, &step->of.product);
    case CALL: return run_call(program, &step->of.call);
    case RENEW: return renew(program, step->of.slot);
    case STRAND: return run_strand(program, &step->of.strand);
    case DROP: Py_CLEAR(program->slot_list[step->of.slot].object); return 0;
    default: return run_arrival(program, &step->of.arrival);
    }
}

/* --- a run ----------------------------------------------------------------------------------------- */

/* Look up the arrays of inputs and tensors; 0 if one is not as planned. */
static int bind(Program *program, PyObject *inputs) {
    if (PyList_GET_SIZE(inputs) != program->inputs) return 0;
    for (int nr = 0; nr < program->slots; nr++) {
        Slot *slot = &program->slot_list[nr];
        PyObject *object;
        if (slot->kind == INPUT) object = PyList_GET_ITEM(inputs, slot->index);
        else if (slot->kind == TENSOR) object = SLOT(slot->object, taper_known.of_tensor.array);
        else continue;
        if (object == NULL || !PyArray_CheckExact(object) || !is_like(&slot->shape, (PyArrayObject *)object)) return 0;
        if (slot->written && !PyArray_ISWRITEABLE((PyArrayObject *)object)) return 0;
        Py_XSETREF(slot->bound, held(object));
        program->bases[nr] = PyArray_BYTES((PyArrayObject *)object);
    }
    return 1;
}

static PyObject *results_of(const Program *program) {
    PyObject *results = PyList_New(program->results);
    for (int nr = 0; nr < program->results && results != NULL; nr++) {
        PyObject *array = array_of_handle(program, &program->result_list[nr]);
        if (array == NULL) Py_CLEAR(results);
        else PyList_SET_ITEM(results, nr, array);
    }
    return results;
}

static Program *program_of(PyObject *value) { return PyCapsule_GetPointer(value, NAME); }

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* run_program(program, inputs, times): the results as a list; None, with nothing done, if an array is not
 * what was planned for, or if the program is running already.  `times`, if given, is an array of doubles to
 * which the seconds of each step are added. */
PyObject *taper_run_program(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 2 || count > 3 || !PyList_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "run_program(program, inputs, times)");
    Program *program = program_of(args[0]);
    if (program == NULL) return NULL;
    PyArrayObject *times = count == 3 ? plain_array(args[2], NPY_DOUBLE) : NULL;
    if (count == 3 && (times == NULL || PyArray_SIZE(times) != program->steps || !PyArray_ISWRITEABLE(times)))
        return PyErr_Format(PyExc_TypeError, "run_program: times has a double for each step");
    if (program->running || !bind(program, args[1])) Py_RETURN_NONE;
    program->running = 1;
    Py_INCREF(args[0]);
    int done = 0;
    for (int nr = 0; nr < program->steps && done == 0; nr++) {
        const Step *step = &program->step_list[nr];
        const double start = times == NULL ? 0 : seconds();
        done = run_step(program, step);
        if (times != NULL) ((double *)PyArray_DATA(times))[nr] += seconds() - start;
        if (done == 0 && (step->kind < CALL || step->kind == STRAND) && PyErr_CheckSignals() < 0) done = -1;
        if (done < 0) program->failed = nr;
    }
    PyObject *results = done < 0 ? NULL : results_of(program);
    for (int nr = 0; nr < program->slots; nr++) {
        Slot *slot = &program->slot_list[nr];
        if (slot->kind == CALLED || (slot->kind == FRESH && slot->bytes >= MUCH)) Py_CLEAR(slot->object);
        Py_CLEAR(slot->bound);
    }
    program->running = 0;
    Py_DECREF(args[0]);
    return results;
}

/* failed_step(program): the number of the step that raised last. */
PyObject *taper_failed_step(PyObject *self, PyObject *value) {
    const Program *program = program_of(value);
    return program == NULL ? NULL : PyLong_FromLong(program->failed);
}

/* use_compiled(program, step, part, address): let a group run a function that was compiled for it; the part is its
 * number in a strand, else 0. */
PyObject *taper_use_compiled(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "use_compiled(program, step, part, address)");
    Program *program = program_of(args[0]);
    const long nr = program == NULL ? -1 : PyLong_AsLong(args[1]);
    const long part = PyErr_Occurred() ? -1 : PyLong_AsLong(args[2]);
    void *address = PyErr_Occurred() ? NULL : PyLong_AsVoidPtr(args[3]);
    if (PyErr_Occurred()) return NULL;
    Step *step = nr < 0 || nr >= program->steps ? NULL : &program->step_list[nr];
    if (step != NULL && step->kind == STRAND)
        step = part < 0 || part >= step->of.strand.count ? NULL : &step->of.strand.steps[part];
    if (step == NULL || step->kind != GROUP || address == NULL)
        return PyErr_Format(PyExc_ValueError, "use_compiled: there is no such group");
    atomic_store(&step->of.group.compiled, (void (*)(char **, long))address);
    Py_RETURN_NONE;
}

static void forget(PyObject *capsule) { free_program(PyCapsule_GetPointer(capsule, NAME)); }

/* make_program(arena, slots, steps, results, inputs): a program that `run_program` takes. */
PyObject *taper_make_program(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "make_program(arena, slots, steps, results, inputs)");
    Program *program = read_program(args);
    if (program == NULL) return NULL;
    PyObject *capsule = PyCapsule_New(program, NAME, forget);
    if (capsule == NULL) free_program(program);
    return capsule;
}
