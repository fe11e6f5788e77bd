"""The functions of `transforms.functional` on Pillow images.

Each checks that it got a picture.  Pillow does the work; this file translates the arguments, as
torchvision does.
"""

from __future__ import annotations

import io
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.vision.pillow import from_array, is_picture, pillow

_UNCOLOURED = ("L", "1", "I", "F")


def check(img: Any) -> None:
    """Raise unless it is a picture."""
    if not is_picture(img):
        raise TypeError(f"img should be PIL Image. Got {type(img)}")


def dimensions(img: Any) -> list[int]:
    """Return channels, height and width."""
    if not is_picture(img):
        raise TypeError(f"Unexpected type {type(img)}")
    return [len(img.getbands()), img.height, img.width]


def hflip(img: Any) -> Any:
    """Exchange left and right."""
    check(img)
    return img.transpose(pillow().Transpose.FLIP_LEFT_RIGHT)


def vflip(img: Any) -> Any:
    """Exchange top and bottom."""
    check(img)
    return img.transpose(pillow().Transpose.FLIP_TOP_BOTTOM)


# --- colours ---------------------------------------------------------------------------------


def _enhanced(img: Any, kind: str, factor: float) -> Any:
    check(img)
    return getattr(pillow("ImageEnhance"), kind)(img).enhance(factor)


def adjust_brightness(img: Any, factor: float) -> Any:
    """Multiply the brightness by a factor."""
    return _enhanced(img, "Brightness", factor)


def adjust_contrast(img: Any, factor: float) -> Any:
    """Multiply the contrast by a factor."""
    return _enhanced(img, "Contrast", factor)


def adjust_saturation(img: Any, factor: float) -> Any:
    """Multiply the strength of colours by a factor."""
    return _enhanced(img, "Color", factor)


def adjust_sharpness(img: Any, factor: float) -> Any:
    """Multiply the sharpness by a factor."""
    return _enhanced(img, "Sharpness", factor)


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """Turn hues by a part of the circle, in 8 bits as in Pillow's HSV."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    check(img)
    if img.mode in _UNCOLOURED:
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.array(hue, dtype=np.uint8) + np.array(hue_factor * 255).astype(np.int32).astype(
        np.uint8
    )
    merged = pillow().merge("HSV", (from_array(turned, "L"), saturation, value))
    return merged.convert(img.mode)


def adjust_gamma(img: Any, gamma: float, gain: float) -> Any:
    """Return `255 * gain * (value / 255) ** gamma` of the picture as RGB."""
    check(img)
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    table = [int((255 + 1 - 1e-3) * gain * pow(value / 255.0, gamma)) for value in range(256)]
    return img.convert("RGB").point(table * 3).convert(img.mode)


def to_grayscale(img: Any, num_output_channels: int) -> Any:
    """Turn the picture grey, with one channel or three."""
    check(img)
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    grey = img.convert("L")
    if num_output_channels == 1:
        return grey
    return pillow().merge("RGB", (grey,) * 3)


def invert(img: Any) -> Any:
    """Return the negative."""
    check(img)
    return pillow("ImageOps").invert(img)


def posterize(img: Any, bits: int) -> Any:
    """Keep only the first bits of each value."""
    check(img)
    return pillow("ImageOps").posterize(img, bits)


def solarize(img: Any, threshold: float) -> Any:
    """Invert all values from a threshold on."""
    check(img)
    return pillow("ImageOps").solarize(img, threshold)


def autocontrast(img: Any) -> Any:
    """Stretch each channel to the whole range."""
    check(img)
    return pillow("ImageOps").autocontrast(img)


def equalize(img: Any) -> Any:
    """Give each channel a flat histogram."""
    check(img)
    return pillow("ImageOps").equalize(img)


def as_jpeg(img: Any, quality: int) -> io.BytesIO:
    """Return the picture as the bytes of a JPEG file."""
    written = io.BytesIO()
    img.save(written, "JPEG", quality=quality)
    written.seek(0)
    return written


# --- geometry --------------------------------------------------------------------------------


def _filled(fill: Any, img: Any, name: str = "fillcolor") -> dict[str, Any]:
    """Return Pillow's keyword for the colour outside of the picture."""
    channels = dimensions(img)[0]
    if fill is None:
        fill = 0
    if isinstance(fill, int | float) and channels > 1:
        fill = (fill,) * channels
    if isinstance(fill, list | tuple):
        if len(fill) == 1:
            fill = tuple(fill) * channels
        elif len(fill) != channels:
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the "
                f"image ({len(fill)} != {channels})"
            )
        fill = tuple(fill)
    if img.mode != "F":
        fill = tuple(int(each) for each in fill) if isinstance(fill, tuple) else int(fill)
    return {name: fill}


def check_padding(padding: Any, fill: Any, kinds: Any, padding_mode: Any) -> None:
    """Raise for wrong arguments of `pad`; `kinds` are the types that `fill` may have."""
    if not isinstance(padding, numbers.Number | tuple | list):
        raise TypeError("Got inappropriate padding arg")
    if fill is not None and not isinstance(fill, kinds):
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    if isinstance(padding, tuple | list) and len(padding) not in (1, 2, 4):
        raise ValueError(
            f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element "
            "tuple"
        )
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")


def sides(padding: Any) -> tuple[Any, Any, Any, Any]:
    """Return left, top, right and bottom of a padding."""
    if not isinstance(padding, tuple | list):
        return (padding,) * 4
    if len(padding) == 4:
        return tuple(padding)
    return padding[0], padding[-1], padding[0], padding[-1]


def pad(img: Any, padding: Any, fill: Any, padding_mode: str) -> Any:
    """Add a border around the picture; a negative one cuts."""
    check(img)
    check_padding(padding, fill, (numbers.Number, tuple, list), padding_mode)
    palette = img.getpalette() if img.mode == "P" else None
    if padding_mode == "constant":
        border = tuple(padding) if isinstance(padding, list) else padding
        if isinstance(border, tuple) and len(border) == 1:
            border = border[0]
        padded = pillow("ImageOps").expand(img, border=border, **_filled(fill, img, "fill"))
    else:
        padded = _continued(img, sides(padding), padding_mode)
    if palette is not None:
        padded.putpalette(palette)
    return padded


def _continued(img: Any, around: tuple[int, ...], padding_mode: str) -> Any:
    cut = [-min(each, 0) for each in around]
    if any(cut):
        img = img.crop((cut[0], cut[1], img.width - cut[2], img.height - cut[3]))
    left, top, right, bottom = (max(each, 0) for each in around)
    array = np.asarray(img)
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
    return pillow().fromarray(np.pad(array, widths, mode=padding_mode))  # type: ignore[call-overload]


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """Return a rectangle of the picture."""
    check(img)
    return img.crop((left, top, left + width, top + height))


def resize(img: Any, size: Any, interpolation: Any) -> Any:
    """Return the picture in `(height, width)`."""
    check(img)
    if not (isinstance(size, list | tuple) and len(size) == 2):
        raise TypeError(f"Got inappropriate size arg: {size}")
    return img.resize(tuple(size[::-1]), interpolation)


def affine(img: Any, matrix: Sequence[float], interpolation: Any, fill: Any) -> Any:
    """Return the picture through an affine map from the result's coordinates to its own."""
    check(img)
    transform = pillow().Transform.AFFINE
    return img.transform(img.size, transform, matrix, interpolation, **_filled(fill, img))


def rotate(img: Any, angle: float, interpolation: Any, expand: bool, center: Any, fill: Any) -> Any:
    """Turn the picture counterclockwise, in degrees."""
    check(img)
    return img.rotate(angle, interpolation, expand, center, **_filled(fill, img))


def perspective(img: Any, coefficients: Sequence[float], interpolation: Any, fill: Any) -> Any:
    """Return the picture through a projective map from the result's coordinates to its own."""
    check(img)
    transform = pillow().Transform.PERSPECTIVE
    return img.transform(img.size, transform, coefficients, interpolation, **_filled(fill, img))
