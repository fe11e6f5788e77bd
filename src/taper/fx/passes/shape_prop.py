"""Shapes of all values in a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

import taper
from taper.fx.interpreter import Interpreter
from taper.fx.node import Node, map_aggregate
from taper.tensor import Tensor

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a graph remembers of a tensor: everything but its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(
    result: Tensor, include_contiguity: bool = True
) -> TensorMetadata:  # fmt: skip
    """Return what is known of a tensor but its values."""
    layout = None
    if include_contiguity:
        formats = (taper.contiguous_format, taper.channels_last, taper.channels_last_3d)
        layout = next((each for each in formats if _is_in(result, each)), None)
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {}
    )


def _is_in(result: Tensor, memory_format: Any) -> bool:
    dims = {taper.channels_last: 4, taper.channels_last_3d: 5}.get(memory_format)
    if dims is not None and result.dim() != dims:
        return False
    return bool(result.is_contiguous(memory_format=memory_format))


class ShapeProp(Interpreter):
    """Runs a graph and notes shapes, dtypes and strides in `node.meta["tensor_meta"]`.

    Args:
        gm: the module of the graph.
        fake_mode: accepted; the graph runs on the values it is given.

    Example:
        >>> import taper
        >>> from taper.fx.passes.shape_prop import ShapeProp
        >>> traced = taper.fx.symbolic_trace(lambda x: x.sum(0))
        >>> result = ShapeProp(traced).propagate(taper.ones(2, 3))
        >>> [node.meta["tensor_meta"].shape for node in traced.graph.nodes]
        [torch.Size([2, 3]), torch.Size([3]), torch.Size([3])]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """Run one node and note what its value looks like."""
        result = super().run_node(n)
        found = False

        def described(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with some arguments and return what it returns."""
        return super().run(*args)
