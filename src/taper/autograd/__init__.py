"""`taper.autograd`: recording and differentiating."""

from typing import TYPE_CHECKING, Any

from taper.autograd import anomaly_mode, forward_ad, function, grad_mode, graph
from taper.autograd import batches as _batches  # noqa: F401  (these four give tensors methods)
from taper.autograd import probes as _probes  # noqa: F401
from taper.autograd import resizing as _resizing  # noqa: F401
from taper.autograd import tensor_api as _tensor_api  # noqa: F401
from taper.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from taper.autograd.backward import (
    _calculate_shape,
    _make_grads,
    _tensor_or_tensors_to_tuple,
    backward,
    grad,
)
from taper.autograd.function import Function, NestedIOFunction
from taper.autograd.grad_mode import (
    _force_original_view_tracking,
    _unsafe_preserve_version_counter,
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    is_view_replay_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from taper.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from taper.autograd.saved import SavedTensor
from taper.autograd.state import local
from taper.autograd.variable import Variable
from taper.first_use import on_first_use

if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.autograd import _functions as _functions
    from taper.autograd import functional as functional
    from taper.autograd import profiler as profiler
    from taper.autograd import profiler_util as profiler_util
else:
    _MODULES = ("_functions", "functional", "profiler", "profiler_util")
    __getattr__, __dir__ = on_first_use(globals(), _MODULES)


def variable(*args: Any, **kwargs: Any) -> None:
    """Refused: `Variable`s are tensors now."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable  # type: ignore[attr-defined]


def kineto_available() -> bool:
    """Return whether `profile` works; it always does.

    >>> import taper
    >>> taper.autograd.kineto_available()
    True
    """
    return True


def _get_sequence_nr() -> int:
    """Return the sequence number that the next node recorded on this thread will have."""
    return local.state.sequence


def _is_checkpoint_valid() -> bool:
    """Return whether a reentrant checkpoint may run now: not below `grad`, nor with inputs.

    >>> import taper
    >>> taper.autograd._is_checkpoint_valid()
    True
    """
    return Variable._execution_engine.is_checkpoint_valid()


def _profiler_enabled() -> bool:
    """Return whether a profiler records on this thread."""
    return local.state.recorder is not None


__all__ = [
    "Function",
    "GradcheckError",
    "NestedIOFunction",
    "SavedTensor",
    "Variable",
    "_calculate_shape",
    "_force_original_view_tracking",
    "_get_sequence_nr",
    "_is_checkpoint_valid",
    "_make_grads",
    "_profiler_enabled",
    "_tensor_or_tensors_to_tuple",
    "_unsafe_preserve_version_counter",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "kineto_available",
    "no_grad",
    "profiler",
    "profiler_util",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
