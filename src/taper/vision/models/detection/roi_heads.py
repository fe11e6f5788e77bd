"""What looks at proposed regions: classes and boxes, masks, key points, and their losses."""

from __future__ import annotations

from typing import Any

from taper import dtypes, nn
from taper.nn import functional as F
from taper.ops.creation.filled import zeros
from taper.ops.creation.ranges import arange
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models.detection import _utils as det_utils
from taper.vision.models.detection.keypoints import (  # noqa: F401, torchvision has them here
    heatmaps_to_keypoints,
    keypointrcnn_inference,
    keypointrcnn_loss,
    keypoints_to_heatmap,
)
from taper.vision.models.detection.masks import (  # noqa: F401
    maskrcnn_inference,
    maskrcnn_loss,
    project_masks_on_boxes,
)
from taper.vision.models.detection.pasting import (  # noqa: F401
    expand_boxes,
    expand_masks,
    paste_mask_in_image,
    paste_masks_in_image,
)
from taper.vision.ops import boxes as box_ops

Targets = list[dict[str, Tensor]]
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16)


def fastrcnn_loss(
    class_logits: Tensor,
    box_regression: Tensor,
    labels: list[Tensor],
    regression_targets: list[Tensor],
) -> tuple[Tensor, Tensor]:
    """Return the losses of classes and of boxes."""
    classes, wanted = cat(labels, dim=0), cat(regression_targets, dim=0)
    class_loss = F.cross_entropy(class_logits, classes)
    positive = where_indices(classes > 0)[0]
    count = class_logits.shape[0]
    numbers = box_regression.reshape(count, box_regression.size(-1) // 4, 4)
    box_loss = F.smooth_l1_loss(
        numbers[positive, classes[positive]], wanted[positive], beta=1 / 9, reduction="sum"
    )
    return class_loss, box_loss / classes.numel()


class RoIHeads(nn.Module):
    """Look at proposed regions: say what is in them, and in training with which losses.

    Args:
        box_roi_pool: cuts regions out of features.
        box_head: turns what was cut out into numbers.
        box_predictor: turns numbers into classes and boxes.
        fg_iou_thresh: the overlap from which on a proposal has an object.
        bg_iou_thresh: the overlap up to which it has none.
        batch_size_per_image: how many proposals are trained.
        positive_fraction: the part of them with objects.
        bbox_reg_weights: factors of the numbers that say where a box is.
        score_thresh: the least score of an answer.
        nms_thresh: the overlap from which on the worse of two answers is dropped.
        detections_per_img: the most answers for a picture.
        mask_roi_pool: as for boxes, for masks; no masks if one of the three is missing.
        mask_head: likewise.
        mask_predictor: likewise.
        keypoint_roi_pool: as for boxes, for key points.
        keypoint_head: likewise.
        keypoint_predictor: likewise.
    """

    def __init__(
        self,
        box_roi_pool: Any,
        box_head: Any,
        box_predictor: Any,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: Any = None,
        mask_head: Any = None,
        mask_predictor: Any = None,
        keypoint_roi_pool: Any = None,
        keypoint_head: Any = None,
        keypoint_predictor: Any = None,
    ) -> None:
        super().__init__()
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(
            batch_size_per_image, positive_fraction
        )
        weights = (10.0, 10.0, 5.0, 5.0) if bbox_reg_weights is None else bbox_reg_weights
        self.box_coder = det_utils.BoxCoder(weights)
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self) -> bool:
        """Return whether there are masks."""
        parts = (self.mask_roi_pool, self.mask_head, self.mask_predictor)
        return all(each is not None for each in parts)

    def has_keypoint(self) -> bool:
        """Return whether there are key points."""
        parts = (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)
        return all(each is not None for each in parts)

    # --- training: which proposals, and what they should say ---------------------------------

    def assign_targets_to_proposals(
        self, proposals: list[Tensor], gt_boxes: list[Tensor], gt_labels: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return for each proposal the number of its true box, and the class of that box."""
        numbers, labels = [], []
        for boxes, true, classes in zip(proposals, gt_boxes, gt_labels, strict=True):
            if true.numel() == 0:
                number = zeros((len(boxes),), dtype=dtypes.int64, device=boxes.device)
                label = zeros((len(boxes),), dtype=dtypes.int64, device=boxes.device)
            else:
                which = self.proposal_matcher(self.box_similarity(true, boxes))
                number = which.clamp(min=0)
                label = classes[number].to(dtype=dtypes.int64)
                label[which == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
                label[which == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
            numbers.append(number)
            labels.append(label)
        return numbers, labels

    def subsample(self, labels: list[Tensor]) -> list[Tensor]:
        """Return the proposals of each picture that are drawn for training."""
        drawn = zip(*self.fg_bg_sampler(labels), strict=True)
        return [where_indices(positive | negative)[0] for positive, negative in drawn]

    def add_gt_proposals(self, proposals: list[Tensor], gt_boxes: list[Tensor]) -> list[Tensor]:
        """Return proposals with the true boxes among them."""
        return [cat(each) for each in zip(proposals, gt_boxes, strict=True)]

    def check_targets(self, targets: Targets | None) -> None:
        """Raise unless targets have all that the losses need."""
        if targets is None:
            raise ValueError("targets should not be None")
        for key in ("boxes", "labels", *(("masks",) if self.has_mask() else ())):
            if not all(key in each for each in targets):
                raise ValueError(f"Every element of targets should have a {key} key")

    def select_training_samples(
        self, proposals: list[Tensor], targets: Targets | None
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """Return the proposals to train, the numbers of true boxes, classes, and numbers."""
        self.check_targets(targets)
        known, dtype = targets or [], proposals[0].dtype
        true = [each["boxes"].to(dtype) for each in known]
        proposals = self.add_gt_proposals(proposals, true)
        numbers, labels = self.assign_targets_to_proposals(
            proposals, true, [each["labels"] for each in known]
        )
        matched = []
        for nr, chosen in enumerate(self.subsample(labels)):
            proposals[nr] = proposals[nr][chosen]
            labels[nr] = labels[nr][chosen]
            numbers[nr] = numbers[nr][chosen]
            boxes = true[nr]
            if boxes.numel() == 0:
                boxes = zeros((1, 4), dtype=dtype, device=boxes.device)
            matched.append(boxes[numbers[nr]])
        return proposals, numbers, labels, list(self.box_coder.encode(matched, proposals))

    # --- answers -----------------------------------------------------------------------------

    def postprocess_detections(
        self,
        class_logits: Tensor,
        box_regression: Tensor,
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Return the boxes, scores and classes of each picture."""
        counts = [len(each) for each in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = F.softmax(class_logits, -1).split(counts, 0)
        found: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        for box, score, shape in zip(boxes, scores, image_shapes, strict=True):
            for each, part in zip(found, self._answers(box, score, shape), strict=True):
                each.append(part)
        return found

    def _answers(
        self, boxes: Tensor, scores: Tensor, shape: tuple[int, int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        boxes = box_ops.clip_boxes_to_image(boxes, shape)
        labels = arange(scores.shape[1], device=scores.device).view(1, -1).expand_as(scores)
        boxes = boxes[:, 1:].reshape(-1, 4)  # class 0 is the background
        scores, labels = scores[:, 1:].reshape(-1), labels[:, 1:].reshape(-1)
        keep = where_indices(scores > self.score_thresh)[0]
        keep = keep[box_ops.remove_small_boxes(boxes[keep], min_size=1e-2)]
        boxes, scores, labels = boxes[keep], scores[keep], labels[keep]
        best = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)
        best = best[: self.detections_per_img]
        return boxes[best], scores[best], labels[best]

    def _check_dtypes(self, targets: Targets) -> None:
        for target in targets:
            if target["boxes"].dtype not in _FLOATS:
                raise TypeError(
                    "target boxes must of float type, instead got " + str(target["boxes"].dtype)
                )
            if target["labels"].dtype is not dtypes.int64:
                raise TypeError(
                    "target labels must of int64 type, instead got " + str(target["labels"].dtype)
                )
            if self.has_keypoint() and target["keypoints"].dtype is not dtypes.float32:
                raise TypeError(
                    "target keypoints must of float type, instead got "
                    + str(target["keypoints"].dtype)
                )

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: Targets | None = None,
    ) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
        numbers: list[Tensor] = []
        labels: list[Tensor] = []
        if targets is not None:
            self._check_dtypes(targets)
        if self.training:
            proposals, numbers, labels, wanted = self.select_training_samples(proposals, targets)
        seen = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        logits, regression = self.box_predictor(seen)
        result: list[dict[str, Tensor]] = []
        losses: dict[str, Tensor] = {}
        if self.training:
            class_loss, box_loss = fastrcnn_loss(logits, regression, labels, wanted)
            losses = {"loss_classifier": class_loss, "loss_box_reg": box_loss}
            chosen = [where_indices(each > 0)[0] for each in labels]
            places = [each[which] for each, which in zip(proposals, chosen, strict=True)]
            numbers = [each[which] for each, which in zip(numbers, chosen, strict=True)]
        else:
            found = self.postprocess_detections(logits, regression, proposals, image_shapes)
            result = [
                dict(zip(("boxes", "labels", "scores"), (box, label, score), strict=True))
                for box, score, label in zip(*found, strict=True)
            ]
            places = found[0]
        seen_parts = (features, places, image_shapes)
        if self.has_mask():
            losses.update(self._masks(seen_parts, result, numbers, targets))
        if self.has_keypoint():
            losses.update(self._keypoints(seen_parts, result, numbers, targets))
        return result, losses

    def _masks(self, parts: Any, result: Targets, numbers: Any, targets: Any) -> dict[str, Tensor]:
        """Add masks to the result, or return their loss."""
        logits = self.mask_predictor(self.mask_head(self.mask_roi_pool(*parts)))
        if self.training:
            true = [each["masks"] for each in targets]
            classes = [each["labels"] for each in targets]
            return {"loss_mask": maskrcnn_loss(logits, parts[1], true, classes, numbers)}
        labels = [each["labels"] for each in result]
        for mask, each in zip(maskrcnn_inference(logits, labels), result, strict=True):
            each["masks"] = mask
        return {}

    def _keypoints(
        self, parts: Any, result: Targets, numbers: Any, targets: Any
    ) -> dict[str, Tensor]:
        """Add key points to the result, or return their loss."""
        logits = self.keypoint_predictor(self.keypoint_head(self.keypoint_roi_pool(*parts)))
        if self.training:
            true = [each["keypoints"] for each in targets]
            return {"loss_keypoint": keypointrcnn_loss(logits, parts[1], true, numbers)}
        points = zip(*keypointrcnn_inference(logits, parts[1]), result, strict=True)
        for places, scores, each in points:
            each["keypoints"], each["keypoints_scores"] = places, scores
        return {}
