"""Kernels and formulas on other devices: which of two ways a call goes.

Until the first program uses a GPU nothing here does anything.  From then on the kernels and the
formulas in generated code look where their arrays are (0.2 us), and those on the device run as
copies whose `np` makes arrays there (`gpu/world.py`).
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import numpy as np

from taper.arrays import memory, reduction
from taper.autograd.detours import lead_through, original_of
from taper.gpu import state
from taper.opdef import NAMESPACE, Op, named_composites, nodes, registry
from taper.tensor import Tensor, fresh, wrap

# What the library calls outside kernels with arrays of any device.
_SHARED = (reduction.column_sums, reduction.sum_array)
_OF_MEMORY = ("adopt", "all_bytes", "on_bytes", "resized")

_active: Any = None  # the module `gpu.world`, once there is a device in use


def prepare(op: Op) -> None:
    """Let an operator's kernel run where its arrays are."""
    if _active is not None and not hasattr(op.forward, "host"):
        op.__dict__["forward"] = _active.dispatching(op.forward, lambda: _active.kernel_of(op), op)


def formula(function: Any) -> Any:
    """Return a formula that runs where its arrays are."""
    if _active is None or function is None or hasattr(function, "host"):
        return function
    return _active.dispatching(function, lambda: _active.formula_of(function))


_formulas: dict[Any, Any] = {}


def _formula_once(function: Any) -> Any:
    """The same, made once for each formula."""
    found = _formulas.get(function)
    if found is None:
        found = _formulas[function] = formula(function)
    return found


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


def _redirect(function: Any, is_composite: bool = False) -> None:
    """Let a function of tensors that makes arrays make them where its tensors are."""
    while isinstance(getattr(function, "__wrapped__", None), FunctionType):
        function = function.__wrapped__
    original = original_of(function)
    if original.__class__ is not FunctionType or hasattr(function, "op"):
        return
    kinds = [str(each) for name, each in original.__annotations__.items() if name != "return"]
    if (is_composite or any(["Tensor" in each for each in kinds])) and _active.makes_arrays(
        original
    ):
        lead_through("devices", {function: _active.rerouted(function, _is_on_device)})


def _redirect_all() -> None:
    """Do so with all functions of the operators' modules, which are all loaded now."""
    for _, composite in named_composites:
        _redirect(composite, True)
    for name, module in list(sys.modules.items()):
        if name.startswith("taper.ops."):
            for value in list(vars(module).values()):
                if value.__class__ is FunctionType and value.__module__ == name:
                    _redirect(value)


def _start() -> None:
    """Take the ways of the device into all generated code there is."""
    global _active
    from taper.gpu import world  # late: for programs with a GPU

    _active = world
    world.meanings[wrap] = lambda array: wrap(world.to_device(array))
    world.meanings[fresh] = lambda array, flag: fresh(world.to_device(array), flag)
    for op in registry.values():
        prepare(op)
    for name, value in list(NAMESPACE.items()):
        if name.startswith("K_"):
            NAMESPACE[name] = registry[name[2:]].forward
        elif name.startswith(("formula_", "real_")):
            NAMESPACE[name] = formula(value)
    nodes.ways.append(_formula_once)
    _redirect_all()
    lead_through("devices", {NAMESPACE["run_inplace"]: world.checked_write})
    for shared in (*_SHARED, *[getattr(memory, name) for name in _OF_MEMORY]):
        handler = _active.rerouted(shared, lambda args, options: _active.is_there(args))
        lead_through("devices", {shared: handler})


state.at_start.append(_start)
