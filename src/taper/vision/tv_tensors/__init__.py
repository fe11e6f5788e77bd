"""`taper.vision.tv_tensors`: tensors that know that they are pictures, boxes, masks or points."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor
from taper.vision.tv_tensors._bounding_boxes import (
    BoundingBoxes,
    BoundingBoxFormat,
    is_rotated_bounding_format,
)
from taper.vision.tv_tensors._image import Image
from taper.vision.tv_tensors._keypoints import KeyPoints
from taper.vision.tv_tensors._mask import Mask
from taper.vision.tv_tensors._torch_function_helpers import set_return_type
from taper.vision.tv_tensors._tv_tensor import TVTensor
from taper.vision.tv_tensors._video import Video

__all__ = [
    "BoundingBoxFormat",
    "BoundingBoxes",
    "Image",
    "KeyPoints",
    "Mask",
    "TVTensor",
    "Video",
    "is_rotated_bounding_format",
    "set_return_type",
    "wrap",
]


def wrap(wrappee: Tensor, *, like: Any, **kwargs: Any) -> Any:
    """Return a tensor as the kind of another one, with its format and size unless others are given.

    Args:
        wrappee: the tensor.
        like: the tensor whose kind, format and size are taken.
        kwargs: `format`, `canvas_size` or `clamping_mode` to have instead.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> image = tv_tensors.Image(taper.zeros(1, 2, 2))
    >>> type(tv_tensors.wrap(image + 1, like=image)).__name__
    'Image'
    """
    if isinstance(like, BoundingBoxes):
        names = ("format", "canvas_size", "clamping_mode")
        facts = {name: kwargs.get(name, getattr(like, name)) for name in names}
        return type(like)._wrap(wrappee, **facts)
    if isinstance(like, KeyPoints):
        size = kwargs.get("canvas_size", like.canvas_size)
        return type(like)._wrap(wrappee, canvas_size=size)
    return wrappee.as_subclass(type(like))
