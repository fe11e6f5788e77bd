"""The functions of the public interface: their names in PyTorch's graphs.

Owns: the table from function to name.  Which functions ask a proxy, and what they tell it, is
known in `taper.overrides`.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from taper.compat.paths import public_module
from taper.ops.identity import OpOverload, OpOverloadPacket
from taper.overrides import overridable

# Functions of nn.functional that PyTorch has in C, by the module where it has them.
_IN_C = {
    "torch": "adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d "
    "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink "
    "native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ "
    "rrelu_ selu_ threshold_",
    "torch._C._nn": "avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot "
    "scaled_dot_product_attention softplus softshrink",
}
_HOMES = {name: module for module, names in _IN_C.items() for name in names.split()}
_HOMES["logsigmoid"] = "torch._C._nn"
_OTHER_NAMES = {"logsigmoid": "log_sigmoid", "threshold": "_threshold"}
# Methods that Python's operators show under another name.
_SHORT = {"__pow__": "pow", "__ipow__": "pow_", "__eq__": "eq"}


@functools.cache
def public_functions() -> dict[Any, str]:
    """Return the functions that ask, with the names that graphs have for them."""
    found: dict[Any, str] = {}
    for each in overridable.askers().values():
        if isinstance(each, overridable.Asker) and isinstance(each.func, types.FunctionType):
            found.setdefault(each.func, _name_in_graphs(each.name))
    return found


def _name_in_graphs(name: str) -> str:
    """Return where PyTorch has a function whose name for users is known."""
    space, _, last = name.rpartition(".")
    if space == "torch.Tensor":
        return f"{space}.{_SHORT.get(last, last)}"
    if space == "torch.nn.functional":
        return f"{_HOMES.get(last, space)}.{_OTHER_NAMES.get(last, last)}"
    if space in ("torch.linalg", "torch.fft", "torch.special"):
        short = space.removeprefix("torch.")
        return f"torch._C._{short}.{short}_{last}"
    return name


def public_name(function: Any) -> str | None:
    """Return the name of a function that asks, as graphs have it; None for others."""
    try:
        return public_functions().get(function)
    except TypeError:  # it has no hash
        return None


def written_name(name: str) -> str:
    """Return the name that PyTorch has for a module or a path of taper.

    >>> from taper.fx._names import written_name
    >>> written_name("taper.nn.functional")
    'torch.nn.functional'
    """
    if name == "taper" or name.startswith("taper."):
        return "torch" + name[len("taper") :]
    return name


def qualified_name(func: Callable[..., Any]) -> str:
    """Return the path of a function as graphs write it.

    >>> import math
    >>> import taper
    >>> from taper.fx._names import qualified_name
    >>> qualified_name(taper.nn.functional.gelu), qualified_name(math.sqrt), qualified_name(len)
    ('torch._C._nn.gelu', 'math.sqrt', 'len')
    """
    name: str = getattr(func, "__name__", "")
    if name and getattr(builtins, name, None) is func:
        return name
    known = public_name(func)
    if known is not None:
        return known
    if isinstance(func, OpOverload | OpOverloadPacket):
        return f"torch.ops.{func}"
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__name__}.{name}"
    module: Any = getattr(func, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {func}")
    if not name:
        raise AttributeError(f"{type(func).__name__!r} object has no attribute '__name__'")
    if isinstance(func, type):
        return f"{public_module(module, name)}.{name}"
    return f"{written_name(_public_home(module, name, func))}.{name}"


def _public_home(module: str, name: str, func: Any) -> str:
    """Return the shortest package around a module that has a function under its name."""
    parts = module.split(".")
    if parts[0] != "taper":
        return module
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if getattr(sys.modules.get(package), name, None) is func:
            return package
    return module
