/* The steps of a program, as `program_reading.c` makes them and `program.c` runs them. */

#ifndef TAPER_PROGRAM_STEPS_H
#define TAPER_PROGRAM_STEPS_H

#include "products.h"
#include "program.h"

#define MOST_CALL_ARGS 64
#define MOST_LENGTHS 16
#define MOST_STEPS 64 /* of a strand */
#define TINY 512 /* multiplications below which BLAS is not worth the call */

typedef struct {
    int type, dims;
    npy_intp lengths[MOST_LENGTHS], strides[MOST_LENGTHS];
} Shape;

/* ARENA: a place in the arena.  FIXED: an array that never changes.  INPUT, TENSOR: looked up at each
 * run.  FRESH: an array that leaves the program, or a large one; a new one if the last is still in use.
 * CALLED: what a call returned. */
enum { ARENA, FIXED, INPUT, TENSOR, FRESH, CALLED };
typedef struct {
    int kind, written;
    int there; /* while steps are read: whether there is memory, of FRESH and CALLED */
    npy_intp index, bytes; /* of INPUT: its number; how much memory there is behind the start */
    PyObject *object, *bound; /* bound: the array of INPUT or TENSOR while the program runs */
    Shape shape;
} Slot;

typedef struct {
    Place place;
    int whole; /* whether it is the array of its slot itself */
    PyObject *ready;
    Shape shape;
} Handle;

typedef struct {
    PyObject *plain; /* or NULL: */
    Handle handle;
} Argument;

typedef struct Call Call;

/* Computes the outputs of a call, those that are wanted, from its arguments: 1, or 0 if the call shall do it. */
typedef int (*Kernel)(const Call *call, char *const *data, char *const *outputs);

/* A call in parts, of which any may run beside any other. */
typedef struct {
    Part part;
    npy_intp items;
    int (*finish)(void *context); /* when all parts have run, or NULL; 0 if there was no memory */
    _Alignas(64) char context[1024];
} Parts;

/* Makes the parts of a call ready, whose items come in `units` of as many: 0 if there is no memory. */
typedef int (*Preparation)(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts);

struct Call {
    PyObject *function;
    Kernel kernel;       /* or NULL */
    Preparation prepare; /* of a kernel that runs in parts, or NULL */
    int args, output_count;
    Argument *arg_list;
    int *outputs;      /* slots, -1 for what is not wanted */
    Handle *places;    /* of outputs that a kernel writes, in these slots; or NULL */
};

typedef struct {
    int is_double;
    npy_intp rows, inner, columns, to_step;
    Matrix left, right;
    Place left_place, right_place, to, start;
    npy_intp start_step; /* of what the product is added to: 0 for a row, -1 if there is nothing */
} Product;

typedef struct {
    Handle handle;
    PyObject *leaf, *otherwise;
} Arrival;

typedef struct Step Step;

/* Steps that go over the same rows: each thread takes a unit of them through all steps before the next, so that what
 * one step has written is still in its cache for the next. */
typedef struct {
    npy_intp units;
    int count;
    Step *steps; /* groups, products, and calls with kernels that have parts */
} Strand;

enum { GROUP, PRODUCT, CALL, RENEW, DROP, ARRIVE, STRAND };
struct Step {
    int kind;
    PyObject *keeps; /* what a group's loops belong to */
    union {
        Group group;
        Product product;
        Call call;
        Arrival arrival;
        Strand strand;
        int slot;
    } of;
};

typedef struct {
    int slots, steps, results, inputs, running, failed;
    Slot *slot_list;
    Step *step_list;
    Handle *result_list;
    PyObject *arena;
    char **bases; /* the memory of each slot */
} Program;

/* A program from its description; NULL with an error if that is not sound. */
Program *read_program(PyObject *const *args);
void free_program(Program *program);

/* The shape of an argument of a call; NULL if it is no array. */
static inline const Shape *given_shape(const Call *call, int nr) {
    return nr < call->args && call->arg_list[nr].plain == NULL ? &call->arg_list[nr].handle.shape : NULL;
}

/* The shape of an output that a kernel writes; NULL if it is not wanted. */
static inline const Shape *output_shape(const Call *call, int nr) {
    return nr < call->output_count && call->outputs[nr] >= 0 ? &call->places[nr].shape : NULL;
}

/* Put the kernel of a name into a call; nothing if there is none for a call like this one, which then is made. */
void use_kernel(const char *name, Call *call);

/* Where the arguments and outputs of a call lie; both have room for MOST_CALL_ARGS. */
void places_of_call(const Program *program, const Call *call, char **data, char **outputs);

/* Whether elements lie row by row in one piece and have a type. */
int is_rows(const Shape *shape, int type, int dims);

/* Kernels that have parts, with files of their own: whether they know a call, and what makes it ready. */
#define KERNEL(name)                    \
    int suits_##name(const Call *call); \
    int prepare_##name(const Call *call, char *const *data, char *const *outputs, npy_intp units, Parts *parts)
KERNEL(attention);
KERNEL(attention_backward);
KERNEL(layer_norm);
KERNEL(layer_norm_backward);
KERNEL(join);

/* Run a strand: 0, or -1 with an error. */
int run_strand(Program *program, const Strand *strand);

/* An array of a shape on memory that `base` owns; on memory of its own if `data` is NULL. */
PyObject *array_on(const Shape *shape, char *data, PyObject *base);

#endif
