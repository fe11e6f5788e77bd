"""SSD: answers at once from features of many sizes, for pictures of one size."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from taper import dtypes, nn
from taper.nn import functional as F
from taper.ops.creation.filled import full, full_like, ones, zeros
from taper.ops.index.find import where_indices
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection import _utils as det_utils
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection._detector import picture_transform
from taper.vision.models.detection._single_stage import (
    SingleStage,
    Targets,
    best_of_picture,
    in_rows,
)
from taper.vision.models.detection.anchor_utils import DefaultBoxGenerator
from taper.vision.models.detection.backbone_utils import freeze_but_last
from taper.vision.models.vgg import VGG16_Weights, vgg16
from taper.vision.ops import boxes as box_ops

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]


def _xavier_init(conv: nn.Module) -> None:
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.constant_(layer.bias, 0.0)


class SSDHead(nn.Module):
    """Say for each box around each place what it is, and where.

    >>> import taper
    >>> from taper.vision.models.detection.ssd import SSDHead
    >>> SSDHead([4], [2], 3)([taper.ones(1, 4, 2, 2)])["cls_logits"].shape
    torch.Size([1, 8, 3])
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {
            "bbox_regression": self.regression_head(x),
            "cls_logits": self.classification_head(x),
        }


class SSDScoringHead(nn.Module):
    """A convolution for each level, with some columns for each box."""

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        found = [
            in_rows(module(each), self.num_columns)
            for module, each in zip(self.module_list, x, strict=False)
        ]
        return cat(found, dim=1)


def _of_levels(in_channels: list[int], num_anchors: list[int], columns: int) -> nn.ModuleList:
    layers = nn.ModuleList()
    for channels, anchors in zip(in_channels, num_anchors, strict=True):
        layers.append(nn.Conv2d(channels, columns * anchors, kernel_size=3, padding=1))
    _xavier_init(layers)
    return layers


class SSDClassificationHead(SSDScoringHead):
    """Say what is in each box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__(_of_levels(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Say where each box is."""

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        super().__init__(_of_levels(in_channels, num_anchors, 4), 4)


class SSD(SingleStage):
    """Find objects in pictures at once, all resized to one size.

    Args:
        backbone: gives features.
        anchor_generator: makes the boxes to start from.
        size: width and height of pictures after resizing.
        num_classes: the number of classes, with the background.
        image_mean: the mean of each channel.
        image_std: the deviation of each channel.
        head: says what the boxes are, and where.
        score_thresh: the least score of an answer.
        nms_thresh: the overlap from which on the worse of two answers is dropped.
        detections_per_img: the most answers for a picture.
        iou_thresh: the overlap from which on a box has an object.
        topk_candidates: how many boxes of a class are kept.
        positive_fraction: the part of boxes with objects in training.
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: nn.Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = det_utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels: Any = getattr(backbone, "out_channels", None)
            if channels is None:
                channels = det_utils.retrieve_out_channels(backbone, size)
            levels = len(anchor_generator.aspect_ratios)
            if len(channels) != levels:
                raise ValueError(
                    "The length of the output channels from the backbone "
                    f"({len(channels)}) do not match the length of the anchor generator aspect "
                    f"ratios ({levels})"
                )
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.proposal_matcher = det_utils.SSDMatcher(iou_thresh)
        sides = min(size), max(size)
        self.transform = picture_transform(
            *sides, image_mean, image_std, size_divisible=1, fixed_size=size, **kwargs
        )
        self._keep(score_thresh, nms_thresh, detections_per_img, topk_candidates)
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def compute_loss(
        self,
        targets: Targets,
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """Return the losses of classes and of boxes; of the background, only the hardest boxes."""
        codes, logits = head_outputs["bbox_regression"], head_outputs["cls_logits"]
        count, box_losses, classes = 0, [], []
        for target, code, logit, boxes, which in zip(
            targets, codes, logits, anchors, matched_idxs, strict=True
        ):
            places = where_indices(which >= 0)[0]
            count += which[places].numel()
            true = target["boxes"][which[places]]
            wanted = self.box_coder.encode_single(true, boxes[places])
            box_losses.append(F.smooth_l1_loss(code[places], wanted, reduction="sum"))
            label = zeros((logit.size(0),), dtype=target["labels"].dtype, device=logit.device)
            label[places] = target["labels"][which[places]]
            classes.append(label)
        losses, is_object, is_hard = self._class_losses(logits, stack(classes))
        total = max(1, count)
        return {
            "bbox_regression": stack(box_losses).sum() / total,
            "classification": (losses[is_object].sum() + losses[is_hard].sum()) / total,
        }

    def _class_losses(self, logits: Tensor, classes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the loss of each box, which has an object, and which of the others to train."""
        columns = logits.size(-1)
        losses = F.cross_entropy(logits.view(-1, columns), classes.view(-1), reduction="none")
        losses = losses.view(classes.size())
        is_object = classes > 0
        wanted = self.neg_to_pos_ratio * is_object.sum(1, keepdim=True)
        background = losses.clone()
        background[is_object] = -float("inf")
        order = background.sort(1, descending=True).indices
        return losses, is_object, order.sort(1).indices < wanted

    def _losses(self, targets: Any, answers: Any, anchors: Any, counts: Any) -> Any:
        matched = []
        for boxes, target in zip(anchors, targets, strict=True):
            if target["boxes"].numel() == 0:
                nothing = full((boxes.size(0),), -1, dtype=dtypes.int64, device=boxes.device)
                matched.append(nothing)
                continue
            matched.append(self.proposal_matcher(box_ops.box_iou(target["boxes"], boxes)))
        return self.compute_loss(targets, answers, anchors, matched)

    def _detections(self, answers: Any, anchors: Any, sizes: Any, counts: Any) -> Targets:
        return self.postprocess_detections(answers, anchors, sizes)

    def postprocess_detections(
        self,
        head_outputs: dict[str, Tensor],
        image_anchors: list[Tensor],
        image_shapes: list[tuple[int, int]],
    ) -> Targets:
        """Return boxes, scores and classes of each picture."""
        scores = F.softmax(head_outputs["cls_logits"], dim=-1)
        found = []
        for code, score, anchors, shape in zip(
            head_outputs["bbox_regression"], scores, image_anchors, image_shapes, strict=True
        ):
            boxes = self.box_coder.decode_single(code, anchors)
            boxes = box_ops.clip_boxes_to_image(boxes, shape)
            classes = []
            for label in range(1, score.size(-1)):
                is_good = score[:, label] > self.score_thresh
                best, order = score[:, label][is_good].topk(
                    min(int(is_good.sum()), self.topk_candidates)
                )
                labels = full_like(best, fill_value=label, dtype=dtypes.int64)
                classes.append((boxes[is_good][order], best, labels))
            found.append(best_of_picture(classes, self.nms_thresh, self.detections_per_img))
        return found


class SSDFeatureExtractorVGG(nn.Module):
    """VGG as the first part of SSD, with more levels after it."""

    def __init__(self, backbone: nn.Sequential, highres: bool) -> None:
        super().__init__()
        pools = [nr for nr, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        _, _, third, fourth, _ = pools
        backbone[third].ceil_mode = True
        self.scale_weight = nn.Parameter(ones(512) * 20)
        self.features = nn.Sequential(*list(backbone)[:fourth])
        halved = {"padding": 1, "stride": 2}
        blocks = [
            _narrowed(1024, 256, 512, 3, **halved),
            _narrowed(512, 128, 256, 3, **halved),
            _narrowed(256, 128, 256, 3),
            _narrowed(256, 128, 256, 3),
        ]
        if highres:
            blocks.append(_narrowed(256, 128, 256, 4))
        extra = nn.ModuleList(blocks)
        _xavier_init(extra)
        dense = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier_init(dense)
        extra.insert(0, nn.Sequential(*list(backbone)[fourth:-1], dense))
        self.extra = extra

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        x = self.features(x)
        levels = [self.scale_weight.view(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            levels.append(x)
        return OrderedDict((str(nr), level) for nr, level in enumerate(levels))


def _narrowed(given: int, inside: int, result: int, kernel: int, **places: Any) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(given, inside, kernel_size=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(inside, result, kernel_size=kernel, **places),
        nn.ReLU(inplace=True),
    )


def train_last_stages(layers: Any, stages: list[int], count: int) -> None:
    """Freeze what comes before the last stages; raise if there are not so many."""
    if not 0 <= count <= len(stages):
        raise ValueError(
            f"trainable_layers should be in the range [0, {len(stages)}]. Instead got {count}"
        )
    freeze_but_last(layers, stages, count)


def _vgg_extractor(backbone: Any, highres: bool, trainable_layers: int) -> SSDFeatureExtractorVGG:
    layers = backbone.features
    stages = [0, *[nr for nr, each in enumerate(layers) if isinstance(each, nn.MaxPool2d)][:-1]]
    train_last_stages(layers, stages, trainable_layers)
    return SSDFeatureExtractorVGG(layers, highres)


class SSD300_VGG16_Weights(WeightsEnum):
    COCO_V1 = coco("ssd300_vgg16_coco-b556d3b4.pth", 35_641_826, box_map=25.1)
    DEFAULT = COCO_V1


def warn_of_size(options: dict[str, Any]) -> None:
    """Say that a model has a size already, if one is asked for."""
    if "size" in options:
        warn_user("The size of the model is already fixed; ignoring the parameter.")
        options.pop("size")


@detection_builder(SSD300_VGG16_Weights, VGG16_Weights.IMAGENET1K_FEATURES, (5, 4))
def ssd300_vgg16(backbone: Backbone, num_classes: int, **options: Any) -> SSD:
    """Return SSD on VGG-16, for pictures of 300 pixels."""
    warn_of_size(options)
    body = _vgg_extractor(vgg16(weights=backbone.weights), False, backbone.layers)
    anchors = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    usual: dict[str, Any] = {"image_mean": [0.48235, 0.45882, 0.40784]}
    usual["image_std"] = [1.0 / 255.0] * 3
    return SSD(body, anchors, (300, 300), num_classes, **{**usual, **options})
