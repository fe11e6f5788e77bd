"""Learned and random policies of the second interface, which draws in another order."""

from __future__ import annotations

from typing import Any

from taper.ops.creation.data import tensor
from taper.ops.creation.ranges import linspace
from taper.ops.random.draws import rand, randint
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_unflatten
from taper.vision.pillow import is_picture
from taper.vision.transforms import autoaugment as first
from taper.vision.transforms.modes import InterpolationMode
from taper.vision.transforms.policies import AutoAugmentPolicy, sub_policies
from taper.vision.transforms.tensors import largest_value
from taper.vision.transforms.v2 import functional as F
from taper.vision.transforms.v2.transform import Transform

_NEAREST = InterpolationMode.NEAREST.value


class _Policy(Transform):
    """Find the one picture of a sample and pass it to `augment`."""

    def __init__(self, *, interpolation: Any = _NEAREST, fill: Any = None) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, *inputs: Any) -> Any:
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        chosen = [nr for nr, is_one in enumerate(self._needs_transform_list(flat)) if is_one]
        if len(chosen) != 1:
            raise TypeError(
                f"{type(self).__name__}() needs one picture in the sample, but found {len(chosen)}"
            )
        flat[chosen[0]] = self.augment(flat[chosen[0]])
        return tree_unflatten(flat, spec)

    def augment(self, img: Any) -> Any:
        """Return the picture, changed."""
        raise NotImplementedError

    def _operated(self, img: Any, name: str, magnitude: float) -> Any:
        mode = self.interpolation
        mode = InterpolationMode(mode) if isinstance(mode, str) else mode
        fill = self.fill.get("others") if isinstance(self.fill, dict) else self.fill
        if name in _OTHER:
            return _OTHER[name](img, magnitude)
        return first._apply_op(img, name, magnitude, mode, fill)


# Where the functions of the second interface give other values.
_OTHER = {
    "Color": lambda img, magnitude: F.adjust_saturation(img, 1.0 + magnitude),
    "AutoContrast": lambda img, magnitude: F.autocontrast(img),
    "Equalize": lambda img, magnitude: F.equalize(img),
    "Invert": lambda img, magnitude: F.invert(img),
    "Posterize": lambda img, magnitude: F.posterize(img, int(magnitude)),
    "Solarize": lambda img, magnitude: F.solarize(img, _white(img) * magnitude),
    "Sharpness": lambda img, magnitude: F.adjust_sharpness(img, 1.0 + magnitude),
}


def _white(img: Any) -> int:
    return 255 if is_picture(img) else largest_value(img.dtype)


def _scaled(space: first.Space, bins: int) -> first.Space:
    """Return strengths in which the threshold of `Solarize` is a part of white."""
    return {**space, "Solarize": (linspace(1.0, 0.0, bins), False)}


def _signed(magnitude: float, is_signed: bool) -> float:
    return -magnitude if is_signed and rand(()) <= 0.5 else magnitude


def _picked(space: first.Space) -> tuple[str, Tensor, bool]:
    name = list(space)[int(randint(len(space), ()))]
    return name, *space[name]


class AutoAugment(_Policy):
    """A random one of the pairs of operations that were found to help on a dataset.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.AutoAugment()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Any = _NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        self._policies = sub_policies(policy)
        self._first = first.AutoAugment(policy)

    def augment(self, img: Any) -> Any:
        height, width = F.get_size(img)
        space = _scaled(self._first._augmentation_space(10, (height, width)), 10)
        for name, probability, strength in self._policies[int(randint(len(self._policies), ()))]:
            if not rand(()) <= probability:
                continue
            magnitudes, is_signed = space[name]
            magnitude = 0.0
            if strength is not None:
                magnitude = _signed(float(magnitudes[strength]), is_signed)
            img = self._operated(img, name, magnitude)
        return img

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class RandAugment(_Policy):
    """Some random operations of one strength.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.RandAugment()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: Any = _NEAREST,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def augment(self, img: Any) -> Any:
        height, width = F.get_size(img)
        describe = first.RandAugment._augmentation_space
        bins = self.num_magnitude_bins
        space = _scaled(describe(self, bins, (height, width)), bins)  # type: ignore[arg-type]
        for _ in range(self.num_ops):
            name, magnitudes, is_signed = _picked(space)
            magnitude = 0.0
            if magnitudes.ndim > 0:
                magnitude = _signed(float(magnitudes[self.magnitude]), is_signed)
            img = self._operated(img, name, magnitude)
        return img


class TrivialAugmentWide(_Policy):
    """One random operation of random strength.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.TrivialAugmentWide()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: Any = _NEAREST, fill: Any = None
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def augment(self, img: Any) -> Any:
        describe = first.TrivialAugmentWide._augmentation_space
        bins = self.num_magnitude_bins
        name, magnitudes, is_signed = _picked(_scaled(describe(self, bins), bins))  # type: ignore[arg-type]
        magnitude = 0.0
        if magnitudes.ndim > 0:
            magnitude = float(magnitudes[int(randint(self.num_magnitude_bins, ()))])
            magnitude = _signed(magnitude, is_signed)
        return self._operated(img, name, magnitude)


class AugMix(_Policy):
    """A random mixture of the picture and of some chains of operations on it.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.AugMix()(taper.zeros(3, 32, 32, dtype=taper.uint8)).shape
    torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: Any = InterpolationMode.BILINEAR.value,
        fill: Any = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self._first = first.AugMix(severity, mixture_width, chain_depth, alpha, all_ops)
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def _chain(self, batch: Tensor, space: first.Space) -> Tensor:
        depth = self.chain_depth if self.chain_depth > 0 else int(randint(1, 4, ()))
        for _ in range(depth):
            name, magnitudes, is_signed = _picked(space)
            magnitude = 0.0
            if magnitudes.ndim > 0:
                magnitude = _signed(float(magnitudes[int(randint(self.severity, ()))]), is_signed)
            batch = self._operated(batch, name, magnitude)
        return batch

    def augment(self, img: Any) -> Any:
        image = F.pil_to_tensor(img) if is_picture(img) else img
        height, width = F.get_size(img)
        space = _scaled(self._first._augmentation_space(10, (height, width)), 10)
        batch = image.view([1] * max(4 - image.ndim, 0) + list(image.shape))
        count, ones = batch.size(0), [1] * (batch.ndim - 1)
        draw = self._first._sample_dirichlet
        shares = draw(tensor([self.alpha] * 2).expand(count, -1))
        weights = draw(tensor([self.alpha] * self.mixture_width).expand(count, -1))
        weights = weights * shares[:, 1].reshape(count, -1)
        mixed = shares[:, 0].reshape(count, *ones) * batch
        for nr in range(self.mixture_width):
            mixed.add_(weights[:, nr].reshape(count, *ones) * self._chain(batch, space))
        mixed = mixed.view(image.shape).to(image.dtype)
        return F.to_pil_image(mixed) if is_picture(img) else mixed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"
