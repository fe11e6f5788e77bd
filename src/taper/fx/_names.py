"""The functions of the public interface: their names in PyTorch, and how a call is written down.

Owns: the table from function to name.  PyTorch's functions in C take a call as it comes; its
functions in Python hand on required arguments by position and the others by keyword, and the
texts of graphs show which they are.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import taper
import taper.nn.functional as F
from taper import fft, linalg, special
from taper.autograd.detours import original_of
from taper.compat.paths import public_module
from taper.nn import init
from taper.ops.identity import OpOverload, OpOverloadPacket
from taper.tensor import Tensor

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
# Functions of `torch` that PyTorch has in Python, in torch.functional.
_IN_PYTHON = frozenset(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist "
    "chain_matmul einsum lu meshgrid norm split stft tensordot unique unique_consecutive "
    "unravel_index".split()
)
# Functions of `torch` that look at their arguments themselves and take no other class.
_OWN_VALUES = frozenset(
    "broadcast_shapes compile from_dlpack from_numpy is_storage is_tensor load manual_seed save "
    "set_default_device set_default_dtype set_default_tensor_type set_grad_enabled tensor typename "
    "set_printoptions set_rng_state vmap cond while_loop as_tensor asarray sparse_coo_tensor "
    "is_grad_enabled is_inference_mode_enabled set_num_threads get_default_dtype".split()
)
_KEYWORDS_ONLY = ("constant_", "kaiming_uniform_", "normal_", "uniform_")
_METHODS = ("sigmoid", "tanh")  # F.sigmoid(x) is x.sigmoid()
# Operators of tensors, by the method that PyTorch calls for them.
_OPERATORS = {
    **{f"__{each}__": each for each in "add sub mul pow matmul eq ne lt le gt ge".split()},
    **{f"__{each}__": f"__{each}__" for each in "floordiv mod and or xor getitem setitem".split()},
    **{f"__i{each}__": f"__i{each}__" for each in "add sub mul truediv floordiv mod".split()},
    "__truediv__": "div",
}
# The parameters of functions that take them as they come.
_PARAMETERS: dict[str, Any] = {
    "norm": lambda input, p="fro", dim=None, keepdim=False, out=None, dtype=None: None,
    "unique": lambda input, sorted=True, return_inverse=False, return_counts=False, dim=None: None,
    "unique_consecutive": lambda input, return_inverse=False, return_counts=False, dim=None: None,
}


class Public(NamedTuple):
    """A function of the public interface, as a graph names it."""

    name: str
    style: str = "given"  # how a call is written: given, operands, spelled, keywords or method


@functools.cache
def public_functions() -> dict[Any, Public]:
    """Return the functions that a class with `__torch_function__` can take over."""
    found: dict[Any, Public] = {}

    def add(function: Any, name: str, style: str = "given") -> None:
        if isinstance(function, types.FunctionType):
            found.setdefault(function, Public(name, style))

    for name, function in _functions_of(taper):
        if name in _IN_PYTHON:
            style = {"einsum": "operands", "chain_matmul": "given"}.get(name, "spelled")
            add(function, f"torch.functional.{name}", style)
        elif name not in _OWN_VALUES:
            add(function, f"torch.{name}")
    add(taper._assert, "torch._assert")
    for name, function in _functions_of(F):
        known = _OTHER_NAMES.get(name, name)
        if name in _HOMES:
            add(function, f"{_HOMES[name]}.{known}")
        elif name in _METHODS:
            add(function, name, "method")
        else:
            add(function, f"torch.nn.functional.{known}", "spelled")
    for short, module in (("linalg", linalg), ("fft", fft), ("special", special)):
        for name, function in _functions_of(module):
            add(function, f"torch._C._{short}.{short}_{name}")
    for name in _KEYWORDS_ONLY:
        add(getattr(init, name), f"torch.nn.init.{name}", "keywords")
    for name, function in vars(Tensor).items():
        if name in _OPERATORS or not name.startswith("_"):
            add(function, _OPERATORS.get(name, name), "method")
    return found


def _functions_of(module: Any) -> list[tuple[str, Any]]:
    names = [name for name in dir(module) if not name.startswith("_")]
    return [(name, getattr(module, name)) for name in names]


@functools.cache
def signature_of(function: Any) -> inspect.Signature:
    """Return the parameters of a function."""
    known = public_functions()[function].name.rpartition(".")[2]
    inner = _PARAMETERS.get(known, function)
    while isinstance(getattr(inner, "__wrapped__", None), types.FunctionType):
        inner = inner.__wrapped__
    return inspect.signature(original_of(inner))


def written_call(
    function: Any, style: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call as PyTorch's function hands them on."""
    if style == "given":
        return args, kwargs
    if style == "operands":  # einsum takes its operands one by one or as a list
        if len(args) == 2 and isinstance(args[1], list | tuple):
            args = (args[0], *args[1])
        return args, kwargs
    bound = signature_of(function).bind(*args, **kwargs)
    bound.apply_defaults()
    if style == "keywords":
        return (), dict(bound.arguments)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            positional.append(value)
        else:
            named[name] = value
    return tuple(positional), named


def written_name(name: str) -> str:
    """Return the name that PyTorch has for a module or a path of taper.

    >>> from taper.fx._names import written_name
    >>> written_name("taper.nn.functional")
    'torch.nn.functional'
    """
    if name == "taper" or name.startswith("taper."):
        return "torch" + name[len("taper") :]
    return name


def is_public(value: Any) -> bool:
    """Return whether generated code can name a value of the library as `torch.…`."""
    try:
        return value in public_functions()
    except TypeError:
        return False


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
    if is_public(func) and public_functions()[func].style == "method":
        return f"torch.Tensor.{public_functions()[func].name}"
    if is_public(func):
        return public_functions()[func].name
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
