"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from taper.ops.creation.convert import typename
from taper.ops.shape.join import cat
from taper.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Flatten all parameters into one vector, one after the other.

    Args:
        parameters: the parameters, in order.

    Example:
        >>> import taper
        >>> taper.nn.utils.parameters_to_vector([taper.zeros(2, 2), taper.ones(1)])
        tensor([0., 0., 0., 0., 1.])
    """
    return cat([param.view(-1) for param in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any]) -> None:
    """Let parameters look at the parts of a vector, in the order of `parameters_to_vector`.

    Args:
        vec: the vector, whose memory they share afterwards.
        parameters: the parameters, in order.

    Example:
        >>> import taper
        >>> layer = taper.nn.Linear(2, 1)
        >>> taper.nn.utils.vector_to_parameters(taper.tensor([1.0, 2.0, 3.0]), layer.parameters())
        >>> layer(taper.ones(2))
        tensor([6.], grad_fn=<ViewBackward0>)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    start = 0
    for param in parameters:
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
