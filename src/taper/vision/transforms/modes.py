"""How values between pixels are found: the names, and Pillow's numbers for them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from taper.vision.pillow import pillow


class InterpolationMode(Enum):
    """Ways to find values between pixels.  BOX, HAMMING and LANCZOS are for pictures.

    >>> from taper.vision.transforms import InterpolationMode
    >>> InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


_NUMBERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}
_FROM_NUMBER = {
    number: mode for mode, number in _NUMBERS.items() if mode is not InterpolationMode.NEAREST_EXACT
}


def from_number(interpolation: Any) -> Any:
    """Return the mode of one of Pillow's numbers; other values are returned unchanged."""
    return _FROM_NUMBER[interpolation] if isinstance(interpolation, int) else interpolation


def checked_mode(interpolation: Any) -> InterpolationMode:
    """Return the mode that an argument of a function means."""
    mode = from_number(interpolation)
    if not isinstance(mode, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow "
            "integer constant"
        )
    return mode


def pillow_mode(mode: InterpolationMode) -> Any:
    """Return Pillow's constant for a mode."""
    return pillow().Resampling(_NUMBERS[mode])
