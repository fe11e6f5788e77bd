"""Boxes in pictures, as rows of a tensor: areas, overlaps, formats, and which of many to keep.

A box is (x1, y1, x2, y2) unless a format says otherwise.  Rotated boxes are not supported.
"""

from __future__ import annotations

import math

import numpy as np

from taper import dtypes
from taper.ops.creation.data import from_numpy
from taper.ops.creation.filled import zeros
from taper.ops.elementwise.clamping import maximum, minimum
from taper.ops.elementwise.trigonometry import atan
from taper.ops.shape.split import stack
from taper.tensor import Tensor

ALIGNED = ("xyxy", "xywh", "cxcywh")
ROTATED = ("cxcywhr", "xywhr", "xyxyxyxy")


def _wide(boxes: Tensor) -> Tensor:
    """Return coordinates in a dtype that can hold their products."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (dtypes.float32, dtypes.float64) else boxes.float()
    return boxes if boxes.dtype in (dtypes.int32, dtypes.int64) else boxes.int()


def _refuse_rotated(*formats: str) -> None:
    if any(each in ROTATED for each in formats):
        raise NotImplementedError(
            "taper has no rotated boxes: use the formats 'xyxy', 'xywh' and 'cxcywh'"
        )


# --- formats ---------------------------------------------------------------------------------


def _from_corner_and_size(boxes: Tensor) -> Tensor:
    x, y, width, height = boxes.unbind(-1)
    return stack([x, y, x + width, y + height], dim=-1)


def _from_center(boxes: Tensor) -> Tensor:
    x, y, width, height = boxes.unbind(-1)
    half_width, half_height = 0.5 * width, 0.5 * height
    return stack([x - half_width, y - half_height, x + half_width, y + half_height], dim=-1)


def _to_corner_and_size(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return stack([x1, y1, x2 - x1, y2 - y1], dim=-1)


def _to_center(boxes: Tensor) -> Tensor:
    x1, y1, x2, y2 = boxes.unbind(-1)
    return stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1], dim=-1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Convert boxes to "xyxy" (two corners), "xywh" (corner and size) or "cxcywh" (centre).

    >>> import taper
    >>> from taper.vision.ops import box_convert
    >>> box_convert(taper.tensor([[1.0, 1.0, 2.0, 4.0]]), "xywh", "xyxy")
    tensor([[1., 1., 3., 5.]])
    """
    if not {in_fmt, out_fmt} <= {*ALIGNED, *ROTATED}:
        raise ValueError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    if (in_fmt in ROTATED) != (out_fmt in ROTATED):
        raise NotImplementedError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    _refuse_rotated(in_fmt)
    if in_fmt != "xyxy":
        boxes = _from_corner_and_size(boxes) if in_fmt == "xywh" else _from_center(boxes)
    if out_fmt != "xyxy":
        boxes = _to_corner_and_size(boxes) if out_fmt == "xywh" else _to_center(boxes)
    return boxes


# --- areas and overlaps ----------------------------------------------------------------------


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """Return width times height of each box.

    >>> import taper
    >>> from taper.vision.ops import box_area
    >>> box_area(taper.tensor([[0.0, 0.0, 2.0, 3.0]]))
    tensor([6.])
    """
    _refuse_rotated(fmt)
    if fmt not in ALIGNED:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = _wide(boxes)
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def _product(sides: Tensor) -> Tensor:
    return sides[..., 0] * sides[..., 1]


def _corners(boxes: Tensor, is_first: bool, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    """Return the two corners of boxes, in a shape for pairs with those of another tensor."""
    if is_first:
        start, end = boxes[..., None, :2], boxes[..., None, 2:]
    else:
        start, end = boxes[..., None, :, :2], boxes[..., None, :, 2:]
    if fmt == "xywh":
        return start, start + end
    return (start, end) if fmt == "xyxy" else (start - end / 2, start + end / 2)


def _common_and_all(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    """Return for each pair of boxes the area they share and the area they cover together."""
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    (start1, end1), (start2, end2) = _corners(boxes1, True, fmt), _corners(boxes2, False, fmt)
    sides = _wide(minimum(end1, end2) - maximum(start1, start2))
    common = _product(sides.clamp(min=0))
    return common, area1[..., None] + area2[..., None, :] - common


_box_inter_union = _common_and_all  # torchvision's name, which ignite imports


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Return the intersection over union of each pair of boxes, as a matrix.

    >>> import taper
    >>> from taper.vision.ops import box_iou
    >>> box_iou(taper.tensor([[0.0, 0.0, 2.0, 2.0]]), taper.tensor([[0.0, 0.0, 2.0, 1.0]]))
    tensor([[0.5000]])
    """
    _refuse_rotated(fmt)
    if fmt not in ALIGNED:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {ALIGNED}. "
            f"Supported rotated formats: {ROTATED}."
        )
    common, together = _common_and_all(boxes1, boxes2, fmt)
    return common / together


def _hull(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return for each pair the sides of the smallest box around both."""
    (start1, end1), (start2, end2) = _corners(boxes1, True), _corners(boxes2, False)
    return _wide(maximum(end1, end2) - minimum(start1, start2)).clamp(min=0)


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Return the intersection over union, less the share of the hull that a pair leaves empty.

    >>> import taper
    >>> from taper.vision.ops import generalized_box_iou
    >>> generalized_box_iou(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[1.0, 0, 2, 1]]))
    tensor([[0.]])
    """
    common, together = _common_and_all(boxes1, boxes2, "xyxy")
    area = _product(_hull(boxes1, boxes2))
    return common / together - (area - together) / area


def _centers(boxes: Tensor) -> tuple[Tensor, Tensor]:
    return (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return the intersection over union, less the centres' distance relative to the hull.

    >>> import taper
    >>> from taper.vision.ops import distance_box_iou
    >>> distance_box_iou(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[0.0, 0, 1, 1]]))
    tensor([[1.]])
    """
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    overlap = box_iou(boxes1, boxes2)
    sides = _hull(boxes1, boxes2)
    diagonal = sides[:, :, 0] ** 2 + sides[:, :, 1] ** 2 + eps
    (x1, y1), (x2, y2) = _centers(boxes1), _centers(boxes2)
    distance = _wide(x1[:, None] - x2[None, :]) ** 2 + _wide(y1[:, None] - y2[None, :]) ** 2
    return overlap - distance / diagonal


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Return `distance_box_iou`, less a term for different ratios of width and height.

    >>> import taper
    >>> from taper.vision.ops import complete_box_iou
    >>> complete_box_iou(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[0.0, 0, 1, 1]]))
    tensor([[1.]])
    """
    boxes1, boxes2 = _wide(boxes1), _wide(boxes2)
    overlap = box_iou(boxes1, boxes2)
    distances = distance_box_iou(boxes1, boxes2, eps)
    rows, columns = boxes1[:, None, :], boxes2[None, :, :]
    angles = [
        atan((each[..., 2] - each[..., 0]) / (each[..., 3] - each[..., 1]))
        for each in (rows, columns)
    ]
    ratios = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    weight = ratios / (1 - overlap + ratios + eps)
    return distances - weight.detach() * ratios


# --- which boxes to keep ---------------------------------------------------------------------


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the part of each box that is inside a picture of `size` (height, width).

    >>> import taper
    >>> from taper.vision.ops import clip_boxes_to_image
    >>> clip_boxes_to_image(taper.tensor([[-1.0, 2.0, 9.0, 4.0]]), (3, 5))
    tensor([[0., 2., 5., 3.]])
    """
    height, width = size
    x = boxes[..., 0::2].clamp(min=0, max=width)
    y = boxes[..., 1::2].clamp(min=0, max=height)
    return stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """Return the indices of the boxes with both sides at least `min_size`.

    >>> import taper
    >>> from taper.vision.ops import remove_small_boxes
    >>> remove_small_boxes(taper.tensor([[0.0, 0, 1, 9], [0.0, 0, 3, 3]]), 2)
    tensor([1])
    """
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    keep = (width >= min_size) & (height >= min_size)
    return from_numpy(np.flatnonzero(keep.numpy()))


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Return the indices of boxes to keep, best first: none overlaps a better one too much.

    >>> import taper
    >>> from taper.vision.ops import nms
    >>> boxes = taper.tensor([[0.0, 0, 4, 4], [0.0, 0, 4, 3], [5.0, 5, 6, 6]])
    >>> nms(boxes, taper.tensor([0.5, 0.9, 0.1]), iou_threshold=0.5)
    tensor([1, 2])
    """
    corners, rank = _checked_boxes(boxes, scores)
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    order = np.argsort(-rank, kind="stable")
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(best)
        start = np.maximum(corners[best, :2], corners[order, :2])
        end = np.minimum(corners[best, 2:], corners[order, 2:])
        common = np.clip(end - start, 0, None).prod(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area
            overlap = common / (area[best] + area[order] - common)
        order = order[~(overlap > iou_threshold)]
    return from_numpy(np.array(kept, np.int64))


def _checked_boxes(boxes: Tensor, scores: Tensor) -> tuple[np.ndarray, np.ndarray]:
    if boxes.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.dim()}D")
    if boxes.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if boxes.size(0) != scores.size(0):
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{boxes.size(0)} and {scores.size(0)}"
        )
    return _wide(boxes.detach()).numpy(), _wide(scores.detach()).numpy()


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Do `nms` among the boxes of each class, which `idxs` names.

    >>> import taper
    >>> from taper.vision.ops import batched_nms
    >>> boxes = taper.tensor([[0.0, 0, 4, 4], [0.0, 0, 4, 3]])
    >>> batched_nms(boxes, taper.tensor([0.5, 0.9]), taper.tensor([0, 1]), 0.5)
    tensor([1, 0])
    """
    kept = np.zeros(boxes.shape[0], bool)
    classes = idxs.numpy()
    for each in np.unique(classes):
        members = np.flatnonzero(classes == each)
        chosen = from_numpy(members)
        kept[members[nms(boxes[chosen], scores[chosen], iou_threshold).numpy()]] = True
    places = np.flatnonzero(kept)
    best_first = np.argsort(-scores.detach().numpy()[places], kind="stable")
    return from_numpy(places[best_first])


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Return the smallest box around the nonzero part of each mask (masks, height, width).

    >>> import taper
    >>> from taper.vision.ops import masks_to_boxes
    >>> masks_to_boxes(taper.eye(3).bool()[None])
    tensor([[0., 0., 2., 2.]])
    """
    result = zeros(masks.shape[0], 4, dtype=dtypes.float32)
    for row, mask in zip(result.numpy(), masks.numpy(), strict=True):
        y, x = np.nonzero(mask)
        if x.size:
            row[:] = x.min(), y.min(), x.max(), y.max()
    return result
