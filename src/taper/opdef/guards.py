"""Guards: public functions that say what is wrong with an argument, where it enters the library.

Owns: the guarded forms of the functions of `taper` and `nn.functional` that are written in terms of
operators.  The library itself calls these functions unguarded; operators of the table check their
arguments themselves.  A guard costs a call 50 ns; it refuses arrays, which formulas may pass and
users may not (D5), and explains an error that an argument of a wrong type has led to inside.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from taper.arrays.scalars import type_name
from taper.autograd.detours import original_of
from taper.factory import no_memory
from taper.opdef import NAMESPACE, REQUIRED, Param, parameters_of
from taper.opdef.backward import Source, define
from taper.tensor import Tensor

# The errors that an argument other than a tensor leads to; PyTorch raises TypeError.
LEAKS = (AttributeError, KeyError, MemoryError)
_TENSORS = ("Tensor", "Tensor | None")
_FIRST = ("condition", "input", "self", "sorted_sequence", "tensor")
_STARRED = 0x04 | 0x08  # *args, **kwargs


def _tensor_names(function: Any) -> dict[str, bool]:
    """Return the parameters that must be tensors, with True for those that may be None."""
    first = original_of(function).__code__.co_varnames[:1]
    return {
        name: "None" in hint
        for name, hint in function.__annotations__.items()
        if name not in ("return", "out")
        and (hint in _TENSORS or (hint == "Any" and (name,) == first and name in _FIRST))
    }


def _innermost(function: Any) -> Any:
    """Return the function behind wrappers that rename its arguments or show it to transforms."""
    while isinstance(getattr(function, "__wrapped__", None), types.FunctionType):
        function = function.__wrapped__
    return function


def guarded(label: str, function: Any, module: str) -> Any:
    """Return the public form of a function: itself if it needs no guard."""
    inner = _innermost(function)
    if not isinstance(inner, types.FunctionType) or not isinstance(function, types.FunctionType):
        return function
    if not _tensor_names(inner) and "tensors" not in inner.__annotations__:
        return function
    code = _template.__code__
    consts = tuple(f"{module}:{label}" if each == "@name@" else each for each in code.co_consts)
    code = code.replace(co_consts=consts, co_name=label, co_qualname=label)
    guard = types.FunctionType(code, NAMESPACE, label)
    guard.__doc__ = function.__doc__
    guard.__annotations__ = function.__annotations__
    guard.__dict__.update(function.__dict__)
    guard.__module__ = module
    guard.__wrapped__ = function  # type: ignore[attr-defined]
    _waiting[f"{module}:{label}"] = guard
    return guard


def guard_all(namespace: dict[str, Any]) -> None:
    """Replace the functions that a namespace lists by their guarded forms."""
    for name in namespace["__all__"]:
        if not hasattr(namespace[name], "op"):
            namespace[name] = guarded(name, namespace[name], namespace["__name__"])


_waiting: dict[str, Any] = {}


def _template(*args: Any, **kwargs: Any) -> Any:
    return first_guard("@name@")(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _first_guard(key: str) -> Any:
    """Compile a guard and put the code into that very function, as operators do."""
    guard = _waiting[key]
    function = guard.__wrapped__
    inner = _innermost(function)
    original = original_of(inner)
    number = f"G{len(NAMESPACE)}"
    NAMESPACE[number] = function
    NAMESPACE[f"{number}_tensors"] = _tensor_names(inner)
    plain = inner is function and not original.__code__.co_flags & _STARRED
    label = key.partition(":")[2]
    text = _guard_source(label, number, parameters_of(original), plain)
    guard.__code__ = define(f"guard of {label}", text).__code__
    if plain:
        guard.__defaults__ = original.__defaults__
        guard.__kwdefaults__ = original.__kwdefaults__
    return guard


def _guard_source(label: str, number: str, params: list[Param], plain: bool) -> str:
    """Return the text of a guard; not `plain` means that it has stars or renames arguments."""
    names = [each.name for each in params]
    heads, calls = [], []
    for each in params:
        if each.keyword_only and "*" not in heads:
            heads.append("*")
        heads.append(each.name + ("" if each.default is REQUIRED else "=None"))
        calls.append(f"{each.name}={each.name}" if each.keyword_only else each.name)
    tensors = NAMESPACE[f"{number}_tensors"]
    arrays = [f"type({name}) is ndarray" for name in names if name in tensors]
    given = "{" + ", ".join(f"{name!r}: {name}" for name in names) + "}"
    if "tensors" in names:
        arrays.append("type(tensors) in SEVERAL and tensors and type(tensors[0]) is ndarray")
    if not plain:
        heads = calls = ["*args", "**kwargs"]
        arrays = ["args and type(args[0]) is ndarray"]
        given = f"dict(zip({names!r}, args), **kwargs), args"
    else:
        given += ", None"
    source = Source()
    source.add(f"def {label}({', '.join(heads)}):", 0)
    source.add(
        f"if {' or '.join(arrays)}:\n"
        f"    raise refused({label!r}, {number}_tensors, {given})\n"
        f"try:\n"
        f"    return {number}({', '.join(calls)})\n"
        f"except LEAKS as error:\n"
        f"    raise refused({label!r}, {number}_tensors, {given}, error) from None"
    )
    return source.text()


def refused(
    label: str,
    tensors: dict[str, bool],
    given: dict[str, Any],
    starred: tuple[Any, ...] | None,
    error: Exception | None = None,
) -> Exception:
    """Return the TypeError of the first argument that is no tensor, or the error unchanged."""
    for position, (name, value) in enumerate(given.items(), 1):
        if name in tensors and not isinstance(value, Tensor):
            if value is not None or not tensors[name]:
                return TypeError(
                    f"{label}(): argument '{name}' (position {position}) must be Tensor, not "
                    f"{type_name(value)}"
                )
    several = given.get("tensors", None if tensors else starred)
    if isinstance(several, tuple | list):
        if len(several) == 1 and isinstance(several[0], tuple | list):
            several = several[0]
        for number, each in enumerate(several):
            if not isinstance(each, Tensor):
                return TypeError(
                    f"expected Tensor as element {number} in argument 0, but got {type_name(each)}"
                )
    if "tensors" in given and not isinstance(several, tuple | list):
        return TypeError(
            f"{label}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type_name(several)}"
        )
    if isinstance(error, MemoryError):
        return no_memory(error)
    return error or TypeError(f"{label}(): the arguments do not fit")


NAMESPACE.update(
    first_guard=_first_guard,
    refused=refused,
    LEAKS=LEAKS,
    SEVERAL=(tuple, list),
    ndarray=np.ndarray,
)
