/* Processes that wait for each other in shared memory, and combine arrays there.
 *
 * `distributed/backends/arena.py` says what lies where, and why nobody reads what is written over.  A
 * word counts the phases that its owner has finished; the number after it counts who sleeps until it
 * changes.  Everything here runs without the GIL and returns after a given time, so that Python can
 * look whether the others are still there, and call again.
 */

#include "native.h"

#include <stdint.h>
#include <string.h>
#include <time.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct {
    uint32_t phase, sleepers;
} Word;

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int has_reached(const Word *word, uint32_t phase) {
    /* The numbers wrap around. */
    return (int32_t)(__atomic_load_n(&word->phase, __ATOMIC_ACQUIRE) - phase) >= 0;
}

static void post(Word *word, uint32_t phase) {
    __atomic_store_n(&word->phase, phase, __ATOMIC_SEQ_CST);
#ifdef __linux__
    if (__atomic_load_n(&word->sleepers, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &word->phase, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#endif
}

/* Sleep until a word changes, or until a time. */
static void doze(Word *word, uint32_t phase, int64_t until) {
    const int64_t left = until - nanoseconds();
    if (left <= 0) return;
#ifdef __linux__
    __atomic_fetch_add(&word->sleepers, 1, __ATOMIC_SEQ_CST);
    const uint32_t seen = __atomic_load_n(&word->phase, __ATOMIC_SEQ_CST);
    if ((int32_t)(seen - phase) < 0) {
        const struct timespec most = {left / 1000000000, left % 1000000000};
        syscall(SYS_futex, &word->phase, FUTEX_WAIT, seen, &most, NULL, 0);
    }
    __atomic_fetch_sub(&word->sleepers, 1, __ATOMIC_SEQ_CST);
#else
    const struct timespec nap = {0, left < 50000 ? left : 50000};
    nanosleep(&nap, NULL);
#endif
}

/* How long to look before sleeping: waking up takes about as long. */
#define LOOK 40000

/* What lies where, as Python says it in an array. */
typedef struct {
    int64_t rank, size, line, buffers, buffer_bytes, data, chunk;
} Layout;

/* Wait for all members; 0 if the time was over before. */
static int wait_for_all(char *memory, const Layout *layout, uint32_t phase, int64_t until) {
    int64_t look_until = 0;
    for (int64_t rank = 0; rank < layout->size; rank++) {
        Word *word = (Word *)(memory + rank * layout->line);
        int looks = 0;
        while (!has_reached(word, phase)) {
            if (++looks % 64) {
                pause_a_little();
                continue;
            }
            const int64_t now = nanoseconds();
            if (!look_until) look_until = now + LOOK;
            if (now >= until) return 0;
            if (now >= look_until) doze(word, phase, until);
        }
    }
    return 1;
}

enum { SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR };

/* `out` may be one of the sources. */
#define LOOP(type, expression)                                \
    {                                                         \
        const type *x = left, *y = right;                     \
        type *z = out;                                        \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) { \
            const type a = x[i], b = y[i];                    \
            z[i] = (type)(expression);                        \
        }                                                     \
        return 1;                                             \
    }
/* As NumPy: not a number wins.  Whole numbers wrap around, which only unsigned ones may do in C. */
#define ARITHMETIC(type, wide)                                     \
    case SUM:                                                      \
    case AVG: LOOP(type, (wide)a + (wide)b)                        \
    case PRODUCT: LOOP(type, (wide)a *(wide)b)                     \
    case MIN: LOOP(type, a < b || a != a ? a : b)                  \
    case MAX: LOOP(type, a > b || a != a ? a : b)
#define BITS(type)                 \
    case BAND: LOOP(type, a & b)   \
    case BOR: LOOP(type, a | b)    \
    case BXOR: LOOP(type, a ^ b)
#define REALS(npy, type) \
    case npy: switch (op) { ARITHMETIC(type, type) } return 0;
#define WHOLES(npy, type, wide) \
    case npy: switch (op) { ARITHMETIC(type, wide) BITS(type) } return 0;

/* Combine two arrays into one; 0 if there is no loop for it. */
WIDE static int combine(int type, int op, void *out, const void *left, const void *right, int64_t n) {
    switch (type) {
        REALS(NPY_FLOAT, float)
        REALS(NPY_DOUBLE, double)
        WHOLES(NPY_INT8, int8_t, uint32_t)
        WHOLES(NPY_UINT8, uint8_t, uint32_t)
        WHOLES(NPY_INT32, int32_t, uint32_t)
        WHOLES(NPY_INT64, int64_t, uint64_t)
    }
    return 0;
}

/* Make an average of a sum of floats; a pass over all of them afterwards would cost 0.3 ms of a step of a GPT. */
WIDE static void divide(int type, int op, void *sum, int64_t n, int64_t by) {
    if (op != AVG) return;
    float *single = sum;
    double *twice = sum;
    const float single_by = (float)by;
    const double twice_by = (double)by;
    for (int64_t i = 0; type == NPY_FLOAT && i < n; i++) single[i] /= single_by;
    for (int64_t i = 0; type == NPY_DOUBLE && i < n; i++) twice[i] /= twice_by;
}

/* A reduction of several arrays, as if they lay side by side, that goes on where the last call left it. */
typedef struct {
    char *memory;
    Layout layout;
    PyObject *arrays; /* a tuple */
    int type, op;
    int64_t count, width, small, until;
    int64_t *state; /* how many elements are done; what comes next; which side; the phase */
    int64_t which, first; /* the array that was used last, and how many elements are before it */
} Reduction;

enum { WRITE, FIRST_WAIT, SECOND_WAIT };
enum { DONE, LATER, DIFFERENT };
enum { AT, STAGE, SIDE, PHASE };

/* Return where the element `i` of the chunk is, and lessen `n` to the elements that lie there side by side. */
static char *own(Reduction *work, int64_t i, int64_t *n) {
    const int64_t at = work->state[AT] + i;
    if (at < work->first) work->which = work->first = 0;
    for (;;) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(work->arrays, work->which);
        const int64_t here = at - work->first, size = PyArray_SIZE(array);
        if (here < size) {
            if (*n > size - here) *n = size - here;
            return PyArray_BYTES(array) + here * work->width;
        }
        work->first += size;
        work->which++;
    }
}

static char *buffer(const Reduction *work, int64_t rank) {
    const Layout *layout = &work->layout;
    return work->memory + layout->buffers + (work->state[SIDE] * layout->size + rank) * layout->buffer_bytes;
}

/* Where a member puts the element `i` of the chunk. */
static char *slot(const Reduction *work, int64_t rank, int64_t i) {
    return buffer(work, rank) + work->layout.data + i * work->width;
}

static void step_on(Reduction *work) {
    work->state[PHASE] = (work->state[PHASE] + 1) & 0xffffffff;
    post((Word *)(work->memory + work->layout.rank * work->layout.line), (uint32_t)work->state[PHASE]);
}

static int all_agree(const Reduction *work) {
    for (int64_t rank = 1; rank < work->layout.size; rank++)
        if (memcmp(buffer(work, rank), buffer(work, 0), 5 * sizeof(int64_t))) return 0;
    return 1;
}

/* Write what another core reads next past the cache of this one, where that is possible.  Where two cores share no
 * cache, a line is fetched faster out of memory than out of the other's (16 gradients of a GPT 1.6 to 0.5 ms;
 * where they share one 0.45 to 0.55). */
static void hand_over(char *to, const char *from, int64_t n) {
    int64_t at = 0;
#ifdef __SSE2__
    if (n >= 1024) {
        at = -(intptr_t)to & 15;
        memcpy(to, from, (size_t)at);
        for (; at + 16 <= n; at += 16)
            _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128((const __m128i *)(from + at)));
        _mm_sfence();
    }
#endif
    memcpy(to + at, from + at, (size_t)(n - at));
}

/* Give the others a part of a chunk of this member's. */
static void write_part(Reduction *work, int64_t from, int64_t to) {
    for (int64_t i = from, n; i < to; i += n) {
        n = to - i;
        const char *source = own(work, i, &n);
        hand_over(slot(work, work->layout.rank, i), source, n * work->width);
    }
}

/* Take a part of a chunk that another member has combined. */
static void read_part(Reduction *work, int64_t rank, int64_t from, int64_t to) {
    for (int64_t i = from, n; i < to; i += n) {
        n = to - i;
        char *target = own(work, i, &n);
        memcpy(target, slot(work, rank, i), (size_t)(n * work->width));
    }
}

#define PIECE 4096 /* bytes that are combined at once, in the nearest cache */

/* Combine a part of all members' chunks in the order of ranks, for this one and, if they want it, for the others. */
static void combine_part(Reduction *work, int64_t from, int64_t to, int for_others) {
    const int64_t rank = work->layout.rank, size = work->layout.size, width = work->width;
    _Alignas(64) char out[PIECE];
    for (int64_t i = from, n; i < to; i += n) {
        n = to - i < PIECE / width ? to - i : PIECE / width;
        char *mine = own(work, i, &n);
        const char *so_far = rank == 0 ? mine : slot(work, 0, i);
        for (int64_t other = 1; other < size; other++) {
            combine(work->type, work->op, out, so_far, other == rank ? mine : slot(work, other, i), n);
            so_far = out;
        }
        divide(work->type, work->op, out, n, size);
        if (for_others) hand_over(slot(work, rank, i), out, n * width);
        memcpy(mine, out, (size_t)(n * width));
    }
}

/* Members of a group of more than one: each writes what the others combine, combines its part, reads the others'.
 * Of what is small everybody combines everything. */
static int reduce(Reduction *work) {
    const Layout *layout = &work->layout;
    const int64_t rank = layout->rank, size = layout->size, most = layout->chunk / work->width;
    const int is_small = work->count * work->width <= work->small;
    for (;;) {
        const int64_t left = work->count - work->state[AT], n = left < most ? left : most;
        const int64_t begin = is_small ? 0 : n * rank / size, end = is_small ? n : n * (rank + 1) / size;
        switch (work->state[STAGE]) {
        case WRITE:
            write_part(work, 0, is_small ? n : begin);
            write_part(work, end, n);
            step_on(work);
            work->state[STAGE] = FIRST_WAIT;
            /* fall through */
        case FIRST_WAIT:
            if (!wait_for_all(work->memory, layout, (uint32_t)work->state[PHASE], work->until)) return LATER;
            if (work->state[AT] == 0 && !all_agree(work)) return DIFFERENT;
            combine_part(work, begin, end, !is_small);
            if (is_small) return DONE;
            step_on(work);
            work->state[STAGE] = SECOND_WAIT;
            /* fall through */
        case SECOND_WAIT:
            if (!wait_for_all(work->memory, layout, (uint32_t)work->state[PHASE], work->until)) return LATER;
            for (int64_t other = 0; other < size; other++)
                if (other != rank) read_part(work, other, n * other / size, n * (other + 1) / size);
            work->state[AT] += n;
            if (work->state[AT] >= work->count) return DONE;
            work->state[SIDE] ^= 1;
            work->state[STAGE] = WRITE;
        }
    }
}

/* Read what lies where, and check that it lies inside of the memory; 0 with an error if not. */
static int read_layout(Layout *layout, PyObject *memory, PyObject *numbers) {
    PyArrayObject *given = plain_array(numbers, NPY_INT64), *bytes = plain_array(memory, NPY_UINT8);
    if (!given || PyArray_SIZE(given) != 7 || !bytes || !PyArray_ISWRITEABLE(bytes)) {
        PyErr_SetString(PyExc_TypeError, "expected shared memory and the seven numbers of its layout");
        return 0;
    }
    memcpy(layout, PyArray_DATA(given), sizeof *layout);
    const int64_t nbytes = PyArray_NBYTES(bytes);
    const Layout l = *layout;
    const int is_sound = l.size >= 1 && l.size <= 1 << 16 && l.rank >= 0 && l.rank < l.size &&
                         l.line >= (int64_t)sizeof(Word) && l.line % 8 == 0 && l.line <= 4096 &&
                         l.buffers >= l.size * l.line && l.buffers <= nbytes && l.chunk > 0 && l.data >= 40 &&
                         l.data % 64 == 0 && l.buffers % 64 == 0 && l.buffer_bytes % 64 == 0 &&
                         l.chunk <= l.buffer_bytes - l.data && l.buffer_bytes <= nbytes &&
                         l.buffers + 2 * l.size * l.buffer_bytes <= nbytes &&
                         (uintptr_t)PyArray_DATA(bytes) % 64 == 0;
    if (!is_sound) PyErr_SetString(PyExc_ValueError, "the layout does not fit the shared memory");
    return is_sound;
}

/* meet_in(memory, layout, phase, posts, seconds): say that the phase is finished, if `posts`, and wait
 * until all have finished it; return whether they have. */
PyObject *taper_meet_in(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "meet_in(memory, layout, phase, posts, seconds)");
    Layout layout;
    if (!read_layout(&layout, args[0], args[1])) return NULL;
    const uint32_t phase = (uint32_t)PyLong_AsUnsignedLongMask(args[2]);
    const int posts = PyObject_IsTrue(args[3]);
    const double seconds = PyFloat_AsDouble(args[4]);
    if (PyErr_Occurred()) return NULL;
    char *memory = PyArray_BYTES((PyArrayObject *)args[0]);
    int is_done;
    Py_BEGIN_ALLOW_THREADS;
    if (posts) post((Word *)(memory + layout.rank * layout.line), phase);
    is_done = wait_for_all(memory, &layout, phase, nanoseconds() + (int64_t)(seconds * 1e9));
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(is_done);
}

/* Whether these are arrays of one type for which there are loops; 0 without an error if not. */
static int read_arrays(Reduction *work, PyObject *arrays) {
    const Py_ssize_t count = PyTuple_CheckExact(arrays) ? PyTuple_GET_SIZE(arrays) : 0;
    work->count = 0;
    for (Py_ssize_t nr = 0; nr < count; nr++) {
        PyArrayObject *array = plain_array(PyTuple_GET_ITEM(arrays, nr), ANY_TYPE);
        if (!array || !PyArray_ISWRITEABLE(array) || !PyArray_SIZE(array)) return 0;
        const int type = PyArray_TYPE(array) == NPY_LONGLONG ? NPY_INT64 : PyArray_TYPE(array);
        if (nr && type != work->type) return 0;
        work->type = type;
        work->width = PyArray_ITEMSIZE(array);
        work->count += PyArray_SIZE(array);
    }
    work->arrays = arrays;
    work->which = work->first = 0;
    return count && combine(work->type, work->op, NULL, NULL, NULL, 0);
}

/* reduce_in(memory, layout, arrays, op, small, state, seconds): combine the arrays of all members, see
 * `Reduction`: one call for 17 gradients of a GPT saves 0.4 ms of its step.  Return 0 when it is done, 1 when the time
 * was over first: then call again with the same state; 2 when members do different things; None if there is no loop
 * for it. */
PyObject *taper_reduce_in(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 7)
        return PyErr_Format(PyExc_TypeError, "reduce_in(memory, layout, arrays, op, small, state, seconds)");
    Reduction work;
    if (!read_layout(&work.layout, args[0], args[1])) return NULL;
    PyArrayObject *state = plain_array(args[5], NPY_INT64);
    work.op = (int)PyLong_AsLong(args[3]);
    work.small = PyLong_AsLongLong(args[4]);
    const double seconds = PyFloat_AsDouble(args[6]);
    if (PyErr_Occurred()) return NULL;
    if (!read_arrays(&work, args[2])) Py_RETURN_NONE;
    if (!state || PyArray_SIZE(state) != 4) return PyErr_Format(PyExc_TypeError, "the state is four numbers");
    const int64_t *s = work.state = PyArray_DATA(state);
    if (s[AT] < 0 || s[AT] >= work.count || s[STAGE] < WRITE || s[STAGE] > SECOND_WAIT || s[SIDE] >> 1 ||
        work.small > work.layout.chunk)
        return PyErr_Format(PyExc_ValueError, "no state of a reduction");
    if (work.layout.size == 1) return PyLong_FromLong(DONE);
    work.memory = PyArray_BYTES((PyArrayObject *)args[0]);
    int result;
    Py_BEGIN_ALLOW_THREADS;
    work.until = nanoseconds() + (int64_t)(seconds * 1e9);
    result = reduce(&work);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLong(result);
}
