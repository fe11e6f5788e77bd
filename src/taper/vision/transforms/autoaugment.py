"""Learned and random policies: a few of fourteen operations with random strengths.

Numbers are drawn from the default generator in torchvision's order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from taper.nn.modules.module import Module
from taper.ops.creation.data import tensor
from taper.ops.creation.ranges import arange, linspace
from taper.ops.random.draws import rand, randint
from taper.ops.random.gamma_samples import sample_dirichlet
from taper.tensor import Tensor
from taper.vision.transforms import functional as F
from taper.vision.transforms.arguments import fill_for
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.policies import AutoAugmentPolicy, Step, sub_policies

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

Space = dict[str, tuple[Tensor, bool]]
"""For each operation its strengths, and whether they get a random sign."""

_ADJUSTED: dict[str, Callable[[Any, float], Any]] = {
    "Brightness": F.adjust_brightness,
    "Color": F.adjust_saturation,
    "Contrast": F.adjust_contrast,
    "Sharpness": F.adjust_sharpness,
}
_PLAIN: dict[str, Callable[[Any], Any]] = {
    "AutoContrast": F.autocontrast,
    "Equalize": F.equalize,
    "Invert": F.invert,
    "Identity": lambda img: img,
}


def _apply_op(
    img: Any, op_name: str, magnitude: float, interpolation: InterpolationMode, fill: Any
) -> Any:
    """Return the picture after one operation."""
    if op_name in _PLAIN:
        return _PLAIN[op_name](img)
    if op_name in _ADJUSTED:
        return _ADJUSTED[op_name](img, 1.0 + magnitude)
    if op_name == "Rotate":
        return F.rotate(img, magnitude, interpolation, fill=fill)
    if op_name == "Posterize":
        return F.posterize(img, int(magnitude))
    if op_name == "Solarize":
        return F.solarize(img, magnitude)
    along_x = op_name.endswith("X")
    if op_name in ("ShearX", "ShearY"):
        degrees = math.degrees(math.atan(magnitude))
        shear = [degrees, 0.0] if along_x else [0.0, degrees]
        return F.affine(img, 0.0, [0, 0], 1.0, shear, interpolation, fill, center=[0, 0])
    if op_name in ("TranslateX", "TranslateY"):
        shift = [int(magnitude), 0] if along_x else [0, int(magnitude)]
        return F.affine(img, 0.0, shift, 1.0, [0.0, 0.0], interpolation, fill)
    raise ValueError(f"The provided operator {op_name} is not recognized.")


def _geometric(bins: int, shear: float, shift_x: float, shift_y: float, turn: float) -> Space:
    most = {
        "ShearX": shear,
        "ShearY": shear,
        "TranslateX": shift_x,
        "TranslateY": shift_y,
        "Rotate": turn,
    }
    return {name: (linspace(0.0, each, bins), True) for name, each in most.items()}


def _coloured(bins: int, most: float) -> Space:
    return {name: (linspace(0.0, most, bins), True) for name in _ADJUSTED}


def _flat(bins: int, bits: int, steps: int) -> Space:
    """Return strengths of the operations that reduce values: `bits` downwards, 255 downwards."""
    levels = (arange(bins) / ((bins - 1) / steps)).round().int()
    return {"Posterize": (bits - levels, False), "Solarize": (linspace(255.0, 0.0, bins), False)}


def _without_strength(*names: str) -> Space:
    return {name: (tensor(0.0), False) for name in names}


def _fill_of(img: Any, fill: Any, channels: int) -> Any:
    return None if fill is None else fill_for(img, fill, channels)


def _chosen(space: Space) -> tuple[str, Tensor, bool]:
    name = list(space)[int(randint(len(space), (1,)).item())]
    return name, *space[name]


def _signed(magnitude: float, is_signed: bool) -> float:
    return -magnitude if is_signed and randint(2, (1,)) else magnitude


class AutoAugment(Module):
    """A random one of the pairs of operations that were found to help on a dataset.

    >>> import taper
    >>> from taper.vision import transforms
    >>> policy = transforms.AutoAugment(transforms.AutoAugmentPolicy.CIFAR10)
    >>> policy(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__()
        self.policy = policy
        self.interpolation = interpolation
        self.fill = fill
        self.policies: list[tuple[Step, Step]] = sub_policies(policy)

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> Space:
        height, width = image_size
        return {
            **_geometric(num_bins, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0),
            **_coloured(num_bins, 0.9),
            **_flat(num_bins, 8, 4),
            **_without_strength("AutoContrast", "Equalize", "Invert"),
        }

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """Return which pair, and for its steps whether they are done and with which sign."""
        return int(randint(transform_num, (1,)).item()), rand((2,)), randint(2, (2,))

    def forward(self, img: Any) -> Any:
        channels, height, width = F.get_dimensions(img)
        fill = _fill_of(img, self.fill, channels)
        index, probabilities, signs = self.get_params(len(self.policies))
        space = self._augmentation_space(10, (height, width))
        for nr, (name, probability, strength) in enumerate(self.policies[index]):
            if probabilities[nr] <= probability:
                magnitudes, is_signed = space[name]
                magnitude = 0.0 if strength is None else float(magnitudes[strength].item())
                if is_signed and signs[nr] == 0:
                    magnitude = -magnitude
                img = _apply_op(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(policy={self.policy}, fill={self.fill})"


class RandAugment(Module):
    """Some random operations of one strength.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.RandAugment()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> Space:
        height, width = image_size
        return {
            **_without_strength("Identity"),
            **_geometric(num_bins, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0),
            **_coloured(num_bins, 0.9),
            **_flat(num_bins, 8, 4),
            **_without_strength("AutoContrast", "Equalize"),
        }

    def forward(self, img: Any) -> Any:
        channels, height, width = F.get_dimensions(img)
        fill = _fill_of(img, self.fill, channels)
        space = self._augmentation_space(self.num_magnitude_bins, (height, width))
        for _ in range(self.num_ops):
            name, magnitudes, is_signed = _chosen(space)
            magnitude = float(magnitudes[self.magnitude].item()) if magnitudes.ndim > 0 else 0.0
            magnitude = _signed(magnitude, is_signed)
            img = _apply_op(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_ops={self.num_ops}, magnitude={self.magnitude}, "
            f"num_magnitude_bins={self.num_magnitude_bins}, interpolation={self.interpolation}, "
            f"fill={self.fill})"
        )


class TrivialAugmentWide(Module):
    """One random operation of random strength.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.TrivialAugmentWide()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins: int) -> Space:
        return {
            **_without_strength("Identity"),
            **_geometric(num_bins, 0.99, 32.0, 32.0, 135.0),
            **_coloured(num_bins, 0.99),
            **_flat(num_bins, 8, 6),
            **_without_strength("AutoContrast", "Equalize"),
        }

    def forward(self, img: Any) -> Any:
        fill = _fill_of(img, self.fill, F.get_dimensions(img)[0])
        name, magnitudes, is_signed = _chosen(self._augmentation_space(self.num_magnitude_bins))
        magnitude = 0.0
        if magnitudes.ndim > 0:
            magnitude = float(magnitudes[randint(len(magnitudes), (1,))].item())
        magnitude = _signed(magnitude, is_signed)
        return _apply_op(img, name, magnitude, self.interpolation, fill)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_magnitude_bins={self.num_magnitude_bins}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )


class AugMix(Module):
    """A random mixture of the picture and of some chains of operations on it.

    >>> import taper
    >>> from taper.vision import transforms
    >>> transforms.AugMix()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Any = None,
    ) -> None:
        super().__init__()
        self._PARAMETER_MAX = 10
        if not 1 <= severity <= self._PARAMETER_MAX:
            raise ValueError(
                f"The severity must be between [1, {self._PARAMETER_MAX}]. Got {severity} instead."
            )
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops
        self.interpolation = interpolation
        self.fill = fill

    def _augmentation_space(self, num_bins: int, image_size: tuple[int, int]) -> Space:
        height, width = image_size
        return {
            **_geometric(num_bins, 0.3, width / 3.0, height / 3.0, 30.0),
            **_flat(num_bins, 4, 4),
            **_without_strength("AutoContrast", "Equalize"),
            **(_coloured(num_bins, 0.9) if self.all_ops else {}),
        }

    def _sample_dirichlet(self, params: Tensor) -> Tensor:
        drawn: Tensor = sample_dirichlet(params)
        return drawn

    def _chain(self, batch: Tensor, space: Space, fill: Any) -> Tensor:
        """Return the pictures after some random operations."""
        depth = self.chain_depth if self.chain_depth > 0 else int(randint(1, 4, (1,)).item())
        for _ in range(depth):
            name, magnitudes, is_signed = _chosen(space)
            magnitude = 0.0
            if magnitudes.ndim > 0:
                magnitude = float(magnitudes[randint(self.severity, (1,))].item())
            magnitude = _signed(magnitude, is_signed)
            batch = _apply_op(batch, name, magnitude, self.interpolation, fill)
        return batch

    def forward(self, orig_img: Any) -> Any:
        channels, height, width = F.get_dimensions(orig_img)
        is_tensor = isinstance(orig_img, Tensor)
        img = orig_img if is_tensor else F.pil_to_tensor(orig_img)
        fill = _fill_of(img, self.fill, channels)
        space = self._augmentation_space(self._PARAMETER_MAX, (height, width))
        batch = img.view([1] * max(4 - img.ndim, 0) + list(img.shape))
        count, ones = batch.size(0), [1] * (batch.ndim - 1)
        # The share of the picture itself, then those of the chains.
        shares = self._sample_dirichlet(tensor([self.alpha] * 2).expand(count, -1))
        weights = self._sample_dirichlet(
            tensor([self.alpha] * self.mixture_width).expand(count, -1)
        )
        weights = weights * shares[:, 1].reshape(count, -1)
        mixed = shares[:, 0].reshape(count, *ones) * batch
        for nr in range(self.mixture_width):
            chain = self._chain(batch, space, fill)
            mixed.add_(weights[:, nr].reshape(count, *ones) * chain)
        mixed = mixed.view(img.shape).to(img.dtype)
        return mixed if is_tensor else F.to_pil_image(mixed)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(severity={self.severity}, "
            f"mixture_width={self.mixture_width}, chain_depth={self.chain_depth}, "
            f"alpha={self.alpha}, all_ops={self.all_ops}, interpolation={self.interpolation}, "
            f"fill={self.fill})"
        )
