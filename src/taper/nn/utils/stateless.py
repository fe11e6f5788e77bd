"""Calling a module with other tensors instead of its parameters, buffers and attributes."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from taper.nn.modules.module import Module
from taper.tensor import Tensor

__all__ = ["functional_call"]

_MISSING: Any = object()
"""Stands for the value of an attribute that a module does not have."""


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `taper.func.functional_call` by its old name, with one dict; deprecated.

    Args:
        module: the module to call.
        parameters_and_buffers: the tensors to use, by name.
        args, kwargs: the arguments of the call: a tuple or one value, and a dict.
        tie_weights: whether a tensor is used under all names that share one.
        strict: whether the names must be exactly those of the module.

    Example:
        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> tensors = {"weight": taper.ones(1, 2), "bias": taper.zeros(1)}
        >>> taper.nn.utils.stateless.functional_call(taper.nn.Linear(2, 1), tensors, taper.ones(2))
        tensor([2.])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call(
    module: Module,
    tensors: dict[str, Any],
    args: Any,
    kwargs: dict[str, Any] | None,
    tie_weights: bool,
    strict: bool,
) -> Any:
    """Run a module once with `tensors` instead of its own."""
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    named: Any = {} if kwargs is None else kwargs
    with replaced(module, tensors, tie_weights, strict):
        return module(*given, **named)


@contextlib.contextmanager
def replaced(
    module: Module, tensors: dict[str, Any], tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """Give a module other tensors inside the block; what it assigns meanwhile goes to the dict."""
    chosen = _with_tied(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, set(_names(module)), set(chosen))
    before = []
    try:
        for name, value in chosen.items():
            path, _, key = name.rpartition(".")
            holder = _submodule(module, path)
            before.append((name, holder, key, _exchanged(holder, key, value)))
        yield
    finally:
        for name, holder, key, value in before:
            found = _exchanged(holder, key, value)
            if name in tensors:
                tensors[name] = found


def _names(module: Module) -> dict[str, Any]:
    """Return all parameters and buffers by name, including those that share a tensor."""
    found: dict[str, Any] = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return found


def _submodule(module: Module, path: str) -> Module:
    """Return the module at the end of a path of attributes."""
    found, done = module, ""
    for part in path.split(".") if path else ():
        if not hasattr(found, part):
            raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
        found, done = getattr(found, part), f"{done}.{part}".removeprefix(".")
        if not isinstance(found, Module):
            raise TypeError(f"submodule `{done}`: {found} is not an instance of torch.nn.Module")
    return found


def _exchanged(module: Module, key: str, value: Any) -> Any:
    """Put a tensor where a module has a parameter, buffer or attribute; return what was there."""
    if not key:
        raise KeyError('tensor name can\'t be empty string ""')
    if not (value is None or value is _MISSING or isinstance(value, Tensor)):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    holders: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    for holder in holders:
        if key in holder:
            before, holder[key] = holder[key], value
            return before
    before = getattr(module, key, _MISSING)
    if not (before is None or before is _MISSING or isinstance(before, Tensor)):
        raise TypeError(f"attribute `{key}`: {before} is not an instance of torch.Tensor")
    # Past the module's `__setattr__`, which would register a Parameter.
    if value is _MISSING:
        object.__delattr__(module, key)
    else:
        object.__setattr__(module, key, value)
    return before


def _with_tied(module: Module, tensors: dict[str, Any]) -> dict[str, Any]:
    """Return the tensors, under all names that share a tensor with one that is given."""
    given_names = set(tensors.keys())
    groups: dict[int, list[str]] = {}
    for name, tensor in _names(module).items():
        groups.setdefault(id(tensor), []).append(name)
    chosen = dict(tensors)
    for names in groups.values():
        given = [name for name in names if name in given_names]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            chosen.update(dict.fromkeys(names, tensors[given[0]]))
    return chosen


def _check_names(module: Module, own: set[str], given: set[str]) -> None:
    lines = []
    for kind, names in (("Unexpected", given - own), ("Missing", own - given)):
        if names:
            listed = ", ".join(f"'{name}'" for name in sorted(names))
            lines.append(f"\n\t{kind} key(s): {listed}.")
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}"
        )
