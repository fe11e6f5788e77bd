"""`taper.vision.ops`: parts of networks for pictures, and boxes and regions in pictures."""

from __future__ import annotations

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
from taper.vision.ops.deform_conv import DeformConv2d, deform_conv2d
from taper.vision.ops.drop_block import DropBlock2d, DropBlock3d, drop_block2d, drop_block3d
from taper.vision.ops.feature_pyramid_network import FeaturePyramidNetwork
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
from taper.vision.ops.poolers import MultiScaleRoIAlign
from taper.vision.ops.ps_roi_align import PSRoIAlign, ps_roi_align
from taper.vision.ops.ps_roi_pool import PSRoIPool, ps_roi_pool
from taper.vision.ops.roi_align import RoIAlign, roi_align
from taper.vision.ops.roi_pool import RoIPool, roi_pool
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
    "DeformConv2d",
    "DropBlock2d",
    "DropBlock3d",
    "FeaturePyramidNetwork",
    "MultiScaleRoIAlign",
    "PSRoIAlign",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "deform_conv2d",
    "drop_block2d",
    "drop_block3d",
    "ps_roi_align",
    "ps_roi_pool",
    "roi_align",
    "roi_pool",
]
