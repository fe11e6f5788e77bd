"""Mask R-CNN: Faster R-CNN that also says which pixels belong to an object."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from taper import nn
from taper.vision.models._api import WeightsEnum
from taper.vision.models.detection._builders import Backbone, coco, detection_builder
from taper.vision.models.detection.backbone_utils import _resnet_fpn_extractor
from taper.vision.models.detection.faster_rcnn import FasterRCNN, check_arguments, second_version
from taper.vision.models.resnet import ResNet50_Weights, resnet50
from taper.vision.ops.misc import Conv2dNormActivation
from taper.vision.ops.poolers import MultiScaleRoIAlign

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_Weights",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN(FasterRCNN):
    """Find objects and their pixels: answers also have `masks`, and targets in training.

    Args:
        backbone: gives features; has `out_channels`.
        num_classes: the number of classes, with the background.
        mask_roi_pool: cuts regions out of features.
        mask_head: turns what was cut out into features of masks.
        mask_predictor: turns those into a mask for each class.
        options: those of `FasterRCNN`.
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        *positional: Any,
        mask_roi_pool: MultiScaleRoIAlign | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(mask_roi_pool, MultiScaleRoIAlign | None):
            raise TypeError(
                "mask_roi_pool should be of type MultiScaleRoIAlign or None instead of "
                f"{type(mask_roi_pool)}"
            )
        if num_classes is not None and mask_predictor is not None:
            check_arguments(num_classes, "mask_predictor", mask_predictor)
        if mask_roi_pool is None:
            mask_roi_pool = MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
        if mask_head is None:
            mask_head = MaskRCNNHeads(backbone.out_channels, (256,) * 4, 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *positional, **options)
        self.roi_heads.mask_roi_pool = mask_roi_pool
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions that see a region.

    >>> import taper
    >>> from taper.vision.models.detection.mask_rcnn import MaskRCNNHeads
    >>> MaskRCNNHeads(2, (3, 4), 1)(taper.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    _version = 2

    def __init__(
        self,
        in_channels: int,
        layers: Any,
        dilation: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        blocks = []
        places: dict[str, Any] = {"stride": 1, "padding": dilation, "dilation": dilation}
        for wide in layers:
            block = Conv2dNormActivation(in_channels, wide, 3, norm_layer=norm_layer, **places)
            blocks.append(block)
            in_channels = wide
        super().__init__(*blocks)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *others: Any
    ) -> None:
        """Accept a state from before the convolutions could have normalisations."""
        version = local_metadata.get("version", None)
        if version is None or version < 2:
            for nr in range(len(self)):
                for kind in ("weight", "bias"):
                    old = f"{prefix}mask_fcn{nr + 1}.{kind}"
                    if old in state_dict:
                        state_dict[f"{prefix}{nr}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


class MaskRCNNPredictor(nn.Sequential):
    """Convolutions that turn features of a region into a mask, twice as large, for each class.

    >>> import taper
    >>> from taper.vision.models.detection.mask_rcnn import MaskRCNNPredictor
    >>> MaskRCNNPredictor(2, 3, 4)(taper.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 10, 10])
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: Any) -> None:
        layers: list[tuple[str, nn.Module]] = [
            ("conv5_mask", nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0)),
            ("relu", nn.ReLU(inplace=True)),
            ("mask_fcn_logits", nn.Conv2d(dim_reduced, num_classes, 1, 1, 0)),
        ]
        super().__init__(OrderedDict(layers))
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


class MaskRCNN_ResNet50_FPN_Weights(WeightsEnum):
    COCO_V1 = coco(
        "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth", 44_401_393, box_map=37.9, mask_map=34.6
    )
    DEFAULT = COCO_V1


class MaskRCNN_ResNet50_FPN_V2_Weights(WeightsEnum):
    COCO_V1 = coco(
        "maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth", 46_359_409, box_map=47.4, mask_map=41.8
    )
    DEFAULT = COCO_V1


@detection_builder(MaskRCNN_ResNet50_FPN_Weights, ResNet50_Weights.IMAGENET1K_V1, exact="COCO_V1")
def maskrcnn_resnet50_fpn(backbone: Backbone, num_classes: int, **options: Any) -> MaskRCNN:
    """Return Mask R-CNN on ResNet-50."""
    network = resnet50(weights=backbone.weights, norm_layer=backbone.norm)
    return MaskRCNN(_resnet_fpn_extractor(network, backbone.layers), num_classes, **options)


@detection_builder(MaskRCNN_ResNet50_FPN_V2_Weights, ResNet50_Weights.IMAGENET1K_V1)
def maskrcnn_resnet50_fpn_v2(backbone: Backbone, num_classes: int, **options: Any) -> MaskRCNN:
    """Return the second Mask R-CNN on ResNet-50, with more convolutions."""
    body, parts = second_version(backbone)
    head = MaskRCNNHeads(body.out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(body, num_classes, **parts, mask_head=head, **options)
