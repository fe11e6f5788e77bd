"""How pictures and sequences of them are prepared for models that have been trained."""

from __future__ import annotations

from typing import Any

from taper import dtypes, nn
from taper.tensor import Tensor
from taper.vision.transforms import InterpolationMode
from taper.vision.transforms import functional as F

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def _normalised(img: Any, mean: list[float], std: list[float]) -> Tensor:
    """Return a picture or its tensor scaled to [0, 1] and normalised."""
    if not isinstance(img, Tensor):
        img = F.pil_to_tensor(img)
    return F.normalize(F.convert_image_dtype(img, dtypes.float32), mean=mean, std=std)


class _Preset(nn.Module):
    """A preparation that shows its settings."""

    def __repr__(self) -> str:
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        shown = [name for name in names if hasattr(self, name)]
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in shown)
        return f"{type(self).__name__}({lines}\n)"


class ImageClassification(_Preset):
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
        return _normalised(F.center_crop(img, self.crop_size), self.mean, self.std)

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


class SemanticSegmentation(_Preset):
    """Resize, scale to [0, 1] and normalise a picture or its tensor.

    >>> import taper
    >>> from taper.vision.models.presets import SemanticSegmentation
    >>> SemanticSegmentation(resize_size=10)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 10, 15])
    """

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = MEAN,
        std: tuple[float, ...] = DEVIATION,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = [resize_size] if resize_size is not None else None
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Any) -> Tensor:
        if self.resize_size is not None:
            how: dict[str, Any] = {"interpolation": self.interpolation, "antialias": self.antialias}
            img = F.resize(img, self.resize_size, **how)
        return _normalised(img, self.mean, self.std)


class VideoClassification(_Preset):
    """Resize, cut out the centre, scale and normalise pictures of a sequence; channels first.

    >>> import taper
    >>> from taper.vision.models.presets import VideoClassification
    >>> prepare = VideoClassification(crop_size=(8, 8), resize_size=(10, 12))
    >>> prepare(taper.zeros(5, 3, 20, 30)).shape
    torch.Size([3, 5, 8, 8])
    """

    def __init__(
        self,
        *,
        crop_size: tuple[int, int],
        resize_size: tuple[int] | tuple[int, int],
        mean: tuple[float, ...] = (0.43216, 0.394666, 0.37645),
        std: tuple[float, ...] = (0.22803, 0.22145, 0.216989),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    ) -> None:
        super().__init__()
        self.crop_size = list(crop_size)
        self.resize_size = list(resize_size)
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation

    def forward(self, vid: Tensor) -> Tensor:
        several = vid if vid.ndim >= 5 else vid.unsqueeze(0)
        batch, count = several.shape[:2]
        pictures = several.view(-1, *several.shape[2:])
        pictures = F.resize(
            pictures, self.resize_size, interpolation=self.interpolation, antialias=False
        )
        pictures = _normalised(F.center_crop(pictures, self.crop_size), self.mean, self.std)
        result = pictures.view(batch, count, *pictures.shape[1:]).permute(0, 2, 1, 3, 4)
        return result if vid.ndim >= 5 else result.squeeze(0)


class ObjectDetection(nn.Module):
    """Turn a picture into a tensor from 0 to 1; a detector resizes and normalises by itself.

    >>> import taper
    >>> from taper.vision.models.presets import ObjectDetection
    >>> ObjectDetection()(taper.full((3, 2, 2), 255, dtype=taper.uint8)).max()
    tensor(1.)
    """

    def forward(self, img: Any) -> Tensor:
        if not isinstance(img, Tensor):
            img = F.pil_to_tensor(img)
        return F.convert_image_dtype(img, dtypes.float32)

    def describe(self) -> str:
        """Return what is done, in words."""
        return (
            "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image "
            "``torch.Tensor`` objects. The images are rescaled to ``[0.0, 1.0]``."
        )
