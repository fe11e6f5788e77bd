"""Both MobileNets, under their common module name."""

from __future__ import annotations

from taper.vision.models.mobilenetv2 import MobileNet_V2_Weights, MobileNetV2, mobilenet_v2
from taper.vision.models.mobilenetv3 import (
    MobileNet_V3_Large_Weights,
    MobileNet_V3_Small_Weights,
    MobileNetV3,
    mobilenet_v3_large,
    mobilenet_v3_small,
)

__all__ = [
    "MobileNetV2",
    "MobileNet_V2_Weights",
    "mobilenet_v2",
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]
