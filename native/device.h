/* What the files about arrays on a GPU share. */

#ifndef TAPER_DEVICE_H
#define TAPER_DEVICE_H

#include "native.h"

/* The stream that work goes into now. */
void *device_stream(void);

/* A new array of a class on the device, row by row. */
PyObject *device_array(PyTypeObject *kind, PyArray_Descr *dtype, int ndim, const npy_intp *shape, npy_intp size);

#endif
