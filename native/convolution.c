/* Convolutions of images as matrix products; the twin is `arrays/convolution.py`.
 *
 * A convolution is the product of the weight, as a matrix, with the windows of the input, each a
 * column.  Two ways:
 * - large images: every thread takes some rows of the output of one image, copies the columns of
 *   their windows (at most PANEL elements, which stay in the second-level cache), and multiplies;
 * - small images: the weight is what costs, so the columns of many images are put side by side.
 * Gradients go the same ways backwards.  What a thread computes does not depend on their number.
 */

#include <string.h>

#include "onednn.h"
#include "pool.h"
#include "products.h"

#define PANEL ((npy_intp)1 << 17)    /* elements of columns that a thread has at once */
#define TOGETHER ((npy_intp)1 << 21) /* elements of columns of many images at once */
#define PARTS 4                      /* sums over images that are added up in the end */
#define TASKS 8                      /* into how many tasks work is cut at least, where it can */

typedef struct {
    int is_double;
    npy_intp images, groups, outputs, inputs; /* channels of a group */
    npy_intp height, width, kernel[2], stride[2], padding[2], dilation[2], rows, columns; /* out */
    npy_intp taps, length, places; /* kernel places, inputs * taps, rows * columns */
    char *input, *weight, *output; /* row-major */
    const char *bias;              /* a number for each output channel, or NULL */
    npy_intp item;
    /* how the work is cut */
    npy_intp block, blocks, panel_rows, first, count; /* channels, tasks, rows, images */
    char *columns_of, *products_of;
    int failed;
} Conv;

/* --- columns: windows of some rows of the output, for one channel of one image --------------- */

#define DEFINE_COLUMNS(TYPE)                                                                     \
    static void copy_##TYPE(const Conv *conv, const TYPE *image, TYPE *to, npy_intp step,        \
                            npy_intp first, npy_intp last) {                                     \
        const npy_intp wide = conv->columns, across = conv->stride[1];                           \
        for (npy_intp ky = 0; ky < conv->kernel[0]; ky++)                                        \
            for (npy_intp kx = 0; kx < conv->kernel[1]; kx++, to += step) {                      \
                const npy_intp left = kx * conv->dilation[1] - conv->padding[1];                 \
                /* the columns whose window is inside the image: from `start` up to `stop` */    \
                npy_intp start = left >= 0 ? 0 : (-left + across - 1) / across;                  \
                npy_intp stop = conv->width > left ? (conv->width - left + across - 1) / across : 0; \
                if (start > wide) start = wide;                                                  \
                if (stop > wide) stop = wide;                                                    \
                if (stop < start) stop = start;                                                  \
                TYPE *place = to;                                                                \
                for (npy_intp row = first; row < last; row++, place += wide) {                   \
                    const npy_intp y = row * conv->stride[0] - conv->padding[0] + ky * conv->dilation[0]; \
                    if (y < 0 || y >= conv->height) {                                            \
                        memset(place, 0, (size_t)wide * sizeof(TYPE));                           \
                        continue;                                                                \
                    }                                                                            \
                    const TYPE *from = image + y * conv->width + left;                           \
                    for (npy_intp x = 0; x < start; x++) place[x] = 0;                           \
                    if (across == 1)                                                             \
                        memcpy(place + start, from + start, (size_t)(stop - start) * sizeof(TYPE)); \
                    else                                                                         \
                        for (npy_intp x = start; x < stop; x++) place[x] = from[x * across];     \
                    for (npy_intp x = stop; x < wide; x++) place[x] = 0;                         \
                }                                                                                \
            }                                                                                    \
    }                                                                                            \
    /* The adjoint: adds columns to the places that their windows see. */                        \
    static void add_##TYPE(const Conv *conv, TYPE *image, const TYPE *from, npy_intp step,       \
                           npy_intp first, npy_intp last) {                                      \
        const npy_intp wide = conv->columns, across = conv->stride[1];                           \
        for (npy_intp ky = 0; ky < conv->kernel[0]; ky++)                                        \
            for (npy_intp kx = 0; kx < conv->kernel[1]; kx++, from += step) {                    \
                const npy_intp left = kx * conv->dilation[1] - conv->padding[1];                 \
                npy_intp start = left >= 0 ? 0 : (-left + across - 1) / across;                  \
                npy_intp stop = conv->width > left ? (conv->width - left + across - 1) / across : 0; \
                if (stop > wide) stop = wide;                                                    \
                const TYPE *place = from;                                                        \
                for (npy_intp row = first; row < last; row++, place += wide) {                   \
                    const npy_intp y = row * conv->stride[0] - conv->padding[0] + ky * conv->dilation[0]; \
                    if (y < 0 || y >= conv->height) continue;                                    \
                    TYPE *to = image + y * conv->width + left;                                   \
                    if (across == 1)                                                             \
                        for (npy_intp x = start; x < stop; x++) to[x] += place[x];               \
                    else                                                                         \
                        for (npy_intp x = start; x < stop; x++) to[x * across] += place[x];      \
                }                                                                                \
            }                                                                                    \
    }                                                                                            \
    static void fill_##TYPE(void *to, npy_intp size, const void *value) {                        \
        const TYPE number = value == NULL ? 0 : *(const TYPE *)value;                            \
        for (npy_intp i = 0; i < size; i++) ((TYPE *)to)[i] = number;                            \
    }                                                                                            \
    static void add_up_##TYPE(const Conv *conv, npy_intp start, npy_intp stop) {                 \
        const npy_intp size = conv->groups * conv->length * conv->outputs;                       \
        for (npy_intp i = 0; i < conv->length; i++)                                              \
            for (npy_intp row = start; row < stop; row++) {                                      \
                const npy_intp group = row / conv->outputs, nr = row % conv->outputs;            \
                const TYPE *from = (const TYPE *)conv->products_of +                             \
                                   (group * conv->length + i) * conv->outputs + nr;              \
                TYPE total = *from;                                                              \
                for (npy_intp part = 1; part < conv->first; part++) total += from[part * size];  \
                ((TYPE *)conv->weight)[row * conv->length + i] = total;                          \
            }                                                                                    \
    }

DEFINE_COLUMNS(float)
DEFINE_COLUMNS(double)

static void copy_columns(const Conv *conv, const char *image, char *to, npy_intp step,
                         npy_intp first, npy_intp last) {
    if (conv->is_double) copy_double(conv, (const double *)image, (double *)to, step, first, last);
    else copy_float(conv, (const float *)image, (float *)to, step, first, last);
}

static void add_columns(const Conv *conv, char *image, const char *from, npy_intp step,
                        npy_intp first, npy_intp last) {
    if (conv->is_double) add_double(conv, (double *)image, (const double *)from, step, first, last);
    else add_float(conv, (float *)image, (const float *)from, step, first, last);
}

static void fill(const Conv *conv, void *to, npy_intp size, const void *value) {
    if (conv->is_double) fill_double(to, size, value);
    else fill_float(to, size, value);
}

/* The number of an output channel's bias. */
static const void *bias_of(const Conv *conv, npy_intp channel) {
    return conv->bias == NULL ? NULL : conv->bias + channel * conv->item;
}

/* The channel of an image of the input, and of the output, in numbers over all groups. */
static char *input_channel(const Conv *conv, npy_intp image, npy_intp channel) {
    npy_intp nr = image * conv->groups * conv->inputs + channel;
    return conv->input + nr * conv->height * conv->width * conv->item;
}

static char *output_channel(const Conv *conv, npy_intp image, npy_intp channel) {
    npy_intp nr = image * conv->groups * conv->outputs + channel;
    return conv->output + nr * conv->places * conv->item;
}

static char *weight_of(const Conv *conv, npy_intp group) {
    return conv->weight + group * conv->outputs * conv->length * conv->item;
}

/* Whether windows are single places, side by side: the image itself is the matrix of columns. */
static int is_pointwise(const Conv *conv) {
    return conv->taps == 1 && conv->stride[0] == 1 && conv->stride[1] == 1 && !conv->padding[0] &&
           !conv->padding[1];
}

/* The columns of `channels` channels for some rows, as a matrix; copied to `panel` if need be. */
static Matrix columns_for(const Conv *conv, npy_intp image, npy_intp channel, npy_intp channels,
                          npy_intp first, npy_intp last, char *panel) {
    const npy_intp step = (last - first) * conv->columns;
    if (is_pointwise(conv)) {
        const char *data = input_channel(conv, image, channel) + first * conv->columns * conv->item;
        return (Matrix){data, conv->places, 0};
    }
    for (npy_intp nr = 0; nr < channels; nr++)
        copy_columns(conv, input_channel(conv, image, channel + nr),
                     panel + nr * conv->taps * step * conv->item, step, first, last);
    return (Matrix){panel, step, 0};
}

/* How many rows of the output fit a panel whose columns have `length` elements. */
static npy_intp rows_for(const Conv *conv, npy_intp length) {
    npy_intp rows = PANEL / (length * conv->columns);
    if (rows < 1) rows = 1;
    npy_intp least = (64 + conv->columns - 1) / conv->columns; /* fewer columns starve BLAS */
    if (rows < least) rows = least;
    return rows < conv->rows ? rows : conv->rows;
}

/* Whether images are so small, and the weight so large, that many are computed at once. */
static int is_small(const Conv *conv) {
    if (conv->images == 1) return conv->places < 64 && !is_pointwise(conv);
    return conv->places < 64 || (conv->places < 256 && conv->outputs * conv->length > PANEL);
}

/* --- large images ---------------------------------------------------------------------------- */

/* Scratch memory for a part; a failure is noted and reported at the end. */
static char *panel_of(Conv *conv, npy_intp elements) {
    char *panel = scratch_take((size_t)(elements * conv->item));
    if (panel == NULL) __atomic_store_n(&conv->failed, 1, __ATOMIC_RELAXED);
    return panel;
}

/* Items are (image, group, panel of rows). */
static void convolve_part(void *context, npy_intp start, npy_intp stop) {
    Conv *conv = context;
    const npy_intp panels = conv->blocks;
    char *panel = panel_of(conv, conv->length * conv->panel_rows * conv->columns);
    if (panel == NULL) return;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp image = item / panels / conv->groups, group = item / panels % conv->groups;
        npy_intp first = item % panels * conv->panel_rows, last = first + conv->panel_rows;
        if (last > conv->rows) last = conv->rows;
        Matrix columns = columns_for(conv, image, group * conv->inputs, conv->inputs, first, last, panel);
        Matrix weight = {weight_of(conv, group), conv->length, 0};
        const npy_intp wide = (last - first) * conv->columns, place = first * conv->columns;
        char *to = output_channel(conv, image, group * conv->outputs) + place * conv->item;
        for (npy_intp nr = 0; conv->bias != NULL && nr < conv->outputs; nr++)
            fill(conv, to + nr * conv->places * conv->item, wide, bias_of(conv, group * conv->outputs + nr));
        product(conv->is_double, conv->outputs, conv->length, wide, weight, columns, to, conv->places,
                conv->bias != NULL);
    }
    scratch_give(panel);
}

static void convolve_large(Conv *conv) {
    conv->panel_rows = rows_for(conv, conv->length);
    conv->blocks = (conv->rows + conv->panel_rows - 1) / conv->panel_rows;
    products_on_pool(convolve_part, conv, conv->images * conv->groups * conv->blocks, 1);
}

/* Items are (image, group, block of input channels). */
static void spread_part(void *context, npy_intp start, npy_intp stop) {
    Conv *conv = context;
    char *panel = panel_of(conv, conv->block * conv->taps * conv->panel_rows * conv->columns);
    if (panel == NULL) return;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp image = item / conv->blocks / conv->groups, group = item / conv->blocks % conv->groups;
        const npy_intp channel = item % conv->blocks * conv->block;
        npy_intp channels = conv->inputs - channel < conv->block ? conv->inputs - channel : conv->block;
        const npy_intp size = conv->height * conv->width;
        char *to = input_channel(conv, image, group * conv->inputs + channel);
        Matrix weight = {weight_of(conv, group) + channel * conv->taps * conv->item, conv->length, 1};
        for (npy_intp nr = 0; nr < channels; nr++)
            fill(conv, to + nr * size * conv->item, size, bias_of(conv, group * conv->inputs + channel + nr));
        for (npy_intp first = 0; first < conv->rows; first += conv->panel_rows) {
            npy_intp last = first + conv->panel_rows < conv->rows ? first + conv->panel_rows : conv->rows;
            const npy_intp wide = (last - first) * conv->columns;
            const char *from = output_channel(conv, image, group * conv->outputs);
            Matrix grad = {from + first * conv->columns * conv->item, conv->places, 0};
            if (is_pointwise(conv)) {
                product(conv->is_double, channels, conv->outputs, wide, weight, grad,
                        to + first * conv->columns * conv->item, conv->places, 1);
                continue;
            }
            product(conv->is_double, channels * conv->taps, conv->outputs, wide, weight, grad, panel, wide, 0);
            for (npy_intp nr = 0; nr < channels; nr++)
                add_columns(conv, to + nr * size * conv->item, panel + nr * conv->taps * wide * conv->item,
                            wide, first, last);
        }
    }
    scratch_give(panel);
}

/* Cut `channels` into blocks, so that there are at least TASKS tasks if `tasks` already are. */
static void cut(Conv *conv, npy_intp channels, npy_intp tasks) {
    npy_intp blocks = (TASKS + tasks - 1) / tasks;
    if (blocks > channels) blocks = channels;
    conv->block = (channels + blocks - 1) / blocks;
    conv->blocks = (channels + conv->block - 1) / conv->block;
}

static void spread_large(Conv *conv) {
    cut(conv, conv->inputs, conv->images * conv->groups);
    conv->panel_rows = rows_for(conv, conv->block * conv->taps);
    products_on_pool(spread_part, conv, conv->images * conv->groups * conv->blocks, 1);
}

/* Items are (block of images, group, block of input channels).  `products_of` has for each block of images
 * a weight of (group, input and tap, output): BLAS is a sixth faster that way round. */
static void weight_part(void *context, npy_intp start, npy_intp stop) {
    Conv *conv = context;
    char *panel = panel_of(conv, conv->block * conv->taps * conv->panel_rows * conv->columns);
    if (panel == NULL) return;
    for (npy_intp item = start; item < stop; item++) {
        const npy_intp group = item / conv->blocks % conv->groups, channel = item % conv->blocks * conv->block;
        const npy_intp part = item / conv->blocks / conv->groups, image = part * conv->count;
        const npy_intp end = image + conv->count < conv->images ? image + conv->count : conv->images;
        npy_intp channels = conv->inputs - channel < conv->block ? conv->inputs - channel : conv->block;
        char *to = conv->products_of + ((part * conv->groups + group) * conv->length + channel * conv->taps) *
                                           conv->outputs * conv->item;
        int begun = 0;
        for (npy_intp nr = image; nr < end; nr++)
            for (npy_intp first = 0; first < conv->rows; first += conv->panel_rows) {
                npy_intp last = first + conv->panel_rows < conv->rows ? first + conv->panel_rows : conv->rows;
                Matrix seen = columns_for(conv, nr, group * conv->inputs + channel, channels, first, last, panel);
                const char *from = output_channel(conv, nr, group * conv->outputs);
                Matrix grad = {from + first * conv->columns * conv->item, conv->places, 1};
                product(conv->is_double, channels * conv->taps, (last - first) * conv->columns,
                        conv->outputs, seen, grad, to, conv->outputs, begun);
                begun = 1;
            }
    }
    scratch_give(panel);
}

/* Items are rows of the weight, over all groups: adds up the blocks of images, and turns them. */
static void add_up_part(void *context, npy_intp start, npy_intp stop) {
    Conv *conv = context;
    if (conv->is_double) add_up_double(conv, start, stop);
    else add_up_float(conv, start, stop);
}

static void weight_large(Conv *conv) {
    const npy_intp size = conv->groups * conv->outputs * conv->length;
    npy_intp parts = size * PARTS <= TOGETHER ? PARTS : 1; /* else it would be much to add up */
    if (parts > conv->images) parts = conv->images;
    cut(conv, conv->inputs, conv->groups * (parts > 1 ? TASKS : 1));
    conv->count = (conv->images + parts - 1) / parts;
    parts = (conv->images + conv->count - 1) / conv->count;
    conv->panel_rows = rows_for(conv, conv->block * conv->taps);
    conv->products_of = panel_of(conv, parts * size);
    if (conv->products_of == NULL) return;
    products_on_pool(weight_part, conv, parts * conv->groups * conv->blocks, 1);
    conv->first = parts;
    pool_run(add_up_part, conv, conv->groups * conv->outputs, 16);
    scratch_give(conv->products_of);
}

/* --- many small images side by side ---------------------------------------------------------- */

/* Items are input channels (of group `first / images`): their columns for `count` images. */
static void gather_part(void *context, npy_intp start, npy_intp stop) {
    const Conv *conv = context;
    const npy_intp step = conv->count * conv->places;
    for (npy_intp nr = start; nr < stop; nr++)
        for (npy_intp image = 0; image < conv->count; image++) {
            char *to = conv->columns_of + (nr * conv->taps * step + image * conv->places) * conv->item;
            const char *from = input_channel(conv, conv->first + image, conv->block + nr);
            copy_columns(conv, from, to, step, 0, conv->rows);
        }
}

static void scatter_part(void *context, npy_intp start, npy_intp stop) {
    const Conv *conv = context;
    const npy_intp step = conv->count * conv->places, size = conv->height * conv->width;
    for (npy_intp nr = start; nr < stop; nr++)
        for (npy_intp image = 0; image < conv->count; image++) {
            char *from = conv->columns_of + (nr * conv->taps * step + image * conv->places) * conv->item;
            char *to = input_channel(conv, conv->first + image, conv->block + nr);
            fill(conv, to, size, bias_of(conv, conv->block + nr));
            add_columns(conv, to, from, step, 0, conv->rows);
        }
}

/* Between (image, output channel, place) and the matrix (output channel, image, place). */
static void turn(const Conv *conv, npy_intp group, char *matrix, int to_matrix) {
    const size_t bytes = (size_t)(conv->places * conv->item);
    for (npy_intp nr = 0; nr < conv->outputs; nr++)
        for (npy_intp image = 0; image < conv->count; image++, matrix += bytes) {
            char *place = output_channel(conv, conv->first + image, group * conv->outputs + nr);
            const void *bias = bias_of(conv, group * conv->outputs + nr);
            if (to_matrix) memcpy(matrix, place, bytes);
            else memcpy(place, matrix, bytes);
            if (to_matrix || bias == NULL) continue;
            for (npy_intp i = 0; i < conv->places; i++)
                if (conv->is_double) ((double *)place)[i] += *(const double *)bias;
                else ((float *)place)[i] += *(const float *)bias;
        }
}

enum { FORWARD, TO_INPUT, TO_WEIGHT };

static void together(Conv *conv, int which) {
    npy_intp most = TOGETHER / (conv->length * conv->places);
    most = most < 1 ? 1 : most > conv->images ? conv->images : most;
    conv->columns_of = panel_of(conv, conv->length * most * conv->places);
    conv->products_of = panel_of(conv, conv->outputs * most * conv->places);
    for (conv->first = 0; !conv->failed && conv->first < conv->images; conv->first += most)
        for (npy_intp group = 0; group < conv->groups; group++) {
            conv->count = conv->images - conv->first < most ? conv->images - conv->first : most;
            conv->block = group * conv->inputs;
            const npy_intp wide = conv->count * conv->places;
            Matrix weight = {weight_of(conv, group), conv->length, which == TO_INPUT};
            Matrix columns = {conv->columns_of, wide, which == TO_WEIGHT};
            Matrix outputs = {conv->products_of, wide, 0};
            if (which != FORWARD) turn(conv, group, conv->products_of, 1);
            if (which != TO_INPUT) pool_run(gather_part, conv, conv->inputs, 1 + 4096 / (wide * conv->taps));
            if (which == FORWARD) {
                product_in_pieces(conv->is_double, conv->outputs, conv->length, wide, weight, columns,
                                  conv->products_of, wide, 0);
                turn(conv, group, conv->products_of, 0);
            } else if (which == TO_INPUT) {
                product_in_pieces(conv->is_double, conv->length, conv->outputs, wide, weight, outputs,
                                  conv->columns_of, wide, 0);
                pool_run(scatter_part, conv, conv->inputs, 1 + 4096 / (wide * conv->taps));
            } else {
                product_in_pieces(conv->is_double, conv->outputs, wide, conv->length, outputs, columns,
                                  weight_of(conv, group), conv->length, conv->first > 0);
            }
        }
    scratch_give(conv->columns_of);
    scratch_give(conv->products_of);
}

/* --- what Python calls ------------------------------------------------------------------------ */

static int pair(PyObject *value, npy_intp least, npy_intp *to) {
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != 2) return 0;
    for (int nr = 0; nr < 2; nr++) {
        to[nr] = PyLong_AsSsize_t(PyTuple_GET_ITEM(value, nr));
        if ((to[nr] == -1 && PyErr_Occurred()) || to[nr] < least || to[nr] > 1 << 20) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

static PyArrayObject *of_rank(PyObject *value, int type, int rank) {
    PyArrayObject *array = plain_array(value, type);
    return array != NULL && PyArray_NDIM(array) == rank && PyArray_SIZE(array) > 0 &&
                   PyArray_SIZE(array) < 1 << 30
               ? array
               : NULL;
}

/* The geometry from arrays (images, channels, height, width), (groups, outputs, inputs, *kernel)
 * and (images, channels, rows, columns); 0 if it is not for us. */
static int read_geometry(PyObject *const *args, Conv *conv) {
    if (!PyArray_CheckExact(args[0])) return 0;
    const int type = PyArray_TYPE((PyArrayObject *)args[0]);
    if (type != NPY_FLOAT && type != NPY_DOUBLE) return 0;
    PyArrayObject *input = of_rank(args[0], type, 4), *weight = of_rank(args[1], type, 5);
    PyArrayObject *output = of_rank(args[2], type, 4);
    if (input == NULL || weight == NULL || output == NULL || !have_products()) return 0;
    if (!pair(args[3], 1, conv->stride) || !pair(args[4], 0, conv->padding) || !pair(args[5], 1, conv->dilation))
        return 0;
    const npy_intp *in = PyArray_DIMS(input), *of = PyArray_DIMS(weight), *out = PyArray_DIMS(output);
    conv->is_double = type == NPY_DOUBLE;
    conv->item = conv->is_double ? 8 : 4;
    conv->images = in[0], conv->height = in[2], conv->width = in[3];
    conv->groups = of[0], conv->outputs = of[1], conv->inputs = of[2];
    conv->kernel[0] = of[3], conv->kernel[1] = of[4];
    conv->rows = out[2], conv->columns = out[3];
    conv->taps = of[3] * of[4], conv->length = conv->inputs * conv->taps;
    conv->places = conv->rows * conv->columns;
    conv->input = PyArray_DATA(input), conv->weight = PyArray_DATA(weight), conv->output = PyArray_DATA(output);
    for (int dim = 0; dim < 2; dim++) { /* every window begins in the padded image and fits */
        npy_intp reach = (out[2 + dim] - 1) * conv->stride[dim] + (of[3 + dim] - 1) * conv->dilation[dim] + 1;
        if (reach > in[2 + dim] + 2 * conv->padding[dim]) return 0;
    }
    return in[1] == conv->groups * conv->inputs && out[1] == conv->groups * conv->outputs && out[0] == in[0] &&
           conv->length * conv->columns < 1 << 28;
}

static int read_bias(PyObject *value, npy_intp channels, Conv *conv) {
    if (value == Py_None) return 1;
    PyArrayObject *bias = of_rank(value, conv->is_double ? NPY_DOUBLE : NPY_FLOAT, 1);
    if (bias == NULL || PyArray_DIM(bias, 0) != channels) return 0;
    conv->bias = PyArray_DATA(bias);
    return 1;
}

/* Run one of the three; None if Python's twin shall do it, True if it is done. */
static PyObject *finish(Conv *conv, int which, void (*large)(Conv *), PyObject *written) {
    if (!PyArray_ISWRITEABLE((PyArrayObject *)written)) Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS;
    if (is_small(conv)) together(conv, which);
    else large(conv);
    Py_END_ALLOW_THREADS;
    if (conv->failed) return PyErr_NoMemory();
    Py_RETURN_TRUE;
}

/* convolve(input, weight, output, stride, padding, dilation, bias): writes the output. */
PyObject *taper_convolve(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Conv conv = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "convolve takes 7 arguments");
    if (onednn_convolve(OUTPUT, args, args[6])) Py_RETURN_TRUE;
    if (!read_geometry(args, &conv) || !read_bias(args[6], conv.groups * conv.outputs, &conv))
        Py_RETURN_NONE;
    return finish(&conv, FORWARD, convolve_large, args[2]);
}

/* spread(input, weight, output, stride, padding, dilation, bias): writes the input. */
PyObject *taper_spread(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Conv conv = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "spread takes 7 arguments");
    if (onednn_convolve(INPUT, args, args[6])) Py_RETURN_TRUE;
    if (!read_geometry(args, &conv) || !read_bias(args[6], conv.groups * conv.inputs, &conv))
        Py_RETURN_NONE;
    return finish(&conv, TO_INPUT, spread_large, args[0]);
}

/* weight_gradient(input, weight, output, stride, padding, dilation): writes the weight. */
PyObject *taper_weight_gradient(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    Conv conv = {0};
    if (count != 6) return PyErr_Format(PyExc_TypeError, "weight_gradient takes 6 arguments");
    if (onednn_convolve(WEIGHT, args, Py_None)) Py_RETURN_TRUE;
    if (!read_geometry(args, &conv)) Py_RETURN_NONE;
    return finish(&conv, TO_WEIGHT, weight_large, args[1]);
}
