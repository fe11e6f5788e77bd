"""BuiltinNode: what all nodes share but those of custom functions: they can be called (§G10)."""

from __future__ import annotations

from typing import Any

from taper.autograd.node import Node
from taper.tensor import Tensor


class BuiltinNode(Node):
    """A node of taper's own."""

    __slots__ = ()

    def __call__(self, *grads: Tensor | None) -> Any:
        """Run the backward of this node alone, recorded if grad mode is on."""
        if len(grads) != self._output_count:
            raise TypeError(f"expected {self._output_count} arguments, got {len(grads)} instead")
        for position, grad in enumerate(grads):
            if not (grad is None or isinstance(grad, Tensor)):
                raise TypeError(f"argument {position} is not a Variable")
        if self._passes_undefined and all(grad is None for grad in grads):
            results: tuple[Any, ...] = (None,) * len(self._edges)
        else:
            results = tuple(self._run_tensors(list(grads)))
        return results[0] if len(results) == 1 else results
