"""How pictures are prepared for models that were trained on ImageNet."""

from __future__ import annotations

from typing import Any

from taper import dtypes, nn
from taper.tensor import Tensor
from taper.vision.transforms import InterpolationMode
from taper.vision.transforms import functional as F

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


class ImageClassification(nn.Module):
    """Resize, cut out the centre, scale to [0, 1] and normalise a picture or its tensor.

    >>> import taper
    >>> from taper.vision.models.presets import ImageClassification
    >>> ImageClassification(crop_size=8, resize_size=10)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = MEAN,
        std: tuple[float, ...] = DEVIATION,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> Tensor:
        img = F.resize(
            img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias
        )
        img = F.center_crop(img, self.crop_size)
        if not isinstance(img, Tensor):
            img = F.pil_to_tensor(img)
        img = F.convert_image_dtype(img, dtypes.float32)
        return F.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({lines}\n)"

    def describe(self) -> str:
        """Return a sentence about what it does."""
        return (
            f"Resizes pictures to {self.resize_size} with {self.interpolation}, cuts out the "
            f"center of {self.crop_size}, scales values to [0.0, 1.0] and normalises them with "
            f"the mean {self.mean} and the deviation {self.std}."
        )


def classification(interpolation: str, **sizes: Any) -> ImageClassification:
    """Return `ImageClassification` with the interpolation given by name."""
    return ImageClassification(interpolation=InterpolationMode(interpolation), **sizes)
