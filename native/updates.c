/* A step of an optimizer over parameters where they are: what `Pack.update` of optim/packs.py does, in
 * one call, for a captured program.
 *
 * Twin: the optimizer's own `step`.  Nothing is done, and False returned, if anything is not as usual.
 */

#include "slots.h"

#include <structmember.h>

#define MOST_COLUMNS 8

/* Where the slots of a VersionCounter are; -1 as long as nobody has looked. */
static struct {
    PyTypeObject *type;
    Py_ssize_t value, code, offset;
} counters;

static Py_ssize_t slot_place(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (found == NULL) return -1;
    Py_ssize_t place = -1;
    if (Py_IS_TYPE(found, &PyMemberDescr_Type)) place = ((PyMemberDescrObject *)found)->d_member->offset;
    Py_DECREF(found);
    return place;
}

static int know_counters(PyTypeObject *type) {
    if (counters.type == type) return 1;
    counters.value = slot_place(type, "value");
    counters.code = slot_place(type, "code");
    counters.offset = slot_place(type, "offset");
    PyErr_Clear();
    if (counters.value < 0 || counters.code < 0 || counters.offset < 0) return 0;
    Py_INCREF(type);
    counters.type = type;
    return 1;
}

static PyObject *counter_of(PyObject *tensor) {
    PyObject *counter = SLOT(tensor, taper_known.of_tensor.counter);
    return counter != NULL && Py_IS_TYPE(counter, counters.type) ? counter : NULL;
}

static int is_tensor(PyObject *value) { return value != NULL && PyObject_TypeCheck(value, taper_known.tensor); }

static int count_writes(PyObject *tensor, long writes, PyObject *place) {
    PyObject *counter = counter_of(tensor), *value = SLOT(counter, counters.value);
    const long before = value == NULL ? 0 : PyLong_AsLong(value);
    if (before == -1 && PyErr_Occurred()) return -1;
    PyObject *after = PyLong_FromLong(before + writes);
    if (after == NULL) return -1;
    put(counter, counters.value, after);
    put(counter, counters.code, held(PyTuple_GET_ITEM(place, 0)));
    put(counter, counters.offset, held(PyTuple_GET_ITEM(place, 1)));
    return 0;
}

/* The number in an array of one, which must be a float or double. */
static int read_number(PyArrayObject *array, double *value) {
    if (PyArray_SIZE(array) != 1 || !PyArray_ISBEHAVED(array)) return 0;
    if (PyArray_TYPE(array) == NPY_FLOAT) *value = *(float *)PyArray_DATA(array);
    else if (PyArray_TYPE(array) == NPY_DOUBLE) *value = *(double *)PyArray_DATA(array);
    else return 0;
    return 1;
}

/* What stays the same from step to step: (params, states, all_states, names, scalars, place, type of counters). */
typedef struct {
    PyObject *params, *states, *all_states, *names, *scalars, *place, *counter, *before;
} Step;

/* The state of a parameter, a borrowed reference; NULL if it was replaced. */
static PyObject *state_of(const Step *step, Py_ssize_t nr) {
    PyObject *state = PyTuple_GET_ITEM(step->states, nr);
    PyObject *now = PyDict_GetItemWithError(step->all_states, PyTuple_GET_ITEM(step->params, nr));
    return now == state && PyDict_Check(state) ? state : NULL;
}

/* Put the arrays of one parameter into a row of the table, borrowed; 0 if something is unusual. */
static int take_row(const Step *step, Py_ssize_t nr, PyObject **row) {
    PyObject *param = PyTuple_GET_ITEM(step->params, nr);
    if (!is_tensor(param) || counter_of(param) == NULL) return 0;
    PyObject *meta = meta_of(param);
    if (meta == NULL || meta == Py_None) return 0;
    PyObject *grad = SLOT(meta, taper_known.of_meta.grad);
    if (!is_tensor(grad) || array_of(param) == NULL || array_of(grad) == NULL) return 0;
    row[0] = (PyObject *)array_of(param);
    row[1] = (PyObject *)array_of(grad);
    const Py_ssize_t names = PyTuple_GET_SIZE(step->names), scalars = PyTuple_GET_SIZE(step->scalars);
    if (names + scalars == 0) return 1;
    PyObject *state = state_of(step, nr);
    for (Py_ssize_t name = 0; name < names && state != NULL; name++) {
        PyObject *tensor = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(step->names, name));
        if (!is_tensor(tensor) || counter_of(tensor) == NULL || array_of(tensor) == NULL) return 0;
        row[2 + name] = (PyObject *)array_of(tensor);
    }
    for (Py_ssize_t name = 0; name < scalars && state != NULL; name++) {
        PyObject *tensor = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(step->scalars, name));
        double value;
        if (!is_tensor(tensor) || array_of(tensor) == NULL || !read_number(array_of(tensor), &value) ||
            value != PyFloat_AsDouble(PyTuple_GET_ITEM(step->before, name)))
            return 0;
    }
    return state != NULL;
}

/* Count the writes, and set the states of one number. */
static int finish(const Step *step, PyObject *after, long writes) {
    PyObject *place = step->place;
    for (Py_ssize_t nr = 0; nr < PyTuple_GET_SIZE(step->params); nr++) {
        if (count_writes(PyTuple_GET_ITEM(step->params, nr), writes, place) < 0) return -1;
        PyObject *state = PyTuple_GET_ITEM(step->states, nr);
        for (Py_ssize_t name = 0; name < PyTuple_GET_SIZE(step->names); name++)
            if (count_writes(PyDict_GetItem(state, PyTuple_GET_ITEM(step->names, name)), 1, place) < 0) return -1;
        for (Py_ssize_t name = 0; name < PyTuple_GET_SIZE(step->scalars); name++) {
            PyArrayObject *array = array_of(PyDict_GetItem(state, PyTuple_GET_ITEM(step->scalars, name)));
            const double value = PyFloat_AsDouble(PyTuple_GET_ITEM(after, name));
            if (PyArray_TYPE(array) == NPY_FLOAT) *(float *)PyArray_DATA(array) = (float)value;
            else *(double *)PyArray_DATA(array) = value;
        }
    }
    return 0;
}

static int read_step(PyObject *from, Step *step) {
    if (!PyTuple_CheckExact(from) || PyTuple_GET_SIZE(from) != 7) return 0;
    *step = (Step){PyTuple_GET_ITEM(from, 0), PyTuple_GET_ITEM(from, 1), PyTuple_GET_ITEM(from, 2),
                   PyTuple_GET_ITEM(from, 3), PyTuple_GET_ITEM(from, 4), PyTuple_GET_ITEM(from, 5),
                   PyTuple_GET_ITEM(from, 6), NULL};
    return PyTuple_CheckExact(step->params) && PyTuple_CheckExact(step->states) && PyDict_Check(step->all_states) &&
           PyTuple_CheckExact(step->names) && PyTuple_CheckExact(step->scalars) && PyTuple_CheckExact(step->place) &&
           PyTuple_GET_SIZE(step->place) == 2 && PyType_Check(step->counter) &&
           PyTuple_GET_SIZE(step->params) == PyTuple_GET_SIZE(step->states);
}

/* Fill the table, and run the rule over it: True, or False with nothing done. */
static PyObject *run_step_of(const Step *step, PyObject *list, PyObject *const *rule, PyObject **table, int width) {
    const Py_ssize_t rows = PyTuple_GET_SIZE(step->params);
    int usual = PyList_GET_SIZE(list) == rows;
    for (Py_ssize_t nr = 0; nr < rows && usual; nr++)
        usual = PyList_GET_ITEM(list, nr) == PyTuple_GET_ITEM(step->params, nr) && take_row(step, nr, table + nr * width);
    if (!usual) return PyErr_Occurred() ? NULL : held(Py_False);
    return taper_run_table(rule, table, rows, width);
}

#define FEW 64 /* arrays that need no memory of their own */

/* update_parameters(step, list, before, after, writes, program, constants, temporaries, address): whether the rule
 * was run; `step` is what stays the same (see Step), the list must have the parameters and nothing else, the
 * address is that of a function that was compiled for the rule, or 0. */
PyObject *taper_update_parameters(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Step step;
    if (count != 9 || !read_step(args[0], &step) || !PyList_CheckExact(args[1]) || !PyTuple_CheckExact(args[2]) ||
        !PyTuple_CheckExact(args[3]) || PyTuple_GET_SIZE(step.scalars) != PyTuple_GET_SIZE(args[2]) ||
        PyTuple_GET_SIZE(args[2]) != PyTuple_GET_SIZE(args[3]) || taper_known.tensor == NULL)
        return PyErr_Format(PyExc_TypeError, "update_parameters: wrong arguments");
    step.before = args[2];
    const long writes = PyLong_AsLong(args[4]);
    if (PyErr_Occurred()) return NULL;
    const Py_ssize_t size = PyTuple_GET_SIZE(step.params) * (2 + PyTuple_GET_SIZE(step.names));
    const int width = (int)(2 + PyTuple_GET_SIZE(step.names));
    if (width > MOST_COLUMNS || !know_counters((PyTypeObject *)step.counter)) Py_RETURN_FALSE;
    PyObject *few[FEW], **table = size <= FEW ? few : malloc((size_t)size * sizeof(PyObject *));
    if (table == NULL) return PyErr_NoMemory();
    PyObject *done = run_step_of(&step, args[1], args + 5, table, width);
    if (table != few) free(table);
    if (done == Py_True && finish(&step, args[3], writes) < 0) Py_CLEAR(done);
    return done;
}
