"""`torch._C`: the private names that programs and tests use.

Owns nothing: everything here lives elsewhere, under a better name.  Loaded on first use.
"""

from __future__ import annotations

from taper._C import _autograd, _functions
from taper.autograd import (
    anomaly_mode,
    context,
    forward_ad,
    grad_mode,
    overrides,
    probes,
    running,
)
from taper.autograd.variable import ImperativeEngine
from taper.tensor import Tensor

__all__ = ["_autograd", "_functions"]

is_grad_enabled = grad_mode.is_grad_enabled
is_inference_mode_enabled = grad_mode.is_inference_mode_enabled
_is_multithreading_enabled = grad_mode.is_multithreading_enabled
_is_view_replay_enabled = grad_mode.is_view_replay_enabled
_is_fwd_grad_enabled = forward_ad._is_fwd_grad_enabled
is_anomaly_enabled = anomaly_mode.is_anomaly_enabled
is_anomaly_check_nan_enabled = anomaly_mode.is_anomaly_check_nan_enabled

# These act at once when they are called.
_set_grad_enabled = grad_mode.set_grad_enabled
_set_multithreading_enabled = grad_mode.set_multithreading_enabled
_set_view_replay_enabled = grad_mode._force_original_view_tracking
_set_fwd_grad_enabled = forward_ad._set_fwd_grad_enabled
set_anomaly_enabled = anomaly_mode.switch

_current_autograd_node = running.current_autograd_node
_current_graph_task_id = running.current_graph_task_id
_current_graph_task_execution_order = running.current_graph_task_execution_order
_will_engine_execute_node = running.will_engine_execute_node
_get_graph_exec_group = running.get_graph_exec_group
_set_graph_exec_group = running.set_graph_exec_group

_WeakTensorRef = probes.WeakTensorRef
_ImperativeEngine = ImperativeEngine
_FunctionBase = context.BackwardCFunction
_TensorBase = TensorBase = Tensor

DisableTorchFunctionSubclass = overrides.disabled
