"""`ModuleTracker`: inside which modules the program is, in the forward and the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from taper.autograd.grad_mode import is_grad_enabled
from taper.autograd.graph import register_multi_grad_hook
from taper.nn.modules.calls import register_module_forward_hook, register_module_forward_pre_hook
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Keep in `parents` the names of the modules that are running, during the block.

    A module is named by its class, its parts by their names in it; "Global" is always there.

    >>> import taper
    >>> from taper.utils.module_tracker import ModuleTracker
    >>> model = taper.nn.Sequential(taper.nn.Linear(2, 2))
    >>> with ModuleTracker() as tracker:
    ...     _ = model[0].register_forward_hook(lambda *_: print(sorted(tracker.parents)))
    ...     _ = model(taper.ones(1, 2))
    ['Global', 'Sequential']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: dict[Module, str] = {}
        self._handles: list[Any] = []
        self._in_backward = 0

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is inside a module that was called in the block."""
        return self._in_backward > 0

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self.parents = {"Global"}
        self._names.clear()
        self._in_backward = 0

    def _name(self, module: Module) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        for part, child in module.named_children():
            self._names.setdefault(child, f"{name}.{part}")
        return name

    def _before(self, module: Module, inputs: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._at_backward(inputs, lambda: self._left(name))

    def _after(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._at_backward(outputs, lambda: self._entered(name))

    def _entered(self, name: str) -> None:
        self.parents.add(name)
        self._in_backward += 1

    def _left(self, name: str) -> None:
        if name in self.parents and self._in_backward:
            self.parents.discard(name)
            self._in_backward -= 1

    def _at_backward(self, values: Any, run: Callable[[], None]) -> None:
        tensors = list(_recorded(values))
        if tensors and is_grad_enabled():
            register_multi_grad_hook(tensors, lambda _: run())


def _recorded(values: Any) -> Iterator[Tensor]:
    for each in tree_leaves(values):
        if isinstance(each, Tensor) and each.requires_grad:
            yield each
