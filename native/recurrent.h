/* The rows of an LSTM, for the loops over time. */

#ifndef TAPER_RECURRENT_H
#define TAPER_RECURRENT_H

#include "native.h"

/* Gates, which become what they let through, the cell and the state of one row of a batch after a step. */
void lstm_row(float *restrict gate, const float *restrict bias, float *restrict cell, float *restrict cell_now,
              float *restrict output, float *restrict state, npy_intp size);

/* The gradient of the gates of a row, and the output once more; `state` and `cell` are the gradients that arrive,
 * and become those that go on. */
void lstm_row_back(const float *restrict gate, const float *restrict cell_now, const float *restrict cell_before,
                   const float *restrict grad, float *restrict state, float *restrict cell, float *restrict change,
                   float *restrict output, npy_intp size);

/* The weight of a recurrent layer, inner x columns or, if `turned`, columns x inner, in strips of 32 columns one after
 * the other, the last filled up with zeros; `scratch_give` frees them. */
float *in_strips(const float *weight, npy_intp inner, npy_intp columns, int turned);

#endif
