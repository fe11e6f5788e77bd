"""What libraries import from here: a block in which 0-d tensors index others inside `vmap`."""

from __future__ import annotations

from taper.absent.answers import Block

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(Block):
    """Nothing to do: a 0-d tensor inside `vmap` is an index like any other.

    >>> import taper
    >>> from taper._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> table = taper.tensor([5, 6, 7])
    >>> with TransformGetItemToIndex():
    ...     taper.vmap(lambda place: table[place])(taper.tensor([2, 0]))
    tensor([7, 5])
    """
