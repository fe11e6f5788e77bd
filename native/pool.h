/* The one pool of threads: whatever is computed natively on several cores goes through it. */

#ifndef TAPER_POOL_H
#define TAPER_POOL_H

#include "native.h"

/* Computes the items from `start` up to, not including, `stop`. */
typedef void (*Part)(void *context, npy_intp start, npy_intp stop);

/* Call `part` for all items of 0..count in chunks of `grain` items, on this thread and on the
 * pool's.  Chunks do not depend on the number of threads, so neither do results.  The caller may
 * hold the GIL or not: parts must not need it. */
void pool_run(Part part, void *context, npy_intp count, npy_intp grain);

/* The same for a caller that holds the GIL and lets others have it meanwhile; with `alone`, for work
 * that is too little for that, `part` is called once. */
void pool_compute(Part part, void *context, npy_intp count, npy_intp grain, int alone);

/* Set bytes to zero: as `pool_run`. */
void pool_clear(void *to, npy_intp bytes);

/* How many threads a call of `pool_run` may use, this one included. */
int pool_threads(void);

#endif
