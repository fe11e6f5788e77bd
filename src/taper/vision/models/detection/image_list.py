"""Pictures of different sizes in one tensor."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor


class ImageList:
    """A batch of pictures that were filled up to one size, and the size each one had before.

    >>> import taper
    >>> from taper.vision.models.detection.image_list import ImageList
    >>> ImageList(taper.zeros(1, 3, 32, 32), [(30, 31)]).to("cpu").image_sizes
    [(30, 31)]
    """

    def __init__(self, tensors: Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device: Any) -> ImageList:
        """Return the same on a device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
