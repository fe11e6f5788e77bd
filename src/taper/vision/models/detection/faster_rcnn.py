"""Faster R-CNN: a network proposes regions, and another one says what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection._detector import check_backbone, picture_transform
from taper.vision.models.detection.anchor_utils import AnchorGenerator
from taper.vision.models.detection.backbone_utils import (
    _mobilenet_extractor,
    _resnet_fpn_extractor,
)
from taper.vision.models.detection.generalized_rcnn import GeneralizedRCNN
from taper.vision.models.detection.roi_heads import RoIHeads
from taper.vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from taper.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from taper.vision.models.resnet import ResNet50_Weights, resnet50
from taper.vision.ops.misc import Conv2dNormActivation
from taper.vision.ops.poolers import MultiScaleRoIAlign

__all__ = [
    "FasterRCNN",
    "FasterRCNN_ResNet50_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
]


def _default_anchorgen() -> AnchorGenerator:
    sizes = ((32,), (64,), (128,), (256,), (512,))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


def check_arguments(num_classes: int | None, name: str, predictor: Any) -> None:
    """Raise unless there is a number of classes or a predictor, and not both."""
    if num_classes is not None and predictor is not None:
        raise ValueError(f"num_classes should be None when {name} is specified")
    if num_classes is None and predictor is None:
        raise ValueError(f"num_classes should not be None when {name} is not specified")


def check_parts(backbone: Any, anchors: Any, pool: Any) -> None:
    """Raise unless the parts of a detector are what it can use."""
    check_backbone(backbone, "rpn_anchor_generator", anchors)
    if not isinstance(pool, MultiScaleRoIAlign | None):
        raise TypeError(
            f"box_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(pool)}"
        )


class FasterRCNN(GeneralizedRCNN):
    """Find objects in pictures: answers have `boxes`, `labels` and `scores`.

    In training the model takes pictures and targets with `boxes` and `labels`, and returns losses.

    Args:
        backbone: gives features; has `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter side of pictures after resizing.
        max_size: the most that the longer side may have.
        image_mean: the mean of each channel.
        image_std: the deviation of each channel.
        rpn_anchor_generator: makes the boxes to start from.
        rpn_head: says which of them have objects.
        rpn_pre_nms_top_n_train: how many boxes of a level are kept in training.
        rpn_pre_nms_top_n_test: how many in evaluation.
        rpn_post_nms_top_n_train: how many are proposed in training.
        rpn_post_nms_top_n_test: how many in evaluation.
        rpn_nms_thresh: the overlap from which on the worse of two proposals is dropped.
        rpn_fg_iou_thresh: the overlap from which on a box has an object.
        rpn_bg_iou_thresh: the overlap up to which it has none.
        rpn_batch_size_per_image: how many boxes are trained.
        rpn_positive_fraction: the part of them with objects.
        rpn_score_thresh: the least score of a proposal.
        box_roi_pool: cuts regions out of features.
        box_head: turns what was cut out into numbers.
        box_predictor: turns numbers into classes and boxes.
        box_score_thresh: the least score of an answer.
        box_nms_thresh: the overlap from which on the worse of two answers is dropped.
        box_detections_per_img: the most answers for a picture.
        box_fg_iou_thresh: the overlap from which on a proposal has an object.
        box_bg_iou_thresh: the overlap up to which it has none.
        box_batch_size_per_image: how many proposals are trained.
        box_positive_fraction: the part of them with objects.
        bbox_reg_weights: factors of the numbers that say where a box is.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: Any = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: AnchorGenerator | None = None,
        rpn_head: nn.Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: MultiScaleRoIAlign | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: tuple[float, float, float, float] | None = None,
        **kwargs: Any,
    ) -> None:
        check_parts(backbone, rpn_anchor_generator, box_roi_pool)
        check_arguments(num_classes, "box_predictor", box_predictor)
        channels = backbone.out_channels
        if rpn_anchor_generator is None:
            rpn_anchor_generator = _default_anchorgen()
        if rpn_head is None:
            rpn_head = RPNHead(channels, rpn_anchor_generator.num_anchors_per_location()[0])
        first = {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test}
        last = {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test}
        drawn: Any = (rpn_fg_iou_thresh, rpn_bg_iou_thresh)
        drawn += (rpn_batch_size_per_image, rpn_positive_fraction)
        kept: Any = (first, last, rpn_nms_thresh, rpn_score_thresh)
        rpn = RegionProposalNetwork(rpn_anchor_generator, rpn_head, *drawn, *kept)
        if box_roi_pool is None:
            box_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2)
        if box_head is None:
            box_head = TwoMLPHead(channels * box_roi_pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes)
        drawn = (box_fg_iou_thresh, box_bg_iou_thresh)
        drawn += (box_batch_size_per_image, box_positive_fraction)
        answers: Any = (box_score_thresh, box_nms_thresh, box_detections_per_img)
        settings: Any = (*drawn, bbox_reg_weights, *answers)
        roi_heads = RoIHeads(box_roi_pool, box_head, box_predictor, *settings)
        transform = picture_transform(min_size, max_size, image_mean, image_std, **kwargs)
        super().__init__(backbone, rpn, roi_heads, transform)


class TwoMLPHead(nn.Module):
    """Two linear layers that see a region.

    >>> import taper
    >>> from taper.vision.models.detection.faster_rcnn import TwoMLPHead
    >>> TwoMLPHead(8, 3)(taper.ones(5, 2, 2, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions, then linear layers, that see a region.

    >>> import taper
    >>> from taper.vision.models.detection.faster_rcnn import FastRCNNConvFCHead
    >>> FastRCNNConvFCHead((2, 3, 3), [4], [5])(taper.ones(6, 2, 3, 3)).shape
    torch.Size([6, 5])
    """

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, height, width = input_size
        blocks: list[nn.Module] = []
        for wide in conv_layers:
            blocks.append(Conv2dNormActivation(channels, wide, norm_layer=norm_layer))
            channels = wide
        blocks.append(nn.Flatten())
        channels = channels * height * width
        for wide in fc_layers:
            blocks += [nn.Linear(channels, wide), nn.ReLU(inplace=True)]
            channels = wide
        super().__init__(*blocks)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """Linear layers that turn the numbers of a region into classes and boxes.

    >>> import taper
    >>> from taper.vision.models.detection.faster_rcnn import FastRCNNPredictor
    >>> [x.shape for x in FastRCNNPredictor(4, 3)(taper.ones(5, 4))]
    [torch.Size([5, 3]), torch.Size([5, 12])]
    """

    def __init__(self, in_channels: int, num_classes: Any) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.dim() == 4 and list(x.shape[2:]) != [1, 1]:
            raise AssertionError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of "
                f"{list(x.shape[2:])}"
            )
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


class FasterRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_resnet50_fpn_coco-258fb6c6.pth", 41_755_286, box_map=37.0)
    DEFAULT = COCO_V1


class FasterRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth", 43_712_278, box_map=46.7)
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth", 19_386_354, box_map=32.8)
    DEFAULT = COCO_V1


class FasterRCNN_MobileNet_V3_Large_320_FPN_Weights(WeightsEnum):
    COCO_V1 = coco("fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth", 19_386_354, box_map=22.8)
    DEFAULT = COCO_V1


@detection_builder(FasterRCNN_ResNet50_FPN_Weights, ResNet50_Weights.IMAGENET1K_V1, exact="COCO_V1")
def fasterrcnn_resnet50_fpn(backbone: Backbone, num_classes: int, **options: Any) -> FasterRCNN:
    """Return Faster R-CNN on ResNet-50."""
    network = resnet50(weights=backbone.weights, norm_layer=backbone.norm)
    return FasterRCNN(_resnet_fpn_extractor(network, backbone.layers), num_classes, **options)


@detection_builder(FasterRCNN_ResNet50_FPN_V2_Weights, ResNet50_Weights.IMAGENET1K_V1)
def fasterrcnn_resnet50_fpn_v2(backbone: Backbone, num_classes: int, **options: Any) -> FasterRCNN:
    """Return the second Faster R-CNN on ResNet-50, with more convolutions."""
    body, parts = second_version(backbone)
    return FasterRCNN(body, num_classes, **parts, **options)


def second_version(backbone: Backbone) -> tuple[nn.Module, dict[str, Any]]:
    """Return the backbone and the parts that the second versions of detectors have."""
    network = resnet50(weights=backbone.weights)
    body = _resnet_fpn_extractor(network, backbone.layers, norm_layer=nn.BatchNorm2d)
    anchors = _default_anchorgen()
    count = anchors.num_anchors_per_location()[0]
    parts = {
        "rpn_anchor_generator": anchors,
        "rpn_head": RPNHead(body.out_channels, count, conv_depth=2),
        "box_head": FastRCNNConvFCHead(
            (body.out_channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d
        ),
    }
    return body, parts


def _on_mobilenet(backbone: Backbone, num_classes: int, options: dict[str, Any]) -> FasterRCNN:
    network = mobilenet_v3_large(weights=backbone.weights, norm_layer=backbone.norm)
    body = _mobilenet_extractor(network, True, backbone.layers)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    return FasterRCNN(body, num_classes, rpn_anchor_generator=anchors, **options)


@detection_builder(
    FasterRCNN_MobileNet_V3_Large_320_FPN_Weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, (6, 3)
)
def fasterrcnn_mobilenet_v3_large_320_fpn(
    backbone: Backbone, num_classes: int, **options: Any
) -> FasterRCNN:
    """Return Faster R-CNN on the large MobileNetV3, for small pictures."""
    usual: dict[str, Any] = {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150}
    usual |= {"rpn_post_nms_top_n_test": 150, "rpn_score_thresh": 0.05}
    return _on_mobilenet(backbone, num_classes, {**usual, **options})


@detection_builder(
    FasterRCNN_MobileNet_V3_Large_FPN_Weights, MobileNet_V3_Large_Weights.IMAGENET1K_V1, (6, 3)
)
def fasterrcnn_mobilenet_v3_large_fpn(
    backbone: Backbone, num_classes: int, **options: Any
) -> FasterRCNN:
    """Return Faster R-CNN on the large MobileNetV3."""
    return _on_mobilenet(backbone, num_classes, {"rpn_score_thresh": 0.05, **options})
