"""Keypoint R-CNN: Faster R-CNN that also says where the joints of a person are."""

from __future__ import annotations

from typing import Any

from taper import nn
from taper.nn import functional as F
from taper.tensor import Tensor
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection.backbone_utils import _resnet_fpn_extractor
from taper.vision.models.detection.faster_rcnn import FasterRCNN
from taper.vision.models.resnet import ResNet50_Weights, resnet50
from taper.vision.ops.poolers import MultiScaleRoIAlign

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN(FasterRCNN):
    """Find persons and their joints: answers also have `keypoints` and `keypoints_scores`.

    Args:
        backbone: gives features; has `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter side of pictures after resizing; several are drawn from in training.
        max_size: the most that the longer side may have.
        keypoint_roi_pool: cuts regions out of features.
        keypoint_head: turns what was cut out into features.
        keypoint_predictor: turns those into a map for each key point.
        num_keypoints: the number of key points.
        options: those of `FasterRCNN`.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: Any = None,
        max_size: int = 1333,
        *positional: Any,
        keypoint_roi_pool: MultiScaleRoIAlign | None = None,
        keypoint_head: nn.Module | None = None,
        keypoint_predictor: nn.Module | None = None,
        num_keypoints: int | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(keypoint_roi_pool, MultiScaleRoIAlign | None):
            raise TypeError(
                "keypoint_roi_pool should be of type MultiScaleRoIAlign or None instead of "
                f"{type(keypoint_roi_pool)}"
            )
        if min_size is None:
            min_size = (640, 672, 704, 736, 768, 800)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        if keypoint_roi_pool is None:
            keypoint_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        if keypoint_predictor is None:
            count = 17 if num_keypoints is None else num_keypoints
            keypoint_predictor = KeypointRCNNPredictor(512, count)
        super().__init__(backbone, num_classes, min_size, max_size, *positional, **options)
        self.roi_heads.keypoint_roi_pool = keypoint_roi_pool
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions that see a region.

    >>> import taper
    >>> from taper.vision.models.detection.keypoint_rcnn import KeypointRCNNHeads
    >>> KeypointRCNNHeads(2, (3, 4))(taper.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    def __init__(self, in_channels: int, layers: Any) -> None:
        blocks: list[nn.Module] = []
        for wide in layers:
            blocks += [nn.Conv2d(in_channels, wide, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
            in_channels = wide
        super().__init__(*blocks)
        for module in self.children():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.constant_(module.bias, 0)


class KeypointRCNNPredictor(nn.Module):
    """A convolution that turns features of a region into a map for each key point.

    >>> import taper
    >>> from taper.vision.models.detection.keypoint_rcnn import KeypointRCNNPredictor
    >>> KeypointRCNNPredictor(2, 3)(taper.ones(1, 2, 5, 5)).shape
    torch.Size([1, 3, 20, 20])
    """

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(
            in_channels, num_keypoints, 4, stride=2, padding=1
        )
        nn.init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        nn.init.constant_(self.kps_score_lowres.bias, 0)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


class KeypointRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_LEGACY = coco(
        "keypointrcnn_resnet50_fpn_coco-9f466800.pth", 59_137_258, box_map=50.6, kp_map=61.1
    )
    COCO_V1 = coco(
        "keypointrcnn_resnet50_fpn_coco-fc266e95.pth", 59_137_258, box_map=54.6, kp_map=65.0
    )
    DEFAULT = COCO_V1


@detection_builder(
    KeypointRCNN_ResNet50_FPN_Weights,
    ResNet50_Weights.IMAGENET1K_V1,
    classes=2,
    fixed_options={"num_keypoints": 17},
    exact="COCO_V1",
)
def keypointrcnn_resnet50_fpn(
    backbone: Backbone, num_classes: int, num_keypoints: int, **options: Any
) -> KeypointRCNN:
    """Return Keypoint R-CNN on ResNet-50."""
    network = resnet50(weights=backbone.weights, norm_layer=backbone.norm)
    body = _resnet_fpn_extractor(network, backbone.layers)
    return KeypointRCNN(body, num_classes, num_keypoints=num_keypoints, **options)
