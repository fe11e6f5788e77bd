"""Kernels and formulas on other devices: which of two ways a call goes.

Until the first program uses a GPU nothing here does anything.  From then on the kernels and the
formulas in generated code look where their arrays are (0.2 us), and those on the device run as
copies whose `np` makes arrays there (`gpu/world.py`).
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from taper.arrays import reduction
from taper.autograd.detours import lead_through, original_of
from taper.gpu import state
from taper.opdef import NAMESPACE, Op, composite_watchers, named_composites, registry
from taper.tensor import Tensor

_active: Any = None  # the module `gpu.world`, once there is a device in use


def prepare(op: Op) -> None:
    """Let an operator's kernel run where its arrays are."""
    if _active is not None and not hasattr(op.forward, "host"):
        op.__dict__["forward"] = _active.dispatching(op.forward, lambda: _active.kernel_of(op))


def formula(function: Any) -> Any:
    """Return a formula that runs where its arrays are."""
    if _active is None or function is None or hasattr(function, "host"):
        return function
    return _active.dispatching(function, lambda: _active.formula_of(function))


def _is_on_device(args: Any, options: Any) -> bool:
    """Whether a tensor among the arguments is on the device."""
    for each in (*args, *options.values()):
        if isinstance(each, Tensor):
            if type(each._array) is not np.ndarray and each.device.type == "cuda":
                return True
        elif each.__class__ in (list, tuple) and _is_on_device(each, {}):
            return True
        elif each.__class__ is _active.CudaArray:
            return True
    return False


def redirect(function: Any) -> None:
    """Let a composite function that makes arrays make them where its tensors are."""
    while isinstance(getattr(function, "__wrapped__", None), FunctionType):
        function = function.__wrapped__
    if original_of(function).__class__ is FunctionType and _active.makes_arrays(original_of(function)):
        lead_through("devices", {function: _active.rerouted(function, _is_on_device)})


def _start() -> None:
    """Take the ways of the device into all generated code there is."""
    global _active
    from taper.gpu import world  # late: for programs with a GPU

    _active = world
    for op in registry.values():
        prepare(op)
    for name, value in list(NAMESPACE.items()):
        if name.startswith("K_"):
            NAMESPACE[name] = registry[name[2:]].forward
        elif name.startswith(("formula_", "real_")):
            NAMESPACE[name] = formula(value)
    for _, composite in named_composites:
        redirect(composite)
    composite_watchers.append(lambda name, function: redirect(function))
    for shared in (reduction.column_sums, reduction.sum_array):
        handler = _active.rerouted(shared, lambda args, options: _active.is_there(args))
        lead_through("devices", {shared: handler})


state.at_start.append(_start)
