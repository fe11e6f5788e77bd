"""`torch._C`: the private names that programs and tests use.

Owns nothing: everything here lives elsewhere, under a better name.  Loaded on first use.
"""

from __future__ import annotations

from typing import Any

from taper import random
from taper._C import _autograd, _functions, _nn
from taper.absent import answers, compilers
from taper.autograd import (
    anomaly_mode,
    context,
    forward_ad,
    grad_mode,
    overrides,
    probes,
    running,
)
from taper.autograd.state import local
from taper.autograd.variable import ImperativeEngine
from taper.files.records import PyTorchFileReader
from taper.first_use import on_first_use
from taper.ops.linalg.checks import LinAlgError
from taper.tensor import Tensor

__all__ = ["PyTorchFileReader", "_autograd", "_functions", "_nn"]

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
DisableTorchFunction = overrides.all_disabled
_EnableTorchFunction = overrides.enabled
_disabled_torch_function_impl = overrides._disabled_torch_function_impl
_disabled_torch_dispatch_impl = overrides._disabled_torch_dispatch_impl
_TensorMeta = type(Tensor)
Generator = random.Generator
_LinAlgError = LinAlgError

_get_tracing_state = compilers.nothing


def _log_api_usage_once(event: str) -> None:
    """Do nothing: nobody counts."""


def _is_torch_function_enabled() -> bool:
    """Return whether classes may handle functions themselves."""
    return not overrides.is_off()


def _is_torch_function_all_disabled() -> bool:
    """Return whether neither classes nor modes are asked."""
    return overrides.switch.all_off


def _is_torch_function_mode_enabled() -> bool:
    """Return whether a mode sees functions."""
    return bool(overrides.modes())


def _len_torch_function_stack() -> int:
    """Count the open modes."""
    return len(overrides.switch.modes)


def _get_function_stack_at(level: int) -> Any:
    """Return an open mode, counted from the outermost."""
    return overrides.switch.modes[level]


def _are_functorch_transforms_active() -> bool:
    """Return whether a transform of `func` is at work."""
    return bool(local.state.transforms)


def _is_alias_of(data: Tensor, other: Tensor) -> bool:
    """Return whether two tensors share their storage."""
    return data.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


# Parts of programs without Python: their names are asked for, and nothing is one.
for _name in "Graph Value Node Block Function ScriptFunction ScriptModule TensorType".split():
    _sentence = f"torch._C.{_name}: programs are Python"
    globals()[_name] = answers.refused_class(_name, __name__, _sentence)

__getattr__, __dir__ = on_first_use(globals(), ("_fft", "_functorch", "_linalg", "_special"))
