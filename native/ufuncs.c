/* NumPy's element-wise loops and matrix products on several threads.
 *
 * `thread_loops` puts a function in front of an inner loop of a ufunc: a short call goes to the
 * loop at once, a long one is cut into chunks for the pool, each of which calls the loop.  So every
 * NumPy expression gains, in kernels, formulas and optimizers, and gives the same bits as before.
 */

#include <fenv.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "pool.h"
#include "products.h"

#define MOST_LOOPS 512 /* NumPy 2.4 has 475 of simple types */
#define MOST_ARGS 4

typedef struct {
    PyUFuncGenericFunction loop; /* NumPy's own */
    int args;
    npy_intp grain; /* elements of a chunk */
} Loop;

static Loop loops[MOST_LOOPS];
static int known;

typedef struct {
    const Loop *loop;
    char **args;
    const npy_intp *steps;
    void *data;
    atomic_int raised; /* floating-point flags of all threads */
} Call;

static void run_chunk(void *context, npy_intp start, npy_intp stop) {
    Call *call = context;
    char *args[MOST_ARGS];
    npy_intp count = stop - start;
    for (int nr = 0; nr < call->loop->args; nr++) args[nr] = call->args[nr] + start * call->steps[nr];
    feclearexcept(FE_ALL_EXCEPT);
    call->loop->loop(args, &count, call->steps, call->data);
    int raised = fetestexcept(FE_ALL_EXCEPT);
    if (raised) atomic_fetch_or(&call->raised, raised);
}

/* Whether elements can be computed in any order: the result does not lie across an operand, as in
 * a reduction or a running sum. */
static int independent(const Loop *loop, char **args, const npy_intp *steps, npy_intp count) {
    const int last = loop->args - 1;
    const char *to = args[last], *end = to + steps[last] * (count - 1);
    if (steps[last] <= 0) return 0;
    for (int nr = 0; nr < last; nr++) {
        const char *from = args[nr], *stop = from + steps[nr] * (count - 1);
        if (from == to && steps[nr] == steps[last]) continue;
        const char *low = from < stop ? from : stop, *high = from < stop ? stop : from;
        if (low <= end + 16 && to <= high + 16) return 0; /* 16: the widest element */
    }
    return 1;
}

static void run(int nr, char **args, const npy_intp *dims, const npy_intp *steps, void *data) {
    const Loop *loop = &loops[nr];
    const npy_intp count = dims[0];
    if (count <= loop->grain || pool_threads() < 2 || !independent(loop, args, steps, count)) {
        loop->loop(args, dims, steps, data);
        return;
    }
    Call call = {loop, args, steps, data, 0};
    pool_run(run_chunk, &call, count, loop->grain / 2);
    int raised = atomic_load(&call.raised);
    if (raised) feraiseexcept(raised);
}

/* NumPy calls a loop without saying which, so each that is replaced gets a function of its own. */
#define FRONT(nr)                                                                              \
    static void front_##nr(char **args, const npy_intp *dims, const npy_intp *steps, void *data) { \
        run(0x##nr, args, dims, steps, data);                                                  \
    }
#define NAME(nr) front_##nr,
#define SIXTEEN(DO, high)                                                                      \
    DO(high##0) DO(high##1) DO(high##2) DO(high##3) DO(high##4) DO(high##5) DO(high##6)        \
    DO(high##7) DO(high##8) DO(high##9) DO(high##a) DO(high##b) DO(high##c) DO(high##d)        \
    DO(high##e) DO(high##f)
#define HALF(DO, high)                                                                         \
    SIXTEEN(DO, high##0) SIXTEEN(DO, high##1) SIXTEEN(DO, high##2) SIXTEEN(DO, high##3)        \
    SIXTEEN(DO, high##4) SIXTEEN(DO, high##5) SIXTEEN(DO, high##6) SIXTEEN(DO, high##7)        \
    SIXTEEN(DO, high##8) SIXTEEN(DO, high##9) SIXTEEN(DO, high##a) SIXTEEN(DO, high##b)        \
    SIXTEEN(DO, high##c) SIXTEEN(DO, high##d) SIXTEEN(DO, high##e) SIXTEEN(DO, high##f)

HALF(FRONT, 0)
HALF(FRONT, 1)
static PyUFuncGenericFunction fronts[MOST_LOOPS] = {HALF(NAME, 0) HALF(NAME, 1)};

/* Put a front before one loop of a ufunc, if it is not there already; whether it is there now. */
static int replace(PyUFuncObject *ufunc, int nr, npy_intp grain) {
    if (ufunc->nargs > MOST_ARGS) return 0;
    for (int each = 0; each < known; each++)
        if (ufunc->functions[nr] == fronts[each]) return 1;
    if (known == MOST_LOOPS) return 0;
    int types[MOST_ARGS];
    for (int arg = 0; arg < ufunc->nargs; arg++) types[arg] = ufunc->types[nr * ufunc->nargs + arg];
    PyUFuncGenericFunction before = NULL;
    loops[known] = (Loop){ufunc->functions[nr], ufunc->nargs, grain};
    if (PyUFunc_ReplaceLoopBySignature(ufunc, fronts[known], types, &before) < 0) return 0;
    loops[known++].loop = before;
    return 1;
}

/* Whether a loop of a ufunc has the types of an earlier one, which NumPy finds first. */
static int is_hidden(const char *types, int args, int nr) {
    for (int earlier = 0; earlier < nr; earlier++)
        if (memcmp(types + earlier * args, types + nr * args, args) == 0) return 1;
    return 0;
}

/* Whether all types of a loop need no GIL and are worth it: bool, integers, float and double. */
static int is_simple(const char *types, int args) {
    for (int arg = 0; arg < args; arg++)
        if (types[arg] > NPY_DOUBLE || types[arg] < 0) return 0;
    return 1;
}

/* thread_loops(ufunc, grain): says how many loops of the ufunc run on several threads now. */
PyObject *taper_thread_loops(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || strcmp(Py_TYPE(args[0])->tp_name, "numpy.ufunc") != 0)
        return PyErr_Format(PyExc_TypeError, "thread_loops(ufunc, grain)");
    PyUFuncObject *ufunc = (PyUFuncObject *)args[0];
    npy_intp grain = PyLong_AsSsize_t(args[1]);
    if (grain == -1 && PyErr_Occurred()) return NULL;
    if (grain < 1024) return PyErr_Format(PyExc_ValueError, "thread_loops: chunks are too small");
    int replaced = 0;
    if (ufunc->core_enabled) return PyLong_FromLong(thread_products(ufunc));
    for (int nr = 0; nr < ufunc->ntypes && ufunc->nout == 1; nr++)
        if (is_simple(ufunc->types + nr * ufunc->nargs, ufunc->nargs) &&
            !is_hidden(ufunc->types, ufunc->nargs, nr))
            replaced += replace(ufunc, nr, grain);
    return PyLong_FromLong(replaced);
}
