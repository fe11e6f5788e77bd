/* Calling a module: `forward` with nothing around it, and which module it is that runs.
 *
 * Twin: `Calls.__call__` of nn/modules/calls.py.
 */

#include "slots.h"

#define MOST_ON_STACK 8
#define OWN_HOOKS 4
#define ALL_HOOKS 4

/* The module whose forward runs on this thread; NULL outside of all. */
static _Thread_local PyObject *running;

static PyObject *own_hooks[OWN_HOOKS], *forward_name, *with_hooks_name;
static PyObject *global_hooks[ALL_HOOKS], *note_module;

PyObject *taper_running_module(void) {
    return running;
}

/* running_module() */
PyObject *taper_module_running(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 0) return PyErr_Format(PyExc_TypeError, "module_running()");
    return held(running == NULL ? Py_None : running);
}

/* Whether the module or all of them have hooks; -1 with an error. */
static int is_hooked(PyObject *module) {
    for (int index = 0; index < ALL_HOOKS; index++) {
        int any = PyObject_IsTrue(global_hooks[index]);
        if (any != 0) return any;
    }
    PyObject *tables = PyObject_GenericGetDict(module, NULL);
    if (tables == NULL) return -1;
    int any = 0;
    for (int index = 0; index < OWN_HOOKS && any == 0; index++) {
        PyObject *table = PyDict_GetItemWithError(tables, own_hooks[index]);
        if (table == NULL) { /* Module.__init__ was not called: this raises */
            table = PyErr_Occurred() ? NULL : PyObject_GetAttr(module, own_hooks[index]);
            Py_XDECREF(table);
            any = table == NULL ? -1 : 1;
        } else {
            any = PyObject_IsTrue(table);
        }
    }
    Py_DECREF(tables);
    return any;
}

/* What `_call_with_hooks(args, kwargs)` gives. */
static PyObject *call_with_hooks(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    PyObject *given = PyTuple_New(count), *named = PyDict_New(), *result = NULL;
    if (given == NULL || named == NULL) goto done;
    for (Py_ssize_t index = 0; index < count; index++) PyTuple_SET_ITEM(given, index, held(args[index]));
    for (Py_ssize_t index = 0; names != NULL && index < PyTuple_GET_SIZE(names); index++)
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, index), args[count + index]) < 0) goto done;
    result = PyObject_CallMethodObjArgs(module, with_hooks_name, given, named, NULL);
done:
    Py_XDECREF(given);
    Py_XDECREF(named);
    return result;
}

static PyObject *call_forward(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *few[MOST_ON_STACK + 2], **given = few;
    if (all > MOST_ON_STACK && (given = PyMem_Malloc((size_t)(all + 2) * sizeof *given)) == NULL)
        return PyErr_NoMemory();
    given[1] = module; /* the place before it is for the callee's use */
    for (Py_ssize_t index = 0; index < all; index++) given[index + 2] = args[index];
    PyObject *result = PyObject_VectorcallMethod(
        forward_name, given + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    if (given != few) PyMem_Free(given);
    return result;
}

/* Let Python note on the error that is set which module it leaves. */
static void note_error(PyObject *module) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace != NULL) PyException_SetTraceback(error, trace);
    PyObject *done = PyObject_CallFunctionObjArgs(note_module, error, module, NULL);
    Py_XDECREF(done);
    PyErr_Restore(type, error, trace); /* whatever went wrong with the note */
}

/* What is called on this thread in the place of every module, with the module first; NULL: nothing. */
static _Thread_local PyObject *leader;

/* lead_calls(function or None): calls of modules on this thread go there; returns what they went to before. */
PyObject *taper_lead_calls(PyObject *self, PyObject *value) {
    if (value != Py_None && !PyCallable_Check(value)) return PyErr_Format(PyExc_TypeError, "lead_calls(function or None)");
    PyObject *before = leader;
    leader = value == Py_None ? NULL : held(value);
    return before == NULL ? held(Py_None) : before;
}

static PyObject *call_leader(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    const Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    PyObject *few[MOST_ON_STACK + 1], **given = few, *function = held(leader);
    if (all > MOST_ON_STACK && (given = PyMem_Malloc((size_t)(all + 1) * sizeof *given)) == NULL) {
        Py_DECREF(function);
        return PyErr_NoMemory();
    }
    given[0] = module;
    for (Py_ssize_t index = 0; index < all; index++) given[index + 1] = args[index];
    PyObject *result = PyObject_Vectorcall(function, given, (size_t)(count + 1), names);
    if (given != few) PyMem_Free(given);
    Py_DECREF(function);
    return result;
}

static PyObject *call_alone(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    int hooked = is_hooked(module);
    if (hooked < 0) return NULL;
    PyObject *outer = running, *result;
    running = held(module);
    result = hooked ? call_with_hooks(module, args, count, names) : call_forward(module, args, count, names);
    if (result == NULL) note_error(module);
    PyObject *inner = running;
    running = outer;
    Py_XDECREF(inner);
    return result;
}

static PyObject *call_module(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    return (leader != NULL ? call_leader : call_alone)(module, args, count, names);
}

/* call_module(module, ...): the module itself; calls of others inside of it go where they are led. */
PyObject *taper_call_module(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    if (count < 1 || forward_name == NULL) return PyErr_Format(PyExc_TypeError, "call_module(module, ...)");
    return call_alone(args[0], args + 1, count - 1, names);
}

static PyMethodDef call_method = {
    "__call__", (PyCFunction)(void (*)(void))call_module, METH_FASTCALL | METH_KEYWORDS,
    "__call__($self, /, *args, **kwargs)\n--\n\nCompute the module's result: `forward`, with the hooks around it."};

/* know_calls(Calls, hooks of all modules ..., note_module): gives the class its `__call__`. */
PyObject *taper_know_calls(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    static const char *const names[OWN_HOOKS] = {"_backward_hooks", "_backward_pre_hooks", "_forward_hooks",
                                                 "_forward_pre_hooks"};
    if (count != 2 + ALL_HOOKS || !PyType_Check(args[0]) || forward_name != NULL)
        return PyErr_Format(PyExc_TypeError, "know_calls(Calls, hooks, hooks, hooks, hooks, note), once");
    for (int index = 0; index < OWN_HOOKS; index++)
        if ((own_hooks[index] = PyUnicode_InternFromString(names[index])) == NULL) return NULL;
    for (int index = 0; index < ALL_HOOKS; index++) global_hooks[index] = held(args[1 + index]);
    note_module = held(args[1 + ALL_HOOKS]);
    with_hooks_name = PyUnicode_InternFromString("_call_with_hooks");
    forward_name = PyUnicode_InternFromString("forward");
    PyObject *method = PyDescr_NewMethod((PyTypeObject *)args[0], &call_method);
    if (with_hooks_name == NULL || forward_name == NULL || method == NULL) return NULL;
    int failed = PyObject_SetAttrString(args[0], "__call__", method);
    Py_DECREF(method);
    return failed < 0 ? NULL : held(Py_None);
}
