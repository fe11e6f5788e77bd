/* Where the slots of taper's Python classes are, and how to make tensors by filling them. */

#include "slots.h"

#include <structmember.h>

#define MOST_SLOTS 10 /* of a Node */

struct Known taper_known;

struct Slot {
    const char *name;
    Py_ssize_t *place;
};

/* The offset of a slot of a class by name; -1 with an error if the name is no slot. */
static Py_ssize_t find_slot(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    Py_ssize_t place = -1;
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type) &&
        PyType_IsSubtype(type, ((PyMemberDescrObject *)found)->d_common.d_type) &&
        ((PyMemberDescrObject *)found)->d_member->type == T_OBJECT_EX)
        place = ((PyMemberDescrObject *)found)->d_member->offset;
    if (place < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s.%s is no slot", type->tp_name, name);
    Py_XDECREF(found);
    return place;
}

/* Find the slots of a class: all of them, or change nothing. */
static int find_slots(PyTypeObject *type, const struct Slot *slots, int count) {
    Py_ssize_t places[MOST_SLOTS];
    for (int index = 0; index < count; index++)
        if ((places[index] = find_slot(type, slots[index].name)) < 0) return -1;
    for (int index = 0; index < count; index++) *slots[index].place = places[index];
    return 0;
}

#define FIND(type, slots) find_slots(type, slots, (int)(sizeof slots / sizeof *slots))

/* Keep a value that Python passed; a later value replaces it. */
static void know(PyObject **place, PyObject *value) {
    Py_XSETREF(*place, held(value));
}

PyObject *taper_know_tensor(PyObject *self, PyObject *tensor) {
    struct Known *known = &taper_known;
    const struct Slot slots[] = {
        {"_array", &known->of_tensor.array},
        {"_requires_grad", &known->of_tensor.requires_grad},
        {"_grad_fn", &known->of_tensor.grad_fn},
        {"_output_nr", &known->of_tensor.output_nr},
        {"_counter", &known->of_tensor.counter},
        {"_view", &known->of_tensor.view},
        {"_autograd_meta", &known->of_tensor.meta},
    };
    if (!PyType_Check(tensor)) return PyErr_Format(PyExc_TypeError, "know_tensor(Tensor)");
    if (known->zero == NULL) known->zero = PyLong_FromLong(0);
    if (known->leaf == NULL) known->leaf = PyLong_FromLong(-1);
    if (known->one == NULL) known->one = PyLong_FromLong(1);
    if (known->ask == NULL) known->ask = PyLong_FromLong(2); /* ASK of autograd/meta.py */
    if (known->zero == NULL || known->leaf == NULL || known->one == NULL || known->ask == NULL) return NULL;
    if (FIND((PyTypeObject *)tensor, slots) < 0) return NULL;
    know((PyObject **)&known->tensor, tensor);
    Py_RETURN_NONE;
}

PyObject *taper_know_nodes(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct Known *known = &taper_known;
    const struct Slot of_node[] = {
        {"_edges", &known->of_node.edges},   {"_edge_nrs", &known->of_node.edge_nrs},
        {"_status", &known->of_node.status}, {"_extra", &known->of_node.extra},
        {"_code", &known->of_node.code},     {"_offset", &known->of_node.offset},
        {"_shape", &known->of_node.shape},   {"_dtype", &known->of_node.dtype},
        {"_sequence", &known->of_node.sequence}, {"_module", &known->of_node.module},
    };
    const struct Slot of_state[] = {
        {"sequence", &known->of_state.sequence},
        {"user_code", &known->of_state.user_code},
        {"current_node", &known->of_state.current_node},
        {"mode", &known->of_state.mode},
        {"transforms", &known->of_state.transforms},
        {"cut", &known->of_state.cut},
        {"autocast", &known->of_state.autocast},
    };
    if (count != 2 || !PyType_Check(args[0]) || !PyType_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "know_nodes(Node, State)");
    struct Known before = *known;
    if (FIND((PyTypeObject *)args[0], of_node) < 0) return NULL;
    if (FIND((PyTypeObject *)args[1], of_state) < 0) {
        *known = before;
        return NULL;
    }
    know((PyObject **)&known->node, args[0]);
    know((PyObject **)&known->state, args[1]);
    Py_RETURN_NONE;
}

PyObject *taper_know_frames(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyDict_CheckExact(args[0]))
        return PyErr_Format(PyExc_TypeError, "know_frames(internal, user_frame)");
    know(&taper_known.internal, args[0]);
    know(&taper_known.user_frame, args[1]);
    Py_RETURN_NONE;
}

PyObject *taper_know_leaves(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct Known *known = &taper_known;
    const struct Slot of_meta[] = {
        {"grad", &known->of_meta.grad},
        {"accumulator", &known->of_meta.accumulator},
        {"hooks", &known->of_meta.hooks},
        {"post_accumulate_hooks", &known->of_meta.post_accumulate_hooks},
        {"grad_dtype", &known->of_meta.grad_dtype},
        {"former", &known->of_meta.former},
    };
    const struct Slot of_accumulate_grad[] = {{"variable", &known->of_accumulate_grad.variable}};
    if (count != 5 || !PyType_Check(args[0]) || !PyType_Check(args[1]) || known->node == NULL ||
        !PyType_IsSubtype((PyTypeObject *)args[1], known->node))
        return PyErr_Format(PyExc_TypeError,
                            "know_leaves(AutogradMeta, AccumulateGrad, nobody, UNSET, lock)");
    PyObject *acquire = PyObject_GetAttrString(args[4], "acquire");
    PyObject *release = acquire == NULL ? NULL : PyObject_GetAttrString(args[4], "release");
    struct Known before = *known;
    int found = release != NULL && FIND((PyTypeObject *)args[0], of_meta) == 0 &&
                FIND((PyTypeObject *)args[1], of_accumulate_grad) == 0;
    if (found) {
        know(&known->acquire, acquire);
        know(&known->release, release);
        know((PyObject **)&known->meta, args[0]);
        know((PyObject **)&known->accumulate_grad, args[1]);
        know(&known->nobody, args[2]);
        know(&known->unset, args[3]);
    } else {
        *known = before;
    }
    Py_XDECREF(acquire);
    Py_XDECREF(release);
    return found ? held(Py_None) : NULL;
}

int taper_find_views(PyObject *const *args) {
    struct Known *known = &taper_known;
    const struct Slot of_record[] = {
        {"base", &known->of_record.base},       {"creation", &known->of_record.creation},
        {"version", &known->of_record.version}, {"replay", &known->of_record.replay},
        {"code", &known->of_record.code},       {"offset", &known->of_record.offset},
        {"requires_grad", &known->of_record.requires_grad},
    };
    const struct Slot of_counter[] = {
        {"value", &known->of_counter.value},
        {"code", &known->of_counter.code},
        {"offset", &known->of_counter.offset},
    };
    struct Known before = *known;
    if (FIND((PyTypeObject *)args[0], of_record) < 0 || FIND((PyTypeObject *)args[1], of_counter) < 0) {
        *known = before;
        return -1;
    }
    know((PyObject **)&known->record, args[0]);
    know((PyObject **)&known->counter, args[1]);
    for (int index = 0; index < 4; index++) know(&known->creations[index], PyTuple_GET_ITEM(args[2], index));
    know(&known->new_view, args[3]);
    know(&known->new_views, args[4]);
    return 0;
}

int taper_find_making(PyObject *const *args) {
    struct Known *known = &taper_known;
    const struct Slot of_default[] = {{"float_numpy", &known->of_default.float_numpy}};
    const struct Slot of_dtype[] = {{"numpy", &known->of_dtype.numpy}};
    struct Known before = *known;
    if (FIND(Py_TYPE(args[0]), of_default) < 0 || FIND((PyTypeObject *)args[1], of_dtype) < 0) {
        *known = before;
        return -1;
    }
    know(&known->default_dtype, args[0]);
    know((PyObject **)&known->dtype, args[1]);
    know(&known->strided, args[2]);
    know(&known->cpu, args[3]);
    return 0;
}

PyObject *taper_new_tensor(PyObject *array, PyObject *requires_grad, PyObject *node) {
    PyObject *tensor = taper_known.tensor->tp_alloc(taper_known.tensor, 0);
    if (tensor == NULL) return NULL;
    SLOT(tensor, taper_known.of_tensor.array) = held(array);
    SLOT(tensor, taper_known.of_tensor.requires_grad) = held(requires_grad);
    SLOT(tensor, taper_known.of_tensor.grad_fn) = held(node);
    SLOT(tensor, taper_known.of_tensor.output_nr) = held(taper_known.zero);
    SLOT(tensor, taper_known.of_tensor.counter) = held(Py_None);
    SLOT(tensor, taper_known.of_tensor.view) = held(Py_None);
    SLOT(tensor, taper_known.of_tensor.meta) = held(Py_None);
    return tensor;
}

PyObject *taper_wrap(PyObject *self, PyObject *array) {
    if (taper_known.tensor == NULL) return PyErr_Format(PyExc_RuntimeError, "know_tensor comes first");
    return taper_new_tensor(array, Py_False, Py_None);
}

/* fresh(array, flag): the same, with what `requires_grad` is to say (D13). */
PyObject *taper_fresh(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (taper_known.tensor == NULL || count != 2) return PyErr_Format(PyExc_TypeError, "fresh(array, flag)");
    return taper_new_tensor(args[0], args[1], Py_None);
}
