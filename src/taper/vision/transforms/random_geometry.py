"""Transforms that move pixels at random.

Numbers are drawn from the default generator in torchvision's order, so that a seed gives the same
pictures in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from taper.nn.modules.module import Module
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty
from taper.ops.random.draws import rand
from taper.ops.shape.split import cat
from taper.tensor import Tensor
from taper.vision.transforms import functional as F
from taper.vision.transforms.arguments import (
    angles_of,
    check_fill,
    check_ranges,
    check_sequence,
    fill_for,
    integer,
    pair_of,
    uniform,
)
from taper.vision.transforms.modes import InterpolationMode, from_number


class RandomHorizontalFlip(Module):
    """Exchange left and right, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomHorizontalFlip(p=1.0)(taper.tensor([[1, 2]]))
    tensor([[2, 1]])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.hflip(img) if rand(1) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(Module):
    """Exchange top and bottom, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomVerticalFlip(p=0.0)(taper.tensor([[1], [2]])).flatten()
    tensor([1, 2])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Any) -> Any:
        return F.vflip(img) if rand(1) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomCrop(Module):
    """Cut out a rectangle of a given size, at a random place.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomCrop(28, padding=4)(taper.zeros(1, 28, 28)).shape
    torch.Size([1, 28, 28])
    """

    @staticmethod
    def get_params(img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Return top, left, height and width of a random rectangle."""
        _, height, width = F.get_dimensions(img)
        rows, columns = output_size
        if height < rows or width < columns:
            raise ValueError(
                f"Required crop size {(rows, columns)} is larger than input image size "
                f"{(height, width)}"
            )
        if width == columns and height == rows:
            return 0, 0, height, width
        top = integer(0, height - rows + 1)
        left = integer(0, width - columns + 1)
        return top, left, rows, columns

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = tuple(pair_of(size))
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, height, width = F.get_dimensions(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(Module):
    """Cut out a rectangle of random area and aspect ratio, and resize it to a given size.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomResizedCrop(5)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 5, 5])
    """

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Any = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = pair_of(size)
        check_ranges(scale, ratio)
        self.interpolation = from_number(interpolation)
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(
        img: Any, scale: Sequence[float], ratio: Sequence[float]
    ) -> tuple[int, int, int, int]:
        """Return top, left, height and width of a random rectangle."""
        _, height, width = F.get_dimensions(img)
        ratios = log_range(ratio)
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            aspect = random_ratio(ratios)
            columns = round(math.sqrt(area * aspect))
            rows = round(math.sqrt(area / aspect))
            if 0 < columns <= width and 0 < rows <= height:
                top = integer(0, height - rows + 1)
                left = integer(0, width - columns + 1)
                return top, left, rows, columns
        rows, columns = height, width
        if width / height < min(ratio):
            rows = round(width / min(ratio))
        elif width / height > max(ratio):
            columns = round(height * max(ratio))
        return (height - rows) // 2, (width - columns) // 2, rows, columns

    def forward(self, img: Any) -> Any:
        place = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *place, self.size, self.interpolation, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, "
            f"scale={tuple(round(each, 4) for each in self.scale)}, "
            f"ratio={tuple(round(each, 4) for each in self.ratio)}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def log_range(ratio: Sequence[float]) -> list[float]:
    """Return the logarithms of the ends of a range, in single precision."""
    logarithms: list[float] = tensor(ratio).log().tolist()
    return logarithms


def random_ratio(logarithms: Sequence[float]) -> float:
    """Return an aspect ratio whose logarithm is uniform."""
    drawn: float = empty(1).uniform_(*logarithms).exp().item()
    return drawn


class RandomPerspective(Module):
    """Show the picture from a random side, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomPerspective(p=1.0)(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 20, 30])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.p = p
        self.interpolation = from_number(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = check_fill(fill)

    def forward(self, img: Any) -> Any:
        channels, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill, channels)
        if rand(1) < self.p:
            points = self.get_params(width, height, self.distortion_scale)
            return F.perspective(img, *points, self.interpolation, fill)
        return img

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the corners of the picture, and random points to which they move."""
        most_x = int(distortion_scale * (width // 2))
        most_y = int(distortion_scale * (height // 2))
        lefts, rights = (0, most_x + 1), (width - most_x - 1, width)
        tops, bottoms = (0, most_y + 1), (height - most_y - 1, height)
        corners = [(lefts, tops), (rights, tops), (rights, bottoms), (lefts, bottoms)]
        starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return starts, [[integer(*x), integer(*y)] for x, y in corners]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomRotation(Module):
    """Turn the picture by a random angle.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomRotation((90, 90), expand=True)(taper.zeros(1, 4, 8)).shape
    torch.Size([1, 8, 4])
    """

    def __init__(
        self,
        degrees: Any,
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        interpolation = from_number(interpolation)
        self.degrees = angles_of(degrees, "degrees")
        if center is not None:
            check_sequence(center, "center")
        self.center = center
        self.interpolation = interpolation
        self.expand = expand
        self.fill = check_fill(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Return a random angle."""
        return uniform(degrees[0], degrees[1])

    def forward(self, img: Any) -> Any:
        fill = fill_for(img, self.fill, F.get_dimensions(img)[0])
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        center = f", center={self.center}" if self.center is not None else ""
        return (
            f"{type(self).__name__}(degrees={self.degrees}, "
            f"interpolation={self.interpolation.value}, expand={self.expand}{center}, "
            f"fill={self.fill})"
        )


class RandomAffine(Module):
    """Turn, move, scale and shear the picture at random.

    `translate` is the largest part of width and height, `shear` a range for x, or for x and y.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomAffine(10, translate=(0.1, 0.1))(taper.zeros(3, 20, 30)).shape
    torch.Size([3, 20, 30])
    """

    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Any = None,
    ) -> None:
        super().__init__()
        interpolation = from_number(interpolation)
        self.degrees = angles_of(degrees, "degrees")
        if translate is not None:
            check_sequence(translate, "translate")
            if not all(0.0 <= each <= 1.0 for each in translate):
                raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        if scale is not None:
            check_sequence(scale, "scale")
            if any(each <= 0 for each in scale):
                raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = angles_of(shear, "shear", (2, 4)) if shear is not None else None
        self.interpolation = interpolation
        self.fill = check_fill(fill)
        if center is not None:
            check_sequence(center, "center")
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Return angle, shift, scale and shear of a random map; `img_size` is (width, height)."""
        angle = uniform(degrees[0], degrees[1])
        shift = (0, 0)
        if translate is not None:
            most = [float(part * size) for part, size in zip(translate, img_size, strict=True)]
            shift = (round(uniform(-most[0], most[0])), round(uniform(-most[1], most[1])))
        scale = uniform(scale_ranges[0], scale_ranges[1]) if scale_ranges is not None else 1.0
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = uniform(shears[2], shears[3])
        return angle, shift, scale, (shear_x, shear_y)

    def forward(self, img: Any) -> Any:
        channels, height, width = F.get_dimensions(img)
        fill = fill_for(img, self.fill, channels)
        size = [width, height]
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        return F.affine(
            img, *drawn, interpolation=self.interpolation, fill=fill, center=self.center
        )

    def __repr__(self) -> str:
        parts = [f"degrees={self.degrees}"]
        parts += [
            f"{name}={getattr(self, name)}"
            for name in ("translate", "scale", "shear")
            if getattr(self, name) is not None
        ]
        if self.interpolation != InterpolationMode.NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        if self.fill != 0:
            parts.append(f"fill={self.fill}")
        if self.center is not None:
            parts.append(f"center={self.center}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ElasticTransform(Module):
    """Show the picture as through moving water: `alpha` is how far, `sigma` how smooth.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.ElasticTransform(alpha=20.0)(taper.zeros(3, 30, 30)).shape
    torch.Size([3, 30, 30])
    """

    def __init__(
        self,
        alpha: Any = 50.0,
        sigma: Any = 5.0,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha = two_floats(alpha, "alpha")
        self.sigma = two_floats(sigma, "sigma")
        self.interpolation = from_number(interpolation)
        if not isinstance(fill, int | float | list | tuple):
            raise TypeError(
                f"fill should be int or float or a list or tuple of them. Got {type(fill)}"
            )
        fill = [fill] if isinstance(fill, int | float) else fill
        self.fill = [float(each) for each in fill]

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """Return a random smooth displacement (1, H, W, 2)."""
        parts = []
        for axis in range(2):  # x, then y: `size` is height and width
            part = rand([1, 1, *size]) * 2 - 1
            if sigma[axis] > 0.0:
                # Eight deviations, rounded to an odd number.
                length = int(8 * sigma[axis] + 1) | 1
                part = F.gaussian_blur(part, [length, length], list(sigma))
            parts.append(part * alpha[axis] / size[1 - axis])
        moved: Tensor = cat(parts, 1).permute([0, 2, 3, 1])
        return moved

    def forward(self, tensor: Any) -> Any:
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(alpha={self.alpha}, sigma={self.sigma}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )


def two_floats(value: Any, name: str) -> list[float]:
    """Return one number for both directions, or two."""
    if not isinstance(value, float | Sequence):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if isinstance(value, Sequence) and len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    if isinstance(value, float):
        return [float(value), float(value)]
    for each in value:
        if not isinstance(each, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(each)}")
    return list(value)
