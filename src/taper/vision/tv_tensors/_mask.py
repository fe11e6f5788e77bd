"""Regions of a picture, pixel by pixel."""

from __future__ import annotations

from typing import Any

from taper.dtypes import dtype as Dtype
from taper.vision.pillow import is_picture
from taper.vision.transforms.conversions import pil_to_tensor
from taper.vision.tv_tensors._tv_tensor import TVTensor


class Mask(TVTensor):
    """A tensor (..., H, W) of masks, for segmentation or detection.

    Args:
        data: a tensor, an array, a Pillow image, or numbers.
        dtype: the dtype; that of `data` by default.
        device: the device; that of `data` by default.
        requires_grad: whether gradients are recorded; as `data` does by default.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> type(tv_tensors.Mask(taper.eye(2)).clone()).__name__
    'Mask'
    """

    def __new__(
        cls,
        data: Any,
        *,
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Mask:
        if is_picture(data):
            data = pil_to_tensor(data)
        made = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        return made.as_subclass(cls)
