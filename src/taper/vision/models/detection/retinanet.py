"""RetinaNet: answers at once, with a loss that looks at hard boxes more than at easy ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from taper import dtypes, nn
from taper.ops.creation.filled import full, zeros_like
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection import _utils as det_utils
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection._detector import check_backbone, picture_transform
from taper.vision.models.detection._single_stage import (
    SingleStage,
    Targets,
    answers_of_levels,
    in_rows,
    sum_of,
)
from taper.vision.models.detection.anchor_utils import AnchorGenerator
from taper.vision.models.detection.backbone_utils import _resnet_fpn_extractor
from taper.vision.models.resnet import ResNet50_Weights, resnet50
from taper.vision.ops import boxes as box_ops
from taper.vision.ops.feature_pyramid_network import LastLevelP6P7
from taper.vision.ops.losses import sigmoid_focal_loss
from taper.vision.ops.misc import Conv2dNormActivation

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_Weights",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]

Layer = Callable[..., nn.Module]


def _default_anchorgen() -> AnchorGenerator:
    sizes = tuple(
        (size, int(size * 2 ** (1.0 / 3)), int(size * 2 ** (2.0 / 3)))
        for size in (32, 64, 128, 256, 512)
    )
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


def four_convolutions(channels: int, norm_layer: Layer | None) -> nn.Sequential:
    """Return the convolutions of a head."""
    return nn.Sequential(
        *[Conv2dNormActivation(channels, channels, norm_layer=norm_layer) for _ in range(4)]
    )


def start_small(*modules: nn.Module) -> None:
    """Draw small weights for convolutions, without a bias."""
    for module in modules:
        for layer in module.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)


def renamed_convolutions(head: nn.Module, state: dict[str, Any], prefix: str, meta: Any) -> None:
    """Rename the weights of a state from before the convolutions could have normalisations."""
    version = meta.get("version", None)
    if version is not None and version >= 2:
        return
    for nr in range(4):
        for kind in ("weight", "bias"):
            old = f"{prefix}conv.{2 * nr}.{kind}"
            if old in state:
                state[f"{prefix}conv.{nr}.0.{kind}"] = state.pop(old)


class RetinaNetHead(nn.Module):
    """Say for each box around each place what it is, and where.

    >>> import taper
    >>> from taper.vision.models.detection.retinanet import RetinaNetHead
    >>> head = RetinaNetHead(4, 2, 3)
    >>> {name: tuple(x.shape) for name, x in head([taper.ones(1, 4, 2, 2)]).items()}
    {'cls_logits': (1, 8, 3), 'bbox_regression': (1, 8, 4)}
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(
            in_channels, num_anchors, norm_layer=norm_layer
        )

    def compute_loss(
        self,
        targets: Targets,
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of classes and of boxes."""
        classes = self.classification_head.compute_loss(targets, head_outputs, matched_idxs)
        boxes = self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs)
        return {"classification": classes, "bbox_regression": boxes}

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "cls_logits": self.classification_head(x),
            "bbox_regression": self.regression_head(x),
        }


class RetinaNetClassificationHead(nn.Module):
    """Convolutions that say what is in each box.

    >>> import taper
    >>> from taper.vision.models.detection.retinanet import RetinaNetClassificationHead
    >>> RetinaNetClassificationHead(4, 2, 3)([taper.ones(1, 4, 2, 2)]).shape
    torch.Size([1, 8, 3])
    """

    _version = 2

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.conv = four_convolutions(in_channels, norm_layer)
        start_small(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        odds = -math.log((1 - prior_probability) / prior_probability)
        nn.init.constant_(self.cls_logits.bias, odds)  # type: ignore[arg-type]
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.BETWEEN_THRESHOLDS = det_utils.Matcher.BETWEEN_THRESHOLDS

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *others: Any
    ) -> None:
        renamed_convolutions(self, state_dict, prefix, local_metadata)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def compute_loss(
        self, targets: Targets, head_outputs: dict[str, Tensor], matched_idxs: list[Tensor]
    ) -> Tensor:
        """Return the loss of classes."""
        losses = []
        for target, logits, which in zip(
            targets, head_outputs["cls_logits"], matched_idxs, strict=True
        ):
            is_object = which >= 0
            wanted = zeros_like(logits)
            wanted[is_object, target["labels"][which[is_object]]] = 1.0
            is_clear = which != self.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[is_clear], wanted[is_clear], reduction="sum")
            losses.append(loss / max(1, int(is_object.sum())))
        return sum_of(losses) / len(targets)

    def forward(self, x: list[Tensor]) -> Tensor:
        found = [in_rows(self.cls_logits(self.conv(each)), self.num_classes) for each in x]
        return cat(found, dim=1)


class RetinaNetRegressionHead(nn.Module):
    """Convolutions that say where each box is.

    >>> import taper
    >>> from taper.vision.models.detection.retinanet import RetinaNetRegressionHead
    >>> RetinaNetRegressionHead(4, 2)([taper.ones(1, 4, 2, 2)]).shape
    torch.Size([1, 8, 4])
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Layer | None = None) -> None:
        super().__init__()
        self.conv = four_convolutions(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        start_small(self.bbox_reg, self.conv)
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *others: Any
    ) -> None:
        renamed_convolutions(self, state_dict, prefix, local_metadata)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def compute_loss(
        self,
        targets: Targets,
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> Tensor:
        """Return the loss of boxes."""
        losses = []
        for target, codes, boxes, which in zip(
            targets, head_outputs["bbox_regression"], anchors, matched_idxs, strict=True
        ):
            places = where_indices(which >= 0)[0]
            true = target["boxes"][which[places]]
            loss = det_utils._box_loss(
                self._loss_type, self.box_coder, boxes[places], true, codes[places]
            )
            losses.append(loss / max(1, places.numel()))
        return sum_of(losses) / max(1, len(targets))

    def forward(self, x: list[Tensor]) -> Tensor:
        return cat([in_rows(self.bbox_reg(self.conv(each)), 4) for each in x], dim=1)


class RetinaNet(SingleStage):
    """Find objects in pictures at once: answers have `boxes`, `scores` and `labels`.

    Args:
        backbone: gives features; has `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter side of pictures after resizing.
        max_size: the most that the longer side may have.
        image_mean: the mean of each channel.
        image_std: the deviation of each channel.
        anchor_generator: makes the boxes to start from.
        head: says what they are, and where.
        proposal_matcher: says which true box belongs to a box.
        score_thresh: the least score of an answer.
        nms_thresh: the overlap from which on the worse of two answers is dropped.
        detections_per_img: the most answers for a picture.
        fg_iou_thresh: the overlap from which on a box has an object.
        bg_iou_thresh: the overlap up to which it has none.
        topk_candidates: how many boxes of a level are kept.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: AnchorGenerator | None = None,
        head: nn.Module | None = None,
        proposal_matcher: det_utils.Matcher | None = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone, "anchor_generator", anchor_generator)
        self.backbone = backbone
        self.anchor_generator = anchor_generator or _default_anchorgen()
        if head is None:
            count = self.anchor_generator.num_anchors_per_location()[0]
            head = RetinaNetHead(backbone.out_channels, count, num_classes)
        self.head = head
        if proposal_matcher is None:
            proposal_matcher = det_utils.Matcher(
                fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
            )
        self.proposal_matcher = proposal_matcher
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.transform = picture_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self._keep(score_thresh, nms_thresh, detections_per_img, topk_candidates)

    def compute_loss(
        self, targets: Targets, head_outputs: dict[str, Tensor], anchors: list[Tensor]
    ) -> dict[str, Tensor]:
        """Return the losses of classes and of boxes."""
        matched = []
        for boxes, target in zip(anchors, targets, strict=True):
            if target["boxes"].numel() == 0:
                nothing = full((boxes.size(0),), -1, dtype=dtypes.int64, device=boxes.device)
                matched.append(nothing)
                continue
            matched.append(self.proposal_matcher(box_ops.box_iou(target["boxes"], boxes)))
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _losses(self, targets: Any, answers: Any, anchors: Any, counts: Any) -> Any:
        return self.compute_loss(targets, answers, anchors)

    def postprocess_detections(
        self,
        head_outputs: dict[str, list[Tensor]],
        anchors: list[list[Tensor]],
        image_shapes: list[tuple[int, int]],
    ) -> Targets:
        scores, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        return [
            answers_of_levels(
                [each[nr].sigmoid() for each in scores],
                [each[nr] for each in codes],
                anchors[nr],
                self.box_coder.decode_single,
                self,
                shape,
            )
            for nr, shape in enumerate(image_shapes)
        ]


class RetinaNet_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("retinanet_resnet50_fpn_coco-eeacb38b.pth", 34_014_999, box_map=36.4)
    DEFAULT = COCO_V1


class RetinaNet_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco("retinanet_resnet50_fpn_v2_coco-5905b1c5.pth", 38_198_935, box_map=41.5)
    DEFAULT = COCO_V1


@detection_builder(RetinaNet_ResNet50_FPN_Weights, ResNet50_Weights.IMAGENET1K_V1, exact="COCO_V1")
def retinanet_resnet50_fpn(backbone: Backbone, num_classes: int, **options: Any) -> RetinaNet:
    """Return RetinaNet on ResNet-50."""
    network = resnet50(weights=backbone.weights, norm_layer=backbone.norm)
    levels = LastLevelP6P7(256, 256)
    body = _resnet_fpn_extractor(network, backbone.layers, [2, 3, 4], levels)
    return RetinaNet(body, num_classes, **options)


@detection_builder(RetinaNet_ResNet50_FPN_V2_Weights, ResNet50_Weights.IMAGENET1K_V1)
def retinanet_resnet50_fpn_v2(backbone: Backbone, num_classes: int, **options: Any) -> RetinaNet:
    """Return the second RetinaNet on ResNet-50, whose boxes learn to overlap."""
    network = resnet50(weights=backbone.weights)
    levels = LastLevelP6P7(2048, 256)
    body = _resnet_fpn_extractor(network, backbone.layers, [2, 3, 4], levels)
    anchors = _default_anchorgen()
    count = anchors.num_anchors_per_location()[0]
    norm = partial(nn.GroupNorm, 32)
    head = RetinaNetHead(body.out_channels, count, num_classes, norm_layer=norm)
    head.regression_head._loss_type = "giou"
    return RetinaNet(body, num_classes, anchor_generator=anchors, head=head, **options)
