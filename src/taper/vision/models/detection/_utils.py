"""What detectors share: boxes as numbers to learn, which box belongs to which, samples, losses."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

from taper import dtypes, nn
from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.ops.creation.filled import zeros, zeros_like
from taper.ops.creation.ranges import arange
from taper.ops.index.find import where_indices
from taper.ops.random.draws import randperm
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.vision.ops.losses import (
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
)
from taper.vision.ops.misc import FrozenBatchNorm2d

CLIP = math.log(1000.0 / 16)  # a box grows by less than this at once


class BalancedPositiveNegativeSampler:
    """Draws places of objects and of background, a fixed number together.

    >>> import taper
    >>> from taper.vision.models.detection._utils import BalancedPositiveNegativeSampler
    >>> positive, negative = BalancedPositiveNegativeSampler(3, 0.5)([taper.tensor([1, 0, 0, 0])])
    >>> positive[0].tolist(), negative[0].sum().item()
    ([1, 0, 0, 0], 2)
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return masks of the places drawn: with objects (number 1 and up), of background (0)."""
        chosen: tuple[list[Tensor], list[Tensor]] = ([], [])
        for matched in matched_idxs:
            places = (where_indices(matched >= 1)[0], where_indices(matched == 0)[0])
            wanted = int(self.batch_size_per_image * self.positive_fraction)
            objects = min(places[0].numel(), wanted)
            counts = (objects, min(places[1].numel(), self.batch_size_per_image - objects))
            drawn = [randperm(each.numel())[:n] for each, n in zip(places, counts, strict=True)]
            for masks, place, order in zip(chosen, places, drawn, strict=True):
                mask = zeros_like(matched, dtype=dtypes.uint8)
                mask[place[order]] = 1
                masks.append(mask)
        return chosen


# --- boxes as numbers to learn ---------------------------------------------------------------


def _sizes_and_centers(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return width, height, boxes[:, 0] + 0.5 * width, boxes[:, 1] + 0.5 * height


def encode_boxes(reference_boxes: Tensor, proposals: Tensor, weights: Tensor) -> Tensor:
    """Return how boxes differ from proposals: moved by shares of the size, sizes as logarithms."""
    width, height, x, y = _sizes_and_centers(proposals)
    true_width, true_height, true_x, true_y = _sizes_and_centers(reference_boxes)
    return stack(
        [
            weights[0] * (true_x - x) / width,
            weights[1] * (true_y - y) / height,
            weights[2] * (true_width / width).log(),
            weights[3] * (true_height / height).log(),
        ],
        dim=1,
    )


class BoxCoder:
    """Turns boxes into numbers that say how they differ from proposals, and back.

    >>> import taper
    >>> from taper.vision.models.detection._utils import BoxCoder
    >>> coder, box = BoxCoder((1.0, 1.0, 1.0, 1.0)), taper.tensor([[0.0, 0, 2, 4]])
    >>> coder.decode_single(coder.encode_single(box + 1, box), box)
    tensor([[1., 1., 3., 5.]])
    """

    def __init__(
        self, weights: tuple[float, float, float, float], bbox_xform_clip: float = CLIP
    ) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes: list[Tensor], proposals: list[Tensor]) -> Any:
        """Return the numbers of the boxes of each picture."""
        counts = [len(each) for each in reference_boxes]
        return self.encode_single(cat(reference_boxes, dim=0), cat(proposals, dim=0)).split(counts)

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """Return the numbers of boxes."""
        return encode_boxes(reference_boxes, proposals, proposals.new_tensor(self.weights))

    def decode(self, rel_codes: Tensor, boxes: list[Tensor]) -> Tensor:
        """Return boxes from numbers, (proposals of all pictures, classes, 4)."""
        proposals = cat(boxes, dim=0)
        if len(proposals) > 0:
            rel_codes = rel_codes.reshape(len(proposals), -1)
        found = self.decode_single(rel_codes, proposals)
        return found.reshape(len(proposals), -1, 4) if len(proposals) > 0 else found

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Return boxes from numbers, four columns for each class."""
        width, height, x, y = (
            each[:, None] for each in _sizes_and_centers(boxes.to(rel_codes.dtype))
        )
        right, down, wider, higher = (
            rel_codes[:, nr::4] / weight for nr, weight in enumerate(self.weights)
        )
        x, y = right * width + x, down * height + y
        half_width = 0.5 * (wider.clamp(max=self.bbox_xform_clip).exp() * width)
        half_height = 0.5 * (higher.clamp(max=self.bbox_xform_clip).exp() * height)
        corners = (x - half_width, y - half_height, x + half_width, y + half_height)
        return stack(corners, dim=2).flatten(1)


class BoxLinearCoder:
    """Turns boxes into the distances of their sides from the centres of proposals, and back.

    >>> import taper
    >>> from taper.vision.models.detection._utils import BoxLinearCoder
    >>> coder, box = BoxLinearCoder(normalize_by_size=False), taper.tensor([[0.0, 0, 2, 4]])
    >>> coder.encode(box, box)
    tensor([[1., 2., 1., 2.]])
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    @staticmethod
    def _centers(boxes: Tensor) -> tuple[Tensor, Tensor]:
        return 0.5 * (boxes[..., 0] + boxes[..., 2]), 0.5 * (boxes[..., 1] + boxes[..., 3])

    @staticmethod
    def _sizes(boxes: Tensor) -> Tensor:
        width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
        return stack((width, height, width, height), dim=-1)

    def encode(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """Return how far left, up, right and down of a centre a box reaches."""
        x, y = self._centers(reference_boxes)
        x1, y1, x2, y2 = proposals.unbind(-1)
        reach = stack((x - x1, y - y1, x2 - x, y2 - y), dim=-1)
        return reach / self._sizes(reference_boxes) if self.normalize_by_size else reach

    def decode(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Return boxes from what `encode` says of them."""
        boxes = boxes.to(dtype=rel_codes.dtype)
        x, y = self._centers(boxes)
        if self.normalize_by_size:
            rel_codes = rel_codes * self._sizes(boxes)
        left, up, right, down = rel_codes.unbind(-1)
        return stack((x - left, y - up, x + right, y + down), dim=-1)


# --- which box belongs to which --------------------------------------------------------------


class Matcher:
    """Gives each prediction the true box that it overlaps most, if it does so enough.

    >>> import taper
    >>> from taper.vision.models.detection._utils import Matcher
    >>> Matcher(0.7, 0.3)(taper.tensor([[0.8, 0.5, 0.1], [0.2, 0.1, 0.0]]))
    tensor([ 0, -2, -1])
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(
        self,
        high_threshold: float,
        low_threshold: float,
        allow_low_quality_matches: bool = False,
    ) -> None:
        if not low_threshold <= high_threshold:
            raise AssertionError("low_threshold should be <= high_threshold")
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """Return for each column the row of its match, or one of the two numbers below 0."""
        if match_quality_matrix.numel() == 0:
            which = "ground-truth" if match_quality_matrix.shape[0] == 0 else "proposal"
            raise ValueError(f"No {which} boxes available for one of the images during training")
        quality, best = match_quality_matrix.max(dim=0)
        matches = best.clone()
        is_low = quality < self.low_threshold
        matches[is_low] = self.BELOW_LOW_THRESHOLD
        matches[(quality < self.high_threshold) & ~is_low] = self.BETWEEN_THRESHOLDS
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, best, match_quality_matrix)
        return matches

    def set_low_quality_matches_(
        self, matches: Tensor, all_matches: Tensor, match_quality_matrix: Tensor
    ) -> None:
        """Let each true box keep the predictions that fit it best, however badly."""
        highest = match_quality_matrix.max(dim=1).values
        chosen = where_indices(match_quality_matrix == highest[:, None])[1]
        matches[chosen] = all_matches[chosen]


class SSDMatcher(Matcher):
    """A matcher that gives each true box the prediction that overlaps it most.

    >>> import taper
    >>> from taper.vision.models.detection._utils import SSDMatcher
    >>> SSDMatcher(0.5)(taper.tensor([[0.1, 0.3]]))
    tensor([-1,  0])
    """

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(dim=1).indices
        matches[best] = arange(best.size(0), dtype=dtypes.int64, device=best.device)
        return matches


# --- models ----------------------------------------------------------------------------------


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Set the constant that keeps frozen normalisations from dividing by 0."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """Return how many channels the features of a model have, by running it once."""
    was_training = model.training
    model.eval()
    with no_grad():
        device = next(model.parameters()).device
        features = model(zeros((1, 3, size[1], size[0]), device=device))
    if isinstance(features, Tensor):
        features = OrderedDict([("0", features)])
    if was_training:
        model.train()
    return [each.size(1) for each in features.values()]


def check_boxes(targets: list[dict[str, Any]]) -> None:
    """Raise unless the boxes of all targets are rows of four numbers."""
    for target in targets:
        boxes = target["boxes"]
        if not isinstance(boxes, Tensor):
            raise AssertionError(f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        if not (len(boxes.shape) == 2 and boxes.shape[-1] == 4):
            raise AssertionError(
                f"Expected target boxes to be a tensor of shape [N, 4], got {boxes.shape}."
            )


def check_extents(targets: list[dict[str, Any]]) -> None:
    """Raise if a box of a target has no height or no width."""
    for nr, target in enumerate(targets):
        boxes = target["boxes"]
        is_bad = boxes[:, 2:] <= boxes[:, :2]
        if is_bad.any():
            row = where_indices(is_bad.any(dim=1))[0][0]
            raise AssertionError(
                "All bounding boxes should have positive height and width. "
                f"Found invalid box {boxes[row].tolist()} for target at index {nr}."
            )


def _topk_min(input: Tensor, orig_kval: int, axis: int) -> int:
    """Return how many of the best can be taken along a dimension."""
    return min(orig_kval, input.size(axis))


_OVERLAP_LOSSES = {
    "ciou": complete_box_iou_loss,
    "diou": distance_box_iou_loss,
    "giou": generalized_box_iou_loss,
}


def _box_loss(
    type: str,
    box_coder: BoxCoder,
    anchors_per_image: Tensor,
    matched_gt_boxes_per_image: Tensor,
    bbox_regression_per_image: Tensor,
    cnf: dict[str, float] | None = None,
) -> Tensor:
    """Return the loss of the boxes of a picture, in numbers or as they overlap."""
    settings, given = cnf or {}, bbox_regression_per_image
    if type in ("l1", "smooth_l1"):
        wanted = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
        if type == "l1":
            return F.l1_loss(given, wanted, reduction="sum")
        beta = settings.get("beta", 1.0)
        return F.smooth_l1_loss(given, wanted, reduction="sum", beta=beta)
    if type not in _OVERLAP_LOSSES:
        raise ValueError(f"Unsupported loss: {type}")
    boxes = box_coder.decode_single(given, anchors_per_image)
    eps = settings.get("eps", 1e-7)
    return _OVERLAP_LOSSES[type](boxes, matched_gt_boxes_per_image, reduction="sum", eps=eps)


def _mean_of(losses: list[Tensor], count: int) -> Tensor:
    total = losses[0]
    for each in losses[1:]:
        total = total + each
    return total / max(1, count)
