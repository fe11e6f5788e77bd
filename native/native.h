/* What the files of the native module share. */

#ifndef TAPER_NATIVE_H
#define TAPER_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The module runs with the NumPy it was built with, and any later; without this line the headers of
 * NumPy 2.0 leave out what is newer than 1.19. */
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL taper_native_array_api
#define PY_UFUNC_UNIQUE_SYMBOL taper_native_ufunc_api
#ifndef TAPER_NATIVE_MAIN
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

/* Each processor runs the widest form of a loop that it has.  Sanitizers cannot: what chooses the form
 * runs before they are ready (TAPER_ONE_FORM). */
#if !defined(TAPER_ONE_FORM) && defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

/* The class of arrays on a GPU, once a program uses one: ndarrays that the processor must not read. */
extern PyTypeObject *taper_device_class;
static inline int is_device_array(PyObject *value) { return Py_IS_TYPE(value, taper_device_class); }

/* Whether an array on a GPU has the whole of a block, at which nobody else looks. */
int taper_has_whole_block(PyArrayObject *array);

/* Memory for a kernel's own use, from any thread; NULL if there is none. */
void *scratch_take(size_t size);
void scratch_give(void *data);

/* The array, if a value is an ndarray, not of a subclass, that lies row by row in one piece and has a
 * type: one of NumPy's, or REAL (float or double), or ANY_TYPE.  NULL if it is anything else.  It may
 * be read-only. */
#define REAL (-1)
#define ANY_TYPE (-2)
static inline PyArrayObject *plain_array(PyObject *value, int type) {
    if (!PyArray_CheckExact(value)) return NULL;
    PyArrayObject *array = (PyArrayObject *)value;
    const int own = PyArray_TYPE(array);
    const int fits = type == ANY_TYPE || (type == REAL ? own == NPY_FLOAT || own == NPY_DOUBLE : own == type);
    return fits && PyArray_ISCARRAY_RO(array) ? array : NULL;
}

/* Run the rule of an optimizer, (program, constants, temporaries, compiled or NULL), over a table of arrays, one row
 * for each parameter: True, or False, with nothing done, if an array is not as it should be. */
PyObject *taper_run_table(PyObject *const *rule, PyObject *const *table, Py_ssize_t rows, int columns);

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
SEVERAL(know_calls);
ONE(lead_calls);
PyObject *taper_call_module(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
SEVERAL(module_running);
ONE(wrap);
ONE(user_frame);
SEVERAL(complete);
SEVERAL(record);
SEVERAL(run_pass);
SEVERAL(leading);
SEVERAL(run_rule);
ONE(all_finite);
SEVERAL(pick_rows);
SEVERAL(put_rows);
SEVERAL(polynomial);
SEVERAL(select);
SEVERAL(settled);
ONE(know_foreign);
ONE(set_threads);
ONE(keep_memory);
SEVERAL(drop_memory);
SEVERAL(memory_counts);
SEVERAL(thread_loops);
SEVERAL(product);
SEVERAL(seed_twister);
SEVERAL(set_twister);
SEVERAL(draw_words);
SEVERAL(draw_uniform);
SEVERAL(draw_trials);
SEVERAL(draw_integers);
SEVERAL(draw_permutation);
SEVERAL(draw_normal);
SEVERAL(draw_pairs);
SEVERAL(apply_function);
ONE(curve_number);
SEVERAL(curve);
SEVERAL(resample);
SEVERAL(convolve);
SEVERAL(spread);
SEVERAL(weight_gradient);
SEVERAL(attend);
SEVERAL(attend_backward);
SEVERAL(lstm);
SEVERAL(lstm_back);
SEVERAL(gru);
SEVERAL(gru_back);
ONE(onednn_load);
ONE(onednn_use);
SEVERAL(onednn_plans);
SEVERAL(softmax);
SEVERAL(layer_norm);
SEVERAL(layer_norm_backward);
SEVERAL(channel_norm);
SEVERAL(channel_norm_backward);
SEVERAL(reduce);
SEVERAL(reduced);
SEVERAL(matrix_by_vector);
SEVERAL(all_true);
SEVERAL(variance);
ONE(glance);
SEVERAL(pool_maxima);
SEVERAL(pool_sums);
SEVERAL(pool_back);
SEVERAL(pool_add);
SEVERAL(order_rows);
SEVERAL(top_rows);
SEVERAL(running_sums);
SEVERAL(triangle);
SEVERAL(add_rows);
SEVERAL(pick_along);
SEVERAL(scatter_along);
SEVERAL(copy_across);
SEVERAL(cast_half);
SEVERAL(meet_in);
SEVERAL(reduce_in);
SEVERAL(make_program);
SEVERAL(run_program);
SEVERAL(guards_hold);
ONE(failed_step);
SEVERAL(update_parameters);
SEVERAL(use_compiled);
ONE(has_kernel);
SEVERAL(lstm_layer);
SEVERAL(lstm_layer_back);
SEVERAL(know_views);
SEVERAL(new_view);
SEVERAL(new_views);
SEVERAL(reshaped);
SEVERAL(permuted);
SEVERAL(selected);
SEVERAL(narrowed);
SEVERAL(squeezed);
SEVERAL(unsqueezed);
SEVERAL(cut);
SEVERAL(know_making);
ONE(count_elsewhere);
SEVERAL(new_filled);
SEVERAL(new_like);
SEVERAL(new_eye);
SEVERAL(new_range);
SEVERAL(new_line);
SEVERAL(on_array);
SEVERAL(as_it_is);
SEVERAL(detached);
SEVERAL(joined);
SEVERAL(fresh);
SEVERAL(joined_tensors);
SEVERAL(outer_product);
SEVERAL(diagonal_matrix);
SEVERAL(flipped);
SEVERAL(filled_where);
SEVERAL(rolled);
SEVERAL(winograd);
ONE(know_launch);
ONE(address_of);
SEVERAL(launch);
ONE(know_room);
ONE(use_stream);
ONE(take_block);
ONE(block_counts);
ONE(drop_blocks);
ONE(hold_blocks);
ONE(know_device_class);
ONE(fit_blocks);
SEVERAL(device_empty);
SEVERAL(map_dense);
SEVERAL(know_products);
SEVERAL(know_light_products);
SEVERAL(know_product_room);
SEVERAL(device_product);

#endif
