"""Transforms of samples with boxes or points: formats, edges, what is too small, crops around some.

Numbers are drawn from the default generator in torchvision's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from taper.ops.creation.data import tensor
from taper.ops.random.draws import rand, randint
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_unflatten
from taper.vision.ops.boxes import box_iou
from taper.vision.transforms.v2 import functional as F
from taper.vision.transforms.v2.transform import (
    Transform,
    get_bounding_boxes,
    get_keypoints,
    has_any,
    is_picture_or_video,
    query_size,
)
from taper.vision.tv_tensors import BoundingBoxes, BoundingBoxFormat, KeyPoints, Mask, wrap


class ConvertBoundingBoxFormat(Transform):
    """Give boxes another format.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> boxes = tv_tensors.BoundingBoxes([[1, 1, 3, 5]], format="XYXY", canvas_size=(8, 8))
    >>> v2.ConvertBoundingBoxFormat("XYWH")(boxes).tolist()
    [[1, 1, 2, 4]]
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, format: str | BoundingBoxFormat) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Cut boxes at the edges of the picture.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> boxes = tv_tensors.BoundingBoxes([[-1, 1, 3, 9]], format="XYXY", canvas_size=(8, 8))
    >>> v2.ClampBoundingBoxes()(boxes).tolist()
    [[0, 1, 3, 8]]
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Move points to the nearest pixel of the picture.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> v2.ClampKeyPoints()(tv_tensors.KeyPoints([[-1, 9]], canvas_size=(4, 5))).tolist()
    [[0, 3]]
    """

    _transformed_types = (KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Choose what later transforms do with parts of boxes outside the picture.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> boxes = tv_tensors.BoundingBoxes([[1, 1, 3, 5]], format="XYXY", canvas_size=(8, 8))
    >>> v2.SetClampingMode(None)(boxes).clamping_mode is None
    True
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        self.clamping_mode = clamping_mode
        if clamping_mode is not None and clamping_mode not in ("soft", "hard"):
            raise ValueError(
                f"clamping_mode must be soft, hard or None, got clamping_mode={clamping_mode!r}"
            )

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        kept = inpt.clone()
        kept.clamping_mode = self.clamping_mode
        return kept


Getter = Callable[[Any], Any] | str | None


def _labels_of(sample: Any, getter: Getter) -> Any:
    """Return the labels of a sample: what a function or a key finds, or the key "labels"."""
    if getter is None:
        return None
    if callable(getter):
        return getter(sample)
    found = sample
    if not isinstance(found, Mapping):
        found = sample[1] if isinstance(sample, tuple | list) and len(sample) == 2 else None
    if getter != "default":
        return sample[getter] if isinstance(sample, Mapping) else found[getter]
    if not isinstance(found, Mapping):
        raise ValueError(
            "If labels_getter is a str or 'default', then the input to forward() must be a dict "
            f"or a tuple whose second element is a dict. Got {type(sample)} instead."
        )
    for match in (lambda key: key.lower() == "labels", lambda key: "label" in key.lower()):
        for key, value in found.items():
            if isinstance(key, str) and match(key):
                return value
    raise ValueError(
        "Could not infer where the labels are in the sample. Try passing a callable as the "
        "labels_getter parameter?If there are no labels in the sample by design, pass "
        "labels_getter=None."
    )


class _Sanitize(Transform):
    """Remove parts of a sample, and the labels and masks that belong to them."""

    labels_getter: Getter

    def _valid(self, flat: list[Any]) -> tuple[Tensor, Tensor]:
        """Return what is sanitized, and which rows of it are kept."""
        raise NotImplementedError

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = _labels_of(sample, self.labels_getter)
        labels = labels if isinstance(labels, tuple | list) else [labels]
        labels = [each for each in labels if each is not None]
        flat, spec = tree_flatten(sample)
        of, valid = self._valid(flat)
        for each in labels:
            if not isinstance(each, Tensor):
                raise ValueError(
                    "The labels in the input to forward() must be a tensor or None, got "
                    f"{type(each)} instead."
                )
            if of.shape[0] != each.shape[0]:
                raise ValueError(
                    f"Number of boxes (shape={of.shape}) and must match the number of labels."
                    f"Found labels with shape={each.shape})."
                )
        kept = [self._kept(each, labels, valid) for each in flat]
        return tree_unflatten(kept, spec)

    def _kept(self, value: Any, labels: list[Any], valid: Tensor) -> Any:
        if any(value is each for each in labels):
            return value[valid]
        if isinstance(value, self._removed):
            return wrap(value.as_subclass(Tensor)[valid], like=value)
        return value

    _removed: tuple[Any, ...] = ()


class SanitizeBoundingBoxes(_Sanitize):
    """Remove boxes that are outside or too small, with their labels and masks.

    Args:
        min_size: the least width and height.
        min_area: the least area.
        labels_getter: where the labels are: a key, a function of the sample, or None.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> data = [[0, 0, 4, 4], [2, 2, 2, 3]]
    >>> boxes = tv_tensors.BoundingBoxes(data, format="XYXY", canvas_size=(8, 8))
    >>> v2.SanitizeBoundingBoxes()({"boxes": boxes, "labels": taper.tensor([5, 6])})["labels"]
    tensor([5])
    """

    _removed = (BoundingBoxes, Mask)

    def __init__(
        self,
        min_size: float = 1.0,
        min_area: float = 1.0,
        labels_getter: Getter = "default",
    ) -> None:
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter

    def _valid(self, flat: list[Any]) -> tuple[Tensor, Tensor]:
        boxes = get_bounding_boxes(flat)
        _, valid = F.sanitize_bounding_boxes(boxes, min_size=self.min_size, min_area=self.min_area)
        return boxes, valid


class SanitizeKeyPoints(_Sanitize):
    """Remove points outside the picture, with their labels.

    Args:
        labels_getter: where the labels are: a key, a function of the sample, or None.

    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> v2.SanitizeKeyPoints()(tv_tensors.KeyPoints([[1, 1], [9, 1]], canvas_size=(4, 5))).tolist()
    [[1, 1]]
    """

    _removed = (KeyPoints,)

    def __init__(self, labels_getter: Getter = None) -> None:
        super().__init__()
        self.labels_getter = labels_getter

    def _valid(self, flat: list[Any]) -> tuple[Tensor, Tensor]:
        points = get_keypoints(flat)
        return points, F.sanitize_keypoints(points)[1]


class RandomIoUCrop(Transform):
    """Cut out a random part of the picture that overlaps a box enough; then sanitize the boxes.

    Args:
        min_scale: the least part of a side.
        max_scale: the largest part of a side.
        min_aspect_ratio: the least width by height.
        max_aspect_ratio: the largest width by height.
        sampler_options: overlaps, one of which is drawn; 1 and more leaves the picture whole.
        trials: how often a part is drawn for an overlap.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> from taper.vision.transforms import v2
    >>> boxes = tv_tensors.BoundingBoxes([[0, 0, 4, 4]], format="XYXY", canvas_size=(8, 8))
    >>> v2.RandomIoUCrop(sampler_options=[1.0])(taper.zeros(3, 8, 8), boxes)[0].shape
    torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        self.options = sampler_options or [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if not (has_any(flat_inputs, BoundingBoxes) and has_any(flat_inputs, is_picture_or_video)):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                "and bounding boxes. Sample can also contain masks."
            )

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        size = query_size(flat_inputs)
        boxes = F.convert_bounding_box_format(
            get_bounding_boxes(flat_inputs), new_format=BoundingBoxFormat.XYXY
        ).as_subclass(Tensor)
        while True:
            least = self.options[int(randint(0, len(self.options), (1,)))]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._tried(size, boxes, least)
                if found is not None:
                    return found

    def _tried(self, size: tuple[int, int], boxes: Tensor, least: float) -> dict[str, Any] | None:
        height, width = size
        part = self.min_scale + (self.max_scale - self.min_scale) * rand(2)
        new_width, new_height = int(width * part[0]), int(height * part[1])
        if not self.min_aspect_ratio <= new_width / new_height <= self.max_aspect_ratio:
            return None
        place = rand(2)
        left, top = int((width - new_width) * place[0]), int((height - new_height) * place[1])
        right, bottom = left + new_width, top + new_height
        if left == right or top == bottom:
            return None
        x, y = 0.5 * (boxes[..., 0] + boxes[..., 2]), 0.5 * (boxes[..., 1] + boxes[..., 3])
        is_inside = (left < x) & (x < right) & (top < y) & (y < bottom)
        if not is_inside.any():
            return None
        whole = tensor([[left, top, right, bottom]], dtype=boxes.dtype)
        if box_iou(boxes[is_inside], whole).max() < least:
            return None
        sides = {"top": top, "left": left, "height": new_height, "width": new_width}
        return {**sides, "is_within_crop_area": is_inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params:
            return inpt
        sides = (params["top"], params["left"], params["height"], params["width"])
        result = F.crop(inpt, *sides)
        if isinstance(result, BoundingBoxes):
            plain = result.as_subclass(Tensor)
            plain[~params["is_within_crop_area"]] = 0
            return wrap(plain, like=result)
        return result
