"""The second interface of transforms, which finds the pictures in a sample by itself.

Boxes, masks and key points are not supported: there are no `tv_tensors`.
"""

from __future__ import annotations

from typing import Any

from taper.absent.answers import refused_class, refused_function
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.policies import AutoAugmentPolicy
from taper.vision.transforms.v2 import functional
from taper.vision.transforms.v2.auto_augment import (
    AugMix,
    AutoAugment,
    RandAugment,
    TrivialAugmentWide,
)
from taper.vision.transforms.v2.colours import (
    RGB,
    ColorJitter,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomEqualize,
    RandomErasing,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from taper.vision.transforms.v2.containers import (
    Compose,
    RandomApply,
    RandomChoice,
    RandomOrder,
)
from taper.vision.transforms.v2.geometry import (
    CenterCrop,
    ElasticTransform,
    FiveCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomVerticalFlip,
    RandomZoomOut,
    Resize,
    ScaleJitter,
    TenCrop,
)
from taper.vision.transforms.v2.mixing import (
    CutMix,
    MixUp,
)
from taper.vision.transforms.v2.transform import (
    Transform,
    check_type,
    has_all,
    has_any,
    query_chw,
    query_size,
)
from taper.vision.transforms.v2.types import (
    JPEG,
    ConvertImageDtype,
    GaussianBlur,
    GaussianNoise,
    Identity,
    Lambda,
    LinearTransformation,
    Normalize,
    PILToTensor,
    ToDtype,
    ToImage,
    ToPILImage,
    ToPureTensor,
    ToTensor,
    UniformTemporalSubsample,
)

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ConvertImageDtype",
    "CutMix",
    "ElasticTransform",
    "FiveCrop",
    "GaussianBlur",
    "GaussianNoise",
    "Grayscale",
    "Identity",
    "InterpolationMode",
    "JPEG",
    "Lambda",
    "LinearTransformation",
    "MixUp",
    "Normalize",
    "PILToTensor",
    "Pad",
    "RGB",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomApply",
    "RandomAutocontrast",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomHorizontalFlip",
    "RandomInvert",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "ScaleJitter",
    "TenCrop",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "UniformTemporalSubsample",
    "check_type",
    "functional",
    "has_all",
    "has_any",
    "query_chw",
    "query_size",
]

_NOT_PROVIDED = frozenset(
    """
    ClampBoundingBoxes ClampKeyPoints ConvertBoundingBoxFormat RandomIoUCrop SanitizeBoundingBoxes
    SanitizeKeyPoints SetClampingMode get_bounding_boxes get_keypoints
    """.split()
)


def __getattr__(name: str) -> Any:
    if name not in _NOT_PROVIDED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    make = refused_class if name[0].isupper() else refused_function
    sentence = (
        f"{__name__}.{name} is not provided: boxes and key points are not transformed, only "
        "pictures are"
    )
    return globals().setdefault(name, make(name, __name__, sentence))
