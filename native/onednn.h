/* The library oneDNN, where it is installed: loaded at run time, nothing of it is needed to build. */

#ifndef TAPER_ONEDNN_H
#define TAPER_ONEDNN_H

#include <stdint.h>

#include "native.h"

#define MOST_DIMS 12 /* of oneDNN's arrays of sizes */
#define SPACE 3      /* dimensions of a convolution at most */

/* What a convolution computes, and its arrays: the number of the one that is written is the same. */
enum { INPUT, WEIGHT, OUTPUT };

/* One piece of a convolution: some images, or some channels of all images.  Compared as bytes. */
typedef struct {
    int64_t written, has_bias, images, groups, outputs, inputs; /* channels of a group */
    int64_t all_outputs, all_inputs;                            /* of the arrays it is cut from */
    int64_t size[SPACE], places[SPACE], kernel[SPACE];
    int64_t stride[SPACE], padding[SPACE], dilation[SPACE];
} Geometry;

/* How oneDNN computes a piece: made once, kept for the next time. */
typedef struct Plan Plan;

/* The plan for a piece, and giving it back; NULL if oneDNN cannot compute it. */
Plan *plan_take(const Geometry *geometry);
void plan_give(Plan *plan);

/* Bytes of the weight as the plan wants it, 0 if it takes the weight as it is; whether two plans
 * want the same. */
size_t plan_weight_bytes(const Plan *plan);
int plans_agree(const Plan *one, const Plan *other);

/* Lay a weight out as the plan wants it; compute a piece from and to row-major arrays, or with the
 * weight as it wants it if `prepared`.  0 if that failed. */
int plan_prepare(const Plan *plan, void *weight, void *to);
int plan_run(const Plan *plan, void *const data[3], void *bias, int prepared);

/* Whether oneDNN is loaded and switched on. */
int onednn_is_used(void);

/* Write the array `written` of a convolution, from the arguments (input, weight, output, stride,
 * padding, dilation) of the functions in convolution.c; 0 if the built-in way shall do it. */
int onednn_convolve(int written, PyObject *const *args, PyObject *bias);

#endif
