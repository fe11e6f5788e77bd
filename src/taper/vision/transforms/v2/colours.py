"""Transforms of the second interface that change values.

Numbers are drawn from the default generator in torchvision's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from taper import dtypes
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import empty
from taper.ops.random.draws import rand, randperm
from taper.userwarning import warn_user
from taper.vision.transforms.arguments import check_ranges, integer, uniform
from taper.vision.transforms.random_geometry import log_range, random_ratio
from taper.vision.transforms.v2 import functional as F
from taper.vision.transforms.v2.transform import RandomApplyTransform, Transform, query_chw
from taper.vision.tv_tensors import BoundingBoxes, KeyPoints, Mask

_ADJUST: tuple[Callable[[Any, float], Any], ...] = (
    F.adjust_brightness,
    F.adjust_contrast,
    F.adjust_saturation,
    F.adjust_hue,
)


class Grayscale(Transform):
    """Turn the picture grey, with one channel or three.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.Grayscale()(taper.ones(3, 2, 2)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(inpt, num_output_channels=self.num_output_channels)


class RandomGrayscale(RandomApplyTransform):
    """Turn the picture grey, with a probability, and keep the number of channels.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomGrayscale(p=1.0)(taper.zeros(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"num_output_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.rgb_to_grayscale(inpt, **params)


class RGB(Transform):
    """Give the picture three channels.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RGB()(taper.zeros(1, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.grayscale_to_rgb(inpt)


def _factors(
    value: Any,
    name: str,
    center: float = 1.0,
    bound: tuple[float, float] = (0, float("inf")),
    is_cut: bool = True,
) -> tuple[float, float] | None:
    if value is None:
        return None
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        low, high = center - value, center + value
        low = max(low, 0.0) if is_cut else low
    elif isinstance(value, Sequence) and len(value) == 2:
        low, high = float(value[0]), float(value[1])
    else:
        raise TypeError(f"{name}={value} should be a single number or a sequence with length 2.")
    if not bound[0] <= low <= high <= bound[1]:
        raise ValueError(
            f"{name} values should be between {bound} and increasing, but got {[low, high]}."
        )
    return None if low == high == center else (float(low), float(high))


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in a random order.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.ColorJitter(brightness=0.5)(taper.zeros(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self, brightness: Any = None, contrast: Any = None, saturation: Any = None, hue: Any = None
    ) -> None:
        super().__init__()
        self.brightness = _factors(brightness, "brightness")
        self.contrast = _factors(contrast, "contrast")
        self.saturation = _factors(saturation, "saturation")
        self.hue = _factors(hue, "hue", center=0, bound=(-0.5, 0.5), is_cut=False)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        order = randperm(4).tolist()
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        return {"order": order, "factors": [each and uniform(*each) for each in ranges]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        for index in params["order"]:
            if params["factors"][index] is not None:
                inpt = _ADJUST[index](inpt, params["factors"][index])
        return inpt


class RandomChannelPermutation(Transform):
    """Put the channels in a random order.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomChannelPermutation()(taper.zeros(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"permutation": randperm(query_chw(flat_inputs)[0]).tolist()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.permute_channels(inpt, **params)


class RandomPhotometricDistort(Transform):
    """Change brightness, contrast, saturation, hue and channel order, each at random.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomPhotometricDistort()(taper.zeros(3, 2, 2)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        channels = query_chw(flat_inputs)[0]
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [uniform(*each) if rand(1) < self.p else None for each in ranges]
        contrast_is_first = bool(rand(()) < 0.5)
        permutation = randperm(channels).tolist() if rand(1) < self.p else None
        return {
            "order": (0, 1, 2, 3) if contrast_is_first else (0, 2, 3, 1),
            "factors": factors,
            "permutation": permutation,
        }

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        for index in params["order"]:
            if params["factors"][index] is not None:
                inpt = _ADJUST[index](inpt, params["factors"][index])
        if params["permutation"] is not None:
            inpt = F.permute_channels(inpt, params["permutation"])
        return inpt


class RandomInvert(RandomApplyTransform):
    """Invert the picture, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomInvert(p=1.0)(taper.zeros(1, 1, 2))
    tensor([[[1., 1.]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.invert(inpt)


class RandomPosterize(RandomApplyTransform):
    """Keep only the first bits of each value, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomPosterize(1, p=1.0)(taper.full((1, 1, 2), 200, dtype=taper.uint8))
    tensor([[[128, 128]]], dtype=torch.uint8)
    """

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.posterize(inpt, bits=self.bits)


class RandomSolarize(RandomApplyTransform):
    """Invert values from a threshold on, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomSolarize(0.5, p=1.0)(taper.tensor([[[0.25, 1.0]]]))
    tensor([[[0.2500, 0.0000]]])
    """

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.solarize(inpt, threshold=self.threshold)


class RandomAutocontrast(RandomApplyTransform):
    """Stretch each channel to the whole range, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomAutocontrast(p=1.0)(taper.tensor([[[0.25, 0.75]]]))
    tensor([[[0., 1.]]])
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.autocontrast(inpt)


class RandomEqualize(RandomApplyTransform):
    """Give each channel a flat histogram, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomEqualize(p=1.0)(taper.zeros(1, 1, 2, dtype=taper.uint8))
    tensor([[[0, 0]]], dtype=torch.uint8)
    """

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.equalize(inpt)


class RandomAdjustSharpness(RandomApplyTransform):
    """Multiply the sharpness by a factor, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandomAdjustSharpness(2, p=1.0)(taper.ones(1, 3, 3)).sum()
    tensor(9.)
    """

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.adjust_sharpness(inpt, self.sharpness_factor)


class RandomErasing(RandomApplyTransform):
    """Overwrite a random rectangle of the picture, with a probability.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> bool((v2.RandomErasing(p=1.0)(taper.ones(1, 30, 30)) == 0).any())
    True
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        if not isinstance(value, int | float | str | tuple | list):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        check_ranges(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        self.scale = scale
        self.ratio = ratio
        self.value: list[float] | None
        if isinstance(value, int | float):
            self.value = [float(value)]
        elif isinstance(value, str):
            self.value = None
        else:
            self.value = [float(each) for each in value]
        self.inplace = inplace

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{channels} (number of inpt channels)"
            )
        ratios = log_range(self.ratio)
        for _ in range(10):
            area = height * width * uniform(self.scale[0], self.scale[1])
            aspect = random_ratio(ratios)
            rows, columns = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if not (rows < height and columns < width):
                continue
            if self.value is None:
                colour = empty([channels, rows, columns], dtype=dtypes.float32).normal_()
            else:
                colour = tensor(self.value)[:, None, None]
            top, left = integer(0, height - rows + 1), integer(0, width - columns + 1)
            return {"i": top, "j": left, "h": rows, "w": columns, "v": colour}
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if isinstance(inpt, BoundingBoxes | KeyPoints | Mask):
            warn_user(
                f"{type(self).__name__}() is currently passing through inputs of type "
                f"tv_tensors.{type(inpt).__name__}. This will likely change in the future."
            )
        return F.erase(inpt, **params, inplace=self.inplace) if params else inpt
