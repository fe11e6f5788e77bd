"""Batches of pictures and labels mixed with their neighbours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from taper.nn.functional import one_hot
from taper.ops.creation.data import tensor
from taper.ops.random.draws import randint
from taper.ops.random.gamma_samples import sample_dirichlet
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_unflatten
from taper.vision.pillow import is_picture
from taper.vision.transforms.v2.transform import Transform, query_size


class _Mix(Transform):
    """The common part of both ways to mix: finding the labels, and checking shapes."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        num_classes: int | None = None,
        labels_getter: Any = "default",
    ) -> None:
        super().__init__()
        self.alpha = float(alpha)
        if self.alpha <= 0:
            raise ValueError(f"alpha must be positive, got {alpha}")
        self.num_classes = num_classes
        self._labels_getter = labels_getter

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(sample)
        chosen = self._needs_transform_list(flat)
        if any(is_picture(each) for each in flat):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints "
                "and masks."
            )
        labels = self._labels(sample)
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        self._check_labels(labels)
        pictures = [each for each, is_one in zip(flat, chosen, strict=True) if is_one]
        for each in pictures:
            self._check_pictures(each, len(labels))
        params = self.make_params(pictures)
        changed = [
            self._mixed_labels(each, params)
            if each is labels
            else (self.transform(each, params) if is_one else each)
            for each, is_one in zip(flat, chosen, strict=True)
        ]
        return tree_unflatten(changed, spec)

    def _labels(self, sample: Any) -> Any:
        if callable(self._labels_getter):
            return self._labels_getter(sample)
        if isinstance(sample, tuple | list) and len(sample) > 1:
            sample = sample[1]
        if isinstance(sample, Tensor):
            return sample
        if not isinstance(sample, Mapping):
            raise ValueError(
                "If labels_getter is 'default', the sample must be a dict, a tensor or a pair, "
                f"but got {type(sample)}"
            )
        keys = [key for key in sample if "label" in str(key).lower()]
        if not keys:
            raise ValueError(
                "Could not infer where the labels are in the sample: no key has 'label'"
            )
        return sample[min(keys, key=lambda key: str(key).lower() not in ("label", "labels"))]

    def _check_labels(self, labels: Tensor) -> None:
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with "
                "shape (batch_size, num_classes), but got a tensor of shape "
                f"{labels.shape} instead."
            )
        if (
            labels.ndim == 2
            and self.num_classes is not None
            and labels.shape[-1] != self.num_classes
        ):
            raise ValueError(
                f"When passing 2D labels, the number of elements in last dimension must match "
                f"num_classes: {labels.shape[-1]} != {self.num_classes}. You can Leave num_classes "
                "to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def _check_pictures(self, pictures: Tensor, count: int) -> None:
        if pictures.ndim != 4:
            raise ValueError(
                f"Expected a batched input with 4 dims, but got {pictures.ndim} dimensions instead."
            )
        if pictures.shape[0] != count:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the "
                f"labels: {pictures.shape[0]} != {count}."
            )

    def _share(self) -> float:
        """Return a number of the beta distribution with both parameters `alpha`."""
        return float(sample_dirichlet(tensor([[self.alpha, self.alpha]]))[0, 0])

    def _mixed_labels(self, labels: Tensor, params: dict[str, Any]) -> Tensor:
        if labels.ndim == 1:
            labels = one_hot(labels, num_classes=self.num_classes)  # type: ignore[arg-type]
        if not labels.is_floating_point():
            labels = labels.float()
        return _mixed(labels, params["lam"])


def _mixed(batch: Tensor, share: float) -> Tensor:
    return batch.roll(1, 0).mul_(1.0 - share).add_(batch.mul(share))


class MixUp(_Mix):
    """Average each picture and label of a batch with the one before it, by random weights.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> mix = v2.MixUp(num_classes=3)
    >>> pictures, labels = mix(taper.rand(4, 3, 8, 8), taper.tensor([0, 1, 2, 0]))
    >>> labels.shape
    torch.Size([4, 3])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        return {"lam": self._share()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return _mixed(inpt, params["lam"])


class CutMix(_Mix):
    """Replace a random rectangle of each picture by that of the one before it.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> mix = v2.CutMix(num_classes=3)
    >>> pictures, labels = mix(taper.rand(4, 3, 8, 8), taper.tensor([0, 1, 2, 0]))
    >>> labels.sum(1)
    tensor([1., 1., 1., 1.])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        share = self._share()
        height, width = query_size(flat_inputs)
        x, y = int(randint(width, (1,))), int(randint(height, (1,)))
        part = 0.5 * math.sqrt(1.0 - share)
        half_width, half_height = int(part * width), int(part * height)
        left, right = max(x - half_width, 0), min(x + half_width, width)
        top, bottom = max(y - half_height, 0), min(y + half_height, height)
        kept = 1.0 - (right - left) * (bottom - top) / (width * height)
        return {"box": (top, bottom, left, right), "lam": float(kept)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        top, bottom, left, right = params["box"]
        changed = inpt.clone()
        changed[..., top:bottom, left:right] = inpt.roll(1, 0)[..., top:bottom, left:right]
        return changed
