"""Pictures one after the other."""

from __future__ import annotations

from typing import Any

from taper.dtypes import dtype as Dtype
from taper.vision.tv_tensors._tv_tensor import TVTensor


class Video(TVTensor):
    """A tensor (..., T, C, H, W) that is a video.

    Args:
        data: a tensor, an array, or numbers.
        dtype: the dtype; that of `data` by default.
        device: the device; that of `data` by default.
        requires_grad: whether gradients are recorded; as `data` does by default.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> tv_tensors.Video(taper.zeros(2, 3, 4, 5)).shape
    torch.Size([2, 3, 4, 5])
    """

    def __new__(
        cls,
        data: Any,
        *,
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Video:
        made = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        if made.ndim < 4:
            raise ValueError
        return made.as_subclass(cls)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr()
