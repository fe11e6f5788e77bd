"""What `load(weights_only=False)` lets a file name of `nn`: whole models are made of it.

A module is made without calling its `__init__`, and gets its attributes from the file; nothing of
the file's choosing is called, neither now nor later: an attribute may not take the place of a
method, and hooks must be what the user allowed.  Functions are activations of layers, kept as
values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from taper import nn
from taper.compat.paths import public_module
from taper.files.refusals import failed
from taper.nn import functional as F
from taper.nn.parameter import Parameter
from taper.tensor import Tensor

_ACTIVATIONS = (
    "celu elu gelu glu hardsigmoid hardswish hardtanh leaky_relu log_softmax logsigmoid mish relu "
    "relu6 selu sigmoid silu softmax softplus softsign tanh tanhshrink"
).split()
_IN_C = {"gelu": "gelu", "logsigmoid": "log_sigmoid", "softplus": "softplus"}
_HOOKS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip
_TABLES: dict[str, Any] = {"_parameters": Parameter, "_buffers": Tensor, "_modules": nn.Module}


@functools.cache
def names() -> dict[str, Any]:
    """Return the classes of `nn` and the functions that their layers keep, by PyTorch's names."""
    found: dict[str, Any] = {}
    for name in dir(nn):
        getattr(nn, name)  # some load on first use
    waiting = [nn.Module]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith(("taper.nn.modules.", "torch.nn.modules.")):
            found[f"{public_module(kind.__module__, kind.__qualname__)}.{kind.__qualname__}"] = kind
    for name in _ACTIVATIONS:
        found[f"torch.nn.functional.{name}"] = getattr(F, name)
    for name, other in _IN_C.items():
        found[f"torch._C._nn.{other}"] = getattr(F, name)
    return found


@functools.cache
def _classes() -> frozenset[Any]:
    return frozenset(each for each in names().values() if isinstance(each, type))


def makes(kind: Any) -> bool:
    """Return whether a file may make objects of a class because it is one of `nn`."""
    return isinstance(kind, type) and kind in _classes()


def new(kind: Any, arguments: tuple[Any, ...]) -> Any:
    """Return a module without attributes."""
    if arguments:
        raise failed(f"a module is made without arguments, but {kind.__name__} got some")
    return kind.__new__(kind)


def set_state(module: Any, state: Any, by_user: Callable[[Any], bool]) -> None:
    """Give a module its attributes, after checking them.

    Args:
        module: the module, fresh.
        state: what the file says.
        by_user: says whether the user allowed an object.
    """
    if type(state) is not dict or not all(type(key) is str for key in state):
        raise failed("the state of a module is a dict with names of attributes")
    for name, kind in _TABLES.items():
        table = state.get(name, {})
        if not isinstance(table, dict) or not all(
            type(key) is str and (each is None or isinstance(each, kind))
            for key, each in table.items()
        ):
            raise failed(f"{name} of a module must hold {kind.__name__}s by name")
    for name in _HOOKS:
        table = state.get(name)
        if not isinstance(table, dict | None) or not all(
            by_user(each) or by_user(type(each)) for each in (table or {}).values()
        ):
            raise failed(f"{name} of a module must be allowed by add_safe_globals")
    for name in state:
        if isinstance(getattr(type(module), name, None), FunctionType):
            raise failed(f"{name} of a module is a method and cannot be an attribute")
    module.__setstate__(state)
