"""Where elements are not zero: nonzero, argwhere, and `where` with a condition alone."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from taper.opdef import Array, composite, op
from taper.ops.shape import unsqueeze
from taper.ops.split import unbind
from taper.tensor import Tensor


@op(name="nonzero", public=False, method=False)
def places_of_nonzero(self: Array) -> Array:
    """The coordinates of all elements that are not zero, one row each."""
    found = np.array(np.nonzero(self)) if self.ndim else np.empty((0, int(self != 0)), np.int64)
    return found.T


@overload
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False
) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@composite()
def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The coordinates of all elements that are not zero: rows of a matrix, or a tuple of columns.

    >>> import taper
    >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if as_tuple:
        return where_indices(input)
    found = places_of_nonzero(input)
    return found if out is None else out.resize_(found.shape).copy_(found)


@composite()
def argwhere(input: Tensor) -> Tensor:
    """The coordinates of all elements that are not zero, one row each.

    >>> import taper
    >>> taper.argwhere(taper.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    return places_of_nonzero(input)


def where_indices(condition: Tensor) -> tuple[Tensor, ...]:
    """`where(condition)`: one vector of coordinates for each dimension; 0-d counts as 1-d."""
    if not condition._array.ndim:
        condition = unsqueeze(condition, 0)
    return unbind(places_of_nonzero(condition), 1)
