/* The one pool of threads.
 *
 * Work is cut into chunks, which threads take from counters.  The caller takes chunks too, and
 * then waits only for threads that are in the middle of one: a thread that the machine did not let
 * run is never waited for, so that a busy machine slows a step down but does not stop it.  A thread
 * begins with a share of its own, the same part of every job, and goes on with what is left of the
 * others': what it reads it has mostly written itself, and need not come from another core's cache
 * (a chain of 12 operations over a million elements 15 to 5.6 ms, two threads).  Idle
 * threads look for work for SPIN rounds (about 30 us, so that the next operation of a step finds
 * them awake), then, if nobody else wants the core, for LONG, then sleep.  To wake a thread costs 20 us:
 * a GPT's step takes 0.93 of the time, an LSTM's, with four pauses of 100 us, 0.96.
 *
 * One job runs at a time.  A second thread that has work, and a part that starts work of its own,
 * compute it alone.  After a fork the child has no threads; it makes its own when it first needs them.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

#define SPIN 1500
#define LONG 250000 /* nanoseconds */
#define TAKEN 20000  /* that an offer of the core lasts if somebody took it */
#define CROWDED 100000000
#define MOST_THREADS 256
#define MOST_SHARES 64 /* threads beyond begin with those of others */
#define BYTES ((npy_intp)1 << 18) /* that one thread copies at once */

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* Chunks from `next`, the first that nobody has taken, to `end`; on a line of the cache of its own. */
typedef struct {
    _Alignas(64) atomic_llong next;
    long long end;
} Share;

typedef struct {
    Part part;
    void *context;
    npy_intp count, grain;
    atomic_int helpers; /* threads of the pool that are at it; changed under `guard` */
    int threads;        /* that have a share */
    Share *shares;
} Job;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static Job *_Atomic offered; /* what threads may join */
static atomic_uint offers;   /* how many jobs there were: a thread joins each at most once */
static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_int wanted = 1; /* threads, the caller included */
static int started, asleep;   /* guarded by `guard` */
static _Thread_local int inside;

/* Take chunks of the share `own`, then of those after it. */
static void take_chunks(Job *job, int own) {
    for (int step = 0; step < job->threads; step++) {
        Share *share = &job->shares[(own + step) % job->threads];
        for (;;) {
            const long long chunk = atomic_fetch_add(&share->next, 1);
            if (chunk >= share->end) break;
            const npy_intp start = (npy_intp)chunk * job->grain;
            job->part(job->context, start, job->count - start < job->grain ? job->count : start + job->grain);
        }
    }
}

/* Give each thread as many chunks as the next. */
static void share_out(Job *job) {
    const long long chunks = (job->count + job->grain - 1) / job->grain;
    for (int nr = 0; nr < job->threads; nr++) {
        atomic_init(&job->shares[nr].next, chunks * nr / job->threads);
        job->shares[nr].end = chunks * (nr + 1) / job->threads;
    }
}

/* Whether thread `nr` of the pool, which knows of `seen` jobs, has something to do. */
static int may_join(int nr, unsigned seen) {
    return atomic_load(&offers) != seen && atomic_load(&offered) != NULL &&
           nr < atomic_load(&wanted) - 1;
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Look for work: not for long while others want the core, since who waits for his turn to look comes later than
 * who is woken. */
static void look(int nr, unsigned seen) {
    static _Thread_local int64_t crowded; /* until when we take it that they do */
    for (int round = 0; round < SPIN && !may_join(nr, seen); round++) PAUSE();
    const int64_t start = nanoseconds();
    for (int64_t now = start, before; now >= crowded && now - start < LONG && !may_join(nr, seen);) {
        before = now;
        sched_yield();
        now = nanoseconds();
        if (now - before > TAKEN) crowded = now + CROWDED;
    }
}

static void *live(void *argument) {
    const int nr = (int)(intptr_t)argument;
    unsigned seen = 0;
    inside = 1;
    for (;;) {
        look(nr, seen);
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
        take_chunks(job, nr + 1);
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
    const int most = atomic_load(&wanted), threads = most < MOST_SHARES ? most : MOST_SHARES;
    Share shares[MOST_SHARES];
    Job job = {part, context, count, grain, 0, threads, shares};
    share_out(&job);
    inside = 1;
    pthread_mutex_lock(&guard);
    atomic_fetch_add(&offers, 1);
    atomic_store(&offered, &job);
    if (asleep) pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&guard);
    take_chunks(&job, 0);
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

static void clear_part(void *context, npy_intp start, npy_intp stop) {
    memset((char *)context + start, 0, (size_t)(stop - start));
}

void pool_clear(void *to, npy_intp bytes) { pool_run(clear_part, to, bytes, BYTES); }

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
