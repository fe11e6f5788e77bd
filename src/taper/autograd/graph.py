"""`taper.autograd.graph`: edges, multi-grad hooks, versions, and the virtual base class of nodes.

Re-exports the hooks on saved tensors from `saved_hooks` and `mutation`, as PyTorch does.
"""

from __future__ import annotations

import abc
import importlib
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from taper.autograd.backward import GradientEdge
from taper.autograd.disturbances import new_lock
from taper.autograd.handles import RemovableHandle
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.node import Node as TaperNode
from taper.autograd.probes import DelayedError, UndefinedGrad
from taper.autograd.running import will_engine_execute_node
from taper.autograd.saved_hooks import (
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from taper.autograd.state import INFERENCE, local
from taper.autograd.views import bump_version, gradient_edge, version_counter
from taper.tensor import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.autograd.mutation import (
        allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors,
    )
else:

    def __getattr__(name: str) -> Any:
        if name == "allow_mutation_on_saved_tensors":
            # late: few use it, and it loads what replays operators
            mutation = importlib.import_module("taper.autograd.mutation")
            return mutation.allow_mutation_on_saved_tensors
        raise AttributeError(f"module 'taper.autograd.graph' has no attribute {name!r}")


def region_activation_memory_budget(budget: float) -> NoReturn:
    """Refused, as PyTorch does outside of `compile`: use `utils.checkpoint`."""
    raise RuntimeError(
        "torch.autograd.graph.region_activation_memory_budget can only be used inside a "
        "torch.compile region; it has no effect in eager mode."
    )


if TYPE_CHECKING:  # to a checker there is one class of nodes
    from taper.autograd.node import Node as Node
else:

    class Node(abc.ABC):
        """The base of every node for `isinstance` and `issubclass`; no node inherits from it.

        >>> import taper
        >>> y = taper.ones(2, requires_grad=True) * 2
        >>> isinstance(y.grad_fn, taper.autograd.graph.Node)
        True
        """

        @classmethod
        def __subclasshook__(cls, subclass: type) -> Any:
            return True if cls is Node and issubclass(subclass, TaperNode) else NotImplemented

        @abc.abstractmethod
        def name(self) -> str:
            """Return the name of the node."""

        @property
        @abc.abstractmethod
        def next_functions(self) -> tuple[tuple[Any, int], ...]:
            """Where the gradients go: (node, output number) for each tensor argument."""

        @property
        @abc.abstractmethod
        def metadata(self) -> dict[str, Any]:
            """A dict for any notes about the node."""

        @property
        @abc.abstractmethod
        def _input_metadata(self) -> Any: ...

        @abc.abstractmethod
        def register_hook(self, fn: Callable[[Any, Any], Any]) -> RemovableHandle:
            """Call `fn(grad_inputs, grad_outputs)` after the node has run."""

        @abc.abstractmethod
        def register_prehook(self, fn: Callable[[Any], Any]) -> RemovableHandle:
            """Call `fn(grad_outputs)` before the node runs."""

        @abc.abstractmethod
        def _register_hook_dict(self, tensor: Tensor) -> None: ...

        @abc.abstractmethod
        def _sequence_nr(self) -> int: ...


for _probe in (DelayedError, UndefinedGrad):
    Node.register(_probe)  # type: ignore[attr-defined]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the place in the graph where the gradient of `tensor` arrives.

    >>> import taper
    >>> x = taper.tensor(2.0, requires_grad=True)
    >>> edge = taper.autograd.graph.get_gradient_edge(x)
    >>> taper.autograd.grad(x * x, [edge])
    (tensor(4.),)
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    return GradientEdge(*_edge(tensor))


def _edge(tensor: Tensor) -> tuple[TaperNode, int]:
    node, nr = gradient_edge(tensor) if tensor.requires_grad else (None, 0)
    if node is not None and tensor.grad_fn is None and local.state.mode & INFERENCE:
        # PyTorch finds the node of a leaf through a view, which has no history here.
        raise AttributeError("'NoneType' object has no attribute 'next_functions'")
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node, nr


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write that taper cannot see, for example one through NumPy.

    Args:
        tensor: a tensor, or several, whose memory was written.

    >>> import taper
    >>> x = taper.ones(2)
    >>> taper.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors: Any = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for each in tensors:
        if not isinstance(each, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor"
            )
        if each._counter is not INFERENCE_COUNTER:
            bump_version(each)


def set_versions(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set the version counters of tensors; nodes that saved one may read other values (§S8)."""
    for given, kind in ((tensors, Tensor), (versions, int)):
        if not (isinstance(given, (tuple, list)) and all(isinstance(each, kind) for each in given)):
            raise TypeError(
                "_unsafe_set_version_counter(): incompatible function arguments. The following "
                "argument types are supported:\n    1. (arg0: collections.abc.Sequence["
                "torch.Tensor], arg1: collections.abc.Sequence[typing.SupportsInt | "
                f"typing.SupportsIndex]) -> None\n\nInvoked with: {tensors!r}, {versions!r}"
            )
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        if tensor._counter is INFERENCE_COUNTER:
            raise RuntimeError(
                "Tried to call torch.autograd._unsafe_set_version() on a tensor that does not "
                "have a version counter. Was it created in inference mode?"
            )
    for tensor, version in zip(tensors, versions, strict=True):
        version_counter(tensor).value = version


# --- a hook on several gradients -------------------------------------------------------------


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
    """Call `fn` once in each pass that reaches `tensors`.

    Args:
        tensors: tensors that require grad.
        fn: with `mode="all"` it gets the list of all gradients, None for what was not reached, when
            the last has come; with `mode="any"` the first gradient that comes.
        mode: "all" or "any".

    Returns: a handle whose `remove()` takes the hook out again.

    >>> import taper
    >>> x = taper.ones(1, requires_grad=True)
    >>> y = taper.ones(1, requires_grad=True)
    >>> handle = taper.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (2 * x + 3 * y).backward()
    [tensor([2.]), tensor([3.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = _first_only(fn)
        return _MultiHandle([each.register_hook(first) for each in tensors if each.requires_grad])
    edges = [_edge(each) for each in tensors]
    collectors = _collectors([node for node, _ in edges], fn)
    return _MultiHandle(
        [each.register_hook(hook) for each, hook in zip(tensors, collectors, strict=True)]
    )


# Copies of a tensor warn that they do without its hooks, and give PyTorch's name of this one.
_NAME_IN_WARNINGS = "register_multi_grad_hook.<locals>.get_inner_hook.<locals>.inner_hook"


def _collectors(
    nodes: Sequence[TaperNode], fn: Callable[[Any], None]
) -> list[Callable[[Tensor], None]]:
    """Return a hook for each node; the last that a pass reaches calls `fn` with all gradients."""
    lock = new_lock()
    # By pass, so that a pass that failed can be forgotten: the gradients, and how many are still to
    # come; fewer than none if the only root of a pass has a hook, which then never calls.
    passes: weakref.WeakKeyDictionary[Any, tuple[list[Any], list[int]]]
    passes = weakref.WeakKeyDictionary()

    def collector(index: int) -> Callable[[Tensor], None]:
        def collect(grad: Tensor) -> None:
            task = local.state.graph_task
            with lock:
                if task not in passes:
                    expected = sum(map(will_engine_execute_node, nodes))
                    passes[task] = [None] * len(nodes), [expected]
                grads, missing = passes[task]
                grads[index] = grad
                missing[0] -= 1
                if not missing[0]:
                    del passes[task]
            if not missing[0]:
                fn(grads)

        collect.__qualname__ = _NAME_IN_WARNINGS
        return collect

    return [collector(index) for index in range(len(nodes))]


def _first_only(fn: Callable[[Any], None]) -> Callable[[Tensor], None]:
    lock = new_lock()
    passes: weakref.WeakSet[Any] = weakref.WeakSet()

    def first(grad: Tensor) -> None:
        task = local.state.graph_task
        with lock:
            if task in passes:
                return
            passes.add(task)
        fn(grad)

    return first
