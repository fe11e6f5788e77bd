"""Which modules of a model are wrapped by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from taper.nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Wrap the modules for which a function says so."""
    return recurse or bool(lambda_fn(module))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: Any
) -> bool:
    """Wrap the modules of some classes."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: Any = None,
    exclude_wrap_modules: Any = None,
) -> bool:
    """Wrap modules that have at least so many elements in parameters."""
    names = ("ModuleList", "ModuleDict")
    if recurse:
        leaves = tuple(force_leaf_modules or ())
        return nonwrapped_numel >= min_num_params and not isinstance(module, leaves)
    excluded = type(module).__name__ in names or isinstance(
        module, tuple(exclude_wrap_modules or ())
    )
    return nonwrapped_numel >= min_num_params and not excluded


class ModuleWrapPolicy:
    """Wrap the modules of some classes.

    Args:
        module_classes: the classes.

    >>> from taper import nn
    >>> from taper.distributed.fsdp.wrap import ModuleWrapPolicy
    >>> ModuleWrapPolicy({nn.Linear})(nn.Linear(1, 1), recurse=False)
    True
    """

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes})"


class CustomPolicy:
    """Wrap the modules for which a function returns True, or options of the wrapper.

    Args:
        lambda_fn: called with each module.
    """

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn


class _Wrapping:
    kind: Any = None
    options: Any = None


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Let `wrap` wrap modules inside the block.

    Args:
        wrapper_cls: the class of wrappers.
        wrapper_kwargs: its options.
    """
    before = _Wrapping.kind, _Wrapping.options
    _Wrapping.kind, _Wrapping.options = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Wrapping.kind, _Wrapping.options = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module inside `enable_wrap`; outside, return it."""
    if _Wrapping.kind is None:
        return module
    made: Module = _Wrapping.kind(module, **{**_Wrapping.options, **wrap_overrides})
    return made


def wrap_below(
    root: Module, policy: Any, ignored: set[Module], make: Callable[..., Module]
) -> None:
    """Wrap modules below a root as a policy says, innermost first, in place."""
    if isinstance(policy, CustomPolicy):
        _wrap_custom(root, policy, ignored, make)
        return
    for name, child in list(root._modules.items()):
        if child is None or child in ignored:
            continue
        size = _numel(child)
        if policy(module=child, recurse=True, nonwrapped_numel=size):
            wrap_below(child, policy, ignored, make)
        if policy(module=child, recurse=False, nonwrapped_numel=_numel(child)):
            root._modules[name] = make(child)


def _wrap_custom(root: Module, policy: CustomPolicy, ignored: set[Module], make: Any) -> None:
    for name, child in list(root._modules.items()):
        if child is None or child in ignored:
            continue
        _wrap_custom(child, policy, ignored, make)
        answer = policy._lambda_fn(child)
        if answer:
            root._modules[name] = make(child, **(answer if isinstance(answer, dict) else {}))


def _numel(module: Module) -> int:
    """Count the elements of parameters that no wrapper below has."""
    total = sum(each.numel() for each in module._parameters.values() if each is not None)
    for child in module._modules.values():
        if child is not None and "_group" not in child.__dict__:
            total += _numel(child)
    return total
