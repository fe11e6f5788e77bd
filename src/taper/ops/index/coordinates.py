"""Places of elements: the first so many nonzero ones, and numbers turned into coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays.foreign import has_elements, place_of
from taper.factory import finish, integer, refuse
from taper.opdef import composite
from taper.ops.index.find import write_places
from taper.tensor import Tensor, wrap


@composite(arrays=True)
def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """Find the coordinates of the first `size` nonzero elements; the rest is `fill_value`.

    >>> import taper
    >>> taper.nonzero_static(taper.tensor([0, 5, 6]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if not isinstance(input, Tensor):
        refuse("nonzero_static", "input", 1, "Tensor", input)
    count = integer("nonzero_static", "size", 0, size)
    if count < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    array = input._array
    if not has_elements(array):
        kind, where = np.dtype(np.int64), input.device
        return finish(place_of(where).empty((count, array.ndim), (1, count), kind, where))
    result = np.full((count, array.ndim), fill_value, np.int64)
    if array.ndim:
        found = np.argwhere(array)[:count]
        result[: len(found)] = found
    made = wrap(result)
    return made if out is None else write_places("nonzero_static", lambda: made, (), out)


@composite(method=False)
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Turn numbers of elements, counted row by row in a tensor of `shape`, into coordinates.

    >>> import taper
    >>> taper.unravel_index(taper.tensor([5, 7]), (3, 4))
    (tensor([1, 1]), tensor([1, 3]))
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype.name == "bool":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for each in sizes:
        if not isinstance(each, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(each)}")
    if any(each < 0 for each in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [1] * len(sizes)
    for number in reversed(range(len(sizes) - 1)):
        steps[number] = steps[number + 1] * sizes[number + 1]
    factors, lengths = (
        finish(np.array(each, np.int64), where=indices.device) for each in (steps, sizes)
    )
    return (indices.unsqueeze(-1).div(factors, rounding_mode="floor") % lengths).unbind(-1)
