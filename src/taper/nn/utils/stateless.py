"""Calling a module with other tensors in the place of its parameters and buffers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from taper.nn.modules.module import Module
from taper.tensor import Tensor

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old place of `taper.func.functional_call`; takes one dict only.

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
    """Run a module once with `tensors` in the place of its own."""
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    named: Any = {} if kwargs is None else kwargs
    with replaced(module, tensors, tie_weights, strict):
        return module(*given, **named)


@contextlib.contextmanager
def replaced(
    module: Module, tensors: dict[str, Any], tie_weights: bool = True, strict: bool = False
) -> Iterator[None]:
    """A block in which a module has other tensors; what it assigns meanwhile goes to the dict."""
    chosen = _with_tied(module, tensors) if tie_weights else dict(tensors)
    own = _names(module)
    if strict:
        _check_names(module, set(own), set(chosen))
    places = [(name, *_place(module, name)) for name in chosen if name in own or _is_text(name)]
    places = [each for each in places if each[1] is not None]
    for name, _, _ in places:
        if not (chosen[name] is None or isinstance(chosen[name], Tensor)):
            raise TypeError(f"{chosen[name]} is not an instance of torch.Tensor")
    before = []
    try:
        for name, holder, key in places:
            before.append(holder[key])
            holder[key] = chosen[name]
        yield
    finally:
        for (name, holder, key), value in zip(places, before, strict=False):
            if name in tensors:
                tensors[name] = holder[key]
            holder[key] = value


def _is_text(name: Any) -> bool:
    name.rpartition(".")  # a key that is no text is refused here, as in PyTorch
    return True


def _names(module: Module) -> dict[str, Any]:
    """All parameters and buffers by name, also those that share a tensor."""
    found: dict[str, Any] = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return found


def _place(module: Module, name: str) -> tuple[Any, str]:
    """The dict of a submodule that holds a tensor, and its key there; None if there is none."""
    path, _, key = name.rpartition(".")
    found: Any = module
    for part in path.split(".") if path else ():
        found = found._modules.get(part)
        if found is None:
            return None, key
    for holder in (found._parameters, found._buffers):
        if key in holder:
            return holder, key
    return None, key


def _with_tied(module: Module, tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors, also under the names that share a tensor with one that is given."""
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
