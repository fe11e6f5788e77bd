"""`torch._C._autograd`: saved tensors, their hooks, versions.  Owns nothing."""

from __future__ import annotations

from taper.autograd import _get_sequence_nr, graph, running, saved, saved_hooks

__all__ = ["SavedTensor", "_get_sequence_nr"]

SavedTensor = saved.SavedTensor
_make_saved_tensor = saved.make_saved_tensor
_unsafe_set_version_counter = graph.set_versions
_get_current_graph_task_keep_graph = running.keeps_graph

_push_saved_tensors_default_hooks = saved_hooks.push_hooks
_pop_saved_tensors_default_hooks = saved_hooks.pop_hooks
_top_saved_tensors_default_hooks = saved_hooks.top_hooks
_saved_tensors_hooks_is_enabled = saved_hooks.hooks_enabled
_saved_tensors_hooks_get_disabled_error_message = saved_hooks.hooks_disabled_message
_saved_tensors_hooks_disable = saved_hooks.disable_hooks
_saved_tensors_hooks_enable = saved_hooks.enable_hooks
