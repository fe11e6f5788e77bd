/* Random numbers: the Mersenne twister (MT19937) and what PyTorch makes of its words (D8).
 *
 * A generator is an array of 626 numbers of 32 bits, which `sampling/twisters.py` owns: the key,
 * the place of the next word in it, and who draws.  `sampling/` says what each draw is; its NumPy
 * code is the twin.  Every draw fills a plain array (contiguous, aligned, writable) or returns False with
 * nothing drawn.
 *
 * Many numbers are drawn without the GIL, from a copy of the generator that is put back afterwards.
 * Meanwhile the generator is marked, and others that draw from it wait.  The mark is a number that
 * changes with a fork: the child never waits for a thread that it does not have.
 */

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "draw_loops.h"
#include "pool.h"

typedef struct {
    uint32_t key[KEY_WORDS];
    uint32_t next;   /* the place of the next word; KEY_WORDS: all are used */
    uint32_t marked; /* `epoch` while somebody draws without the GIL */
} Twister;

#define STATE_WORDS (KEY_WORDS + 2)
#define PIECE 4096 /* words at a time: they stay in the first-level cache */
#define ALONE 8192 /* below so many elements the GIL is kept */
#define BATCH ((npy_intp)1 << 18) /* numbers that the pool's threads transform together */

static uint32_t epoch = 1;
static const DrawLoops *loops;

static void in_child(void) { epoch++; }

/* --- generators ----------------------------------------------------------------------------- */

/* A plain array of a type that may be written, else NULL. */
static PyArrayObject *writeable(PyObject *value, int type) {
    PyArrayObject *array = plain_array(value, type);
    return array != NULL && PyArray_ISWRITEABLE(array) ? array : NULL;
}

/* The generator, as soon as nobody draws from it; NULL with an error if it is none. */
static Twister *generator_of(PyObject *value) {
    PyArrayObject *array = writeable(value, NPY_UINT32);
    if (array == NULL || PyArray_SIZE(array) != STATE_WORDS) {
        PyErr_Format(PyExc_TypeError, "a generator is an array of %d words", STATE_WORDS);
        return NULL;
    }
    if (loops == NULL) {
        if (pthread_atfork(NULL, NULL, in_child) != 0) return (Twister *)PyErr_NoMemory();
        loops = draw_loops();
    }
    volatile Twister *twister = PyArray_DATA(array);
    while (twister->marked == epoch) {
        const struct timespec moment = {0, 20000};
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&moment, NULL);
        Py_END_ALLOW_THREADS;
    }
    if (twister->next <= KEY_WORDS) return (Twister *)twister;
    PyErr_Format(PyExc_ValueError, "the next word is none of the generator's");
    return NULL;
}

/* The next `count` outputs. */
static void draw_words(Twister *twister, uint32_t *to, npy_intp count) {
    while (count > 0) {
        if (twister->next == KEY_WORDS) {
            loops->refill(twister->key);
            twister->next = 0;
        }
        npy_intp some = KEY_WORDS - twister->next;
        if (some > count) some = count;
        loops->temper(twister->key + twister->next, to, some);
        twister->next += (uint32_t)some;
        to += some;
        count -= some;
    }
}

/* What to fill, and with what. */
typedef struct Draw {
    PyArrayObject *out;
    /* Makes `some` elements from `start` on, of `each` words. */
    void (*put)(const struct Draw *draw, uint32_t *words, npy_intp start, npy_intp some);
    int each;
    void *to;
    npy_intp count;
    double a, b;                 /* bounds, or mean and standard deviation */
    uint64_t first, span, value; /* of integers and of trials */
    int power, half;
    int has_kept; /* whether there is the second normal of a pair, before or after the draw */
    double kept;
} Draw;

/* Fill the array of `draw`, without the GIL if that takes a while. */
static void run(Twister *twister, Draw *draw, void (*fill)(Twister *, Draw *)) {
    draw->to = PyArray_DATA(draw->out);
    draw->count = PyArray_SIZE(draw->out);
    if (draw->count < ALONE) {
        fill(twister, draw);
        return;
    }
    Twister copy = *twister;
    twister->marked = epoch;
    Py_BEGIN_ALLOW_THREADS;
    fill(&copy, draw);
    Py_END_ALLOW_THREADS;
    copy.marked = 0;
    *twister = copy;
}

/* Draw the words of some elements and put what they make into the array, piece by piece. */
static void fill(Twister *twister, Draw *draw) {
    uint32_t words[PIECE];
    const npy_intp most = PIECE / draw->each;
    for (npy_intp start = 0; start < draw->count; start += most) {
        const npy_intp some = draw->count - start < most ? draw->count - start : most;
        draw_words(twister, words, some * draw->each);
        draw->put(draw, words, start, some);
    }
}

/* Two words as a number of 64 bits. */
#define JOINED(i) ((uint64_t)words[2 * (i)] << 32 | words[2 * (i) + 1])

/* seed_twister(generator, seed): as the reference implementation does it. */
PyObject *taper_seed_twister(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2) return PyErr_Format(PyExc_TypeError, "seed_twister(generator, seed)");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    unsigned long long seed = PyLong_AsUnsignedLongLongMask(args[1]);
    if (PyErr_Occurred()) return NULL;
    uint32_t word = (uint32_t)seed;
    for (uint32_t k = 0; k < KEY_WORDS; k++) {
        twister->key[k] = word;
        word = 1812433253u * (word ^ word >> 30) + k + 1;
    }
    twister->next = KEY_WORDS;
    Py_RETURN_NONE;
}

/* set_twister(generator, key, next): go on from a saved place. */
PyObject *taper_set_twister(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "set_twister(generator, key, next)");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    PyArrayObject *key = writeable(args[1], NPY_UINT32);
    long next = PyLong_AsLong(args[2]);
    if (next == -1 && PyErr_Occurred()) return NULL;
    if (key == NULL || PyArray_SIZE(key) != KEY_WORDS || next < 0 || next > KEY_WORDS)
        return PyErr_Format(PyExc_ValueError, "set_twister: 624 words and a place among them");
    memcpy(twister->key, PyArray_DATA(key), sizeof twister->key);
    twister->next = (uint32_t)next;
    Py_RETURN_NONE;
}

/* --- words ---------------------------------------------------------------------------------- */

static void put_words(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    uint64_t *to = (uint64_t *)draw->to + start;
    for (npy_intp i = 0; i < some; i++) to[i] = words[i];
}

static void put_joined(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    uint64_t *to = (uint64_t *)draw->to + start;
    for (npy_intp i = 0; i < some; i++) to[i] = JOINED(i);
}

/* draw_words(generator, out, bits): numbers of 32 or 64 bits into an array of uint64. */
PyObject *taper_draw_words(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3) return PyErr_Format(PyExc_TypeError, "draw_words(generator, out, bits)");
    long bits = PyLong_AsLong(args[2]);
    if (bits != 32 && bits != 64)
        return PyErr_Format(PyExc_ValueError, "draw_words: numbers of 32 or 64 bits");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    Draw draw = {writeable(args[1], NPY_UINT64), bits == 32 ? put_words : put_joined, (int)bits / 32};
    if (draw.out == NULL) Py_RETURN_FALSE;
    run(twister, &draw, fill);
    Py_RETURN_TRUE;
}

/* --- uniform numbers, trials, integers -------------------------------------------------------- */

static void put_floats(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    loops->uniform_float(words, (float *)draw->to + start, some, (float)draw->a, (float)draw->b);
}

static void put_doubles(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    loops->uniform_double(words, (double *)draw->to + start, some, draw->a, draw->b);
}

/* Read two floats into a draw; 0 with an error if they are none. */
static int numbers(PyObject *const *args, Draw *draw) {
    draw->a = PyFloat_AsDouble(args[0]);
    draw->b = PyFloat_AsDouble(args[1]);
    return !PyErr_Occurred();
}

/* draw_uniform(generator, out, low, high): float32 or float64. */
PyObject *taper_draw_uniform(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "draw_uniform(generator, out, low, high)");
    Twister *twister = generator_of(args[0]);
    Draw draw = {writeable(args[1], REAL)};
    if (twister == NULL || !numbers(args + 2, &draw)) return NULL;
    if (draw.out == NULL) Py_RETURN_FALSE;
    draw.each = PyArray_TYPE(draw.out) == NPY_FLOAT ? 1 : 2;
    draw.put = draw.each == 1 ? put_floats : put_doubles;
    run(twister, &draw, fill);
    Py_RETURN_TRUE;
}

static void put_trials(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    char *to = (char *)draw->to + (start << draw->power);
    loops->trials(words, to, some, draw->power, draw->span, draw->value);
}

/* draw_trials(generator, out, p, one): `one`, an array of one element and the dtype of `out`, with
 * probability p, else zero; of any dtype up to 8 bytes. */
PyObject *taper_draw_trials(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 4) return PyErr_Format(PyExc_TypeError, "draw_trials(generator, out, p, one)");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    double p = PyFloat_AsDouble(args[2]);
    if (p == -1 && PyErr_Occurred()) return NULL;
    if (!(p >= 0 && p <= 1)) return PyErr_Format(PyExc_ValueError, "draw_trials: p is in [0, 1]");
    Draw draw = {writeable(args[1], ANY_TYPE), put_trials, 2};
    if (draw.out == NULL || !PyArray_CheckExact(args[3])) Py_RETURN_FALSE;
    PyArrayObject *one = (PyArrayObject *)args[3];
    const npy_intp width = PyArray_ITEMSIZE(draw.out);
    if (PyArray_DESCR(one) != PyArray_DESCR(draw.out) || PyArray_SIZE(one) != 1 ||
        PyDataType_REFCHK(PyArray_DESCR(one)) || width > 8 || width & (width - 1) || !width)
        Py_RETURN_FALSE;
    while (1 << draw.power < width) draw.power++;
    draw.span = (uint64_t)ceil(p * 9007199254740992.0);
    memcpy(&draw.value, PyArray_DATA(one), (size_t)width);
#if PY_BIG_ENDIAN
    draw.value >>= 64 - 8 * width;
#endif
    run(twister, &draw, fill);
    Py_RETURN_TRUE;
}

/* Element types of `random_`, and how an integer becomes one. */
#define PUT(TYPE, of)                                                                     \
    for (npy_intp i = 0; i < some; i++) ((TYPE *)draw->to)[start + i] = (TYPE)(int64_t)(of);  \
    break
#define PUT_ALL(of)                                                                       \
    switch (PyArray_TYPE(draw->out)) {                                                    \
        case NPY_INT64: PUT(int64_t, of);                                                 \
        case NPY_INT32: PUT(int32_t, of);                                                 \
        case NPY_INT16: PUT(int16_t, of);                                                 \
        case NPY_INT8: PUT(int8_t, of);                                                   \
        case NPY_UINT8: PUT(uint8_t, of);                                                 \
        case NPY_FLOAT: PUT(float, of);                                                   \
        case NPY_DOUBLE: PUT(double, of);                                                 \
        case NPY_BOOL:                                                                    \
            for (npy_intp i = 0; i < some; i++) ((npy_bool *)draw->to)[start + i] = (of) != 0; \
    }

WIDE static void convert(const Draw *draw, const uint32_t *words, npy_intp start, npy_intp some) {
    const uint64_t first = draw->first;
    PUT_ALL(words[i] + first)
}

static void put_integers(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    loops->remainders(words, some, (uint32_t)draw->span);
    convert(draw, words, start, some);
}

static void put_large_integers(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    const uint64_t first = draw->first, span = draw->span;
    PUT_ALL(JOINED(i) % span + first)
}

/* draw_integers(generator, out, first, span, bits): a number of 32 or 64 bits modulo `span`, plus
 * `first`, as the dtype of `out` has it. */
PyObject *taper_draw_integers(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "draw_integers(generator, out, first, span, bits)");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    long bits = PyLong_AsLong(args[4]);
    Draw draw = {writeable(args[1], ANY_TYPE), put_integers, 1};
    if (bits == 64) draw.put = put_large_integers, draw.each = 2;
    draw.first = PyLong_AsUnsignedLongLongMask(args[2]);
    draw.span = PyLong_AsUnsignedLongLong(args[3]);
    if (PyErr_Occurred()) return NULL;
    if ((bits != 32 && bits != 64) || draw.span < 1 || (bits == 32 && draw.span > 1ull << 31))
        return PyErr_Format(PyExc_ValueError, "draw_integers: a span of so many bits");
    int type = draw.out == NULL ? NPY_OBJECT : PyArray_TYPE(draw.out);
    const int known[] = {NPY_INT64, NPY_INT32,  NPY_INT16,  NPY_INT8,
                         NPY_UINT8, NPY_FLOAT, NPY_DOUBLE, NPY_BOOL};
    for (size_t nr = 0; nr < sizeof known / sizeof *known; nr++)
        if (type == known[nr]) {
            run(twister, &draw, fill);
            Py_RETURN_TRUE;
        }
    Py_RETURN_FALSE;
}

/* --- permutations ----------------------------------------------------------------------------- */

/* The first half of the memory holds numbers of 32 bits, which are widened from the end on. */
static void widen(int64_t *to, npy_intp count) {
    int32_t some[PIECE];
    for (npy_intp stop = count; stop > 0;) {
        const npy_intp start = stop > PIECE ? stop - PIECE : 0;
        memcpy(some, (int32_t *)to + start, sizeof(int32_t) * (size_t)(stop - start));
        for (npy_intp i = start; i < stop; i++) to[i] = some[i - start];
        stop = start;
    }
}

/* Exchange each element with one that is not before it.  The partners of many elements are known
 * in advance, so their memory is asked for early. */
static void put_exchanged(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    enum { AHEAD = 32 };
    int32_t *order = (int32_t *)draw->to + start;
    loops->falling_remainders(words, some, (uint32_t)(draw->count + 1 - start));
    for (npy_intp i = 0; i < some; i++) {
        if (i + AHEAD < some) __builtin_prefetch(order + i + AHEAD + words[i + AHEAD], 1);
        int32_t *there = order + i + words[i], kept = order[i];
        order[i] = *there;
        *there = kept;
    }
}

static void fill_shuffled(Twister *twister, Draw *draw) {
    int32_t *order = draw->to;
    for (npy_intp i = 0; i < draw->count; i++) order[i] = (int32_t)i;
    draw->count--; /* the last has nobody to change places with */
    fill(twister, draw);
    if (PyArray_TYPE(draw->out) == NPY_INT64) widen(draw->to, draw->count + 1);
}

static void put_inside_out(const Draw *draw, uint32_t *words, npy_intp start, npy_intp some) {
    int64_t *order = draw->to;
    for (npy_intp i = 0; i < some; i++) {
        const npy_intp here = start + i, there = (npy_intp)(JOINED(i) % ((uint64_t)here + 1));
        order[here] = order[there];
        order[there] = here;
    }
}

/* draw_permutation(generator, out, inside_out): the integers below the size of `out`, which is of
 * int64, or of int32 if not inside out. */
PyObject *taper_draw_permutation(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "draw_permutation(generator, out, inside_out)");
    Twister *twister = generator_of(args[0]);
    if (twister == NULL) return NULL;
    const int inside_out = args[2] == Py_True;
    Draw draw = {writeable(args[1], NPY_INT64), put_exchanged, 1};
    if (inside_out) draw.put = put_inside_out, draw.each = 2;
    if (draw.out == NULL && !inside_out) draw.out = writeable(args[1], NPY_INT32);
    if (draw.out == NULL || (!inside_out && PyArray_SIZE(draw.out) > INT32_MAX)) Py_RETURN_FALSE;
    if (PyArray_SIZE(draw.out)) run(twister, &draw, inside_out ? fill : fill_shuffled);
    Py_RETURN_TRUE;
}

/* --- normal numbers --------------------------------------------------------------------------- */

/* A draw's groups of 16 from `start` to `stop`, made of the words that lie in their place. */
static void make_float(void *context, npy_intp start, npy_intp stop) {
    const Draw *draw = context;
    loops->normal_float((float *)draw->to + start * GROUP, stop - start, (float)draw->a,
                        (float)draw->b);
}

/* The same in double precision, by the C library as PyTorch does. */
static void make_double(void *context, npy_intp start, npy_intp stop) {
    const Draw *draw = context;
    double uniforms[GROUP];
    for (npy_intp group = start; group < stop; group++) {
        double *to = (double *)draw->to + group * GROUP;
        loops->uniform_double((const uint32_t *)to, uniforms, GROUP, 0, 1);
        for (int k = 0; k < GROUP / 2; k++) {
            const double radius = sqrt(-2.0 * log(1.0 - uniforms[k]));
            const double angle = 2.0 * M_PI * uniforms[k + GROUP / 2];
            to[k] = fma(radius * cos(angle), draw->b, draw->a);
            to[k + GROUP / 2] = fma(radius * sin(angle), draw->b, draw->a);
        }
    }
}

static void fill_normals(Twister *twister, Draw *draw) {
    const int is_float = PyArray_TYPE(draw->out) == NPY_FLOAT, each = is_float ? 1 : 2;
    const Part make = is_float ? make_float : make_double;
    const npy_intp total = draw->count, full = total / GROUP * GROUP;
    const npy_intp batch = pool_threads() > 1 ? BATCH : PIECE / 2;
    uint32_t *words = draw->to, unused[2 * GROUP];
    for (npy_intp start = 0; start < full; start += batch) {
        const npy_intp some = full - start < batch ? full - start : batch;
        draw->to = words + start * each;
        draw_words(twister, draw->to, some * each);
        pool_run(make, draw, some / GROUP, is_float ? 1024 : 64);
    }
    if (full == total) return;
    /* The last sixteen are made anew; half precision has not drawn the words of the rest. */
    if (!draw->half) draw_words(twister, unused, (total - full) * each);
    draw->to = words + (total - GROUP) * each;
    draw_words(twister, draw->to, GROUP * each);
    make(draw, 0, 1);
}

/* draw_normal(generator, out, mean, std, half): 16 or more of float32 or float64, in groups;
 * `half`: they are for half precision. */
PyObject *taper_draw_normal(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "draw_normal(generator, out, mean, std, half)");
    Twister *twister = generator_of(args[0]);
    Draw draw = {writeable(args[1], REAL)};
    if (twister == NULL || !numbers(args + 2, &draw)) return NULL;
    draw.half = args[4] == Py_True;
    if (draw.out == NULL || PyArray_SIZE(draw.out) < GROUP) Py_RETURN_FALSE;
    run(twister, &draw, fill_normals);
    Py_RETURN_TRUE;
}

/* Pairs of normals, each in the place of its four words. */
static void make_pairs(void *context, npy_intp start, npy_intp stop) {
    double *values = context, uniforms[2];
    for (npy_intp pair = start; pair < stop; pair++) {
        double *to = values + 2 * pair;
        loops->uniform_double((const uint32_t *)to, uniforms, 2, 0, 1);
        const double radius = sqrt(-2.0 * log1p(-uniforms[1])), angle = 2.0 * M_PI * uniforms[0];
        to[0] = radius * cos(angle);
        to[1] = radius * sin(angle);
    }
}

static void put_normals(const Draw *draw, npy_intp start, const double *normals, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        const double value = fma(normals[i], draw->b, draw->a);
        if (PyArray_TYPE(draw->out) == NPY_FLOAT) ((float *)draw->to)[start + i] = (float)value;
        else ((double *)draw->to)[start + i] = value;
    }
}

static void fill_one_by_one(Twister *twister, Draw *draw) {
    double normals[PIECE / 2];
    npy_intp start = 0;
    if (draw->has_kept) put_normals(draw, start++, &draw->kept, 1);
    draw->has_kept = (draw->count - start) & 1;
    while (start < draw->count) {
        npy_intp some = draw->count - start;
        if (some > PIECE / 2) some = PIECE / 2;
        const npy_intp pairs = (some + 1) / 2;
        draw_words(twister, (uint32_t *)normals, 4 * pairs);
        pool_run(make_pairs, normals, pairs, PIECE / 16);
        put_normals(draw, start, normals, some);
        start += some;
        draw->kept = normals[2 * pairs - 1];
    }
}

/* draw_pairs(generator, out, mean, std, kept): normals one after the other into float32 or float64,
 * after the one that was kept (or None); says which to keep, or None; False if nothing is done. */
PyObject *taper_draw_pairs(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5)
        return PyErr_Format(PyExc_TypeError, "draw_pairs(generator, out, mean, std, kept)");
    Twister *twister = generator_of(args[0]);
    Draw draw = {writeable(args[1], REAL)};
    if (twister == NULL || !numbers(args + 2, &draw)) return NULL;
    if (draw.out == NULL || !PyArray_SIZE(draw.out)) Py_RETURN_FALSE;
    if (args[4] != Py_None) {
        draw.has_kept = 1;
        draw.kept = PyFloat_AsDouble(args[4]);
        if (draw.kept == -1 && PyErr_Occurred()) return NULL;
    }
    run(twister, &draw, fill_one_by_one);
    if (draw.has_kept) return PyFloat_FromDouble(draw.kept);
    Py_RETURN_NONE;
}

/* --- functions of the C library --------------------------------------------------------------- */

typedef struct {
    double (*function)(double);
    double *values;
} Application;

static void apply(void *context, npy_intp start, npy_intp stop) {
    const Application *application = context;
    for (npy_intp i = start; i < stop; i++)
        application->values[i] = application->function(application->values[i]);
}

/* apply_function(name, values): of the C library, to an array of float64, in place. */
PyObject *taper_apply_function(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    static const struct {
        const char *name;
        double (*function)(double);
    } known[] = {{"exp", exp}, {"log", log}, {"log1p", log1p}, {"tan", tan}};
    if (count != 2 || !PyUnicode_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "apply_function(name, values)");
    PyArrayObject *array = writeable(args[1], NPY_DOUBLE);
    for (size_t nr = 0; array != NULL && nr < sizeof known / sizeof *known; nr++) {
        if (PyUnicode_CompareWithASCIIString(args[0], known[nr].name) != 0) continue;
        Application application = {known[nr].function, PyArray_DATA(array)};
        const npy_intp size = PyArray_SIZE(array);
        NPY_BEGIN_THREADS_DEF;
        NPY_BEGIN_THREADS_THRESHOLDED(size);
        pool_run(apply, &application, size, 2048);
        NPY_END_THREADS;
        Py_RETURN_TRUE;
    }
    Py_RETURN_NONE;
}
