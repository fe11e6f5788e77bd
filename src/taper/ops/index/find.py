"""Where elements are not zero: nonzero, argwhere, and `where` with a condition alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from taper import dtypes
from taper.factory import refuse
from taper.opdef import Array, composite, op
from taper.opdef.writes import compute_into
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.split import unbind
from taper.tensor import Tensor


@op(name="nonzero", public=False, method=False)
def places_of_nonzero(self: Array) -> Array:
    """Find the coordinates of all elements that are not zero, one row each."""
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
    """Find the coordinates of all elements that are not zero.

    Args:
        input: a tensor with d dimensions and n nonzero elements.
        out: tensor that receives the result.
        as_tuple: whether to return one vector for each dimension, ready to index with.

    Returns: an int64 matrix (n, d) with a row for each element, or a tuple of d vectors (n,).

    Example:
        >>> import taper
        >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
        tensor([[0, 1],
                [1, 0]])
    """
    if out is not None and not isinstance(out, Tensor):
        refuse("nonzero", "out", 0, "Tensor", out)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple:
        return where_indices(input)
    if out is None:
        return places_of_nonzero(input)
    return write_places("nonzero", places_of_nonzero, (input,), out)


def write_places(
    function: str, compute: Callable[..., Tensor], arguments: tuple[Any, ...], out: Any
) -> Tensor:
    """Write coordinates into `out=`."""
    if not isinstance(out, Tensor):
        refuse(function, "out", 0, "Tensor", out)
    if out.dtype is not dtypes.int64:
        raise RuntimeError(
            f"{function}: Expected out tensor to have scalar type Long but got scalar type"
            f"{dtypes.scalar_type_name(out.dtype)}"
        )
    written: Tensor = compute_into(None, compute, arguments, out)
    return written


@composite()
def argwhere(input: Tensor) -> Tensor:
    """Find the coordinates of all elements that are not zero, one row each.

    >>> import taper
    >>> taper.argwhere(taper.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    return places_of_nonzero(input)


def where_indices(condition: Tensor) -> tuple[Tensor, ...]:
    """Find `where(condition)`: a vector of coordinates for each dimension; 0-d counts as 1-d."""
    if not condition._array.ndim:
        condition = unsqueeze(condition, 0)
    return unbind(places_of_nonzero(condition), 1)
