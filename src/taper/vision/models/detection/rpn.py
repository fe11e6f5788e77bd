"""The network that proposes regions where there may be an object."""

from __future__ import annotations

from typing import Any

from taper import dtypes, nn
from taper.nn import functional as F
from taper.ops.creation.filled import full, zeros
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models.detection._utils import (
    BalancedPositiveNegativeSampler,
    BoxCoder,
    Matcher,
    _topk_min,
)
from taper.vision.models.detection.anchor_utils import AnchorGenerator
from taper.vision.models.detection.image_list import ImageList
from taper.vision.ops import boxes as box_ops
from taper.vision.ops.misc import Conv2dNormActivation


class RPNHead(nn.Module):
    """Convolutions that say for each box around each place whether it has an object, and where.

    >>> import taper
    >>> from taper.vision.models.detection.rpn import RPNHead
    >>> [tuple(x[0].shape) for x in RPNHead(4, 3)([taper.ones(1, 4, 5, 5)])]
    [(1, 3, 5, 5), (1, 12, 5, 5)]
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        layers = [
            Conv2dNormActivation(in_channels, in_channels, kernel_size=3, norm_layer=None)
            for _ in range(conv_depth)
        ]
        self.conv = nn.Sequential(*layers)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, kernel_size=1, stride=1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=1, stride=1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *others: Any
    ) -> None:
        """Accept a state from before there could be several convolutions."""
        version = local_metadata.get("version", None)
        if version is None or version < 2:
            for kind in ("weight", "bias"):
                old = f"{prefix}conv.{kind}"
                if old in state_dict:
                    state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        seen = [self.conv(feature) for feature in x]
        return [self.cls_logits(each) for each in seen], [self.bbox_pred(each) for each in seen]


def permute_and_flatten(layer: Tensor, N: int, A: int, C: int, H: int, W: int) -> Tensor:
    """Return (N, A * C, H, W) numbers as (N, H * W * A, C)."""
    return layer.view(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(
    box_cls: list[Tensor], box_regression: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the answers of all levels in one row for each box."""
    classes, places, per_place = [], [], 1
    for scores, numbers in zip(box_cls, box_regression, strict=True):
        batch, columns, height, width = scores.shape
        anchors = numbers.shape[1] // 4
        per_place = columns // anchors
        shape = (height, width)
        classes.append(permute_and_flatten(scores, batch, anchors, per_place, *shape))
        places.append(permute_and_flatten(numbers, batch, anchors, 4, *shape))
    return cat(classes, dim=1).flatten(0, -2), cat(places, dim=1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Propose regions of pictures from features, and the losses of doing so.

    Args:
        anchor_generator: makes the boxes to start from.
        head: says for each box whether there is an object, and where.
        fg_iou_thresh: the overlap from which on a box has an object.
        bg_iou_thresh: the overlap up to which it has none.
        batch_size_per_image: how many boxes are trained.
        positive_fraction: the part of them with objects.
        pre_nms_top_n: how many are kept of a level, in "training" and "testing".
        post_nms_top_n: how many are proposed.
        nms_thresh: the overlap from which on the worse of two boxes is dropped.
        score_thresh: the least score of a proposal.
    """

    def __init__(
        self,
        anchor_generator: AnchorGenerator,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self) -> int:
        """Return how many boxes of a level are kept."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """Return how many boxes of a picture are proposed."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[Tensor], targets: list[dict[str, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return for each box 1 (an object), 0 (none) or -1 (neither), and the true box."""
        labels, matched = [], []
        for boxes, target in zip(anchors, targets, strict=True):
            true = target["boxes"]
            if true.numel() == 0:
                matched.append(zeros(boxes.shape, dtype=dtypes.float32, device=boxes.device))
                labels.append(zeros((len(boxes),), dtype=dtypes.float32, device=boxes.device))
                continue
            which = self.proposal_matcher(self.box_similarity(true, boxes))
            matched.append(true[which.clamp(min=0)])
            label = (which >= 0).to(dtype=dtypes.float32)
            label[which == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0.0
            label[which == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
        return labels, matched

    def _get_top_n_idx(self, objectness: Tensor, num_anchors_per_level: list[int]) -> Tensor:
        found, offset = [], 0
        for level in objectness.split(num_anchors_per_level, 1):
            best = level.topk(_topk_min(level, self.pre_nms_top_n(), 1), dim=1).indices
            found.append(best + offset)
            offset += level.shape[1]
        return cat(found, dim=1)

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return the best proposals of each picture and their scores."""
        batch = proposals.shape[0]
        objectness = objectness.detach().reshape(batch, -1)
        levels = cat(
            [
                full((count,), nr, dtype=dtypes.int64, device=proposals.device)
                for nr, count in enumerate(num_anchors_per_level)
            ]
        )
        levels = levels.reshape(1, -1).expand_as(objectness)
        best = self._get_top_n_idx(objectness, num_anchors_per_level)
        scores, levels = objectness.gather(1, best).sigmoid(), levels.gather(1, best)
        proposals = proposals.gather(1, best[..., None].expand(-1, -1, 4))
        chosen: tuple[list[Tensor], list[Tensor]] = ([], [])
        for boxes, score, level, shape in zip(proposals, scores, levels, image_shapes, strict=True):
            boxes = box_ops.clip_boxes_to_image(boxes, shape)
            keep = box_ops.remove_small_boxes(boxes, self.min_size)
            keep = keep[where_indices(score[keep] >= self.score_thresh)[0]]
            boxes, score, level = boxes[keep], score[keep], level[keep]
            keep = box_ops.batched_nms(boxes, score, level, self.nms_thresh)
            keep = keep[: self.post_nms_top_n()]
            chosen[0].append(boxes[keep])
            chosen[1].append(score[keep])
        return chosen

    def compute_loss(
        self,
        objectness: Tensor,
        pred_bbox_deltas: Tensor,
        labels: list[Tensor],
        regression_targets: list[Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the losses of scores and of boxes, on boxes that are drawn."""
        drawn = self.fg_bg_sampler(labels)
        positive, negative = (where_indices(cat(each, dim=0))[0] for each in drawn)
        both = cat([positive, negative], dim=0)
        truth, wanted = cat(labels, dim=0), cat(regression_targets, dim=0)
        box_loss = F.smooth_l1_loss(
            pred_bbox_deltas[positive], wanted[positive], beta=1 / 9, reduction="sum"
        ) / (both.numel())
        scores = objectness.flatten()[both]
        return F.binary_cross_entropy_with_logits(scores, truth[both]), box_loss

    def forward(
        self,
        images: ImageList,
        features: dict[str, Tensor],
        targets: list[dict[str, Tensor]] | None = None,
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        levels = list(features.values())
        scores, numbers = self.head(levels)
        anchors = self.anchor_generator(images, levels)
        counts = [each[0].numel() for each in scores]
        objectness, deltas = concat_box_prediction_layers(scores, numbers)
        proposals = self.box_coder.decode(deltas.detach(), anchors).view(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, objectness, images.image_sizes, counts)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        wanted = list(self.box_coder.encode(matched, anchors))
        score_loss, box_loss = self.compute_loss(objectness, deltas, labels, wanted)
        return boxes, {"loss_objectness": score_loss, "loss_rpn_box_reg": box_loss}
