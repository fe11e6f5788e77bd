"""FCOS: each place of features says what is there, how far it reaches, and how central it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from taper import dtypes, nn
from taper.nn import functional as F
from taper.ops.creation.filled import full, zeros_like
from taper.ops.shape.split import cat, stack
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
)
from taper.vision.models.detection.anchor_utils import AnchorGenerator
from taper.vision.models.detection.backbone_utils import _resnet_fpn_extractor
from taper.vision.models.detection.retinanet import start_small
from taper.vision.models.resnet import ResNet50_Weights, resnet50
from taper.vision.ops.feature_pyramid_network import LastLevelP6P7
from taper.vision.ops.losses import generalized_box_iou_loss, sigmoid_focal_loss

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

Layer = Callable[..., nn.Module]


def _convolutions(channels: int, count: int, norm_layer: Layer | None) -> nn.Sequential:
    norm = partial(nn.GroupNorm, 32) if norm_layer is None else norm_layer
    layers: list[nn.Module] = []
    for _ in range(count):
        layers += [nn.Conv2d(channels, channels, 3, 1, 1), norm(channels), nn.ReLU()]
    return nn.Sequential(*layers)


def _centrality(reach: Tensor) -> Tensor:
    """Return how central a place is in its box: 1 in the middle, 0 at a side."""
    across, down = reach[..., [0, 2]], reach[..., [1, 3]]
    shares = [each.min(dim=-1).values / each.max(dim=-1).values for each in (across, down)]
    return (shares[0] * shares[1]).sqrt()


class FCOSHead(nn.Module):
    """Say for each place what is there, how far it reaches, and how central the place is.

    Args:
        in_channels: channels of the features.
        num_anchors: boxes at each place, one.
        num_classes: the number of classes.
        num_convs: the number of convolutions.
    """

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int | None = 4
    ) -> None:
        super().__init__()
        count = 4 if num_convs is None else num_convs
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(
            in_channels, num_anchors, num_classes, count
        )
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, count)

    @staticmethod
    def _wanted(targets: Targets, matched: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the class and the true box of each place; the class is -1 where there is none."""
        classes, boxes = [], []
        for target, which in zip(targets, matched, strict=True):
            if len(target["labels"]) == 0:
                label = target["labels"].new_zeros((len(which),))
                box = target["boxes"].new_zeros((len(which), 4))
            else:
                label = target["labels"][which.clip(min=0)]
                box = target["boxes"][which.clip(min=0)]
            label[which < 0] = -1
            classes.append(label)
            boxes.append(box)
        return stack(classes), stack(boxes)

    def compute_loss(
        self,
        targets: Targets,
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of classes, boxes and centrality."""
        logits, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        classes, boxes = self._wanted(targets, matched_idxs)
        is_object = classes >= 0
        count = max(1, int(is_object.sum().item()))
        wanted = zeros_like(logits)
        wanted[is_object, classes[is_object]] = 1.0
        class_loss = sigmoid_focal_loss(logits, wanted, reduction="sum")
        places = stack(anchors)
        found = self.box_coder.decode(codes, places)
        box_loss = generalized_box_iou_loss(found[is_object], boxes[is_object], reduction="sum")
        central = _centrality(self.box_coder.encode(places, boxes))
        said = head_outputs["bbox_ctrness"].squeeze(dim=2)
        central_loss = F.binary_cross_entropy_with_logits(
            said[is_object], central[is_object], reduction="sum"
        )
        return {
            "classification": class_loss / count,
            "bbox_regression": box_loss / count,
            "bbox_ctrness": central_loss / count,
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        logits = self.classification_head(x)
        codes, central = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": codes, "bbox_ctrness": central}


class FCOSClassificationHead(nn.Module):
    """Convolutions that say what is at each place.

    Args:
        in_channels: channels of the features; a multiple of 32 with the usual normalisation.
        num_anchors: boxes at each place, one.
        num_classes: the number of classes.
        num_convs: the number of convolutions.
        prior_probability: the share of places with an object, to start with.
        norm_layer: a normalisation after each convolution.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        start_small(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        odds = -math.log((1 - prior_probability) / prior_probability)
        nn.init.constant_(self.cls_logits.bias, odds)  # type: ignore[arg-type]

    def forward(self, x: list[Tensor]) -> Tensor:
        found = [in_rows(self.cls_logits(self.conv(each)), self.num_classes) for each in x]
        return cat(found, dim=1)


class FCOSRegressionHead(nn.Module):
    """Convolutions that say how far the object at each place reaches, and how central it is.

    Args:
        in_channels: channels of the features; a multiple of 32 with the usual normalisation.
        num_anchors: boxes at each place, one.
        num_convs: the number of convolutions.
        norm_layer: a normalisation after each convolution.
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_convs: int = 4,
        norm_layer: Layer | None = None,
    ) -> None:
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors * 1, 3, 1, 1)
        start_small(self.bbox_reg, self.bbox_ctrness, self.conv)

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        codes, central = [], []
        for each in x:
            seen = self.conv(each)
            codes.append(in_rows(F.relu(self.bbox_reg(seen)), 4))
            central.append(in_rows(self.bbox_ctrness(seen), 1))
        return cat(codes, dim=1), cat(central, dim=1)


class FCOS(SingleStage):
    """Find objects in pictures at once, from each place: `boxes`, `scores` and `labels`.

    Args:
        backbone: gives features; has `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter side of pictures after resizing.
        max_size: the most that the longer side may have.
        image_mean: the mean of each channel.
        image_std: the deviation of each channel.
        anchor_generator: says where the places are; one box at each.
        head: says what is there, and where.
        center_sampling_radius: how far from the middle of a box its places are.
        score_thresh: the least score of an answer.
        nms_thresh: the overlap from which on the worse of two answers is dropped.
        detections_per_img: the most answers for a picture.
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
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        check_backbone(backbone, "anchor_generator", anchor_generator)
        self.backbone = backbone
        if anchor_generator is None:
            sizes = ((8,), (16,), (32,), (64,), (128,))
            anchor_generator = AnchorGenerator(sizes, ((1.0,),) * len(sizes))
        self.anchor_generator = anchor_generator
        count = anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(
                f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}"
            )
        if head is None:
            head = FCOSHead(backbone.out_channels, count, num_classes)
        self.head = head
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.transform = picture_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self._keep(score_thresh, nms_thresh, detections_per_img, topk_candidates)

    def _matched(self, anchors: Tensor, boxes: Tensor, counts: list[int]) -> Tensor:
        """Return for each place the smallest true box that it stands for; -1 for none."""
        if boxes.numel() == 0:
            return full((anchors.size(0),), -1, dtype=dtypes.int64, device=anchors.device)
        middles = (boxes[:, :2] + boxes[:, 2:]) / 2
        places = (anchors[:, :2] + anchors[:, 2:]) / 2
        sizes = anchors[:, 2] - anchors[:, 0]
        away = (places[:, None, :] - middles[None, :, :]).abs().max(dim=2).values
        fits = away < self.center_sampling_radius * sizes[:, None]
        x, y = places.unsqueeze(dim=2).unbind(dim=1)
        x1, y1, x2, y2 = boxes.unsqueeze(dim=0).unbind(dim=2)
        reach = stack([x - x1, y - y1, x2 - x, y2 - y], dim=2)
        fits &= reach.min(dim=2).values > 0
        least, most = sizes * 4, sizes * 8
        least[: counts[0]] = 0
        most[-counts[-1] :] = float("inf")
        farthest = reach.max(dim=2).values
        fits &= (farthest > least[:, None]) & (farthest < most[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        rank, which = (fits.to(dtypes.float32) * (1e8 - areas[None, :])).max(dim=1)
        which[rank < 1e-5] = -1
        return which

    def compute_loss(
        self,
        targets: Targets,
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        num_anchors_per_level: list[int],
    ) -> dict[str, Tensor]:
        """Return the losses of classes, boxes and centrality."""
        matched = [
            self._matched(boxes, target["boxes"], num_anchors_per_level)
            for boxes, target in zip(anchors, targets, strict=True)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _losses(self, targets: Any, answers: Any, anchors: Any, counts: Any) -> Any:
        return self.compute_loss(targets, answers, anchors, counts)

    def postprocess_detections(
        self,
        head_outputs: dict[str, list[Tensor]],
        anchors: list[list[Tensor]],
        image_shapes: list[tuple[int, int]],
    ) -> Targets:
        names = ("cls_logits", "bbox_regression", "bbox_ctrness")
        logits, codes, central = (head_outputs[name] for name in names)
        return [
            answers_of_levels(
                [
                    (score[nr].sigmoid() * middle[nr].sigmoid()).sqrt()
                    for score, middle in zip(logits, central, strict=True)
                ],
                [each[nr] for each in codes],
                anchors[nr],
                self.box_coder.decode,
                self,
                shape,
            )
            for nr, shape in enumerate(image_shapes)
        ]


class FCOS_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fcos_resnet50_fpn_coco-99b0c9b7.pth", 32_269_600, box_map=39.2)
    DEFAULT = COCO_V1


@detection_builder(FCOS_ResNet50_FPN_Weights, ResNet50_Weights.IMAGENET1K_V1)
def fcos_resnet50_fpn(backbone: Backbone, num_classes: int, **options: Any) -> FCOS:
    """Return FCOS on ResNet-50."""
    network = resnet50(weights=backbone.weights, norm_layer=backbone.norm)
    levels = LastLevelP6P7(256, 256)
    body = _resnet_fpn_extractor(network, backbone.layers, [2, 3, 4], levels)
    return FCOS(body, num_classes, **options)
