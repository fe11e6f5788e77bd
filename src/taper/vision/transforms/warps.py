"""Pictures in tensors, sampled at the places of a grid: affine, turned, in perspective, elastic.

A matrix maps coordinates of the result, counted from its centre, to those of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from taper import dtypes
from taper.nn import functional as F
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty, ones
from taper.ops.creation.ranges import linspace
from taper.ops.elementwise.blend import where
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.transforms.tensors import (
    as_batch,
    check,
    dimensions,
    float_dtype,
    from_batch,
)


def _check_arguments(img: Any, interpolation: str, fill: Any, accepted: Sequence[str]) -> None:
    if not isinstance(img, Tensor):
        raise TypeError("Input img should be Tensor")
    check(img)
    if fill is not None and not isinstance(fill, int | float | tuple | list):
        warn_user("Argument fill should be either int, float, tuple or list")
    channels = dimensions(img)[0]
    if isinstance(fill, tuple | list) and len(fill) > 1 and len(fill) != channels:
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of "
            f"the image ({len(fill)} != {channels})"
        )
    if interpolation not in accepted:
        raise ValueError(f"Interpolation mode '{interpolation}' is unsupported with Tensor input")


def _sampled(img: Tensor, grid: Tensor, mode: str, fill: Any) -> Tensor:
    """Return the picture at the places of a grid; `fill` is the colour outside."""
    batch = as_batch(img, [grid.dtype])
    count, _, height, width = batch.shape
    if count > 1:
        grid = grid.expand(count, *grid.shape[1:])
    if fill is not None:
        # A channel of ones: its result says how much of a pixel lies inside.
        batch = cat([batch, ones((count, 1, height, width), dtype=batch.dtype)], dim=1)
    found = F.grid_sample(batch, grid, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        inside, found = found[:, -1:], found[:, :-1]
        colours = (
            [float(each) for each in fill] if isinstance(fill, tuple | list) else [float(fill)]
        )
        colour = tensor(colours, dtype=found.dtype).view(1, len(colours), 1, 1)
        if mode == "nearest":
            found = where(inside < 0.5, colour, found)
        else:
            found = found * inside + (1.0 - inside) * colour
    return from_batch(found, img)


def _pixels(width: int, height: int, x_start: float, y_start: float, dtype: Any) -> Tensor:
    """Return (x, y, 1) for each pixel of a picture whose first one is at (x_start, y_start)."""
    grid = empty((1, height, width, 3), dtype=dtype)
    grid[..., 0] = linspace(x_start, x_start + width - 1, steps=width, dtype=dtype)
    grid[..., 1] = linspace(y_start, y_start + height - 1, steps=height, dtype=dtype).unsqueeze(-1)
    grid[..., 2] = 1
    return grid.view(1, height * width, 3)


def _affine_grid(
    matrix: Sequence[float], size: tuple[int, int], out_size: tuple[int, int], dtype: Any
) -> Tensor:
    (width, height), (out_width, out_height) = size, out_size
    theta = tensor(list(matrix), dtype=dtype).reshape(1, 2, 3)
    pixels = _pixels(out_width, out_height, 0.5 - out_width * 0.5, 0.5 - out_height * 0.5, dtype)
    scaled = theta.transpose(1, 2) / tensor([0.5 * width, 0.5 * height], dtype=dtype)
    return pixels.bmm(scaled).view(1, out_height, out_width, 2)


def affine(img: Tensor, matrix: Sequence[float], interpolation: str, fill: Any) -> Tensor:
    """Return the picture through an affine map."""
    _check_arguments(img, interpolation, fill, ("nearest", "bilinear"))
    size = (img.shape[-1], img.shape[-2])
    grid = _affine_grid(matrix, size, size, float_dtype(img))
    return _sampled(img, grid, interpolation, fill)


def rotate(
    img: Tensor, matrix: Sequence[float], interpolation: str, expand: bool, fill: Any
) -> Tensor:
    """Turn the picture by a matrix; `expand` makes room for all of it."""
    _check_arguments(img, interpolation, fill, ("nearest", "bilinear"))
    size = (img.shape[-1], img.shape[-2])
    out_size = expanded_size(matrix, *size) if expand else size
    return _sampled(
        img, _affine_grid(matrix, size, out_size, float_dtype(img)), interpolation, fill
    )


def expanded_size(matrix: Sequence[float], width: int, height: int) -> tuple[int, int]:
    """Return width and height of what an affine map of a whole picture covers."""
    corners = [
        (-0.5 * width, -0.5 * height, 1.0),
        (-0.5 * width, 0.5 * height, 1.0),
        (0.5 * width, 0.5 * height, 1.0),
        (0.5 * width, -0.5 * height, 1.0),
    ]
    theta = tensor(list(matrix), dtype=dtypes.float32).view(2, 3)
    moved = tensor(corners).matmul(theta.T)
    # Counted from 0 the corners lie in the picture; a little tolerance keeps exact sizes exact.
    half = tensor((0.5 * width, 0.5 * height))
    lowest, highest = (moved + half).amin(dim=0), (moved + half).amax(dim=0)
    first = (lowest / 1e-4).trunc() * 1e-4
    last = (highest / 1e-4).trunc() * 1e-4
    extent = last.ceil() - first.floor()
    return int(extent[0]), int(extent[1])


def perspective(
    img: Tensor, coefficients: Sequence[float], interpolation: str, fill: Any
) -> Tensor:
    """Return the picture through a projective map."""
    _check_arguments(img, interpolation, fill, ("nearest", "bilinear"))
    height, width = img.shape[-2:]
    dtype = float_dtype(img)
    a, b, c, d, e, f, g, h = coefficients
    numerators = tensor([[[a, b, c], [d, e, f]]], dtype=dtype)
    denominator = tensor([[[g, h, 1.0], [g, h, 1.0]]], dtype=dtype)
    pixels = _pixels(width, height, 0.5, 0.5, dtype)
    scaled = numerators.transpose(1, 2) / tensor([0.5 * width, 0.5 * height], dtype=dtype)
    grid = pixels.bmm(scaled) / pixels.bmm(denominator.transpose(1, 2)) - 1.0
    return _sampled(img, grid.view(1, height, width, 2), interpolation, fill)


def elastic_transform(img: Tensor, displacement: Tensor, interpolation: str, fill: Any) -> Tensor:
    """Fetch each pixel from a place beside its own."""
    if not isinstance(img, Tensor):
        raise TypeError("img should be Tensor")
    axes = [linspace((1 - size) / size, (size - 1) / size, size) for size in img.shape[-2:]]
    height, width = img.shape[-2:]
    places = stack(
        [axes[1].expand(height, width), axes[0].unsqueeze(-1).expand(height, width)], dim=-1
    )
    return _sampled(img, places.unsqueeze(0) + displacement, interpolation, fill)


def inverse_affine_matrix(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """Return the six numbers that map the result's coordinates to the picture's.

    The picture is scaled, sheared and turned (degrees, clockwise) around a centre, then moved: this
    is the inverse, in closed form.
    """
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    # Turning and shearing as one matrix [[a, b], [c, d]], whose determinant is 1.
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    xx, xy, yx, yy = (each / scale for each in (d, -b, -c, a))
    back_x, back_y = -center[0] - translate[0], -center[1] - translate[1]
    x = xx * back_x + xy * back_y
    y = yx * back_x + yy * back_y
    return [xx, xy, x + center[0], yx, yy, y + center[1]]
