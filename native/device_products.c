/* Products of matrices on a GPU, by cuBLAS.
 *
 * cuBLAS counts along columns: a row-major product A B is its product of B and A, each seen turned over.  Which of its
 * kernels serves a product is asked once for each form (15 us and more), then kept here: a call costs a look into a
 * table and the launch.  Twin: `_multiply_by_cupy` of gpu/products.py, which refuses while a graph is captured.
 */

#include <stdint.h>
#include <string.h>

#include "device.h"

typedef int (*Product)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int,
                       const void *, void *, int, int, int, int);
typedef int (*Products)(void *, int, int, int, int, int, const void *, const void *, int, int, long long, const void *,
                        int, int, long long, const void *, void *, int, int, long long, int, int, int);
static Product one_product;
static Products many_products;
static void *handle;

/* The functions of cublasLt, in the order of `know_light_products`. */
static struct {
    int (*multiply)(void *, void *, const void *, const void *, void *, const void *, void *, const void *, const void *,
                    void *, void *, void *, const void *, void *, size_t, void *);
    int (*new_description)(void **, int, int);
    int (*describe)(void *, int, const void *, size_t);
    int (*new_layout)(void **, int, uint64_t, uint64_t, int64_t);
    int (*lay_out)(void *, int, const void *, size_t);
    int (*new_preference)(void **);
    int (*prefer)(void *, int, const void *, size_t);
    int (*choose)(void *, void *, void *, void *, void *, void *, void *, int, void *, int *);
    void *handle;
} light;
#define FUNCTIONS 8

static void *product_room;
static size_t product_room_size;

/* know_products(cublasGemmEx, cublasGemmStridedBatchedEx, handle): addresses */
PyObject *taper_know_products(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "know_products(one, many, handle)");
    one_product = (Product)PyLong_AsVoidPtr(args[0]);
    many_products = (Products)PyLong_AsVoidPtr(args[1]);
    handle = PyLong_AsVoidPtr(args[2]);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

/* know_light_products(cublasLtMatmul, cublasLtMatmulDescCreate, cublasLtMatmulDescSetAttribute,
 * cublasLtMatrixLayoutCreate, cublasLtMatrixLayoutSetAttribute, cublasLtMatmulPreferenceCreate,
 * cublasLtMatmulPreferenceSetAttribute, cublasLtMatmulAlgoGetHeuristic, handle): addresses */
PyObject *taper_know_light_products(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != FUNCTIONS + 1) return PyErr_Format(PyExc_TypeError, "know_light_products(functions..., handle)");
    void *found[FUNCTIONS + 1];
    for (int nr = 0; nr <= FUNCTIONS; nr++) found[nr] = PyLong_AsVoidPtr(args[nr]);
    if (PyErr_Occurred()) return NULL;
    memcpy(&light, found, sizeof found);
    Py_RETURN_NONE;
}

/* know_product_room(address, bytes): what products in the current stream may write for themselves */
PyObject *taper_know_product_room(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "know_product_room(address, bytes)");
    void *address = PyLong_AsVoidPtr(args[0]);
    const size_t size = PyLong_AsSize_t(args[1]);
    if (PyErr_Occurred()) return NULL;
    product_room = address;
    product_room_size = size;
    Py_RETURN_NONE;
}

typedef struct {
    int turned;
    npy_intp leading, stride;
} Lying;

/* How the last two dimensions lie; 0 if neither rows nor columns are in one piece. */
static int lies(PyArrayObject *array, Lying *found) {
    const int ndim = PyArray_NDIM(array);
    const npy_intp item = PyArray_ITEMSIZE(array), *shape = PyArray_DIMS(array) + ndim - 2,
                   *steps = PyArray_STRIDES(array) + ndim - 2;
    const npy_intp rows = shape[0], columns = shape[1], down = steps[0] / item, along = steps[1] / item;
    if ((along == 1 || columns == 1) && (down >= columns || rows == 1)) {
        found->turned = 0;
        found->leading = rows > 1 && down > columns ? down : columns;
    } else if ((down == 1 || rows == 1) && (along >= rows || columns == 1)) {
        found->turned = 1;
        found->leading = columns > 1 && along > rows ? along : rows;
    } else {
        return 0;
    }
    found->stride = ndim == 3 ? PyArray_STRIDE(array, 0) / item : 0;
    return 1;
}

/* A product in cuBLAS's order: the first factor is the right one. */
typedef struct {
    int64_t data, written, computed, biased, turned[2], rows, columns, inner, leading[3], stack, strides[3], aligned[4];
} Form;

typedef struct {
    Form form;
    int state; /* 0: free, 1: ready, -1: cublasLt has nothing for it */
    void *description, *layouts[3];
    uint64_t algorithm[8];
    size_t room;
} Plan;

#define PLANS 4096 /* a power of two; a program has hundreds of forms */
static Plan plans[PLANS];
static int plans_made;

static int64_t alignment(const void *address) {
    const uintptr_t low = (uintptr_t)address & (uintptr_t)(-(intptr_t)(uintptr_t)address);
    return address == NULL || low > 256 ? 256 : (int64_t)low;
}

#define MUST(call)        \
    do {                  \
        if (call) return; \
    } while (0)

/* Ask cublasLt for a kernel; the state stays -1 if there is none. */
static void make_plan(Plan *plan, const void *bias) {
    enum { TURN_FIRST = 3, TURN_SECOND = 4, EPILOGUE = 7, BIAS = 8, STACK = 5, STACK_STEP = 6, ROOM = 1, ALIGNED = 5 };
    const Form *form = &plan->form;
    const int32_t turned[2] = {(int32_t)form->turned[0], (int32_t)form->turned[1]}, with_bias = 4;
    MUST(light.new_description(&plan->description, (int)form->computed, form->data == 1 ? 1 : 0));
    MUST(light.describe(plan->description, TURN_FIRST, &turned[0], sizeof turned[0]));
    MUST(light.describe(plan->description, TURN_SECOND, &turned[1], sizeof turned[1]));
    if (form->biased) {
        MUST(light.describe(plan->description, EPILOGUE, &with_bias, sizeof with_bias));
        MUST(light.describe(plan->description, BIAS, &bias, sizeof bias));
    }
    const int64_t sizes[3][2] = {{form->rows, form->inner}, {form->inner, form->columns}, {form->rows, form->columns}};
    for (int nr = 0; nr < 3; nr++) {
        const int flip = nr < 2 && form->turned[nr];
        MUST(light.new_layout(&plan->layouts[nr], (int)(nr < 2 ? form->data : form->written), (uint64_t)sizes[nr][flip],
                              (uint64_t)sizes[nr][!flip], form->leading[nr]));
        if (form->stack > 1) {
            const int32_t stack = (int32_t)form->stack;
            MUST(light.lay_out(plan->layouts[nr], STACK, &stack, sizeof stack));
            MUST(light.lay_out(plan->layouts[nr], STACK_STEP, &form->strides[nr], sizeof form->strides[nr]));
        }
    }
    static void *preference;
    if (preference == NULL) MUST(light.new_preference(&preference));
    MUST(light.prefer(preference, ROOM, &product_room_size, sizeof product_room_size));
    for (int nr = 0; nr < 4; nr++) {
        const uint32_t aligned = (uint32_t)form->aligned[nr < 2 ? nr : 2];
        MUST(light.prefer(preference, ALIGNED + nr, &aligned, sizeof aligned));
    }
    struct {
        uint64_t algorithm[8];
        size_t room;
        int state;
        float waves;
        int reserved[4];
    } found;
    int count = 0;
    MUST(light.choose(light.handle, plan->description, plan->layouts[0], plan->layouts[1], plan->layouts[2],
                      plan->layouts[2], preference, 1, &found, &count));
    if (count < 1 || found.state || found.room > product_room_size) return;
    memcpy(plan->algorithm, found.algorithm, sizeof found.algorithm);
    plan->room = found.room;
    plan->state = 1;
}

static Plan *plan_of(const Form *form, const void *bias) {
    uint64_t mixed = 1469598103934665603u;
    const uint64_t *words = (const uint64_t *)form;
    for (size_t nr = 0; nr < sizeof *form / sizeof *words; nr++) mixed = (mixed ^ words[nr]) * 1099511628211u;
    size_t place = (size_t)(mixed ^ mixed >> 32) % PLANS;
    while (plans[place].state && memcmp(&plans[place].form, form, sizeof *form)) place = (place + 1) % PLANS;
    Plan *plan = &plans[place];
    if (plan->state == 0) {
        if (plans_made >= PLANS / 2) return NULL;
        plans_made++;
        plan->form = *form;
        plan->state = -1;
        make_plan(plan, bias);
    }
    return plan->state > 0 ? plan : NULL;
}

/* Whether cublasLt did it. */
static int multiply_lightly(const Form *form, const void *first, const void *second, void *out, const void *bias) {
    enum { BIAS = 8 };
    static const float single[2] = {1, 0};
    static const double wide[2] = {1, 0};
    Plan *plan = light.handle == NULL ? NULL : plan_of(form, bias);
    if (plan == NULL) return 0;
    if (bias != NULL && light.describe(plan->description, BIAS, &bias, sizeof bias)) return 0;
    const void *one = form->data == 1 ? (const void *)wide : (const void *)single;
    const void *zero = form->data == 1 ? (const void *)(wide + 1) : (const void *)(single + 1);
    return !light.multiply(light.handle, plan->description, one, first, plan->layouts[0], second, plan->layouts[1], zero,
                           out, plan->layouts[2], out, plan->layouts[2], plan->algorithm, product_room, plan->room,
                           device_stream());
}

static int multiply_plainly(const Form *form, const void *first, const void *second, void *out) {
    static const float single[2] = {1, 0};
    static const double wide[2] = {1, 0};
    const void *one = form->data == 1 ? (const void *)wide : (const void *)single;
    const void *zero = form->data == 1 ? (const void *)(wide + 1) : (const void *)(single + 1);
    const int data = (int)form->data, written = (int)form->written, computed = (int)form->computed;
    const int rows = (int)form->rows, columns = (int)form->columns, inner = (int)form->inner;
    const int turned[2] = {(int)form->turned[0], (int)form->turned[1]};
    const int leading[3] = {(int)form->leading[0], (int)form->leading[1], (int)form->leading[2]};
    if (form->stack == 1)
        return one_product(handle, turned[0], turned[1], rows, columns, inner, one, first, data, leading[0], second, data,
                           leading[1], zero, out, written, leading[2], computed, -1);
    return many_products(handle, turned[0], turned[1], rows, columns, inner, one, first, data, leading[0],
                         form->strides[0], second, data, leading[1], form->strides[1], zero, out, written, leading[2],
                         form->strides[2], (int)form->stack, computed, -1);
}

/* device_product(left, right, out, data, written, computed, bias): the products of matrices, or of stacks of them, into
 * a one whose rows are in one piece; the numbers are cuBLAS's types.  A bias, if it is not None, is added to the rows.
 * True; None if the matrices lie otherwise; False if the bias was not added. */
PyObject *taper_device_product(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 7 || one_product == NULL || !PyArray_Check(args[0]) || !PyArray_Check(args[1]) ||
        !PyArray_Check(args[2]) || (args[6] != Py_None && !PyArray_Check(args[6])))
        return PyErr_Format(PyExc_TypeError, "device_product(left, right, out, data, written, computed, bias)");
    PyArrayObject *left = (PyArrayObject *)args[0], *right = (PyArrayObject *)args[1], *out = (PyArrayObject *)args[2];
    const void *bias = args[6] == Py_None ? NULL : PyArray_DATA((PyArrayObject *)args[6]);
    Form form;
    memset(&form, 0, sizeof form);
    form.data = PyLong_AsLong(args[3]), form.written = PyLong_AsLong(args[4]), form.computed = PyLong_AsLong(args[5]);
    if (PyErr_Occurred()) return NULL;
    const int ndim = PyArray_NDIM(out), first = PyArray_NDIM(left), second = PyArray_NDIM(right);
    if (ndim < 2 || ndim > 3 || first < 2 || first > 3 || second < 2 || second > 3) Py_RETURN_NONE;
    Lying one, other, result;
    if (!lies(left, &one) || !lies(right, &other) || !lies(out, &result) || result.turned) Py_RETURN_NONE;
    form.biased = bias != NULL;
    form.turned[0] = other.turned, form.turned[1] = one.turned;
    form.rows = PyArray_DIM(out, ndim - 1), form.columns = PyArray_DIM(out, ndim - 2);
    form.inner = PyArray_DIM(left, first - 1);
    form.leading[0] = other.leading, form.leading[1] = one.leading, form.leading[2] = result.leading;
    form.stack = ndim == 3 ? PyArray_DIM(out, 0) : 1;
    if (form.stack > 1) form.strides[0] = other.stride, form.strides[1] = one.stride, form.strides[2] = result.stride;
    form.aligned[0] = alignment(PyArray_DATA(right)), form.aligned[1] = alignment(PyArray_DATA(left));
    form.aligned[2] = alignment(PyArray_DATA(out)), form.aligned[3] = alignment(bias);
    if (multiply_lightly(&form, PyArray_DATA(right), PyArray_DATA(left), PyArray_DATA(out), bias)) Py_RETURN_TRUE;
    const int error = multiply_plainly(&form, PyArray_DATA(right), PyArray_DATA(left), PyArray_DATA(out));
    if (error) return PyErr_Format(PyExc_RuntimeError, "CUDA error: a product failed (cuBLAS %d)", error);
    return PyBool_FromLong(bias == NULL);
}
