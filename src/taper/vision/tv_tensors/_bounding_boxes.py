"""Boxes in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from taper.dtypes import dtype as Dtype
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten
from taper.vision.tv_tensors._tv_tensor import TVTensor


class BoundingBoxFormat(Enum):
    """What the numbers of a box are: corners, corner and size, centre and size; rotated ones."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


def is_rotated_bounding_format(format: BoundingBoxFormat | str) -> bool:
    """Return whether boxes of a format may be turned.

    >>> from taper.vision.tv_tensors import is_rotated_bounding_format
    >>> is_rotated_bounding_format("XYWHR"), is_rotated_bounding_format("XYXY")
    (True, False)
    """
    name = format.value if isinstance(format, BoundingBoxFormat) else format
    return name in ("XYWHR", "CXCYWHR", "XYXYXYXY")


class BoundingBoxes(TVTensor):
    """Boxes, a row each, that know their format and the size of their picture.

    Args:
        data: a tensor, an array, or numbers.
        format: what the numbers of a box are.
        canvas_size: height and width of the picture.
        clamping_mode: what is done with parts outside: "soft", "hard" or None.
        dtype: the dtype; that of `data` by default.
        device: the device; that of `data` by default.
        requires_grad: whether gradients are recorded; as `data` does by default.

    >>> import taper
    >>> from taper.vision import tv_tensors
    >>> tv_tensors.BoundingBoxes([[1.0, 2, 3, 4]], format="xyxy", canvas_size=(5, 6)).canvas_size
    (5, 6)
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    @classmethod
    def _wrap(
        cls,
        tensor: Tensor,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        check_dims: bool = True,
    ) -> BoundingBoxes:
        if check_dims:
            if tensor.ndim == 1:
                tensor = tensor.unsqueeze(0)
            elif tensor.ndim != 2:
                raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        if clamping_mode is not None and clamping_mode not in ("hard", "soft"):
            raise ValueError(
                f"clamping_mode must be None, hard or soft, got clamping_mode={clamping_mode!r}."
            )
        if isinstance(format, str):
            format = BoundingBoxFormat[format.upper()]
        boxes = tensor.as_subclass(cls)
        boxes.format = format
        boxes.canvas_size = canvas_size
        boxes.clamping_mode = clamping_mode
        return boxes

    def __new__(
        cls,
        data: Any,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> BoundingBoxes:
        made = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        facts: dict[str, Any] = {"format": format, "canvas_size": canvas_size}
        return cls._wrap(made, **facts, clamping_mode=clamping_mode)

    @classmethod
    def _wrap_output(
        cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        flat = tree_flatten((*args, *(kwargs or {}).values()))[0]
        first = next(each for each in flat if isinstance(each, BoundingBoxes))
        facts: dict[str, Any] = {"format": first.format, "canvas_size": first.canvas_size}
        facts |= {"clamping_mode": first.clamping_mode, "check_dims": False}
        if isinstance(output, Tensor) and not isinstance(output, BoundingBoxes):
            return cls._wrap(output, **facts)
        if isinstance(output, tuple | list):
            return type(output)([cls._wrap(part, **facts) for part in output])
        if isinstance(output, BoundingBoxes) and not hasattr(output, "format"):
            return cls._wrap(output, **facts)
        return output

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr(
            format=self.format, canvas_size=self.canvas_size, clamping_mode=self.clamping_mode
        )
