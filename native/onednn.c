/* oneDNN: loading the library, and the plans that are made with it.
 *
 * The library of the wheel `onednn-cpu-gomp` is loaded when Python says where it is.  What is used
 * of its C interface is declared here: handles are pointers that nobody looks into, and numbers are
 * those of version 3, the only one that is accepted.
 *
 * oneDNN computes on one thread.  Work is cut into pieces for our own pool (`onednn_convolution.c`),
 * so the library never starts a thread: a forked child can go on using it, nobody waits in a busy
 * loop, and results do not depend on the number of threads.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "onednn.h"

#define MOST_PLANS 256
#define LEAST_USEFUL 0.6 /* part of a weight, as oneDNN lays it out, that is not padding */

typedef void *Handle;
typedef struct {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} Version;
typedef struct {
    int nr;
    Handle memory;
} Argument;
typedef int64_t Dims[MOST_DIMS];

enum { CPU = 1, FLOATS = 3, ANY_FORMAT = 1, IN_ORDER = 1, DIRECT = 1, FORWARD = 64, OWN_SCRATCH = 1 };
enum { ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_BIAS = 41, ARG_SCRATCH = 80, ARG_DIFF = 128 };
enum { ASK_NAME = 8, ASK_SRC = 129, ASK_WEIGHTS = 131, ASK_DST = 133, ASK_SCRATCH = 136 }; /* + 1: its gradient */

/* The functions: name, result, arguments. */
#define FUNCTIONS(F)                                                                              \
    F(version, const Version *, (void))                                                           \
    F(engine_create, int, (Handle *, int, size_t))                                                \
    F(stream_create, int, (Handle *, Handle, unsigned))                                           \
    F(stream_destroy, int, (Handle))                                                              \
    F(set_primitive_cache_capacity, int, (int))                                                   \
    F(memory_desc_create_with_strides, int, (Handle *, int, const int64_t *, int, const int64_t *)) \
    F(memory_desc_create_with_tag, int, (Handle *, int, const int64_t *, int, int))               \
    F(memory_desc_clone, int, (Handle *, Handle))                                                 \
    F(memory_desc_destroy, int, (Handle))                                                         \
    F(memory_desc_equal, int, (Handle, Handle))                                                   \
    F(memory_desc_get_size, size_t, (Handle))                                                     \
    F(memory_create, int, (Handle *, Handle, Handle, void *))                                     \
    F(memory_destroy, int, (Handle))                                                              \
    F(primitive_attr_create, int, (Handle *))                                                     \
    F(primitive_attr_set_scratchpad_mode, int, (Handle, int))                                     \
    F(primitive_desc_query, int, (Handle, int, int, void *))                                      \
    F(primitive_desc_query_md, Handle, (Handle, int, int))                                        \
    F(primitive_desc_destroy, int, (Handle))                                                      \
    F(primitive_create, int, (Handle *, Handle))                                                  \
    F(primitive_execute, int, (Handle, Handle, int, const Argument *))                            \
    F(primitive_destroy, int, (Handle))                                                           \
    F(reorder_primitive_desc_create, int, (Handle *, Handle, Handle, Handle, Handle, Handle))     \
    F(convolution_forward_primitive_desc_create, int,                                             \
      (Handle *, Handle, int, int, Handle, Handle, Handle, Handle, const int64_t *,               \
       const int64_t *, const int64_t *, const int64_t *, Handle))                                \
    F(convolution_backward_data_primitive_desc_create, int,                                       \
      (Handle *, Handle, int, Handle, Handle, Handle, const int64_t *, const int64_t *,           \
       const int64_t *, const int64_t *, Handle, Handle))                                         \
    F(convolution_backward_weights_primitive_desc_create, int,                                    \
      (Handle *, Handle, int, Handle, Handle, Handle, Handle, const int64_t *, const int64_t *,   \
       const int64_t *, const int64_t *, Handle, Handle))

#define DECLARE(name, result, arguments) result(*name) arguments;
static struct {
    FUNCTIONS(DECLARE)
    void (*omp_set_num_threads)(int);
    int (*omp_get_max_threads)(void);
} dnnl;

/* Something to compute, and what it needs for itself. */
typedef struct {
    Handle run, scratch; /* NULL: nothing to do; no scratch memory */
} Step;

struct Plan {
    Geometry geometry;
    Step compute, reorder[3];         /* reorders from or to the row-major arrays */
    Handle plain[3], wanted[3], bias; /* descriptions of memory */
    uint64_t last_used;
    int users, is_kept;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; /* of all below, and of making plans */
static Handle engine, attributes;
static char version_text[32];
static int loaded, used, plans_kept;
static uint64_t plans_made, plans_taken, hashes[MOST_PLANS];
static Plan *plans[MOST_PLANS];

int onednn_is_used(void) { return __atomic_load_n(&used, __ATOMIC_ACQUIRE); }

/* Let oneDNN's next work on this thread use one thread; returns what to restore. */
static int one_thread(void) {
    int before = dnnl.omp_get_max_threads();
    if (before != 1) dnnl.omp_set_num_threads(1);
    return before;
}

static void as_before(int threads) {
    if (threads != 1) dnnl.omp_set_num_threads(threads);
}

/* --- running ---------------------------------------------------------------------------------- */

/* Run a step on the memory of `count` arguments, each with a description and an address. */
static int run(const Step *step, int count, const int *numbers, Handle *descriptions, void **data) {
    Argument arguments[6];
    Handle stream = NULL;
    void *scratch = NULL;
    int made = 0, fine = dnnl.stream_create(&stream, engine, IN_ORDER) == 0;
    for (; fine && made < count; made++) {
        arguments[made].nr = numbers[made];
        fine = dnnl.memory_create(&arguments[made].memory, descriptions[made], engine, data[made]) == 0;
        if (!fine) break;
    }
    if (fine && step->scratch != NULL) {
        scratch = scratch_take(dnnl.memory_desc_get_size(step->scratch));
        arguments[made].nr = ARG_SCRATCH;
        fine = scratch != NULL && dnnl.memory_create(&arguments[made].memory, step->scratch, engine, scratch) == 0;
        made += fine;
    }
    if (fine) {
        int threads = one_thread();
        fine = dnnl.primitive_execute(step->run, stream, made, arguments) == 0;
        as_before(threads);
    }
    while (made--) dnnl.memory_destroy(arguments[made].memory);
    if (stream != NULL) dnnl.stream_destroy(stream);
    scratch_give(scratch);
    return fine;
}

static int reorder(const Plan *plan, int which, void *plain, void *wanted) {
    static const int numbers[] = {ARG_SRC, ARG_DST};
    const int back = plan->geometry.written == which;
    Handle descriptions[2];
    void *data[2];
    descriptions[back] = plan->plain[which], descriptions[!back] = plan->wanted[which];
    data[back] = plain, data[!back] = wanted;
    return run(&plan->reorder[which], 2, numbers, descriptions, data);
}

size_t plan_weight_bytes(const Plan *plan) {
    return plan->reorder[WEIGHT].run == NULL ? 0 : dnnl.memory_desc_get_size(plan->wanted[WEIGHT]);
}

int plans_agree(const Plan *one, const Plan *other) {
    return dnnl.memory_desc_equal(one->wanted[WEIGHT], other->wanted[WEIGHT]);
}

int plan_prepare(const Plan *plan, void *weight, void *to) { return reorder(plan, WEIGHT, weight, to); }

int plan_run(const Plan *plan, void *const data[3], void *bias, int prepared) {
    const int written = (int)plan->geometry.written;
    static const int numbers[] = {ARG_SRC, ARG_WEIGHTS, ARG_DST};
    int arguments[] = {ARG_SRC, ARG_WEIGHTS, ARG_DST, ARG_BIAS};
    Handle descriptions[] = {plan->wanted[INPUT], plan->wanted[WEIGHT], plan->wanted[OUTPUT], plan->bias};
    void *places[] = {data[INPUT], data[WEIGHT], data[OUTPUT], bias}, *own[3] = {NULL, NULL, NULL};
    int fine = 1;
    if (written != OUTPUT) arguments[2] += ARG_DIFF, arguments[written] = numbers[written] + ARG_DIFF;
    for (int nr = 0; fine && nr < 3; nr++) {
        if (plan->reorder[nr].run == NULL || (nr == WEIGHT && prepared)) continue;
        places[nr] = own[nr] = scratch_take(dnnl.memory_desc_get_size(plan->wanted[nr]));
        fine = own[nr] != NULL && (nr == written || reorder(plan, nr, data[nr], own[nr]));
    }
    fine = fine && run(&plan->compute, plan->bias == NULL ? 3 : 4, arguments, descriptions, places);
    if (fine && own[written] != NULL) fine = reorder(plan, written, data[written], own[written]);
    for (int nr = 0; nr < 3; nr++) scratch_give(own[nr]);
    return fine;
}

/* --- making ----------------------------------------------------------------------------------- */

static void destroy(Plan *plan) {
    Step *steps[] = {&plan->compute, &plan->reorder[0], &plan->reorder[1], &plan->reorder[2]};
    for (int nr = 0; nr < 4; nr++) {
        if (steps[nr]->run != NULL) dnnl.primitive_destroy(steps[nr]->run);
        if (steps[nr]->scratch != NULL) dnnl.memory_desc_destroy(steps[nr]->scratch);
    }
    for (int nr = 0; nr < 3; nr++) {
        if (plan->plain[nr] != NULL) dnnl.memory_desc_destroy(plan->plain[nr]);
        if (plan->wanted[nr] != NULL) dnnl.memory_desc_destroy(plan->wanted[nr]);
    }
    if (plan->bias != NULL) dnnl.memory_desc_destroy(plan->bias);
    free(plan);
}

/* A step from its description, which is destroyed. */
static int make_step(Step *step, Handle description) {
    Handle scratch = dnnl.primitive_desc_query_md(description, ASK_SCRATCH, 0);
    int fine = 1;
    if (scratch != NULL && dnnl.memory_desc_get_size(scratch) > 0)
        fine = dnnl.memory_desc_clone(&step->scratch, scratch) == 0;
    fine = fine && dnnl.primitive_create(&step->run, description) == 0;
    dnnl.primitive_desc_destroy(description);
    return fine;
}

/* Whether the first dimension is of length 1 in everything: it is left out then. */
static int is_flat(const Geometry *of) { return of->size[0] == 1 && of->kernel[0] == 1 && of->padding[0] == 0; }

/* The description of a row-major array, and the one that leaves the format to oneDNN.  The
 * first `leading` strides are given, the others are those of arrays in one piece. */
static int describe(Plan *plan, Handle any[3], int nr, int rank, Dims sizes, Dims strides, int leading) {
    for (int dim = rank - 1; dim >= leading; dim--)
        strides[dim] = dim == rank - 1 ? 1 : strides[dim + 1] * sizes[dim + 1];
    return dnnl.memory_desc_create_with_strides(&plan->plain[nr], rank, sizes, FLOATS, strides) == 0 &&
           dnnl.memory_desc_create_with_tag(&any[nr], rank, sizes, FLOATS, ANY_FORMAT) == 0;
}

static int describe_arrays(Plan *plan, Handle any[3]) {
    const Geometry *of = &plan->geometry;
    Dims sizes[3], strides[3], width = {of->groups * of->outputs};
    const int grouped = of->groups > 1, flat = is_flat(of);
    int64_t all_size = of->groups * of->all_inputs, all_places = of->groups * of->all_outputs, taps = 1;
    sizes[INPUT][0] = sizes[OUTPUT][0] = of->images;
    sizes[INPUT][1] = of->groups * of->inputs, sizes[OUTPUT][1] = of->groups * of->outputs;
    sizes[WEIGHT][0] = of->groups; /* where there are groups */
    sizes[WEIGHT][grouped] = of->outputs, sizes[WEIGHT][grouped + 1] = of->inputs;
    for (int dim = 0; dim < SPACE; dim++) {
        all_size *= sizes[INPUT][2 + dim] = of->size[dim];
        all_places *= sizes[OUTPUT][2 + dim] = of->places[dim];
        taps *= sizes[WEIGHT][grouped + 2 + dim] = of->kernel[dim];
    }
    strides[INPUT][0] = all_size, strides[OUTPUT][0] = all_places;
    strides[WEIGHT][grouped] = of->all_inputs * taps;
    if (grouped) strides[WEIGHT][0] = of->all_outputs * of->all_inputs * taps;
    if (of->has_bias && dnnl.memory_desc_create_with_tag(&plan->bias, 1, width, FLOATS, 2) != 0) return 0;
    for (int nr = 0; nr < 3; nr++) {
        const int leading = nr == WEIGHT ? grouped + 1 : 1, fixed = leading + 1;
        if (flat) memmove(&sizes[nr][fixed], &sizes[nr][fixed + 1], sizeof(int64_t) * (SPACE - 1));
        if (!describe(plan, any, nr, fixed + SPACE - flat, sizes[nr], strides[nr], leading)) return 0;
    }
    return 1;
}

/* The description of the computation; NULL if oneDNN has no code for it. */
static Handle describe_computation(const Plan *plan, Handle any[3]) {
    const Geometry *of = &plan->geometry;
    const int flat = is_flat(of);
    const int64_t *stride = of->stride + flat, *padding = of->padding + flat;
    Dims apart = {0};
    for (int dim = flat; dim < SPACE; dim++) apart[dim - flat] = of->dilation[dim] - 1;
    Handle forward = NULL, found = NULL;
    dnnl.convolution_forward_primitive_desc_create(&forward, engine, FORWARD, DIRECT, any[INPUT], any[WEIGHT],
                                                   plan->bias, any[OUTPUT], stride, apart, padding, padding,
                                                   attributes);
    if (forward == NULL || of->written == OUTPUT) return forward;
    if (of->written == INPUT)
        dnnl.convolution_backward_data_primitive_desc_create(&found, engine, DIRECT, any[INPUT], any[WEIGHT],
                                                             any[OUTPUT], stride, apart, padding, padding, forward,
                                                             attributes);
    else
        dnnl.convolution_backward_weights_primitive_desc_create(&found, engine, DIRECT, any[INPUT], any[WEIGHT],
                                                                NULL, any[OUTPUT], stride, apart, padding, padding,
                                                                forward, attributes);
    dnnl.primitive_desc_destroy(forward);
    return found;
}

/* Whether oneDNN has code that is faster than ours: not for what it computes by general products as
 * we do, and not where most of a weight would be zeros that fill its channels up. */
static int is_worth_it(const Plan *plan, Handle computation) {
    const Geometry *of = &plan->geometry;
    const char *name = NULL;
    if (dnnl.primitive_desc_query(computation, ASK_NAME, 0, &name) != 0 || name == NULL) return 0;
    if (strstr(name, "gemm") != NULL || strstr(name, "ref") != NULL) return 0;
    double used = (double)(of->groups * of->outputs * of->inputs) * sizeof(float);
    for (int dim = 0; dim < SPACE; dim++) used *= (double)of->kernel[dim];
    return used >= LEAST_USEFUL * (double)dnnl.memory_desc_get_size(plan->wanted[WEIGHT]);
}

/* Fill in everything but the geometry; `compute.run` is NULL afterwards if that failed. */
static void make(Plan *plan) {
    static const int ask[] = {ASK_SRC, ASK_WEIGHTS, ASK_DST};
    const int written = (int)plan->geometry.written;
    Handle any[3] = {NULL, NULL, NULL};
    Handle found = describe_arrays(plan, any) ? describe_computation(plan, any) : NULL;
    int fine = found != NULL;
    for (int nr = 0; fine && nr < 3; nr++) {
        const int of_gradient = nr == written ? written != OUTPUT : nr == OUTPUT;
        Handle wanted = dnnl.primitive_desc_query_md(found, ask[nr] + of_gradient, 0), step = NULL;
        fine = wanted != NULL && dnnl.memory_desc_clone(&plan->wanted[nr], wanted) == 0;
        if (!fine || dnnl.memory_desc_equal(plan->plain[nr], wanted)) continue;
        Handle from = nr == written ? wanted : plan->plain[nr], to = nr == written ? plan->plain[nr] : wanted;
        fine = dnnl.reorder_primitive_desc_create(&step, from, engine, to, engine, attributes) == 0 &&
               make_step(&plan->reorder[nr], step);
    }
    if (fine && is_worth_it(plan, found)) make_step(&plan->compute, found);
    else if (found != NULL) dnnl.primitive_desc_destroy(found);
    for (int nr = 0; nr < 3; nr++)
        if (any[nr] != NULL) dnnl.memory_desc_destroy(any[nr]);
}

/* --- the plans that are kept ------------------------------------------------------------------ */

static uint64_t hash_of(const Geometry *geometry) {
    const int64_t *numbers = (const int64_t *)geometry;
    uint64_t hash = 0;
    for (size_t nr = 0; nr < sizeof *geometry / sizeof *numbers; nr++)
        hash = (hash ^ (uint64_t)numbers[nr]) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    return hash;
}

/* Where a new plan goes: a free place, or that of the plan that was not used for longest. */
static int place_for_plan(void) {
    int best = -1;
    if (plans_kept < MOST_PLANS) return plans_kept++;
    for (int nr = 0; nr < MOST_PLANS; nr++)
        if (plans[nr]->users == 0 && (best < 0 || plans[nr]->last_used < plans[best]->last_used)) best = nr;
    if (best >= 0) destroy(plans[best]);
    return best; /* -1: all are in use */
}

static Plan *find_or_make(const Geometry *geometry) {
    const uint64_t hash = hash_of(geometry);
    for (int nr = 0; nr < plans_kept; nr++)
        if (hashes[nr] == hash && memcmp(&plans[nr]->geometry, geometry, sizeof *geometry) == 0) return plans[nr];
    Plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return NULL;
    plan->geometry = *geometry;
    int threads = one_thread();
    make(plan);
    as_before(threads);
    plans_made++;
    const int place = place_for_plan();
    plan->is_kept = place >= 0;
    if (place >= 0) plans[place] = plan, hashes[place] = hash;
    return plan;
}

Plan *plan_take(const Geometry *geometry) {
    pthread_mutex_lock(&guard);
    Plan *plan = find_or_make(geometry);
    if (plan != NULL) {
        plan->last_used = ++plans_taken;
        plan->users++;
        if (plan->compute.run == NULL) { /* kept too: oneDNN is not asked again */
            plan->users--;
            if (!plan->is_kept) destroy(plan);
            plan = NULL;
        }
    }
    pthread_mutex_unlock(&guard);
    return plan;
}

void plan_give(Plan *plan) {
    if (plan == NULL) return;
    pthread_mutex_lock(&guard);
    if (--plan->users == 0 && !plan->is_kept) destroy(plan);
    pthread_mutex_unlock(&guard);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* A fork happens while nobody makes a plan: the library is whole in the child. */
static void before_fork(void) { pthread_mutex_lock(&guard); }
static void after_fork(void) { pthread_mutex_unlock(&guard); }

/* Find the functions in the library; a text that says what is wrong, or NULL. */
static const char *find_functions(void *library, const char *path) {
    static char text[512];
    const char *missing = NULL;
    *(void **)&dnnl.version = dlsym(library, "dnnl_version");
    const Version *version = dnnl.version == NULL ? NULL : dnnl.version();
    if (version != NULL && version->major != 3) {
        snprintf(text, sizeof text, "%s is oneDNN %d.%d.%d; version 3 is needed", path, version->major,
                 version->minor, version->patch);
        return text;
    }
#define FIND(name, result, arguments) \
    if ((*(void **)&dnnl.name = dlsym(library, "dnnl_" #name)) == NULL) missing = "dnnl_" #name;
    FUNCTIONS(FIND)
#undef FIND
    *(void **)&dnnl.omp_set_num_threads = dlsym(library, "omp_set_num_threads");
    *(void **)&dnnl.omp_get_max_threads = dlsym(library, "omp_get_max_threads");
    if (dnnl.omp_set_num_threads == NULL) missing = "omp_set_num_threads";
    if (dnnl.omp_get_max_threads == NULL) missing = "omp_get_max_threads";
    if (missing == NULL) return NULL;
    snprintf(text, sizeof text, "%s has no function %s: not the library of onednn-cpu-gomp", path, missing);
    return text;
}

/* Load the library and make what all plans share; a text that says what is wrong, or NULL. */
static const char *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
    const char *wrong = find_functions(library, path);
    if (wrong != NULL) {
        dlclose(library);
        return wrong;
    }
    /* oneDNN itself keeps nothing: the plans here are kept, and they have a bound. */
    if (dnnl.set_primitive_cache_capacity(0) != 0 || dnnl.engine_create(&engine, CPU, 0) != 0 ||
        dnnl.primitive_attr_create(&attributes) != 0 ||
        dnnl.primitive_attr_set_scratchpad_mode(attributes, OWN_SCRATCH) != 0 ||
        pthread_atfork(before_fork, after_fork, after_fork) != 0)
        return "oneDNN could not be started";
    const Version *version = dnnl.version();
    snprintf(version_text, sizeof version_text, "%d.%d.%d", version->major, version->minor, version->patch);
    return NULL;
}

/* onednn_load(path): the version of the library, which is loaded once; OSError says why not. */
PyObject *taper_onednn_load(PyObject *self, PyObject *value) {
    const char *path = PyUnicode_AsUTF8(value), *wrong = NULL;
    if (path == NULL) return NULL;
    pthread_mutex_lock(&guard);
    if (!loaded) wrong = load(path);
    if (wrong == NULL) loaded = 1;
    pthread_mutex_unlock(&guard);
    if (wrong != NULL) return PyErr_Format(PyExc_OSError, "%s", wrong);
    return PyUnicode_FromString(version_text);
}

/* onednn_use(on): whether oneDNN, once it is loaded, computes what it can. */
PyObject *taper_onednn_use(PyObject *self, PyObject *value) {
    const int on = PyObject_IsTrue(value);
    if (on < 0) return NULL;
    pthread_mutex_lock(&guard);
    __atomic_store_n(&used, on && loaded, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&guard);
    Py_RETURN_NONE;
}

/* onednn_plans(): how many plans are kept, at most, and how many were made and taken. */
PyObject *taper_onednn_plans(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    pthread_mutex_lock(&guard);
    const int kept = plans_kept;
    const unsigned long long made = plans_made, taken = plans_taken;
    pthread_mutex_unlock(&guard);
    return Py_BuildValue("(iiKK)", kept, MOST_PLANS, made, taken);
}
