"""The frame of detectors that answer at once, for boxes at all places of features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models.detection._detector import Detector, Targets
from taper.vision.models.detection._utils import _topk_min
from taper.vision.ops import boxes as box_ops


def in_rows(answers: Tensor, columns: int) -> Tensor:
    """Return (N, boxes * columns, H, W) answers as (N, H * W * boxes, columns)."""
    batch, _, height, width = answers.shape
    spread = answers.view(batch, -1, columns, height, width).permute(0, 3, 4, 1, 2)
    return spread.reshape(batch, -1, columns)


def sum_of(losses: list[Tensor]) -> Tensor:
    """Return the sum of losses, in order."""
    total = losses[0]
    for each in losses[1:]:
        total = total + each
    return total


class SingleStage(Detector):
    """Find objects in pictures at once; what the detectors of this kind share."""

    head: Any
    anchor_generator: Any

    def _keep(self, score_thresh: float, nms_thresh: float, most: int, candidates: int) -> None:
        """Remember which answers are given."""
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = most
        self.topk_candidates = candidates

    def _losses(
        self, targets: Targets, answers: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> dict[str, Tensor]:
        raise NotImplementedError

    def _detections(
        self, answers: dict[str, Tensor], anchors: list[Tensor], sizes: Any, counts: list[int]
    ) -> Targets:
        """Return the answers for each picture, from those of each level."""
        split = {name: list(each.split(counts, dim=1)) for name, each in answers.items()}
        levels = [list(each.split(counts)) for each in anchors]
        return self.postprocess_detections(split, levels, sizes)

    def postprocess_detections(self, head_outputs: Any, anchors: Any, image_shapes: Any) -> Targets:
        """Return boxes, scores and classes of each picture."""
        raise NotImplementedError

    def forward(self, images: list[Tensor], targets: Targets | None = None) -> Any:
        batch, targets, features = self._features(images, targets)
        levels = list(features.values())
        answers = self.head(levels)
        anchors = self.anchor_generator(batch, levels)
        rows = answers["cls_logits"].size(1)
        places = [each.size(2) * each.size(3) for each in levels]
        counts = [each * (rows // sum(places)) for each in places]
        if self.training:
            return self.eager_outputs(self._losses(targets or [], answers, anchors, counts), [])
        found = self._detections(answers, anchors, batch.image_sizes, counts)
        return self.eager_outputs({}, self._at_original_sizes(found, batch, images))


def best_of_level(
    scores: Tensor, num_classes: int, thresh: float, most: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best scores of a level, and their boxes and classes as numbers."""
    flat = scores.flatten()
    is_good = flat > thresh
    flat = flat[is_good]
    places = where_indices(is_good)[0]
    best, order = flat.topk(_topk_min(places, most, 0))
    places = places[order]
    return best, places.div(num_classes, rounding_mode="floor"), places % num_classes


def best_of_picture(
    levels: list[tuple[Tensor, Tensor, Tensor]], nms_thresh: float, most: int
) -> dict[str, Tensor]:
    """Return the best boxes, scores and classes of all levels of a picture."""
    boxes, scores, labels = (cat(list(each), dim=0) for each in zip(*levels, strict=True))
    keep = box_ops.batched_nms(boxes, scores, labels, nms_thresh)[:most]
    return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}


def answers_of_levels(
    level_scores: list[Tensor],
    level_codes: list[Tensor],
    level_anchors: list[Tensor],
    decode: Callable[[Tensor, Tensor], Tensor],
    settings: Any,
    shape: tuple[int, int],
) -> dict[str, Tensor]:
    """Return the answers for a picture, from the scores of all boxes of all levels."""
    found = []
    for scores, codes, anchors in zip(level_scores, level_codes, level_anchors, strict=True):
        best, places, labels = best_of_level(
            scores, scores.shape[-1], settings.score_thresh, settings.topk_candidates
        )
        boxes = box_ops.clip_boxes_to_image(decode(codes[places], anchors[places]), shape)
        found.append((boxes, best, labels))
    return best_of_picture(found, settings.nms_thresh, settings.detections_per_img)
