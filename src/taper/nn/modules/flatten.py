"""Flatten and Unflatten: the shape operations as modules."""

from __future__ import annotations

from typing import Any

from taper.nn.modules.module import Module
from taper.tensor import Tensor


class Flatten(Module):
    """Join neighbouring dimensions into one.

    Args:
        start_dim, end_dim: the first and the last of them.

    Shape:
        (*, d1, ..., dn, *) → (*, d1 · ... · dn, *); by default (N, *) → (N, the product of the
        others).

    Example:
        >>> import taper
        >>> taper.nn.Flatten()(taper.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split a dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the shape to give it; one length may be -1.

    Shape: (*, n, *) → (*, *unflattened_size, *), with n at `dim`.

    Example:
        >>> import taper
        >>> taper.nn.Unflatten(1, (3, 4))(taper.ones(2, 12)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, input: Any) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}"
            )
        for position, each in enumerate(input):
            if not isinstance(each, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(each).__name__} at pos {position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
