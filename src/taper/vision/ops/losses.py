"""Losses of boxes and of detections; `reduction` is "none", "mean" or "sum"."""

from __future__ import annotations

import math

from taper.nn import functional as F
from taper.ops.elementwise.clamping import maximum, minimum
from taper.ops.elementwise.trigonometry import atan
from taper.ops.elementwise.unary import sigmoid, zeros_like
from taper.tensor import Tensor


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise _unknown(reduction)


def _unknown(reduction: str) -> ValueError:
    return ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', "
        "'mean', 'sum'"
    )


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Return the binary cross entropy of logits, in which easy examples count little.

    `alpha` weighs positive against negative examples; -1 weighs them the same.

    >>> import taper
    >>> from taper.vision.ops import sigmoid_focal_loss
    >>> sigmoid_focal_loss(taper.zeros(1), taper.ones(1))
    tensor([0.0433])
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(
            f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore."
        )
    probability = sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = probability * targets + (1 - probability) * (1 - targets)
    loss = entropy * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction == "mean":
        return loss.mean()
    return _reduced(loss, reduction)


def _overlaps(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Return for boxes in pairs the area they share and the area they cover together."""
    first, second = boxes1.unbind(dim=-1), boxes2.unbind(dim=-1)
    left, top = maximum(first[0], second[0]), maximum(first[1], second[1])
    right, bottom = minimum(first[2], second[2]), minimum(first[3], second[3])
    common = zeros_like(first[0])
    inside = (bottom > top) & (right > left)
    common[inside] = (right[inside] - left[inside]) * (bottom[inside] - top[inside])
    areas = [(x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (first, second)]
    return common, areas[0] + areas[1] - common


def _hull(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Return width and height of the smallest box around two boxes in pairs."""
    first, second = boxes1.unbind(dim=-1), boxes2.unbind(dim=-1)
    left, top = minimum(first[0], second[0]), minimum(first[1], second[1])
    right, bottom = maximum(first[2], second[2]), maximum(first[3], second[3])
    return right - left, bottom - top


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return 1 less the generalized intersection over union of boxes in pairs.

    >>> import taper
    >>> from taper.vision.ops import generalized_box_iou_loss
    >>> generalized_box_iou_loss(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[1.0, 0, 2, 1]]))
    tensor([1.])
    """
    boxes1, boxes2 = _floats(boxes1), _floats(boxes2)
    common, together = _overlaps(boxes1, boxes2)
    width, height = _hull(boxes1, boxes2)
    area = width * height
    overlap = common / (together + eps) - (area - together) / (area + eps)
    return _reduced(1 - overlap, reduction)


def _distance_loss(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    common, together = _overlaps(boxes1, boxes2)
    overlap = common / (together + eps)
    width, height = _hull(boxes1, boxes2)
    diagonal = width**2 + height**2 + eps
    first, second = boxes1.unbind(dim=-1), boxes2.unbind(dim=-1)
    (x_first, y_first), (x_second, y_second) = [
        ((x2 + x1) / 2, (y2 + y1) / 2) for x1, y1, x2, y2 in (first, second)
    ]
    distance = (x_first - x_second) ** 2 + (y_first - y_second) ** 2
    return 1 - overlap + distance / diagonal, overlap


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return 1 less the intersection over union, plus the distance of the centres.

    >>> import taper
    >>> from taper.vision.ops import distance_box_iou_loss
    >>> distance_box_iou_loss(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[1.0, 0, 2, 1]]))
    tensor([1.2000])
    """
    loss, _ = _distance_loss(_floats(boxes1), _floats(boxes2), eps)
    return _reduced(loss, reduction)


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """Return `distance_box_iou_loss` plus a term for different ratios of width and height.

    >>> import taper
    >>> from taper.vision.ops import complete_box_iou_loss
    >>> complete_box_iou_loss(taper.tensor([[0.0, 0, 1, 1]]), taper.tensor([[1.0, 0, 2, 1]]))
    tensor([1.2000])
    """
    boxes1, boxes2 = _floats(boxes1), _floats(boxes2)
    loss, overlap = _distance_loss(boxes1, boxes2, eps)
    angles = []
    for boxes in (boxes2, boxes1):
        x1, y1, x2, y2 = boxes.unbind(dim=-1)
        angles.append(atan((x2 - x1) / (y2 - y1)))
    ratios = 4 / math.pi**2 * (angles[0] - angles[1]) ** 2
    weight = (ratios / (1 - overlap + ratios + eps)).detach()
    return _reduced(loss + weight * ratios, reduction)


def _floats(boxes: Tensor) -> Tensor:
    return boxes if boxes.is_floating_point() and boxes.itemsize > 2 else boxes.float()
