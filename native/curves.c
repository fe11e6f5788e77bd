/* Functions of an element, or of an element and a gradient, in one pass; the twins stand in
 * the operators that use them.
 *
 * Each is written once, as an expression of x (for some gradients the result), of the gradient g and
 * of two numbers p and q, and becomes a loop over floats and one over doubles.
 */

#include "curves.h"
#include "pool.h"

#define GRAIN 8192 /* elements of a chunk for the pool */

#define TANH_SCALE 0.79788456080286536
#define CUBE 0.044715

/* What a loop is given: operands, the result, the numbers. */
typedef struct {
    const void *x, *g;
    void *to;
    double p, q;
} Operands;

typedef void (*Loop)(const Operands *all, npy_intp start, npy_intp stop);

#define LOOP(NAME, TYPE, GRADIENT, ...)                                                          \
    FAST static void NAME##_loop_##TYPE(const Operands *all, npy_intp start, npy_intp stop) {         \
        typedef TYPE T;                                                                          \
        const T p = (T)all->p, q = (T)all->q, *xs = all->x, *gs = all->g;                        \
        T *to = all->to;                                                                         \
        (void)p, (void)q, (void)gs;                                                              \
        for (npy_intp i = start; i < stop; i++) {                                                \
            const T x = xs[i], g = GRADIENT;                                                     \
            (void)g;                                                                             \
            to[i] = __VA_ARGS__;                                                                 \
        }                                                                                        \
    }
#define FLOAT_CURVE(NAME, ...) LOOP(NAME, float, 0, __VA_ARGS__)
#define FLOAT_SLOPE(NAME, ...) LOOP(NAME, float, gs[i], __VA_ARGS__)
#define CURVE(NAME, ...) LOOP(NAME, float, 0, __VA_ARGS__) LOOP(NAME, double, 0, __VA_ARGS__)
#define SLOPE(NAME, ...) LOOP(NAME, float, gs[i], __VA_ARGS__) LOOP(NAME, double, gs[i], __VA_ARGS__)

#define ROOT(x) (sizeof(T) == sizeof(float) ? (T)sqrtf((float)(x)) : (T)sqrt((double)(x)))
#define TANH_ARGUMENT(x) ((x) * ((x) * (x) * (T)(CUBE * TANH_SCALE) + (T)TANH_SCALE))

#define SIZE(x) ((x) < 0 ? -(x) : (x))
#define SMOOTH(size) ((size) < p ? (T)0.5 * (size) * (size) / p : (size) - (T)0.5 * p)
#define RAMP(x) ((x) + (T)3 < 0 ? (T)0 : (x) + (T)3 > (T)6 ? (T)6 : (x) + (T)3)
#define BOUNDED(x, most) ((x) < -(most) ? -(most) : (x) > (most) ? (most) : (x))

INLINE float gelu_slope(float x, float wave) {
    const float inner = x * x * (float)(3 * CUBE * TANH_SCALE) + (float)TANH_SCALE;
    return (inner * (1.0f - wave * wave) * x + wave + 1.0f) * 0.5f;
}

INLINE float silu_slope(float x, float share) { return share * (1.0f + x * (1.0f - share)); }

FLOAT_CURVE(logistic, logistic_float(x))
FLOAT_CURVE(silu, x *logistic_float(x))
FLOAT_SLOPE(silu_backward, g *silu_slope(x, logistic_float(x)))
FLOAT_CURVE(erf, erf_float(x))
FLOAT_CURVE(gelu, gelu_float(x))
FLOAT_SLOPE(gelu_backward, (normal_share(x) + x * (exp_float(x * x * -0.5f) * NORMAL_DENSITY)) * g)
FLOAT_CURVE(gelu_tanh, x *((1.0f + tanh_float(TANH_ARGUMENT(x))) * 0.5f))
FLOAT_SLOPE(gelu_tanh_backward, g *gelu_slope(x, tanh_float(TANH_ARGUMENT(x))))
SLOPE(logistic_backward, g *((T)1 - x) * x) /* x: the result */
SLOPE(tanh_backward, g *((T)1 - x * x))     /* x: the result */
SLOPE(threshold_backward, x <= p ? (T)0 : g)
CURVE(leaky_relu, x > 0 ? x : x * p)
SLOPE(leaky_relu_backward, x > 0 ? g : g * p)
SLOPE(hardtanh_backward, x <= p || x >= q ? (T)0 : g)
FLOAT_SLOPE(elu_backward, x <= 0 ? g *(exp_float(x) * p) : g * q)
FLOAT_SLOPE(softplus_backward, x *p > q ? g : g * logistic_float(x * p))
SLOPE(smooth_l1, SMOOTH(SIZE(x - g))) /* g: what x is compared with */
SLOPE(smooth_l1_slope, BOUNDED((x - g) / p, (T)1) * q)
SLOPE(huber, SIZE(x - g) <= p ? (T)0.5 * SIZE(x - g) * SIZE(x - g) : p * (SIZE(x - g) - (T)0.5 * p))
SLOPE(huber_slope, BOUNDED(x - g, p) * q)
CURVE(relu, x < 0 ? (T)0 : x)
CURVE(sign, (T)(x > 0) - (T)(x < 0))
SLOPE(abs_backward, g *((T)(x > 0) - (T)(x < 0)))
CURVE(hardswish, x *RAMP(x) / (T)6)
SLOPE(hardswish_backward, !(x < (T)3) ? g : x <= (T)-3 ? (T)0 : g * (x / (T)3 + (T)0.5))
CURVE(clamp, x < p ? (p > q ? q : p) : x > q ? q : x)
CURVE(rsqrt, (T)1 / ROOT(x))
CURVE(reciprocal, (T)1 / x)

typedef struct {
    const char *name;
    int gradient; /* whether there is a second operand */
    Loop single, twice; /* for floats and, unless NULL, for doubles */
} Entry;

#define FLOAT_ROW(NAME, GRADIENT) {#NAME, GRADIENT, NAME##_loop_float, NULL}
#define ROW(NAME, GRADIENT) {#NAME, GRADIENT, NAME##_loop_float, NAME##_loop_double}
static const Entry entries[] = {
    FLOAT_ROW(logistic, 0),
    FLOAT_ROW(silu, 0),
    FLOAT_ROW(silu_backward, 1),
    FLOAT_ROW(erf, 0),
    FLOAT_ROW(gelu, 0),
    FLOAT_ROW(gelu_backward, 1),
    FLOAT_ROW(gelu_tanh, 0),
    FLOAT_ROW(gelu_tanh_backward, 1),
    ROW(logistic_backward, 1),
    ROW(tanh_backward, 1),
    ROW(threshold_backward, 1),
    ROW(leaky_relu, 0),
    ROW(leaky_relu_backward, 1),
    ROW(hardtanh_backward, 1),
    FLOAT_ROW(elu_backward, 1),
    FLOAT_ROW(softplus_backward, 1),
    ROW(smooth_l1, 1),
    ROW(smooth_l1_slope, 1),
    ROW(huber, 1),
    ROW(huber_slope, 1),
    ROW(relu, 0),
    ROW(sign, 0),
    ROW(abs_backward, 1),
    ROW(hardswish, 0),
    ROW(hardswish_backward, 1),
    ROW(clamp, 0),
    ROW(rsqrt, 0),
    ROW(reciprocal, 0),
};
#define ENTRIES ((long)(sizeof entries / sizeof entries[0]))

typedef struct {
    Operands operands;
    Loop loop;
} Work;

static void part(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    work->loop(&work->operands, start, stop);
}

/* curve_number(name): the number to call a curve by. */
PyObject *taper_curve_number(PyObject *self, PyObject *value) {
    const char *name = PyUnicode_AsUTF8(value);
    if (name == NULL) return NULL;
    for (long nr = 0; nr < ENTRIES; nr++)
        if (strcmp(entries[nr].name, name) == 0) return PyLong_FromLong(nr);
    return PyErr_Format(PyExc_ValueError, "no curve is called %s", name);
}

/* curve(number, x, g, p, q), the last three if need be: a new array, or None if the operands are not
 * row-major floats or doubles of one shape. */
PyObject *taper_curve(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 2 || count > 5) return PyErr_Format(PyExc_TypeError, "curve(number, x, g, p, q)");
    const long nr = PyLong_AsLong(args[0]);
    if (nr == -1 && PyErr_Occurred()) return NULL;
    if (nr < 0 || nr >= ENTRIES) return PyErr_Format(PyExc_ValueError, "no curve has this number");
    const Entry *entry = &entries[nr];
    if (!PyArray_CheckExact(args[1]) || (entry->gradient && count < 3)) Py_RETURN_NONE;
    PyArrayObject *x = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(x);
    const Loop loop = type == NPY_FLOAT ? entry->single : type == NPY_DOUBLE ? entry->twice : NULL;
    if (loop == NULL || !plain_array(args[1], type)) Py_RETURN_NONE;
    if (entry->gradient && (!plain_array(args[2], type) || !PyArray_SAMESHAPE(x, (PyArrayObject *)args[2])))
        Py_RETURN_NONE;
    const double p = count > 3 ? PyFloat_AsDouble(args[3]) : 0;
    const double q = count > 4 ? PyFloat_AsDouble(args[4]) : 0;
    if (PyErr_Occurred()) return NULL;
    PyObject *result = PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), type);
    if (result == NULL) return NULL;
    const void *g = entry->gradient ? PyArray_DATA((PyArrayObject *)args[2]) : NULL;
    Work work = {{PyArray_DATA(x), g, PyArray_DATA((PyArrayObject *)result), p, q}, loop};
    const npy_intp size = PyArray_SIZE(x);
    pool_compute(part, &work, size, GRAIN, size <= GRAIN);
    return result;
}
