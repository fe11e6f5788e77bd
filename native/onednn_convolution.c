/* Convolutions by oneDNN, in pieces for the pool.
 *
 * A piece is some of the images, or some of the channels of what is written: whichever reads
 * the smaller array several times, the weight or the other one.  Pieces depend on sizes, never on
 * the number of threads, so results do not either.  Where the gradient of a weight is cut by images, each
 * piece has a sum of its own, and these are added in order.
 */

#include <stdlib.h>
#include <string.h>

#include "onednn.h"
#include "pool.h"

#define MOST_PIECES 16
#define WORK ((double)(1 << 22)) /* multiply-adds of a piece at least: 0.1 ms */
#define CHANNELS 32              /* of a piece: a multiple of this */
#define LEAST_WORK (1 << 17)     /* multiply-adds of a convolution: below, calling oneDNN is what costs */
#define LEAST_WINDOW 16          /* elements of a window: below, most of oneDNN's registers are empty */
#define FEW_PLACES 8             /* for which a large weight is laid out: that is what costs then */
#define FEW_TO_SUM 128           /* the same for the gradient of a weight */
#define LONGEST (1 << 30)

typedef struct {
    Geometry whole, piece, rest;
    Plan *plan, *plan_of_rest;
    npy_intp pieces, width; /* images or channels of a piece */
    int by_channels;
    npy_intp size, places, taps, elements[3];
    char *data[3];
    float *bias, *sums; /* sums: of all pieces but the first, if a weight is cut by images */
    char *prepared;     /* the weight as the plans want it */
    int failed;
} Work;

static npy_intp volume(const int64_t *lengths) { return (npy_intp)(lengths[0] * lengths[1] * lengths[2]); }

/* --- how to cut ------------------------------------------------------------------------------- */

static void cut_images(Work *work, npy_intp most) {
    const npy_intp images = (npy_intp)work->whole.images;
    /* Sums of their own may not need more memory than the images. */
    if (work->whole.written == WEIGHT) {
        const npy_intp few = 1 + work->elements[INPUT] / work->elements[WEIGHT];
        most = most < few ? most : few;
    }
    most = most < 1 ? 1 : most > images ? images : most;
    work->width = (images + most - 1) / most;
    work->pieces = (images + work->width - 1) / work->width;
    work->piece.images = work->width;
    work->rest.images = images - (work->pieces - 1) * work->width;
}

static void cut_channels(Work *work, npy_intp most) {
    int64_t *channels = work->whole.written == INPUT ? &work->piece.inputs : &work->piece.outputs;
    while (most > 1 && *channels % (most * CHANNELS)) most--;
    work->pieces = most < 1 ? 1 : most;
    *channels /= work->pieces;
    work->width = (npy_intp)*channels;
    work->rest = work->piece;
}

/* Whether oneDNN can be expected to be faster than the built-in way. */
static int is_for_onednn(const Work *work) {
    const Geometry *of = &work->whole;
    const double places = (double)of->images * (double)work->places;
    return places * (double)work->elements[WEIGHT] >= LEAST_WORK &&
           places >= (of->written == WEIGHT ? FEW_TO_SUM : FEW_PLACES) &&
           (of->groups > 1 || of->inputs * work->taps >= LEAST_WINDOW);
}

static void cut(Work *work) {
    const Geometry *whole = &work->whole;
    const double products = (double)whole->images * (double)work->elements[WEIGHT] * (double)work->places;
    const npy_intp most = products / WORK < MOST_PIECES ? (npy_intp)(products / WORK) : MOST_PIECES;
    const int read_again = whole->written == INPUT ? OUTPUT : INPUT;
    work->piece = work->rest = *whole;
    work->by_channels =
        whole->groups == 1 && (whole->images == 1 || work->elements[read_again] <= work->elements[WEIGHT]);
    if (work->by_channels) cut_channels(work, most);
    else cut_images(work, most);
}

/* --- computing -------------------------------------------------------------------------------- */

static void add_bias(const Work *work, const Geometry *piece, float *to, const float *bias) {
    for (npy_intp image = 0; image < piece->images; image++)
        for (npy_intp nr = 0; nr < piece->groups * piece->inputs; nr++) {
            float *channel = to + (image * work->whole.groups * work->whole.inputs + nr) * work->size;
            for (npy_intp i = 0; i < work->size; i++) channel[i] += bias[nr];
        }
}

static void compute_piece(void *context, npy_intp nr, npy_intp stop) {
    Work *work = context;
    const Geometry *whole = &work->whole;
    const int written = (int)whole->written, is_last = nr == work->pieces - 1;
    float *data[3];
    float *bias = work->bias;
    for (int each = 0; each < 3; each++) data[each] = (float *)work->data[each];
    if (work->by_channels) {
        const npy_intp first = nr * work->width;
        if (bias != NULL) bias += first;
        data[written == INPUT ? INPUT : OUTPUT] += first * (written == INPUT ? work->size : work->places);
        data[WEIGHT] += first * work->taps * (written == INPUT ? 1 : whole->inputs);
    } else {
        const npy_intp first = nr * work->width;
        data[INPUT] += first * whole->groups * whole->inputs * work->size;
        data[OUTPUT] += first * whole->groups * whole->outputs * work->places;
        if (written == WEIGHT && nr) data[WEIGHT] = work->sums + (nr - 1) * work->elements[WEIGHT];
    }
    const Plan *plan = is_last ? work->plan_of_rest : work->plan;
    const int prepared = work->prepared != NULL && (!is_last || plans_agree(work->plan, plan));
    if (prepared) data[WEIGHT] = (float *)work->prepared;
    void *places[] = {data[0], data[1], data[2]};
    if (!plan_run(plan, places, written == OUTPUT ? bias : NULL, prepared))
        __atomic_store_n(&work->failed, 1, __ATOMIC_RELAXED);
    else if (written == INPUT && bias != NULL)
        add_bias(work, is_last ? &work->rest : &work->piece, data[INPUT], bias);
}

static void add_sums(void *context, npy_intp start, npy_intp stop) {
    const Work *work = context;
    float *to = (float *)work->data[WEIGHT];
    const float *from = work->sums;
    for (npy_intp nr = 1; nr < work->pieces; nr++, from += work->elements[WEIGHT])
        for (npy_intp i = start; i < stop; i++) to[i] += from[i];
}

/* Compute everything; 0 if the built-in way shall. */
static int compute(Work *work) {
    const int is_weight = work->whole.written == WEIGHT;
    cut(work);
    work->plan = plan_take(&work->piece);
    work->plan_of_rest = plan_take(&work->rest);
    int fine = work->plan != NULL && work->plan_of_rest != NULL;
    if (fine && !work->by_channels && work->pieces > 1) {
        size_t bytes = plan_weight_bytes(work->plan);
        if (is_weight) {
            work->sums = scratch_take((size_t)((work->pieces - 1) * work->elements[WEIGHT]) * sizeof(float));
            fine = work->sums != NULL;
        } else if (bytes) {
            work->prepared = scratch_take(bytes);
            fine = work->prepared != NULL && plan_prepare(work->plan, work->data[WEIGHT], work->prepared);
        }
    }
    if (fine) pool_run(compute_piece, work, work->pieces, 1);
    fine = fine && !work->failed;
    if (fine && work->sums != NULL) pool_run(add_sums, work, work->elements[WEIGHT], 8192);
    scratch_give(work->sums);
    scratch_give(work->prepared);
    plan_give(work->plan);
    plan_give(work->plan_of_rest);
    return fine;
}

/* --- what Python calls ------------------------------------------------------------------------ */

/* The last `rank` of SPACE numbers; those in front stay what they are. */
static int read_numbers(PyObject *value, int rank, npy_intp least, int64_t *to) {
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != rank) return 0;
    for (int nr = 0; nr < rank; nr++) {
        Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(value, nr));
        if (number == -1 && PyErr_Occurred()) PyErr_Clear();
        if (number < least || number > 1 << 20) return 0;
        to[SPACE - rank + nr] = number;
    }
    return 1;
}

static PyArrayObject *of_rank(PyObject *value, int rank) {
    PyArrayObject *array = plain_array(value, NPY_FLOAT);
    return array != NULL && PyArray_NDIM(array) == rank && PyArray_SIZE(array) > 0 &&
                   PyArray_SIZE(array) < LONGEST
               ? array
               : NULL;
}

/* The geometry from arrays (images, channels, *sizes), (groups, outputs, inputs, *kernel) and
 * (images, channels, *places); 0 if it is not for us. */
static int read_arrays(PyObject *const *args, Work *work) {
    Geometry *of = &work->whole;
    const int rank = PyArray_CheckExact(args[0]) ? PyArray_NDIM((PyArrayObject *)args[0]) - 2 : 0;
    if (rank < 1 || rank > SPACE) return 0;
    PyArrayObject *arrays[] = {of_rank(args[0], rank + 2), of_rank(args[1], rank + 3),
                               of_rank(args[2], rank + 2)};
    for (int nr = 0; nr < 3; nr++) {
        if (arrays[nr] == NULL) return 0;
        work->data[nr] = PyArray_DATA(arrays[nr]);
        work->elements[nr] = PyArray_SIZE(arrays[nr]);
    }
    if (!PyArray_ISWRITEABLE(arrays[of->written])) return 0;
    const npy_intp *in = PyArray_DIMS(arrays[0]), *weight = PyArray_DIMS(arrays[1]), *out = PyArray_DIMS(arrays[2]);
    for (int nr = 0; nr < SPACE; nr++) {
        const int at = nr - (SPACE - rank);
        of->size[nr] = at < 0 ? 1 : in[2 + at], of->kernel[nr] = at < 0 ? 1 : weight[3 + at];
        of->places[nr] = at < 0 ? 1 : out[2 + at];
        of->stride[nr] = of->dilation[nr] = 1, of->padding[nr] = 0;
    }
    if (!read_numbers(args[3], rank, 1, of->stride) || !read_numbers(args[4], rank, 0, of->padding) ||
        !read_numbers(args[5], rank, 1, of->dilation))
        return 0;
    for (int nr = 0; nr < SPACE; nr++) { /* oneDNN wants all windows that there are */
        const int64_t free = of->size[nr] + 2 * of->padding[nr] - (of->kernel[nr] - 1) * of->dilation[nr] - 1;
        if (free < 0 || free / of->stride[nr] + 1 != of->places[nr]) return 0;
    }
    of->images = in[0], of->groups = weight[0];
    of->outputs = of->all_outputs = weight[1], of->inputs = of->all_inputs = weight[2];
    work->size = volume(of->size), work->places = volume(of->places), work->taps = volume(of->kernel);
    return in[1] == of->groups * of->inputs && out[1] == of->groups * of->outputs && out[0] == in[0];
}

static int read_bias(PyObject *value, Work *work) {
    if (value == Py_None) return 1;
    const Geometry *of = &work->whole;
    PyArrayObject *bias = of_rank(value, 1);
    if (of->written == WEIGHT || bias == NULL ||
        PyArray_SIZE(bias) != of->groups * (of->written == INPUT ? of->inputs : of->outputs))
        return 0;
    work->bias = PyArray_DATA(bias);
    work->whole.has_bias = of->written == OUTPUT;
    return 1;
}

int onednn_convolve(int written, PyObject *const *args, PyObject *bias) {
    Work work;
    int done;
    if (!onednn_is_used()) return 0;
    memset(&work, 0, sizeof work); /* to the last byte: plans are found by the bytes of a geometry */
    work.whole.written = written;
    if (!read_arrays(args, &work) || !read_bias(bias, &work) || !is_for_onednn(&work)) return 0;
    Py_BEGIN_ALLOW_THREADS;
    done = compute(&work);
    Py_END_ALLOW_THREADS;
    return done;
}
