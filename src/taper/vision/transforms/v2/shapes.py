"""Boxes and points in a picture that is transformed: where they are afterwards.

A transform of a picture moves points; a box goes where its corners go.  `MOVES` has for each
function of `transforms.v2.functional` the move of points and the new size of the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taper import dtypes
from taper.ops.creation.data import from_numpy, tensor
from taper.ops.shape.split import stack
from taper.tensor import Tensor
from taper.vision.ops.boxes import box_convert
from taper.vision.transforms import geometry, warps
from taper.vision.transforms.pictures import sides
from taper.vision.tv_tensors import (
    BoundingBoxes,
    BoundingBoxFormat,
    KeyPoints,
    is_rotated_bounding_format,
)

Size = tuple[int, int]


class Move(NamedTuple):
    """Where points (..., 2) go, the new height and width, and whether boxes are cut there.

    Edges of boxes are between pixels, points on them: a flip leaves a point `shift` less far.
    """

    points: Callable[[Tensor], Tensor]
    canvas: Size
    is_cut: bool = True
    shift: tuple[int, int] = (0, 0)


def _scaled_and_moved(scale: Sequence[float], move: Sequence[float]) -> Callable[[Tensor], Tensor]:
    def points(p: Tensor) -> Tensor:
        return p * tensor(scale, dtype=p.dtype) + tensor(move, dtype=p.dtype)

    return points


def _hflip(canvas: Size) -> Move:
    return Move(_scaled_and_moved((-1, 1), (canvas[1], 0)), canvas, False, (1, 0))


def _vflip(canvas: Size) -> Move:
    return Move(_scaled_and_moved((1, -1), (0, canvas[0])), canvas, False, (0, 1))


def _crop(canvas: Size, top: int, left: int, height: int, width: int) -> Move:
    return Move(_scaled_and_moved((1, 1), (-left, -top)), (height, width))


def _center_crop(canvas: Size, output_size: Any) -> Move:
    size = [output_size] if isinstance(output_size, int) else list(output_size)
    height, width = (size[0], size[-1])
    top, left = round((canvas[0] - height) / 2.0), round((canvas[1] - width) / 2.0)
    return _crop(canvas, top, left, height, width)


def _pad(canvas: Size, padding: Any, fill: Any = None, padding_mode: str = "constant") -> Move:
    if padding_mode not in ("constant",):
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
    left, top, right, bottom = sides(padding)
    size = (canvas[0] + top + bottom, canvas[1] + left + right)
    return Move(_scaled_and_moved((1, 1), (left, top)), size)


def _resize(
    canvas: Size, size: Any, interpolation: Any = None, max_size: int | None = None, **_: Any
) -> Move:
    wanted = resized_canvas(canvas, size, max_size)
    ratios = (wanted[1] / canvas[1], wanted[0] / canvas[0])
    return Move(_scaled_and_moved(ratios, (0, 0)), (wanted[0], wanted[1]), False)


def resized_canvas(canvas: Size, wanted: Any, max_size: int | None) -> list[int]:
    """Return height and width after `resize`; without `wanted` the longer side is `max_size`."""
    height, width = canvas
    if wanted is None:
        if not isinstance(max_size, int):
            raise ValueError(
                f"max_size must be an integer when size is None, but got {max_size} instead."
            )
        shorter = int(max_size * min(canvas) / max(canvas))
        return [max_size, shorter] if width <= height else [shorter, max_size]
    wanted = [wanted] if isinstance(wanted, int) else list(wanted)
    geometry.check_max_size(wanted, max_size)
    return geometry.resized_size(canvas, wanted, max_size)


def _matrix(numbers: Sequence[float]) -> Callable[[Tensor], Tensor]:
    """Return the move by an affine matrix of six numbers."""

    def points(p: Tensor) -> Tensor:
        a, b, c, d, e, f = numbers
        x, y = p.unbind(-1)
        return stack([a * x + b * y + c, d * x + e * y + f], dim=-1)

    return points


def _forward(numbers: Sequence[float]) -> list[float]:
    """Return the inverse of an affine matrix of six numbers."""
    whole = np.array([*numbers, 0.0, 0.0, 1.0]).reshape(3, 3)
    return [float(each) for each in np.linalg.inv(whole)[:2].reshape(-1)]


def _affine(
    canvas: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: Any = None,
    fill: Any = None,
    center: Any = None,
) -> Move:
    middle = [canvas[1] * 0.5, canvas[0] * 0.5] if center is None else center
    both = [shear, 0.0] if isinstance(shear, int | float) else [shear[0], shear[-1]]
    if not isinstance(shear, int | float) and len(shear) == 1:
        both = [shear[0], shear[0]]
    back = warps.inverse_affine_matrix(middle, angle, translate, scale, both)
    return Move(_matrix(_forward(back)), canvas)


def _rotate(
    canvas: Size,
    angle: float,
    interpolation: Any = None,
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> Move:
    angle = angle % 360
    if expand:
        center = None
    turned = _affine(canvas, -angle, [0.0, 0.0], 1.0, [0.0, 0.0], center=center)
    if not expand:
        return turned
    # The size that torchvision gives boxes: the matrix with its centre, other than for pictures.
    middle = [canvas[1] * 0.5, canvas[0] * 0.5]
    back = warps.inverse_affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    width, height = warps.expanded_size(back, canvas[1], canvas[0])
    corners = tensor(
        [[0.0, 0.0], [0.0, canvas[0]], [canvas[1], canvas[0]], [canvas[1], 0.0]],
        dtype=dtypes.float32,
    )
    start = turned.points(corners).amin(0)

    def points(p: Tensor) -> Tensor:
        return turned.points(p) - start.to(p.dtype)

    return Move(points, (height, width))


def _perspective(
    canvas: Size,
    startpoints: Any,
    endpoints: Any,
    interpolation: Any = None,
    fill: Any = None,
    coefficients: Sequence[float] | None = None,
) -> Move:
    if coefficients is None:
        coefficients = geometry.perspective_coefficients(startpoints, endpoints)
    back = np.array([*coefficients, 1.0]).reshape(3, 3)
    there = [float(each) for each in np.linalg.inv(back).reshape(-1)]

    def points(p: Tensor) -> Tensor:
        x, y = p.unbind(-1)
        below = there[6] * x + there[7] * y + there[8]
        across = (there[0] * x + there[1] * y + there[2]) / below
        return stack([across, (there[3] * x + there[4] * y + there[5]) / below], dim=-1)

    return Move(points, canvas)


def _elastic(
    canvas: Size, displacement: Tensor, interpolation: Any = None, fill: Any = None
) -> Move:
    height, width = canvas
    grid = displacement.detach().numpy()
    moved = np.empty((height, width, 2), np.float32)
    moved[..., 0] = np.linspace((1 - width) / width, (width - 1) / width, width, dtype=np.float32)
    moved[..., 1] = np.linspace(
        (1 - height) / height, (height - 1) / height, height, dtype=np.float32
    )[:, None]
    moved -= grid[0]

    def points(p: Tensor) -> Tensor:
        at = p.numpy().astype(np.int64)
        x, y = np.clip(at[..., 0], 0, width - 1), np.clip(at[..., 1], 0, height - 1)
        found = (moved[y, x] + 1) * 0.5 * np.array([width, height], np.float32) - 0.5
        return from_numpy(found).to(p.dtype)

    return Move(points, canvas)


MOVES: dict[str, Callable[..., Move]] = {
    "horizontal_flip": _hflip,
    "vertical_flip": _vflip,
    "crop": _crop,
    "center_crop": _center_crop,
    "pad": _pad,
    "resize": _resize,
    "affine": _affine,
    "rotate": _rotate,
    "perspective": _perspective,
    "elastic": _elastic,
}


# --- boxes and points ------------------------------------------------------------------------


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.float()


def moved_boxes(boxes: BoundingBoxes, move: Move) -> BoundingBoxes:
    """Return boxes around where the corners of boxes go."""
    _refuse_rotated(boxes.format)
    plain = boxes.as_subclass(Tensor)
    if not plain.numel():
        kept = plain.clone()
    else:
        x1, y1, x2, y2 = _converted(_floating(plain), boxes.format, _XYXY).unbind(-1)
        corners = stack([stack(each, -1) for each in ((x1, y1), (x2, y1), (x2, y2), (x1, y2))], 1)
        there = move.points(corners)
        low, high = there.amin(1), there.amax(1)
        kept = stack([low[:, 0], low[:, 1], high[:, 0], high[:, 1]], -1)
        if move.is_cut and boxes.clamping_mode is not None:
            kept = _clamped(kept, move.canvas)
        kept = _converted(kept, _XYXY, boxes.format).to(plain.dtype)
    facts: dict[str, Any] = {"format": boxes.format, "canvas_size": move.canvas}
    return BoundingBoxes._wrap(kept, **facts, clamping_mode=boxes.clamping_mode)


def moved_points(points: KeyPoints, move: Move) -> KeyPoints:
    """Return where points go."""
    plain = points.as_subclass(Tensor)
    there = move.points(_floating(plain)) if plain.numel() else plain.clone()
    there = (there - tensor(move.shift, dtype=there.dtype)).to(plain.dtype)
    return KeyPoints._wrap(there, canvas_size=move.canvas)


_XYXY = BoundingBoxFormat.XYXY


def _refuse_rotated(*formats: BoundingBoxFormat) -> None:
    if any(is_rotated_bounding_format(each) for each in formats):
        raise NotImplementedError(
            "taper has no rotated boxes: use the formats 'xyxy', 'xywh' and 'cxcywh'"
        )


def _converted(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat) -> Tensor:
    _refuse_rotated(old, new)
    return boxes if old is new else box_convert(boxes, old.value.lower(), new.value.lower())


def _clamped(boxes: Tensor, canvas: Size) -> Tensor:
    height, width = canvas
    x1, y1, x2, y2 = boxes.unbind(-1)
    across, down = (
        (x1.clamp(0, width), x2.clamp(0, width)),
        (y1.clamp(0, height), y2.clamp(0, height)),
    )
    return stack([across[0], down[0], across[1], down[1]], -1)


def convert_bounding_box_format(
    inpt: Tensor, old_format: Any = None, new_format: Any = None, inplace: bool = False
) -> Tensor:
    """Return boxes in another format.

    Args:
        inpt: boxes.
        old_format: their format, for a plain tensor.
        new_format: the format that they shall have.
        inplace: write the result into `inpt`.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms.v2 import functional
    >>> boxes = tv_tensors.BoundingBoxes([[1, 1, 3, 5]], format="XYXY", canvas_size=(8, 8))
    >>> functional.convert_bounding_box_format(boxes, new_format="XYWH").tolist()
    [[1, 1, 2, 4]]
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new = _format_of(new_format)
    is_boxes = isinstance(inpt, BoundingBoxes)
    if is_boxes and old_format is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    if not is_boxes and old_format is None:
        raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
    old = inpt.format if isinstance(inpt, BoundingBoxes) else _format_of(old_format)
    plain = inpt.as_subclass(Tensor) if is_boxes else inpt
    found = _converted(plain, old, new).to(plain.dtype)
    if inplace and found is not plain:
        found = plain.copy_(found)
    if not isinstance(inpt, BoundingBoxes):
        return found
    facts: dict[str, Any] = {"format": new, "canvas_size": inpt.canvas_size}
    return BoundingBoxes._wrap(found, **facts, clamping_mode=inpt.clamping_mode)


def _format_of(format: Any) -> BoundingBoxFormat:
    return BoundingBoxFormat[format.upper()] if isinstance(format, str) else format


def clamp_bounding_boxes(
    inpt: Tensor, format: Any = None, canvas_size: Any = None, clamping_mode: Any = "auto"
) -> Tensor:
    """Return the parts of boxes inside the picture.

    Args:
        inpt: boxes.
        format: their format, for a plain tensor.
        canvas_size: height and width of the picture, for a plain tensor.
        clamping_mode: "soft", "hard", None, or "auto" for that of the boxes.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms.v2 import functional
    >>> boxes = tv_tensors.BoundingBoxes([[-1, 1, 3, 9]], format="XYXY", canvas_size=(8, 8))
    >>> functional.clamp_bounding_boxes(boxes).tolist()
    [[0, 1, 3, 8]]
    """
    if isinstance(inpt, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError(
                "For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed."
            )
        mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
        found = _clamped_in(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode)
        facts: dict[str, Any] = {"format": inpt.format, "canvas_size": inpt.canvas_size}
        return BoundingBoxes._wrap(found, **facts, clamping_mode=inpt.clamping_mode)
    if format is None or canvas_size is None or clamping_mode == "auto":
        raise ValueError(
            "For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed."
        )
    return _clamped_in(inpt, _format_of(format), canvas_size, clamping_mode)


def _clamped_in(boxes: Tensor, format: BoundingBoxFormat, canvas: Size, mode: Any) -> Tensor:
    if mode is None:
        return boxes.clone()
    corners = _clamped(_converted(boxes, format, _XYXY), canvas)
    return _converted(corners, _XYXY, format).to(boxes.dtype)


def clamp_keypoints(inpt: Tensor, canvas_size: Any = None) -> Tensor:
    """Return points moved to the nearest pixel of the picture.

    Args:
        inpt: points (..., 2).
        canvas_size: height and width of the picture, for a plain tensor.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms.v2 import functional
    >>> functional.clamp_keypoints(tv_tensors.KeyPoints([[-1, 9]], canvas_size=(4, 5))).tolist()
    [[0, 3]]
    """
    if isinstance(inpt, KeyPoints):
        if canvas_size is not None:
            raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
        found = clamp_keypoints(inpt.as_subclass(Tensor), inpt.canvas_size)
        return KeyPoints._wrap(found, canvas_size=inpt.canvas_size)
    if canvas_size is None:
        raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
    x, y = inpt.unbind(-1)
    return stack([x.clamp(0, canvas_size[1] - 1), y.clamp(0, canvas_size[0] - 1)], -1)


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: Any = None,
    canvas_size: Any = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return the boxes that are inside the picture and not too small, and which they are.

    Args:
        bounding_boxes: boxes.
        format: their format, for a plain tensor.
        canvas_size: height and width of the picture, for a plain tensor.
        min_size: the least width and height.
        min_area: the least area.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms.v2 import functional
    >>> data = [[0, 0, 4, 4], [2, 2, 2, 3]]
    >>> boxes = tv_tensors.BoundingBoxes(data, format="XYXY", canvas_size=(8, 8))
    >>> functional.sanitize_bounding_boxes(boxes)[1].tolist()
    [True, False]
    """
    if isinstance(bounding_boxes, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError(
                "If bounding_boxes is a tv_tensors.BoundingBoxes instance, format and canvas_size "
                f"must be None. Got {format=} and {canvas_size=}"
            )
        of = bounding_boxes
        valid = _are_valid(of.as_subclass(Tensor), of.format, of.canvas_size, min_size, min_area)
        kept = of.as_subclass(Tensor)[valid]
        facts: dict[str, Any] = {"format": of.format, "canvas_size": of.canvas_size}
        return BoundingBoxes._wrap(kept, **facts, clamping_mode=of.clamping_mode), valid
    if format is None or canvas_size is None:
        raise ValueError(
            "format and canvas_size cannot be None if bounding_boxes is a pure tensor. "
            f"Got {format=} and {canvas_size=}"
        )
    valid = _are_valid(bounding_boxes, _format_of(format), canvas_size, min_size, min_area)
    return bounding_boxes[valid], valid


def _are_valid(
    boxes: Tensor, format: BoundingBoxFormat, canvas: Size, min_size: float, min_area: float
) -> Tensor:
    x1, y1, x2, y2 = _converted(boxes, format, _XYXY).unbind(-1)
    width, height = x2 - x1, y2 - y1
    valid = (width >= min_size) & (height >= min_size) & (width * height >= min_area)
    valid &= (x1 >= 0) & (y1 >= 0) & (x1 <= canvas[1]) & (x2 <= canvas[1])
    return valid & (x2 >= 0) & (y2 >= 0) & (y1 <= canvas[0]) & (y2 <= canvas[0])


def sanitize_keypoints(key_points: Tensor, canvas_size: Any = None) -> tuple[Tensor, Tensor]:
    """Return the points that are inside the picture, and which they are.

    Args:
        key_points: points (N, 2), or (N, M, 2), of which all M must be inside.
        canvas_size: height and width of the picture, for a plain tensor.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms.v2 import functional
    >>> points = tv_tensors.KeyPoints([[1, 1], [9, 1]], canvas_size=(4, 5))
    >>> functional.sanitize_keypoints(points)[1].tolist()
    [True, False]
    """
    if isinstance(key_points, KeyPoints):
        if canvas_size is not None:
            raise ValueError(
                "If key_points is a tv_tensors.KeyPoints instance, canvas_size must be None. "
                f"Got {canvas_size=}"
            )
        kept, valid = sanitize_keypoints(key_points.as_subclass(Tensor), key_points.canvas_size)
        return KeyPoints._wrap(kept, canvas_size=key_points.canvas_size), valid
    if canvas_size is None:
        raise ValueError("canvas_size cannot be None if key_points is a pure tensor.")
    x, y = key_points.unbind(-1)
    valid = (x >= 0) & (x < canvas_size[1]) & (y >= 0) & (y < canvas_size[0])
    valid = valid if valid.ndim == 1 else valid.flatten(1).all(dim=1)
    return key_points[valid], valid
