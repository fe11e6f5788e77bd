/* taper._native: what is computed outside Python, if it could be compiled (D7).
 *
 * Every function here has a twin in Python that gives the same results, to the bit, and runs where
 * this module is missing.  Nothing here is needed; nothing here is an interface for users.
 */

#define TAPER_NATIVE_MAIN
#include "native.h"


#define ROW_OF_ONE(name) {#name, taper_##name, METH_O, NULL}
#define ROW(name) {#name, (PyCFunction)(void (*)(void))taper_##name, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    ROW_OF_ONE(know_tensor),
    ROW(know_nodes),
    ROW(know_leaves),
    ROW(know_frames),
    ROW(know_calls),
    ROW(module_running),
    ROW_OF_ONE(wrap),
    ROW_OF_ONE(user_frame),
    ROW(complete),
    ROW(record),
    ROW(run_pass),
    ROW(run_rule),
    ROW_OF_ONE(all_finite),
    ROW(pick_rows),
    ROW(put_rows),
    ROW(polynomial),
    ROW(select),
    ROW(settled),
    ROW_OF_ONE(set_threads),
    ROW_OF_ONE(keep_memory),
    ROW(drop_memory),
    ROW(memory_counts),
    ROW(thread_loops),
    ROW(product),
    ROW(seed_twister),
    ROW(set_twister),
    ROW(draw_words),
    ROW(draw_uniform),
    ROW(draw_trials),
    ROW(draw_integers),
    ROW(draw_permutation),
    ROW(draw_normal),
    ROW(draw_pairs),
    ROW(apply_function),
    ROW_OF_ONE(curve_number),
    ROW(curve),
    ROW(convolve),
    ROW(spread),
    ROW(weight_gradient),
    ROW(attend),
    ROW(attend_backward),
    ROW(lstm),
    ROW(lstm_back),
    ROW(gru),
    ROW(gru_back),
    ROW_OF_ONE(onednn_load),
    ROW_OF_ONE(onednn_use),
    ROW(onednn_plans),
    ROW(softmax),
    ROW(layer_norm),
    ROW(layer_norm_backward),
    ROW(channel_norm),
    ROW(channel_norm_backward),
    ROW(reduce),
    ROW(variance),
    ROW(pool_maxima),
    ROW(pool_sums),
    ROW(pool_back),
    ROW(pool_add),
    ROW(order_rows),
    ROW(top_rows),
    ROW(running_sums),
    ROW(triangle),
    ROW(add_rows),
    ROW(pick_along),
    ROW(scatter_along),
    ROW(copy_across),
    ROW(meet_in),
    ROW(reduce_in),
    ROW(make_program),
    ROW(run_program),
    ROW(guards_hold),
    ROW_OF_ONE(failed_step),
    ROW(update_parameters),
    ROW(use_compiled),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "taper._native",
    .m_doc = "Native twins of a few hot paths; see native/ in the sources.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void) {
    import_array();
    import_umath();
    if (taper_ready_reached() < 0 || taper_ready_engine() < 0) return NULL;
    return PyModule_Create(&module);
}
