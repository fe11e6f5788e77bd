"""Points in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taper.dtypes import dtype as Dtype
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten
from taper.vision.tv_tensors._tv_tensor import TVTensor


class KeyPoints(TVTensor):
    """Points (..., 2) that know the size of their picture.

    Args:
        data: a tensor, an array, or numbers.
        canvas_size: height and width of the picture.
        dtype: the dtype; that of `data` by default.
        device: the device; that of `data` by default.
        requires_grad: whether gradients are recorded; as `data` does by default.

    >>> from taper.vision import tv_tensors
    >>> tv_tensors.KeyPoints([[1, 2]], canvas_size=(4, 5))
    KeyPoints([[1, 2]], canvas_size=(4, 5))
    """

    canvas_size: tuple[int, int]

    def __new__(
        cls,
        data: Any,
        *,
        canvas_size: tuple[int, int],
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> KeyPoints:
        made = cls._to_tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)
        if made.ndim == 1:
            made = made.unsqueeze(0)
        elif made.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {made.shape}")
        return cls._wrap(made, canvas_size=canvas_size)

    @classmethod
    def _wrap(cls, tensor: Tensor, *, canvas_size: tuple[int, int]) -> KeyPoints:
        points = tensor.as_subclass(cls)
        points.canvas_size = canvas_size
        return points

    @classmethod
    def _wrap_output(
        cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        flat = tree_flatten((*args, *(kwargs or {}).values()))[0]
        size = next(each.canvas_size for each in flat if isinstance(each, KeyPoints))
        if isinstance(output, Tensor):
            return cls._wrap(output, canvas_size=size)
        if isinstance(output, tuple | list):
            return type(output)([cls._wrap(part, canvas_size=size) for part in output])
        return output

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._make_repr(canvas_size=self.canvas_size)
