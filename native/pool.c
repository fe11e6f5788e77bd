/* The one pool of threads.
 *
 * Work is cut into chunks, which threads take from a counter.  The caller takes chunks too, and
 * then waits only for threads that are in the middle of one: a thread that the machine did not let
 * run is never waited for, so that a busy machine slows a step down but does not stop it.  Idle
 * threads look for work for SPIN rounds (about 30 us, so that the next operation of a step finds
 * them awake; four times as long while a captured step runs, which makes that of ResNet-18 5 % faster),
 * then sleep.
 *
 * One job runs at a time.  A second thread that has work, and a part that starts work of its own,
 * compute it alone.  After a fork the child has no threads; it makes its own when it first needs them.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "pool.h"

#define SPIN 1500
#define LONG_SPIN 6000 /* while a program runs: the next work comes soon, and a thread that sleeps comes late */
#define MOST_THREADS 256
#define BYTES ((npy_intp)1 << 18) /* that one thread copies at once */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

typedef struct {
    Part part;
    void *context;
    npy_intp count, grain;
    atomic_llong next; /* the first item that nobody has taken */
    atomic_int helpers; /* threads of the pool that are at it; changed under `guard` */
} Job;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *_Atomic offered; /* what threads may join */
static atomic_uint offers;   /* how many jobs there were: a thread joins each at most once */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_int wanted = 1; /* threads, the caller included */
static atomic_int programs;   /* that run now: see `pool_expect` */
static int started, asleep;   /* guarded by `guard` */
static _Thread_local int inside;

static void take_chunks(Job *job) {
    for (;;) {
        npy_intp start = (npy_intp)atomic_fetch_add(&job->next, (long long)job->grain);
        if (start >= job->count) return;
        npy_intp stop = job->count - start < job->grain ? job->count : start + job->grain;
        job->part(job->context, start, stop);
    }
}

/* Whether thread `nr` of the pool, which knows of `seen` jobs, has something to do. */
static int may_join(int nr, unsigned seen) {
    return atomic_load(&offers) != seen && atomic_load(&offered) != NULL &&
           nr < atomic_load(&wanted) - 1;
}

static void *live(void *argument) {
    const int nr = (int)(intptr_t)argument;
    unsigned seen = 0;
    inside = 1;
    for (;;) {
        const int rounds = atomic_load(&programs) ? LONG_SPIN : SPIN;
        for (int round = 0; round < rounds && !may_join(nr, seen); round++) PAUSE();
        pthread_mutex_lock(&guard);
        while (!may_join(nr, seen)) {
            asleep++;
            pthread_cond_wait(&work, &guard);
            asleep--;
        }
        seen = atomic_load(&offers);
        Job *job = atomic_load(&offered);
        atomic_fetch_add(&job->helpers, 1);
        pthread_mutex_unlock(&guard);
        take_chunks(job);
        pthread_mutex_lock(&guard);
        if (atomic_fetch_sub(&job->helpers, 1) == 1) pthread_cond_signal(&done);
        pthread_mutex_unlock(&guard);
    }
    return NULL;
}

/* Have as many threads as are wanted.  They get no signals: those are for Python's own thread. */
static void start_threads(void) {
    const int needed = atomic_load(&wanted) - 1;
    if (started >= needed) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&guard);
    while (started < needed) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, (void *)(intptr_t)started) != 0) {
            atomic_store(&wanted, started + 1); /* the system gives no more */
            break;
        }
        pthread_detach(thread);
        started++;
    }
    pthread_mutex_unlock(&guard);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void alone(Part part, void *context, npy_intp count, npy_intp grain) {
    for (npy_intp start = 0; start < count; start += grain)
        part(context, start, count - start < grain ? count : start + grain);
}

void pool_run(Part part, void *context, npy_intp count, npy_intp grain) {
    if (grain < 1) grain = 1;
    if (count <= grain || inside || atomic_load(&wanted) < 2 || atomic_flag_test_and_set(&busy)) {
        alone(part, context, count, grain);
        return;
    }
    start_threads();
    Job job = {part, context, count, grain, 0, 0};
    inside = 1;
    pthread_mutex_lock(&guard);
    atomic_fetch_add(&offers, 1);
    atomic_store(&offered, &job);
    if (asleep) pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&guard);
    take_chunks(&job);
    pthread_mutex_lock(&guard);
    atomic_store(&offered, NULL);
    pthread_mutex_unlock(&guard);
    for (int round = 0; round < SPIN && atomic_load(&job.helpers); round++) PAUSE();
    if (atomic_load(&job.helpers)) {
        pthread_mutex_lock(&guard);
        while (atomic_load(&job.helpers)) pthread_cond_wait(&done, &guard);
        pthread_mutex_unlock(&guard);
    }
    inside = 0;
    atomic_flag_clear(&busy);
}

void pool_compute(Part part, void *context, npy_intp count, npy_intp grain, int alone) {
    if (alone) {
        if (count > 0) part(context, 0, count);
        return;
    }
    Py_BEGIN_ALLOW_THREADS;
    pool_run(part, context, count, grain);
    Py_END_ALLOW_THREADS;
}

typedef struct {
    char *to;
    const char *from;
} Copy;

static void copy_part(void *context, npy_intp start, npy_intp stop) {
    const Copy *copy = context;
    memcpy(copy->to + start, copy->from + start, (size_t)(stop - start));
}

static void clear_part(void *context, npy_intp start, npy_intp stop) {
    memset((char *)context + start, 0, (size_t)(stop - start));
}

void pool_copy(void *to, const void *from, npy_intp bytes) {
    Copy copy = {to, from};
    pool_compute(copy_part, &copy, bytes, BYTES, bytes <= BYTES);
}

void pool_clear(void *to, npy_intp bytes) { pool_run(clear_part, to, bytes, BYTES); }

void pool_expect(int more) { atomic_fetch_add(&programs, more); }

int pool_threads(void) { return inside ? 1 : atomic_load(&wanted); }

/* A fork happens while nobody changes the pool; the child starts with none of its threads. */
static void before_fork(void) { pthread_mutex_lock(&guard); }
static void after_fork(void) { pthread_mutex_unlock(&guard); }
static void in_child(void) {
    pthread_mutex_init(&guard, NULL);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&done, NULL);
    atomic_store(&offered, NULL);
    started = asleep = 0;
    if (!inside) atomic_flag_clear(&busy);
}

/* set_threads(count): how many threads a job may use. */
PyObject *taper_set_threads(PyObject *self, PyObject *value) {
    static int registered;
    long count = PyLong_AsLong(value);
    if (count == -1 && PyErr_Occurred()) return NULL;
    if (count < 1) return PyErr_Format(PyExc_ValueError, "set_threads(count): at least 1");
    if (!registered && pthread_atfork(before_fork, after_fork, in_child) == 0) registered = 1;
    atomic_store(&wanted, registered ? (count > MOST_THREADS ? MOST_THREADS : (int)count) : 1);
    Py_RETURN_NONE;
}
