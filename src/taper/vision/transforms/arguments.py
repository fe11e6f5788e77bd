"""Checks that the classes of transforms share."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from taper.ops.creation.filled import empty
from taper.ops.random.draws import randint
from taper.tensor import Tensor
from taper.userwarning import warn_user

PAIR_NEEDED = "Please provide only two dimensions (h, w) for size."


def pair_of(size: Any, message: str = PAIR_NEEDED) -> Any:
    """Return height and width from one number, or a sequence of one or two."""
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # type: ignore[call-overload]
    if isinstance(size, Sequence) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return size


def check_sequence(value: Any, name: str, lengths: Sequence[int] = (2,)) -> None:
    """Raise unless it is a sequence of one of these lengths."""
    message = f"{name} should be a sequence of length {' or '.join(map(str, lengths))}."
    if not isinstance(value, Sequence):
        raise TypeError(message)
    if len(value) not in lengths:
        raise ValueError(message)


def angles_of(value: Any, name: str, lengths: Sequence[int] = (2,)) -> list[float]:
    """Return the range of an angle: one number means as much to both sides."""
    if isinstance(value, numbers.Number):
        if value < 0:  # type: ignore[operator]
            raise ValueError(f"If {name} is a single number, it must be positive.")
        value = [-value, value]  # type: ignore[operator]
    else:
        check_sequence(value, name, lengths)
    return [float(each) for each in value]


def check_fill(fill: Any) -> Any:
    """Return the colour outside of the picture; None is black."""
    if fill is None:
        return 0
    if not isinstance(fill, Sequence | numbers.Number):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


def fill_for(img: Any, fill: Any, channels: int) -> Any:
    """Return the colour for the functions: for a tensor one number for each channel."""
    if not isinstance(img, Tensor):
        return fill
    if isinstance(fill, int | float):
        return [float(fill)] * channels
    return [float(each) for each in fill]


def check_ranges(scale: Any, ratio: Any) -> None:
    """Refuse or warn about ranges of areas and aspect ratios."""
    if not isinstance(scale, Sequence):
        raise TypeError("Scale should be a sequence")
    if not isinstance(ratio, Sequence):
        raise TypeError("Ratio should be a sequence")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warn_user("Scale and ratio should be of kind (min, max)")


def uniform(low: float, high: float) -> float:
    """Return a number between two, drawn as a tensor of one element."""
    drawn: float = empty(1).uniform_(float(low), float(high)).item()
    return drawn


def integer(low: int, high: int) -> int:
    """Return one integer from `low` to `high - 1`."""
    drawn: int = randint(low, high, (1,)).item()
    return drawn
