/* What the files of the native module share. */

#ifndef TAPER_NATIVE_H
#define TAPER_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL taper_native_array_api
#ifndef TAPER_NATIVE_MAIN
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* Each processor runs the widest form of a loop that it has. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* The functions of the module: of one argument, or of several. */
#define ONE(name) PyObject *taper_##name(PyObject *self, PyObject *value)
#define SEVERAL(name) PyObject *taper_##name(PyObject *self, PyObject *const *args, Py_ssize_t count)

/* Make ready what the module needs: 0, or -1 with an error. */
int taper_ready_reached(void);
int taper_ready_engine(void);

ONE(know_tensor);
SEVERAL(know_nodes);
SEVERAL(know_leaves);
SEVERAL(know_frames);
ONE(wrap);
ONE(user_frame);
SEVERAL(complete);
SEVERAL(record);
SEVERAL(run_pass);
SEVERAL(run_rule);
ONE(all_finite);
SEVERAL(threshold_backward);
SEVERAL(pick_rows);
SEVERAL(put_rows);
SEVERAL(polynomial);
SEVERAL(select);
SEVERAL(settled);

#endif
