/* What the files about arrays on a GPU share. */

#ifndef TAPER_DEVICE_H
#define TAPER_DEVICE_H

#include "native.h"

/* The stream that work goes into now. */
void *device_stream(void);

/* A new array of a class on the device, row by row. */
PyObject *device_array(PyTypeObject *kind, PyArray_Descr *dtype, int ndim, const npy_intp *shape, npy_intp size);

/* Room in the arena of a graph's stream: NULL, or -1, with an error set. */
void *arena_take(void *stream, size_t size, PyObject *more_room);
int arena_grow(void *stream, size_t size, PyObject *more_room);
void arena_give(void *stream, void *address, size_t size);

/* Take any free range of an arena: 0 if there is none. */
int arena_any(void *stream, void **address, size_t *size);

/* Append (address, size) of all pieces that nobody uses, which are no longer the arenas'. */
int arena_release(PyObject *found);

#endif
