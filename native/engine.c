/* A backward pass: counts what every node will receive, orders, runs and delivers.
 *
 * Twin: `run_in_python` of autograd/engine.py, which tells the story.  Here are the tricks: a table
 * by address and not a dict, sums in place (I6), leaves without their AccumulateGrad (D11), and
 * what most gradients need looked at here.  Everything rare is Python's: hooks, watchers, gradients
 * that do not fit, leaves that have something about them.
 */

#include "reached.h"

/* What Python tells about the pass: flags, and functions for what is rare. */
struct Job {
    PyObject *task, *state, *wanted, *needed, *place, *evaluate, *fit, *evaluate_leaf, *run_late_hooks;
    int keep, tensors, watched, leaves;
};

static struct {
    PyObject *add, *edges, *edge_nrs, *extra, *nodes_ahead, *run, *run_once;
} names;

/* --- counting ---------------------------------------------------------------------------------- */

/* Whether an edge leads to a leaf that needs its AccumulateGrad in this pass; -1 with an error. */
static int needs_node(PyObject *following, const struct Job *job) {
    if (following == Py_None || !is_leaf(following)) return 0;
    int plain = job->leaves ? taper_is_plain_leaf(following) : 0;
    return plain < 0 ? -1 : !plain;
}

/* The edges of a node as this pass follows them, a new reference. */
static PyObject *edges_of(PyObject *node, const struct Job *job) {
    PyObject *edges = attribute(node, taper_known.of_node.edges, names.edges);
    for (Py_ssize_t index = 0; edges && PyTuple_Check(edges) && index < PyTuple_GET_SIZE(edges); index++) {
        int needed = needs_node(PyTuple_GET_ITEM(edges, index), job);
        if (needed) { /* from now on they lead to nodes */
            Py_SETREF(edges, needed < 0 ? NULL : PyObject_CallMethodNoArgs(node, names.nodes_ahead));
            break;
        }
    }
    if (edges != NULL && !PyTuple_Check(edges)) {
        Py_CLEAR(edges);
        PyErr_SetString(PyExc_TypeError, "edges are a tuple");
    }
    return edges;
}

/* Enter all that can be reached from the roots, with the number of edges that lead to each. */
static int count_incoming(Reached *reached, PyObject *roots, const struct Job *job) {
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(roots); index++) {
        PyObject *node = PyTuple_GET_ITEM(PyTuple_GET_ITEM(roots, index), 0);
        if (!find(reached, node) && taper_enter(reached, node, 0) < 0) return -1;
    }
    for (Py_ssize_t next = 0; next < reached->count; next++) {
        PyObject *node = reached->entries[next].node;
        if (reached->entries[next].leaf) continue;
        PyObject *edges = edges_of(node, job);
        int failed = edges == NULL;
        for (Py_ssize_t index = 0; !failed && index < PyTuple_GET_SIZE(edges); index++) {
            PyObject *following = PyTuple_GET_ITEM(edges, index);
            struct Entry *entry = following == Py_None ? NULL : find(reached, following);
            if (entry != NULL) entry->awaited++;
            else if (following != Py_None) failed = taper_enter(reached, following, 1) < 0;
        }
        Py_XDECREF(edges);
        if (failed) return -1;
    }
    return 0;
}

/* --- a pass for some inputs -------------------------------------------------------------------- */

/* A node whose edges are being followed, up to the next of them. */
struct Level {
    Py_ssize_t entry, next;
    PyObject *edges;
};

struct Levels {
    struct Level *all;
    Py_ssize_t count, room;
};

/* Enter a node, and begin to follow its edges. */
static int descend(Reached *reached, struct Levels *levels, PyObject *node, PyObject *targets) {
    static const struct Job job = {.leaves = 0};
    if (levels->count == levels->room) {
        Py_ssize_t room = levels->room ? 2 * levels->room : 32;
        struct Level *all = PyMem_Realloc(levels->all, (size_t)room * sizeof *all);
        if (all == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        levels->all = all;
        levels->room = room;
    }
    if (taper_enter(reached, node, 0) < 0) return -1;
    int leads = PyDict_Contains(targets, node);
    PyObject *edges = leads < 0 ? NULL : edges_of(node, &job);
    if (edges == NULL) return -1;
    reached->entries[reached->count - 1].leads = (char)leads;
    levels->all[levels->count++] = (struct Level){reached->count - 1, 0, edges};
    return 0;
}

/* Follow the next edge of the node at the end; a node leads to a target if one of its edges does. */
static int follow(Reached *reached, struct Levels *levels, PyObject *targets) {
    struct Level *level = &levels->all[levels->count - 1];
    if (level->next == PyTuple_GET_SIZE(level->edges)) {
        char leads = reached->entries[level->entry].leads;
        Py_CLEAR(level->edges);
        if (--levels->count) reached->entries[levels->all[levels->count - 1].entry].leads |= leads;
        return 0;
    }
    PyObject *following = PyTuple_GET_ITEM(level->edges, level->next++);
    struct Entry *known = following == Py_None ? NULL : find(reached, following);
    if (known != NULL) reached->entries[level->entry].leads |= known->leads;
    return following == Py_None || known != NULL ? 0 : descend(reached, levels, following, targets);
}

/* leading(targets, roots): the nodes on a path from a root to a target, a key of the dict; twin:
 * `nodes_leading_to`. */
PyObject *taper_leading(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyDict_Check(args[0]) || !PyList_Check(args[1]) || taper_known.tensor == NULL ||
        taper_known.accumulate_grad == NULL)
        return PyErr_Format(PyExc_TypeError, "leading(targets, roots)");
    PyObject *targets = args[0], *roots = PySequence_Tuple(args[1]);
    Reached *reached = roots == NULL ? NULL : taper_new_reached();
    struct Levels levels = {NULL, 0, 0};
    int failed = reached == NULL;
    for (Py_ssize_t index = 0; !failed && index < PyTuple_GET_SIZE(roots); index++) {
        PyObject *root = PyTuple_GET_ITEM(roots, index);
        if (find(reached, root) != NULL) continue;
        failed = descend(reached, &levels, root, targets) < 0;
        while (!failed && levels.count) failed = follow(reached, &levels, targets) < 0;
    }
    while (levels.count) Py_CLEAR(levels.all[--levels.count].edges);
    PyMem_Free(levels.all);
    PyObject *found = failed ? NULL : PySet_New(NULL);
    for (Py_ssize_t index = 0; found != NULL && index < reached->count; index++)
        if (reached->entries[index].leads && PySet_Add(found, reached->entries[index].node) < 0) Py_CLEAR(found);
    Py_XDECREF(reached);
    Py_XDECREF(roots);
    return found;
}

/* Whether Python must look at a node in a pass for some inputs: it is one of them, or not all of its
 * edges are of interest; -1 with an error. */
static int is_special(PyObject *node, const struct Job *job) {
    if (job->needed == Py_None) return 0;
    int special = PyDict_Contains(job->wanted, node);
    PyObject *edges = special ? NULL : attribute(node, taper_known.of_node.edges, names.edges);
    if (special || edges == NULL) return special ? special : -1;
    special = !PyTuple_Check(edges);
    for (Py_ssize_t index = 0; !special && index < PyTuple_GET_SIZE(edges); index++) {
        PyObject *following = PyTuple_GET_ITEM(edges, index);
        int found = following == Py_None ? 1 : PySet_Contains(job->needed, following);
        special = found < 0 ? -1 : !found;
    }
    Py_DECREF(edges);
    return special;
}

/* --- delivering -------------------------------------------------------------------------------- */

static int has_shape(PyArrayObject *array, PyObject *shape) {
    if (shape == NULL || !PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(array))
        return 0;
    for (int dim = 0; dim < PyArray_NDIM(array); dim++) {
        PyObject *length = PyTuple_GET_ITEM(shape, dim);
        if (!PyLong_CheckExact(length)) return 0;
        if (PyLong_AsSsize_t(length) != PyArray_DIM(array, dim)) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

/* Whether a gradient has the shape and dtype of the first output of a node, or of a leaf. */
static int fits(PyObject *grad, PyObject *target, int leaf) {
    if (!PyArray_CheckExact(grad) && !is_device_array(grad)) return 0;
    PyArrayObject *array = (PyArrayObject *)grad;
    if (!leaf)
        return (PyObject *)PyArray_DESCR(array) == SLOT(target, taper_known.of_node.dtype) &&
               has_shape(array, SLOT(target, taper_known.of_node.shape));
    PyObject *meta = meta_of(target);
    if (meta == NULL || (meta != Py_None && (SLOT(meta, taper_known.of_meta.former) != Py_None ||
                                             SLOT(meta, taper_known.of_meta.grad_dtype) != taper_known.unset)))
        return 0;
    PyArrayObject *own = array_of(target);
    return own != NULL && Py_TYPE(own) == Py_TYPE(array) && PyArray_DESCR(array) == PyArray_DESCR(own) &&
           PyArray_SAMESHAPE(array, own);
}

/* Whether one array can be added to another where that lies. */
static int are_alike(PyObject *one, PyObject *other) {
    if (!PyArray_CheckExact(one) || !PyArray_CheckExact(other)) return 0;
    PyArrayObject *first = (PyArrayObject *)one, *second = (PyArrayObject *)other;
    return PyArray_DESCR(first) == PyArray_DESCR(second) && PyArray_SAMESHAPE(first, second);
}

/* Whether a sum lies in memory otherwise than what was received first, which decides, as in PyTorch. */
static int lies_otherwise(PyObject *sum, PyObject *present) {
    if (!PyArray_Check(sum) || !PyArray_Check(present)) return 1; /* a foreign array: Python's twin asks it */
    PyArrayObject *now = (PyArrayObject *)sum, *before = (PyArrayObject *)present;
    int differs = 0;
    if (PyArray_NDIM(now) != PyArray_NDIM(before)) return 0;
    for (int dim = 0; dim < PyArray_NDIM(now); dim++) {
        if (PyArray_STRIDE(before, dim) == 0) return 0;
        differs |= PyArray_STRIDE(now, dim) != PyArray_STRIDE(before, dim);
    }
    return differs;
}

/* The sum laid out as Python's twin says; takes over the reference to it. */
static PyObject *laid_out(PyObject *sum, PyObject *present, PyObject *grad) {
    PyObject *module = PyImport_ImportModule("taper.autograd.fitting"), *found = NULL;
    if (module != NULL) found = PyObject_CallMethod(module, "lay_out_sum", "OOO", sum, present, grad);
    Py_XDECREF(module);
    Py_DECREF(sum);
    return found;
}

/* The sum of what was received and what arrives; takes over both references. */
static PyObject *add(PyObject *present, PyObject *grad, int tensors, int in_place) {
    PyObject *arguments[] = {present, grad, present}, *sum;
    int count = in_place && are_alike(present, grad) ? 3 : 2;
    /* Sparse gradients are tensors in any pass; PyTorch adds the last to arrive first. */
    int sparse = !tensors && (is_leaf(present) || is_leaf(grad));
    tensors = tensors || sparse;
    if (sparse) sum = PyNumber_Add(grad, present);
    else if (tensors) sum = PyNumber_Add(present, grad);
    else sum = PyObject_Vectorcall(names.add, arguments, (size_t)count, NULL);
    if (sum != NULL && !tensors && PyArray_IsScalar(sum, Generic)) Py_SETREF(sum, PyArray_FROM_O(sum));
    if (sum != NULL && !tensors && count == 2 && lies_otherwise(sum, present))
        sum = laid_out(sum, present, grad);
    Py_DECREF(present);
    Py_DECREF(grad);
    return sum;
}

/* As `receive`, for an output of several. */
static int receive_one_of(struct Entry *entry, Py_ssize_t nr, PyObject *grad, int tensors) {
    if (entry->received == NULL) {
        entry->received = PyList_New(entry->outputs);
        if (entry->received == NULL) {
            Py_DECREF(grad);
            return -1;
        }
        for (Py_ssize_t index = 0; index < entry->outputs; index++)
            PyList_SET_ITEM(entry->received, index, held(Py_None));
    }
    PyObject *present = PyList_GET_ITEM(entry->received, nr);
    if (present != Py_None) grad = add(held(present), grad, tensors, 0);
    return grad == NULL ? -1 : PyList_SetItem(entry->received, nr, grad);
}

/* Add a gradient to what an entry has received for an output (I2, I6); takes over the reference. */
static int receive(struct Entry *entry, Py_ssize_t nr, PyObject *grad, int tensors) {
    if (grad == Py_None || nr < 0 || nr >= entry->outputs) {
        Py_DECREF(grad);
        if (grad == Py_None) return 0;
        PyErr_SetString(PyExc_IndexError, "an edge to an output that is not there");
        return -1;
    }
    if (entry->outputs > 1) return receive_one_of(entry, nr, grad, tensors);
    PyObject *present = entry->received;
    if (present != NULL) {
        entry->received = NULL;
        grad = add(present, grad, tensors, entry->summed);
        entry->summed = 1;
    }
    entry->received = grad;
    return grad == NULL ? -1 : 0;
}

/* Send a gradient along an edge, from the result `position` of a node; borrows it. */
static int send_along(struct Entry *entry, PyObject *grad, PyObject *following, PyObject *number,
                PyObject *node, Py_ssize_t position, const struct Job *job) {
    Py_ssize_t nr = PyLong_AsSsize_t(number);
    if (nr == -1 && PyErr_Occurred()) return -1;
    if (nr < 0) nr = 0; /* a leaf has one place */
    if (nr || !fits(grad, following, entry->leaf && following == entry->node)) {
        PyObject *index = PyLong_FromSsize_t(position);
        if (index == NULL) return -1;
        PyObject *arguments[] = {grad, following, number, node, index};
        grad = PyObject_Vectorcall(job->fit, arguments, 5, NULL);
        Py_DECREF(index);
        if (grad == NULL) return -1;
    } else {
        Py_INCREF(grad);
    }
    return receive(entry, nr, grad, job->tensors);
}

/* Send the results of a node along its edges; what then has received everything is ready. */
static int send_all(Reached *reached, PyObject *node, PyObject *results, PyObject *edges,
                    PyObject *numbers, const struct Job *job) {
    for (Py_ssize_t position = 0; position < PyTuple_GET_SIZE(edges); position++) {
        PyObject *following = PyTuple_GET_ITEM(edges, position);
        if (following == Py_None) continue;
        struct Entry *entry = find(reached, following);
        if (entry == NULL) {
            PyErr_SetObject(PyExc_KeyError, following);
            return -1;
        }
        if (position >= PySequence_Fast_GET_SIZE(results)) {
            PyErr_SetString(PyExc_IndexError, "fewer gradients than edges");
            return -1;
        }
        PyObject *grad = PySequence_Fast_GET_ITEM(results, position);
        if (grad != Py_None && send_along(entry, grad, following, PyTuple_GET_ITEM(numbers, position), node,
                                    position, job) < 0)
            return -1;
        if (--entry->awaited) continue; /* counted down also without a gradient (I4) */
        int runs = job->needed == Py_None ? 1 : PySet_Contains(job->needed, following);
        if (runs < 0 || (runs && taper_push(reached, entry) < 0)) return -1;
    }
    return 0;
}

/* --- running ----------------------------------------------------------------------------------- */

/* The list of gradients that a node is run with; takes what its entry has received. */
static PyObject *take(struct Entry *entry) {
    PyObject *received = entry->received;
    entry->received = NULL;
    if (entry->outputs != 1 && received != NULL) return received;
    PyObject *grads = PyList_New(entry->outputs);
    if (grads == NULL) Py_XDECREF(received);
    for (Py_ssize_t index = 0; grads != NULL && index < entry->outputs; index++)
        PyList_SET_ITEM(grads, index, index == 0 && received != NULL ? received : held(Py_None));
    return grads;
}

/* Give a leaf its gradient: at once if it is the first, and nothing else is to be done. */
static int run_leaf(struct Entry *entry, const struct Job *job) {
    if (entry->received != NULL) {
        int done = taper_take_first(entry->node, entry->received);
        if (done > 0) Py_CLEAR(entry->received);
        if (done) return done < 0 ? -1 : 0;
    }
    PyObject *grads = take(entry);
    if (grads == NULL) return -1;
    PyObject *arguments[] = {entry->node, grads, job->task};
    PyObject *result = PyObject_Vectorcall(job->evaluate_leaf, arguments, 3, NULL);
    Py_DECREF(grads);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* What a node returns for its gradients; None if it was only asked for them. */
static PyObject *run_node(PyObject *node, PyObject *grads, unsigned long long sequence,
                          const struct Job *job) {
    PyObject *extra = attribute(node, taper_known.of_node.extra, names.extra);
    if (extra == NULL) return NULL;
    Py_DECREF(extra);
    int special = is_special(node, job);
    if (special < 0) return NULL;
    if (job->watched || job->tensors || special || extra != Py_None || sequence == LAST ||
        PyList_GET_SIZE(grads) == 0 || PyList_GET_ITEM(grads, 0) == Py_None) {
        PyObject *arguments[] = {node, grads, job->task};
        return PyObject_Vectorcall(job->evaluate, arguments, 3, NULL);
    }
    PyObject *arguments[] = {node, grads, job->place};
    PyObject *results = job->keep ? PyObject_VectorcallMethod(names.run, arguments, 2, NULL)
                                  : PyObject_VectorcallMethod(names.run_once, arguments, 3, NULL);
    if (results == NULL || SLOT(node, taper_known.of_node.extra) == Py_None) return results;
    extra = attribute(node, taper_known.of_node.extra, names.extra);
    if (extra != Py_None && extra != NULL) { /* a hook was registered while the node ran (§H10) */
        PyObject *seen[] = {node, results, job->task};
        Py_SETREF(results, PyObject_Vectorcall(job->run_late_hooks, seen, 3, NULL));
    }
    if (extra == NULL) Py_CLEAR(results);
    Py_XDECREF(extra);
    return results;
}

/* Run the node that is first, and send what it returns. */
static int run_first(Reached *reached, const struct Job *job) {
    struct Ready item = taper_pop(reached);
    struct Entry *entry = reached->entries + item.entry;
    PyObject *node = entry->node;
    if (entry->leaf) return run_leaf(entry, job);
    PyObject *grads = take(entry);
    if (grads == NULL) return -1;
    put(job->state, taper_known.of_state.current_node, held(node));
    PyObject *results = run_node(node, grads, item.sequence, job);
    Py_DECREF(grads);
    if (results == NULL || results == Py_None) {
        Py_XDECREF(results);
        return results == NULL ? -1 : 0;
    }
    PyObject *list = PySequence_Fast(results, "a node returns a sequence of gradients");
    Py_DECREF(results);
    PyObject *edges = list == NULL ? NULL : attribute(node, taper_known.of_node.edges, names.edges);
    PyObject *numbers = edges == NULL ? NULL : attribute(node, taper_known.of_node.edge_nrs, names.edge_nrs);
    int failed = -1;
    if (numbers != NULL) {
        if (PyTuple_Check(edges) && PyTuple_Check(numbers) &&
            PyTuple_GET_SIZE(edges) <= PyTuple_GET_SIZE(numbers))
            failed = send_all(reached, node, list, edges, numbers, job);
        else PyErr_SetString(PyExc_TypeError, "edges are a tuple, with a number for each");
    }
    Py_XDECREF(numbers);
    Py_XDECREF(edges);
    Py_XDECREF(list);
    return failed;
}

/* Deliver the gradients of the roots, then run all that is ready until nothing is. */
static int run_all(Reached *reached, PyObject *roots, const struct Job *job) {
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(roots); index++) {
        PyObject *root = PyTuple_GET_ITEM(roots, index);
        Py_ssize_t nr = PyLong_AsSsize_t(PyTuple_GET_ITEM(root, 1));
        if (nr == -1 && PyErr_Occurred()) return -1;
        struct Entry *entry = find(reached, PyTuple_GET_ITEM(root, 0));
        if (entry == NULL || receive(entry, nr, held(PyTuple_GET_ITEM(root, 2)), job->tensors) < 0)
            return -1;
    }
    /* The roots were entered first, each once, in their order. */
    for (Py_ssize_t index = 0; index < reached->count && index < PyTuple_GET_SIZE(roots); index++) {
        struct Entry *entry = reached->entries + index;
        if (entry->awaited == 0 && taper_push(reached, entry) < 0) return -1;
    }
    while (reached->ready)
        if (run_first(reached, job) < 0) return -1;
    return 0;
}

/* --- what Python calls ------------------------------------------------------------------------- */

/* The roots as a tuple of (node, number, gradient), a new reference. */
static PyObject *checked_roots(PyObject *task) {
    PyObject *given = PyObject_GetAttrString(task, "roots");
    PyObject *roots = given == NULL ? NULL : PySequence_Tuple(given);
    Py_XDECREF(given);
    for (Py_ssize_t index = 0; roots != NULL && index < PyTuple_GET_SIZE(roots); index++) {
        PyObject *root = PyTuple_GET_ITEM(roots, index);
        if (!PyTuple_Check(root) || PyTuple_GET_SIZE(root) != 3) {
            Py_CLEAR(roots);
            PyErr_SetString(PyExc_TypeError, "roots are (node, number, gradient)");
        }
    }
    return roots;
}

static int flag(PyObject *task, const char *name, int *value) {
    PyObject *found = PyObject_GetAttrString(task, name);
    *value = found == NULL ? -1 : PyObject_IsTrue(found);
    Py_XDECREF(found);
    return *value < 0 ? -1 : 0;
}

/* Ask the task what it is about; what is found is released by `forget`. */
static int learn(struct Job *job) {
    PyObject *task = job->task;
    if (flag(task, "keep_graph", &job->keep) < 0 || flag(task, "create_graph", &job->tensors) < 0 ||
        flag(task, "watched", &job->watched) < 0 || flag(task, "plain_leaves", &job->leaves) < 0)
        return -1;
    job->wanted = PyObject_GetAttrString(task, "wanted");
    job->needed = job->wanted == NULL ? NULL : PyObject_GetAttrString(task, "needed");
    job->place = job->needed == NULL ? NULL : PyObject_GetAttrString(task, "place");
    job->evaluate = job->place == NULL ? NULL : PyObject_GetAttrString(task, "evaluate");
    if (job->evaluate == NULL) return -1;
    if (job->needed == Py_None || (PyAnySet_Check(job->needed) && PyDict_Check(job->wanted))) return 0;
    PyErr_SetString(PyExc_TypeError, "what is needed is a set of nodes, what is wanted a dict");
    return -1;
}

/* run_pass(task, state, fit, evaluate_leaf, run_late_hooks) */
PyObject *taper_run_pass(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5 || taper_known.state == NULL || !Py_IS_TYPE(args[1], taper_known.state) ||
        taper_known.tensor == NULL || taper_known.accumulate_grad == NULL)
        return PyErr_Format(PyExc_TypeError,
                            "run_pass(task, state, fit, evaluate_leaf, run_late_hooks)");
    struct Job job = {.task = args[0], .state = args[1], .fit = args[2], .evaluate_leaf = args[3],
                      .run_late_hooks = args[4]};
    PyObject *roots = checked_roots(job.task);
    Reached *reached = roots == NULL ? NULL : taper_new_reached();
    int failed = reached == NULL || learn(&job) < 0 || count_incoming(reached, roots, &job) < 0 ||
                 PyObject_SetAttrString(job.task, "reached", (PyObject *)reached) < 0 ||
                 run_all(reached, roots, &job) < 0;
    Py_XDECREF(job.wanted);
    Py_XDECREF(job.needed);
    Py_XDECREF(job.place);
    Py_XDECREF(job.evaluate);
    Py_XDECREF(roots);
    Py_XDECREF(reached);
    return failed ? NULL : held(Py_None);
}

int taper_ready_engine(void) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    names.add = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "add");
    Py_XDECREF(numpy);
    names.edges = PyUnicode_InternFromString("_edges");
    names.edge_nrs = PyUnicode_InternFromString("_edge_nrs");
    names.extra = PyUnicode_InternFromString("_extra");
    names.nodes_ahead = PyUnicode_InternFromString("_nodes_ahead");
    names.run = PyUnicode_InternFromString("_run");
    names.run_once = PyUnicode_InternFromString("_run_once");
    return PyErr_Occurred() ? -1 : 0;
}
