/* Where the slots of taper's Python classes are, and tensors made by filling theirs. */

#include "slots.h"

#include <structmember.h>

struct Known taper_known;

struct Slot {
    const char *name;
    Py_ssize_t *place;
};

/* Find the slots of a class; an error if one of the names is something else. */
static int find_slots(PyTypeObject *type, const struct Slot *slots, int count) {
    for (int index = 0; index < count; index++) {
        PyObject *found = PyObject_GetAttrString((PyObject *)type, slots[index].name);
        if (found == NULL) return -1;
        if (!Py_IS_TYPE(found, &PyMemberDescr_Type) ||
            ((PyMemberDescrObject *)found)->d_member->type != T_OBJECT_EX) {
            PyErr_Format(PyExc_TypeError, "%s.%s is no slot", type->tp_name, slots[index].name);
            Py_DECREF(found);
            return -1;
        }
        *slots[index].place = ((PyMemberDescrObject *)found)->d_member->offset;
        Py_DECREF(found);
    }
    return 0;
}

#define FIND(type, slots) find_slots(type, slots, (int)(sizeof slots / sizeof *slots))

PyObject *taper_know_tensor(PyObject *self, PyObject *tensor) {
    struct Known *known = &taper_known;
    const struct Slot slots[] = {
        {"_array", &known->of_tensor.array},
        {"_requires_grad", &known->of_tensor.requires_grad},
        {"_grad_fn", &known->of_tensor.grad_fn},
        {"_output_nr", &known->of_tensor.output_nr},
        {"_counter", &known->of_tensor.counter},
        {"_view", &known->of_tensor.view},
        {"_meta", &known->of_tensor.meta},
    };
    if (!PyType_Check(tensor)) return PyErr_Format(PyExc_TypeError, "know_tensor(Tensor)");
    if (FIND((PyTypeObject *)tensor, slots) < 0) return NULL;
    known->tensor = (PyTypeObject *)held(tensor);
    known->zero = PyLong_FromLong(0);
    known->leaf = PyLong_FromLong(-1);
    Py_RETURN_NONE;
}

PyObject *taper_know_nodes(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    struct Known *known = &taper_known;
    const struct Slot of_node[] = {
        {"_edges", &known->of_node.edges},   {"_edge_nrs", &known->of_node.edge_nrs},
        {"_status", &known->of_node.status}, {"_extra", &known->of_node.extra},
        {"_code", &known->of_node.code},     {"_offset", &known->of_node.offset},
        {"_shape", &known->of_node.shape},   {"_dtype", &known->of_node.dtype},
        {"_sequence", &known->of_node.sequence},
    };
    const struct Slot of_state[] = {
        {"sequence", &known->of_state.sequence},
        {"user_code", &known->of_state.user_code},
        {"mode", &known->of_state.mode},
    };
    if (count != 2 || !PyType_Check(args[0]) || !PyType_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "know_nodes(Node, State)");
    if (FIND((PyTypeObject *)args[0], of_node) < 0) return NULL;
    if (FIND((PyTypeObject *)args[1], of_state) < 0) return NULL;
    known->node = (PyTypeObject *)held(args[0]);
    known->state = (PyTypeObject *)held(args[1]);
    Py_RETURN_NONE;
}

PyObject *taper_know_frames(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyDict_CheckExact(args[0]))
        return PyErr_Format(PyExc_TypeError, "know_frames(internal, user_frame)");
    taper_known.internal = held(args[0]);
    taper_known.user_frame = held(args[1]);
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
    };
    if (count != 4 || !PyType_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "know_leaves(AutogradMeta, nobody, UNSET, lock)");
    if (FIND((PyTypeObject *)args[0], of_meta) < 0) return NULL;
    known->acquire = PyObject_GetAttrString(args[3], "acquire");
    known->release = PyObject_GetAttrString(args[3], "release");
    if (known->acquire == NULL || known->release == NULL) return NULL;
    known->meta = (PyTypeObject *)held(args[0]);
    known->nobody = held(args[1]);
    known->unset = held(args[2]);
    Py_RETURN_NONE;
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
    return taper_new_tensor(array, Py_False, Py_None);
}
