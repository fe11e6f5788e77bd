"""Pictures."""

from __future__ import annotations

from typing import Any

from taper.dtypes import dtype as Dtype
from taper.vision.pillow import is_picture
from taper.vision.transforms.conversions import pil_to_tensor
from taper.vision.tv_tensors._tv_tensor import TVTensor


class Image(TVTensor):
    """A tensor (..., C, H, W) that is a picture.

    Args:
        data: a tensor, an array, a Pillow image, or numbers.
        dtype: the dtype; that of `data` by default.
        device: the device; that of `data` by default.
        requires_grad: whether gradients are recorded; as `data` does by default.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> tv_tensors.Image(taper.zeros(4, 5)).shape
    torch.Size([1, 4, 5])
    """

    def __new__(
        cls,
        data: Any,
        *,
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Image:
        if is_picture(data):
            data = pil_to_tensor(data)
        made = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        if made.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {made.ndim}D tensor.")
        if made.ndim == 2:
            made = made.unsqueeze(0)
        return made.as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr()
