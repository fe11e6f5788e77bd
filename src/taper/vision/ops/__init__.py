"""`taper.vision.ops`: parts of networks for pictures, and boxes in pictures.

Functions for which torchvision has compiled code of its own, such as the pooling of regions, are
missing, except `nms`.
"""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class, refused_function
from taper.vision.ops import boxes, misc
from taper.vision.ops.boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    complete_box_iou,
    distance_box_iou,
    generalized_box_iou,
    masks_to_boxes,
    nms,
    remove_small_boxes,
)
from taper.vision.ops.losses import (
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
    sigmoid_focal_loss,
)
from taper.vision.ops.misc import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)
from taper.vision.ops.stochastic_depth import StochasticDepth, stochastic_depth

__all__ = [
    "boxes",
    "misc",
    "batched_nms",
    "box_area",
    "box_convert",
    "box_iou",
    "clip_boxes_to_image",
    "complete_box_iou",
    "distance_box_iou",
    "generalized_box_iou",
    "masks_to_boxes",
    "nms",
    "remove_small_boxes",
    "complete_box_iou_loss",
    "distance_box_iou_loss",
    "generalized_box_iou_loss",
    "sigmoid_focal_loss",
    "MLP",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "FrozenBatchNorm2d",
    "Permute",
    "SqueezeExcitation",
    "StochasticDepth",
    "stochastic_depth",
]

# For detectors; programs import some of these names without ever calling them.
_MISSING = """
deform_conv2d DeformConv2d roi_align RoIAlign roi_pool RoIPool ps_roi_align PSRoIAlign ps_roi_pool
PSRoIPool MultiScaleRoIAlign FeaturePyramidNetwork drop_block2d DropBlock2d drop_block3d DropBlock3d
""".split()


def __getattr__(name: str) -> Any:
    if name not in _MISSING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    make = refused_class if name[0].isupper() else refused_function
    sentence = f"taper.vision has no {name}: use torchvision for detectors"
    return globals().setdefault(name, make(name, __name__, sentence))
