/* Matrix products through the BLAS that NumPy brought along, cut into pieces for the pool. */

#ifndef TAPER_PRODUCTS_H
#define TAPER_PRODUCTS_H

#include "native.h"
#include "pool.h"

/* One matrix of floats or doubles as BLAS wants it: rows or columns lie in one piece. */
typedef struct {
    const void *data;
    npy_intp step; /* elements from one row (or, if turned, column) to the next */
    int turned;    /* whether columns lie in one piece */
} Matrix;

/* to (rows x columns, row-major with `to_step` elements a row) = left @ right, added to it if `add`.
 * On this thread; 0 if there is no BLAS. */
int product(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left,
            Matrix right, void *to, npy_intp to_step, int add);

/* The same in pieces, on the pool. */
int product_in_pieces(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left,
                      Matrix right, void *to, npy_intp to_step, int add);

/* The same, added to `start`, whose rows are `start_step` apart: 0 for a row that is added to every row. */
int product_onto(int is_double, npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right,
                 void *to, npy_intp to_step, const void *start, npy_intp start_step);

/* Whether there is a BLAS to compute products with, of sizes below 2^31 in any case. */
int have_products(void);

/* `pool_run` for parts that compute products. */
void products_on_pool(Part part, void *context, npy_intp count, npy_intp grain);

/* Put products by pieces in front of NumPy's `matmul`; how many loops were replaced. */
int thread_products(PyUFuncObject *matmul);

#endif
