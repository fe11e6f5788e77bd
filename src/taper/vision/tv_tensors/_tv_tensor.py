"""The base of tensors that know what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from taper.device import device as Device
from taper.dtypes import dtype as Dtype
from taper.ops.creation.data import as_tensor
from taper.size import Size
from taper.tensor import Tensor
from taper.top_level import DisableTorchFunctionSubclass
from taper.vision.tv_tensors._torch_function_helpers import (
    _FORCE_TORCHFUNCTION_SUBCLASS,
    _must_return_subclass,
)

Kind = TypeVar("Kind", bound="TVTensor")


class TVTensor(Tensor):
    """A tensor that knows what it shows: a picture, a video, masks, boxes or points.

    Functions give plain tensors for it, except `clone`, `to`, `detach` and `requires_grad_`.
    """

    @staticmethod
    def _to_tensor(
        data: Any,
        dtype: Dtype | None = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Tensor:
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, Tensor) else False
        made: Tensor = as_tensor(data, dtype=dtype, device=device)
        return made.requires_grad_(requires_grad)

    @classmethod
    def _wrap_output(
        cls, output: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if isinstance(output, Tensor) and not isinstance(output, cls):
            output = output.as_subclass(cls)
        if isinstance(output, tuple | list):
            parts = [cls._wrap_output(each, args, kwargs) for each in output]
            output = type(output)(parts)
        return output

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
        keeps = _must_return_subclass()
        if keeps or (func in _FORCE_TORCHFUNCTION_SUBCLASS and isinstance(args[0], cls)):
            return cls._wrap_output(output, args, kwargs)
        if isinstance(output, cls):
            return output.as_subclass(Tensor)
        return output

    def _make_repr(self, **kwargs: Any) -> str:
        extra = ", ".join(f"{key}={value}" for key, value in kwargs.items())
        return f"{super().__repr__()[:-1]}, {extra})"

    @property
    def device(self) -> Device:
        with DisableTorchFunctionSubclass():
            return super().device

    @property
    def ndim(self) -> int:
        with DisableTorchFunctionSubclass():
            return super().ndim

    @property
    def dtype(self) -> Dtype:
        with DisableTorchFunctionSubclass():
            return super().dtype

    @property
    def shape(self) -> Size:
        with DisableTorchFunctionSubclass():
            return super().shape

    def __deepcopy__(self: Kind, memo: dict[int, Any]) -> Kind:
        copied: Any = self.detach().clone().requires_grad_(self.requires_grad)
        return copied
