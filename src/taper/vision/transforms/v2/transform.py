"""The base of the second interface: a transform finds the pictures in a sample by itself.

A sample is any tree of containers.  Pictures, videos, masks, boxes and points are transformed; if
there is no picture and no video, the first plain tensor is; everything else is passed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from taper.nn.modules.module import Module
from taper.ops.random.draws import rand
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_unflatten
from taper.vision.pillow import is_picture
from taper.vision.transforms.v2 import functional as F
from taper.vision.tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, Video

Kinds = Sequence[type | Callable[[Any], bool]]


def check_type(obj: Any, types_or_checks: Kinds) -> bool:
    """Return whether an object is of one of some types, or passes one of some checks.

    >>> from taper.vision.transforms import v2
    >>> v2.check_type(3, (int,))
    True
    """
    return any(
        isinstance(obj, each) if isinstance(each, type) else each(obj) for each in types_or_checks
    )


def has_any(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Return whether one of the objects is of one of some types.

    >>> from taper.vision.transforms import v2
    >>> v2.has_any([3, "x"], str)
    True
    """
    return any(check_type(each, types_or_checks) for each in flat_inputs)


def has_all(flat_inputs: Sequence[Any], *types_or_checks: Any) -> bool:
    """Return whether each of some types is among the objects.

    >>> from taper.vision.transforms import v2
    >>> v2.has_all([3, "x"], str, int)
    True
    """
    return all(has_any(flat_inputs, each) for each in types_or_checks)


def query_chw(flat_inputs: Sequence[Any]) -> tuple[int, int, int]:
    """Return the channels, height and width that all pictures of a sample have.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.query_chw([taper.zeros(3, 4, 5)])
    (3, 4, 5)
    """
    return _one_for_all([tuple(F.get_dimensions(each)) for each in _pictures(flat_inputs)], "CxHxW")


def query_size(flat_inputs: Sequence[Any]) -> tuple[int, int]:
    """Return the height and width that all pictures of a sample have.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> v2.query_size([taper.zeros(3, 4, 5)])
    (4, 5)
    """
    sized = [each for each in flat_inputs if isinstance(each, Tensor) or is_picture(each)]
    return _one_for_all([tuple(F.get_size(each)) for each in sized], "HxW")


def _pictures(flat_inputs: Sequence[Any]) -> list[Any]:
    return [each for each in flat_inputs if is_picture_or_video(each)]


def is_picture_or_video(value: Any) -> bool:
    """Return whether this is a picture or a video: not a mask, boxes or points."""
    if isinstance(value, Tensor):
        return not isinstance(value, Mask | BoundingBoxes | KeyPoints)
    return is_picture(value)


def get_bounding_boxes(flat_inputs: list[Any]) -> BoundingBoxes:
    """Return the boxes of a sample.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> boxes = tv_tensors.BoundingBoxes([[0, 0, 1, 1]], format="XYXY", canvas_size=(2, 2))
    >>> v2.get_bounding_boxes([3, boxes]) is boxes
    True
    """
    found = next((each for each in flat_inputs if isinstance(each, BoundingBoxes)), None)
    if found is None:
        raise ValueError("No bounding boxes were found in the sample")
    return found


def get_keypoints(flat_inputs: list[Any]) -> KeyPoints:
    """Return the points of a sample.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> points = tv_tensors.KeyPoints([[0, 0]], canvas_size=(2, 2))
    >>> v2.get_keypoints([3, points]) is points
    True
    """
    found = next((each for each in flat_inputs if isinstance(each, KeyPoints)), None)
    if found is None:
        raise ValueError("No keypoints were found in the sample")
    return found


def _one_for_all(found: list[Any], what: str) -> Any:
    if not found:
        raise TypeError("No image or tensor was found in the sample")
    if len(set(found)) > 1:
        raise ValueError(f"Found multiple {what} dimensions in the sample: {sorted(set(found))}")
    return found[0]


class Transform(Module):
    """The base of transforms: subclasses define `transform` and, if random, `make_params`.

    >>> import taper
    >>> from taper.vision.transforms import v2
    >>> class Double(v2.Transform):
    ...     def transform(self, inpt, params):
    ...         return inpt * 2
    >>> Double()({"image": taper.ones(1, 1, 1), "target": 3})
    {'image': tensor([[[2.]]]), 'target': 3}
    """

    _transformed_types: Kinds = (Tensor, is_picture)

    def __init__(self) -> None:
        super().__init__()

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise if a sample is not suitable."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Return the random numbers for a sample."""
        return {}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Return one picture, changed."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        flat, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        self.check_inputs(flat)
        return self._transformed(flat, spec)

    def _transformed(self, flat: list[Any], spec: Any) -> Any:
        chosen = self._needs_transform_list(flat)
        params = self.make_params(
            [each for each, is_one in zip(flat, chosen, strict=True) if is_one]
        )
        return tree_unflatten(
            [
                self.transform(each, params) if is_one else each
                for each, is_one in zip(flat, chosen, strict=True)
            ],
            spec,
        )

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        # The first plain tensor stands for the picture, unless there is a picture.
        tensor_is_next = not has_any(flat_inputs, Image, Video, is_picture)
        chosen = []
        for each in flat_inputs:
            is_one = check_type(each, self._transformed_types)
            if is_one and F.is_pure_tensor(each):
                is_one, tensor_is_next = tensor_is_next, False
            chosen.append(is_one)
        return chosen

    def extra_repr(self) -> str:
        kinds = (bool, int, float, str, tuple, list, Enum)
        return ", ".join(
            f"{name}={value}"
            for name, value in self.__dict__.items()
            if not name.startswith("_") and name != "training" and isinstance(value, kinds)
        )


class RandomApplyTransform(Transform):
    """Do a transform with a probability."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(sample)
        self.check_inputs(flat)
        if rand(1) >= self.p:
            return sample
        return self._transformed(flat, spec)


def is_array(value: Any) -> bool:
    """Return whether this is a NumPy array."""
    return isinstance(value, np.ndarray)
