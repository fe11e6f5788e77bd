"""Stand-ins for tensors and backward nodes, with only the attributes that pictures read."""

from __future__ import annotations

from typing import Any


class FakeTensor:
    def __init__(self, *shape: int, grad_fn: Any = None, base: Any = None) -> None:
        self.shape = shape
        self.grad_fn = grad_fn
        self._base = base


class FakeNode:
    def __init__(self, *inputs: Any, **attributes: Any) -> None:
        self.next_functions = tuple((node, 0) for node in inputs)
        self.__dict__.update(attributes)


def node(name: str, /, *inputs: Any, **attributes: Any) -> Any:
    """Return a node of a class of that name, whose inputs are nodes or None."""
    return type(name, (FakeNode,), {})(*inputs, **attributes)


def leaf(*shape: int) -> tuple[FakeTensor, Any]:
    """Return a leaf that requires grad, and its accumulator."""
    tensor = FakeTensor(*shape)
    return tensor, node("AccumulateGrad", variable=tensor)


def chain(length: int) -> FakeTensor:
    """Return the result of `length` operations one after the other."""
    step = type("AddBackward0", (FakeNode,), {})
    _, last = leaf(2)
    for _ in range(length):
        last = step(last)
    return FakeTensor(2, grad_fn=last)
