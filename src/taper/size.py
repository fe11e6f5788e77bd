"""Size: the shape of a tensor, a tuple of integers that stays a Size when it is cut or joined.

Knows only tuples; must not know Tensor.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """The shape of a tensor, a tuple with the number of elements along each dimension.

    >>> import taper
    >>> taper.Size([2, 3])[:1] + (4,)
    torch.Size([2, 4])
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Any] = (), /) -> Size:
        return tuple.__new__(
            cls,
            [item if type(item) is int else _integer(i, item) for i, item in enumerate(iterable)],
        )

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape.

        >>> import taper
        >>> taper.Size([2, 3]).numel()
        6
        """
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return of_shape(found) if type(index) is slice else found

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(other + tuple(self))

    def __mul__(self, count: Any) -> Size:
        return of_shape(tuple(self) * count)

    def __rmul__(self, count: Any) -> Size:
        return of_shape(tuple(self) * count)


of_shape: Callable[[tuple[int, ...]], Size] = partial(tuple.__new__, Size)
"""The Size of an array's shape, whose integers need no check."""


def _integer(position: int, item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{type(item).__name__}')"
        ) from None
