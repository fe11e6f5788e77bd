"""Transforms that change values at random.

Numbers are drawn from the default generator in torchvision's order, so that a seed gives the same
pictures in both.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from taper import dtypes
from taper.nn.modules.module import Module
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty
from taper.ops.random.draws import rand, randperm
from taper.tensor import Tensor
from taper.vision.transforms import functional as F
from taper.vision.transforms.arguments import check_ranges, integer, pair_of, uniform
from taper.vision.transforms.random_geometry import log_range, random_ratio


class ColorJitter(Module):
    """Change brightness, contrast, saturation and hue by random factors, in a random order.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.ColorJitter(brightness=0.5, hue=(-0.1, 0.2))
    ColorJitter(brightness=(0.5, 1.5), contrast=None, saturation=None, hue=(-0.1, 0.2))
    """

    def __init__(
        self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0
    ) -> None:
        super().__init__()
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _factors(hue, "hue", center=0, bound=(-0.5, 0.5), is_cut=False)

    @staticmethod
    def get_params(
        brightness: Sequence[float] | None,
        contrast: Sequence[float] | None,
        saturation: Sequence[float] | None,
        hue: Sequence[float] | None,
    ) -> tuple[Any, ...]:
        """Return a random order of the four functions, and their random factors."""
        order = randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        return (order, *(None if each is None else uniform(*each) for each in ranges))

    def forward(self, img: Any) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        for index in order.tolist():
            if factors[index] is not None:
                img = _ADJUST[index](img, factors[index])
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


_ADJUST: tuple[Callable[[Any, float], Any], ...] = (
    F.adjust_brightness,
    F.adjust_contrast,
    F.adjust_saturation,
    F.adjust_hue,
)


def _factors(
    value: Any,
    name: str,
    center: float = 1,
    bound: tuple[float, float] = (0, float("inf")),
    is_cut: bool = True,
) -> tuple[float, float] | None:
    """Return the range of a factor, or None if it never changes anything."""
    if isinstance(value, numbers.Number):
        if value < 0:  # type: ignore[operator]
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - float(value), center + float(value)  # type: ignore[arg-type]
        low = max(low, 0.0) if is_cut else low
    elif isinstance(value, tuple | list) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= low <= high <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {[low, high]}.")
    return None if low == high == center else (low, high)


class _WithProbability(Module):
    """Do `change` with probability `p`."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def change(self, img: Any) -> Any:
        raise NotImplementedError

    def forward(self, img: Any) -> Any:
        return self.change(img) if rand(1) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomGrayscale(_WithProbability):
    """Turn the picture grey, with a probability, and keep the number of channels.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomGrayscale(p=1.0)(taper.zeros(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def forward(self, img: Any) -> Any:
        channels = F.get_dimensions(img)[0]
        if rand(1) < self.p:
            return F.rgb_to_grayscale(img, num_output_channels=channels)
        return img


class RandomInvert(_WithProbability):
    """Invert the picture, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomInvert(p=1.0)(taper.zeros(1, 1, 2))
    tensor([[[1., 1.]]])
    """

    def change(self, img: Any) -> Any:
        return F.invert(img)


class RandomPosterize(_WithProbability):
    """Keep only the first bits of each value, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomPosterize(1, p=1.0)(taper.full((1, 1, 2), 200, dtype=taper.uint8))
    tensor([[[128, 128]]], dtype=torch.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits

    def change(self, img: Any) -> Any:
        return F.posterize(img, self.bits)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(_WithProbability):
    """Invert values from a threshold on, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomSolarize(0.5, p=1.0)(taper.tensor([[[0.25, 1.0]]]))
    tensor([[[0.2500, 0.0000]]])
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold

    def change(self, img: Any) -> Any:
        return F.solarize(img, self.threshold)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAdjustSharpness(_WithProbability):
    """Multiply the sharpness by a factor, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomAdjustSharpness(2, p=1.0)(taper.ones(1, 3, 3)).sum()
    tensor(9.)
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img: Any) -> Any:
        return F.adjust_sharpness(img, self.sharpness_factor)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"


class RandomAutocontrast(_WithProbability):
    """Stretch each channel to the whole range, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomAutocontrast(p=1.0)(taper.tensor([[[0.25, 0.75]]]))
    tensor([[[0., 1.]]])
    """

    def change(self, img: Any) -> Any:
        return F.autocontrast(img)


class RandomEqualize(_WithProbability):
    """Give each channel a flat histogram, with a probability.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandomEqualize(p=1.0)(taper.zeros(1, 1, 2, dtype=taper.uint8))
    tensor([[[0, 0]]], dtype=torch.uint8)
    """

    def change(self, img: Any) -> Any:
        return F.equalize(img)


class GaussianBlur(Module):
    """Blur the picture with a bell of random width.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.GaussianBlur(3, sigma=(0.5, 1))(taper.ones(1, 4, 4)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        message = "Kernel size should be a tuple/list of two integers"
        self.kernel_size = pair_of(kernel_size, message)
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if isinstance(sigma, numbers.Number):
            if sigma <= 0:  # type: ignore[operator]
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        elif isinstance(sigma, Sequence) and len(sigma) == 2:
            if not 0.0 < sigma[0] <= sigma[1]:
                raise ValueError("sigma values should be positive and of the form (min, max).")
        else:
            raise ValueError("sigma should be a single number or a list/tuple with length 2.")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """Return a random deviation."""
        return uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])

    def __repr__(self) -> str:
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomErasing(Module):
    """Overwrite a random rectangle of a tensor, with a probability.

    `value` is one number, one for each channel, or "random" for normal noise.

    >>> import taper
    >>> from taper.vision import transforms
    >>> bool((transforms.RandomErasing(p=1.0)(taper.ones(1, 30, 30)) == 0).any())
    True
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, numbers.Number | str | tuple | list):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        check_ranges(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor,
        scale: Sequence[float],
        ratio: Sequence[float],
        value: list[float] | None = None,
    ) -> tuple[int, int, int, int, Tensor]:
        """Return top, left, height and width of a random rectangle, and its filling."""
        channels, height, width = img.shape[-3:]
        ratios = log_range(ratio)
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            aspect = random_ratio(ratios)
            rows = round(math.sqrt(area * aspect))
            columns = round(math.sqrt(area / aspect))
            if not (rows < height and columns < width):
                continue
            if value is None:
                colour = empty([channels, rows, columns], dtype=dtypes.float32).normal_()
            else:
                colour = tensor(value)[:, None, None]
            top = integer(0, height - rows + 1)
            left = integer(0, width - columns + 1)
            return top, left, rows, columns, colour
        return 0, 0, height, width, img

    def forward(self, img: Tensor) -> Tensor:
        if not rand(1) < self.p:
            return img
        value: Any = self.value
        if isinstance(value, int | float):
            value = [float(value)]
        elif isinstance(value, str):
            value = None
        elif isinstance(value, tuple):
            value = list(value)
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )
