"""Guards: public functions that say what is wrong with an argument, where it enters the library.

Owns: the guarded forms of the functions of `taper` and `nn.functional` that are written in terms of
operators.  The library itself calls these functions unguarded; operators of the table check their
arguments themselves.  A guard costs a call 50 ns; it refuses arrays, which formulas may pass and
users may not (D5), and explains an error that an argument of a wrong type has led to inside.

A guard is also where a usual call takes a quick way, if the function declares one: a single call of
the native module in place of three or four Python functions, whose frames and keywords alone cost
more than PyTorch's whole call.  `zeros(n)` 1.7 to 0.55 us, `reshape` 1.9 to 0.45 (PyTorch 0.95 and
0.8).
"""

from __future__ import annotations

import re
import types
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.arrays.scalars import type_name
from taper.autograd.detours import original_of
from taper.autograd.overrides import notice
from taper.factory import no_memory
from taper.opdef import NAMESPACE, REQUIRED, Param, parameters_of, quick_ways, registry
from taper.opdef.backward import Source, define
from taper.opdef.operands import flat
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
    has_quick_way = native is not None and function in quick_ways
    if not (_tensor_names(inner) or "tensors" in inner.__annotations__ or has_quick_way):
        return function
    known = _waiting.get(f"{module}:{label}")
    if known is not None and known.__wrapped__ is function:
        return known
    code = _template.__code__
    consts = tuple(f"{module}:{label}" if each == "@name@" else each for each in code.co_consts)
    code = code.replace(co_consts=consts, co_name=label, co_qualname=label)
    guard = types.FunctionType(code, NAMESPACE, label)
    guard.__doc__ = function.__doc__
    guard.__annotations__ = function.__annotations__
    guard.__dict__.update(function.__dict__)
    guard.__module__ = module.removesuffix(".Tensor")  # a method has a guard of its own
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
    NAMESPACE[f"{number}_guard"] = guard
    plain = inner is function and not original.__code__.co_flags & _STARRED
    quick = quick_ways.get(function, "") if native is not None else ""
    _provide_names(quick)
    label = key.partition(":")[2]
    text = _guard_source(label, number, _Parameters(original, plain or bool(quick)), quick)
    form = original_of(guard)
    form.__code__ = define(f"guard of {label}", text).__code__
    if plain or quick:
        form.__defaults__ = original.__defaults__
        form.__kwdefaults__ = original.__kwdefaults__
    return form


def _provide_names(quick: str) -> None:
    """Let generated code know the functions of the native module and operators (`F_view`)."""
    for name in re.findall(r"\w+", quick):
        if name.startswith("F_"):
            NAMESPACE[name] = registry[name[2:]].function
        elif hasattr(native, name):
            NAMESPACE[name] = getattr(native, name)


class _Parameters:
    """The parameters of a function as text: as they are declared, and as they are passed on.

    If they are not to be `spelled`, all are passed on as they came.
    """

    def __init__(self, function: Any, spelled: bool) -> None:
        params = parameters_of(function)
        code = function.__code__
        star = code.co_varnames[len(params)] if code.co_flags & 0x04 else ""
        self.names = [each.name for each in params]
        self.spelled = spelled
        self.heads, self.calls = ["*args", "**kwargs"], ["*args", "**kwargs"]
        self.given = f"dict(zip({self.names!r}, args), **kwargs), args"
        self.values = "*args, *kwargs.values()"
        if spelled:
            positional = [each for each in params if not each.keyword_only]
            keywords = [each for each in params if each.keyword_only]
            middle = [f"*{star}"] if star else ["*"] if keywords else []
            self.heads = [*map(_head, positional), *middle, *map(_head, keywords)]
            self.calls = [each.name for each in positional] + [f"*{star}"] * bool(star)
            starred = f"({', '.join(self.calls)},)" if star else None
            self.calls += [f"{each.name}={each.name}" for each in keywords]
            named = ", ".join(f"{name!r}: {name}" for name in self.names)
            self.given = f"{{{named}}}, {starred}"
            self.values = "".join(f"{name}, " for name in self.names) + f"*{star}" * bool(star)


def _head(param: Param) -> str:
    return param.name + ("" if param.default is REQUIRED else "=None")


def _guard_source(label: str, number: str, params: _Parameters, quick: str) -> str:
    """Return the text of a guard."""
    tensors = NAMESPACE[f"{number}_tensors"]
    arrays = ["args and type(args[0]) is ndarray"]
    if params.spelled:
        arrays = [f"type({name}) is ndarray" for name in params.names if name in tensors]
        if "tensors" in params.names:
            arrays.append("type(tensors) in SEVERAL and tensors and type(tensors[0]) is ndarray")
    source = Source()
    source.add(f"def {label}({', '.join(params.heads)}):", 0)
    if quick:
        source.add(f"made = {quick}\nif made is not None:\n    return made")
    refuse = f"raise refused({label!r}, {number}_tensors, {params.given}"
    named = [each for each in params.calls if "=" in each or each.startswith("**")]
    plain = "".join(f"{each}, " for each in params.calls if each not in named)
    again = f"return ask_again({number}_guard, ({plain}), dict({', '.join(named)}))"
    if arrays:
        source.add(f"if {' or '.join(arrays)}:\n    {refuse})")
    source.add(
        f"try:\n"
        f"    return {number}({', '.join(params.calls)})\n"
        f"except LEAKS as error:\n"
        f"    if notice(({params.values})):\n"
        f"        {again}\n"
        f"    return recovered({label!r}, {number}_tensors, {params.given}, error)\n"
        f"except TypeError:\n"
        f"    if notice(({params.values})):\n"
        f"        {again}\n"
        f"    raise"
    )
    return source.text()


def recovered(
    label: str,
    tensors: dict[str, bool],
    given: dict[str, Any],
    starred: tuple[Any, ...] | None,
    error: Exception,
) -> Any:
    """Do what the function does with tensors that have no array; raise if there are none."""
    for each in flat(list(given.values())):
        run = getattr(each.__class__, "_run_function", None)
        if run is not None:
            return run(label, given)
    raise refused(label, tensors, given, starred, error) from None


def _ask_again(guard: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a public function once more, which now asks, without what has its default."""
    form = original_of(guard)
    usual = form.__kwdefaults__ or {}
    kwargs = {name: value for name, value in kwargs.items() if value is not usual.get(name, guard)}
    defaults = form.__defaults__ or ()
    required = form.__code__.co_argcount - len(defaults)
    while required < len(args) <= form.__code__.co_argcount:
        if args[-1] is not defaults[len(args) - 1 - required]:
            break
        args = args[:-1]
    return guard(*args, **kwargs)


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
    if isinstance(several, (tuple, list)):
        if len(several) == 1 and isinstance(several[0], (tuple, list)):
            several = several[0]
        for number, each in enumerate(several):
            if not isinstance(each, Tensor):
                return TypeError(
                    f"expected Tensor as element {number} in argument 0, but got {type_name(each)}"
                )
    if "tensors" in given and not isinstance(several, (tuple, list)):
        return TypeError(
            f"{label}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type_name(several)}"
        )
    if isinstance(error, MemoryError):
        return no_memory(error)
    return error or TypeError(f"{label}(): the arguments do not fit")


NAMESPACE.update(
    first_guard=_first_guard,
    recovered=recovered,
    refused=refused,
    LEAKS=LEAKS,
    ask_again=_ask_again,
    notice=notice,
    SEVERAL=(tuple, list),
    ndarray=np.ndarray,
)
