/* Products of float matrices by tiles that stay in registers, where the processor has AVX-512. */

#ifndef TAPER_TILES_H
#define TAPER_TILES_H

#include "products.h"

/* Whether this processor can. */
int have_tiles(void);

/* How far apart the rows of a matrix are best that `turn_matrix` writes. */
static inline npy_intp turned_step(npy_intp columns) { return (columns + 15) / 16 * 16 + 16; }

/* Columns that lie in one piece each, `step` apart, become a matrix whose rows do. */
void turn_matrix(npy_intp inner, npy_intp columns, const float *from, npy_intp step, float *to, npy_intp to_step);

/* to = start + left @ right; the right matrix is not turned.  `start` is NULL for zeros, and its rows are
 * `start_step` apart: 0 for a row that is added to every row.  An element's sum does not depend on which
 * rows and columns are computed together. */
void multiply_tiles(npy_intp rows, npy_intp inner, npy_intp columns, Matrix left, Matrix right, float *to,
                    npy_intp to_step, const float *start, npy_intp start_step);

#endif
