"""`taper.autograd.graph`: hooks on saved tensors, edges, and the virtual base class of nodes."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

from taper.autograd.backward import GradientEdge
from taper.autograd.handles import RemovableHandle
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.node import Node as TaperNode
from taper.autograd.state import SAVED_HOOKS, local
from taper.autograd.views import bump_version, gradient_edge, requires_grad
from taper.tensor import Tensor


class Node(abc.ABC):  # noqa: B024 - virtual: nodes register themselves
    """The base of every node for `isinstance` and `issubclass`; it is in nobody's `mro()`."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        return cls is Node and issubclass(subclass, TaperNode)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where the gradient of `tensor` arrives."""
    if not requires_grad(tensor):
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node, nr = gradient_edge(tensor)
    if node is None:
        raise RuntimeError("It is not possible to get the gradient edge of this view")
    return GradientEdge(node, nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write that taper did not see, for example through NumPy."""
    for each in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if each._counter is not INFERENCE_COUNTER:
            bump_version(each)


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Send every tensor saved inside the block through `pack_hook`, and back through `unpack_hook`.

    >>> import taper
    >>> x = taper.tensor([2.0], requires_grad=True)
    >>> with taper.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), taper.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        state = local.state
        if state.hooks_disabled is not None:
            raise RuntimeError(state.hooks_disabled)
        state.saved_hooks.append((self.pack_hook, self.unpack_hook))
        state.mode |= SAVED_HOOKS

    def __exit__(self, *exception: object) -> None:
        state = local.state
        if state.saved_hooks:
            state.saved_hooks.pop()
        if not state.saved_hooks:
            state.mode &= ~SAVED_HOOKS


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Keep saved tensors as copies in main memory until backward needs them."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Tensor:
            return tensor.detach().clone()

        def unpack(packed: Tensor) -> Tensor:
            return packed

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Refuse saved-tensor hooks inside the block, with `error_message`."""
    state = local.state
    before = state.hooks_disabled
    if state.saved_hooks:
        raise RuntimeError(error_message)
    state.hooks_disabled = error_message
    try:
        yield
    finally:
        state.hooks_disabled = before


class _MultiHandle(RemovableHandle):
    """Removes the hooks on all tensors of a multi-grad hook."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.handles

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once a pass: with all gradients when the last has come, or with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        return _MultiHandle([each.register_hook(_first_only(fn, lock)) for each in tensors])
    nodes = [gradient_edge(each)[0] for each in tensors]
    passes: dict[int, list[Any]] = {}

    def collector(index: int) -> Callable[[Tensor], None]:
        def collect(grad: Tensor) -> None:
            task = local.state.graph_task
            with lock:
                grads = passes.setdefault(task.id, [0] + [None] * len(tensors))
                grads[0] += 1
                grads[index + 1] = grad
                expected = sum(node is not None and task.will_run(node) for node in nodes)
                complete = grads[0] == expected
                if complete:
                    del passes[task.id]
            if complete:
                fn(grads[1:])

        return collect

    return _MultiHandle([each.register_hook(collector(i)) for i, each in enumerate(tensors)])


def _first_only(fn: Callable[[Any], None], lock: threading.Lock) -> Callable[[Tensor], None]:
    seen: set[int] = set()

    def first(grad: Tensor) -> None:
        with lock:
            task = local.state.graph_task.id
            if task in seen:
                return
            seen.add(task)
        fn(grad)

    return first
