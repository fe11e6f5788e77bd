"""Transforms without randomness."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from taper.dtypes import dtype as Dtype
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.vision.transforms import functional as F
from taper.vision.transforms.arguments import pair_of
from taper.vision.transforms.modes import InterpolationMode, from_number
from taper.vision.transforms.pictures import check_padding


class Compose:
    """Transforms one after the other.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.Compose([transforms.CenterCrop(2), transforms.Pad(1)])(taper.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, transforms: Iterable[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for each in self.transforms:
            img = each(img)
        return img

    def __repr__(self) -> str:
        return listed(self)


def listed(composed: Any, first: str = "") -> str:
    """Return the text of a transform that holds others, one on each line."""
    lines = "".join(f"\n    {each}" for each in composed.transforms)
    return f"{type(composed).__name__}({first}{lines}\n)"


class ToTensor:
    """Turn a picture or array (H, W, C) into a tensor (C, H, W); bytes become 0 to 1.

    >>> import numpy as np
    >>> from taper.vision import transforms
    >>> transforms.ToTensor()(np.full((1, 2, 1), 51, np.uint8))
    tensor([[[0.2000, 0.2000]]])
    """

    def __init__(self) -> None:
        pass

    def __call__(self, pic: Any) -> Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """Turn a picture into a tensor (C, H, W) of the same values.

    >>> from PIL import Image
    >>> from taper.vision import transforms
    >>> transforms.PILToTensor()(Image.new("L", (2, 1), 7))
    tensor([[[7, 7]]], dtype=torch.uint8)
    """

    def __init__(self) -> None:
        pass

    def __call__(self, pic: Any) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ConvertImageDtype(Module):
    """Convert the picture to another dtype, with its values scaled to that range.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.ConvertImageDtype(taper.uint8)(taper.tensor([[0.5, 1.0]]))
    tensor([[127, 255]], dtype=torch.uint8)
    """

    def __init__(self, dtype: Dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)


class ToPILImage:
    """Turn a tensor (C, H, W) or an array (H, W, C) into a picture.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.ToPILImage()(taper.zeros(3, 4, 5)).mode
    'RGB'
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: Any) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        mode = f"mode={self.mode}" if self.mode is not None else ""
        return f"{type(self).__name__}({mode})"


class Normalize(Module):
    """Subtract the mean and divide by the deviation, channel by channel.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.Normalize(0.5, 0.25)(taper.tensor([[[0.5, 1.0]]]))
    tensor([[[0., 2.]]])
    """

    def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class Resize(Module):
    """Resize the picture to (height, width), or its shorter side to one length.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.Resize(2)(taper.zeros(3, 4, 8)).shape
    torch.Size([3, 2, 4])
    """

    def __init__(
        self,
        size: Any,
        interpolation: Any = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = from_number(interpolation)
        self.antialias = antialias

    def forward(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(Module):
    """Cut out the middle of the picture, with zeros around if it is smaller.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.CenterCrop(1)(taper.arange(9).reshape(3, 3))
    tensor([[4]])
    """

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair_of(size)

    def forward(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class Pad(Module):
    """Add a border of one width, (left/right, top/bottom), or (left, top, right, bottom).

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.Pad((1, 0), fill=7)(taper.tensor([[1, 2]]))
    tensor([[7, 1, 2, 7]])
    """

    def __init__(self, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        kinds = (numbers.Number, tuple, list)
        if fill is None:
            raise TypeError("Got inappropriate fill arg")
        check_padding(padding, fill, kinds, str(padding_mode))
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, "
            f"padding_mode={self.padding_mode})"
        )


class Lambda:
    """Any function as a transform.

    >>> from taper.vision import transforms
    >>> transforms.Lambda(lambda x: x + 1)(2)
    3
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class FiveCrop(Module):
    """Cut out the four corners and the middle of the picture, as a tuple.

    >>> import taper
    >>> from taper.vision import transforms
    >>> len(transforms.FiveCrop(2)(taper.zeros(3, 4, 4)))
    5
    """

    def __init__(self, size: Any) -> None:
        super().__init__()
        self.size = pair_of(size)

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(Module):
    """Cut out corners and middle of the picture and of the flipped picture.

    >>> import taper
    >>> from taper.vision import transforms
    >>> len(transforms.TenCrop(2)(taper.zeros(3, 4, 4)))
    10
    """

    def __init__(self, size: Any, vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = pair_of(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Any) -> tuple[Any, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class LinearTransformation(Module):
    """Flatten a picture, subtract the mean, multiply by a square matrix, as in whitening.

    >>> import taper
    >>> from taper.vision import transforms
    >>> whiten = transforms.LinearTransformation(2 * taper.eye(2), taper.ones(2))
    >>> whiten(taper.tensor([[[1.0, 3.0]]]))
    tensor([[[0., 4.]]])
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        rows, columns = transformation_matrix.size()
        if rows != columns:
            raise ValueError(
                f"transformation_matrix should be square. Got {(rows, columns)} rectangular matrix."
            )
        if mean_vector.size(0) != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.size(0)} as any one of the "
                f"dimensions of the transformation_matrix [{(rows, columns)}]"
            )
        if transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError(
                "Input tensors should have the same dtype. Got "
                f"{transformation_matrix.dtype} and {mean_vector.dtype}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        shape = tensor.shape
        channels, height, width = shape[-3], shape[-2], shape[-1]
        length = channels * height * width
        if length != self.transformation_matrix.shape[0]:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{channels} x {height} x {width}] != {self.transformation_matrix.shape[0]}"
            )
        centred = tensor.view(-1, length) - self.mean_vector
        return centred.mm(self.transformation_matrix).view(shape)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(transformation_matrix="
            f"{self.transformation_matrix.tolist()}, mean_vector={self.mean_vector.tolist()})"
        )


class Grayscale(Module):
    """Turn the picture grey, with one channel or three.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.Grayscale()(taper.ones(3, 2, 2)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img: Any) -> Any:
        return F.rgb_to_grayscale(img, num_output_channels=self.num_output_channels)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"
