"""Normalisation within a sample: LayerNorm, GroupNorm, RMSNorm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


def _as_shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(Module):
    """Normalise the last dimensions of each sample.

        y = (x - mean) / √(variance + eps) · weight + bias, variance biased

    Args:
        normalized_shape: the shape of the dimensions to normalise over, or the length of the last
            one.
        eps: added to the variance, against division by 0.
        elementwise_affine: whether to learn a scale and a shift for each element.
        bias: whether `elementwise_affine` includes the shift.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*, *normalized_shape) → the same.
    Initialisation: weight = 1 and bias = 0, both of the shape `normalized_shape`.

    Example:
        >>> import taper
        >>> taper.nn.LayerNorm(2)(taper.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.0000,  1.0000]])
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", True), ("bias", bias)):
            value = None
            if elementwise_affine and wanted:
                value = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
            self.register_parameter(name, value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalise groups of channels of each sample.

        y = (x - mean) / √(variance + eps) · weight + bias, mean and variance over a group

    Args:
        num_groups: how many groups there are; a divisor of `num_channels`.
        num_channels: how many channels C there are.
        eps: added to the variance, against division by 0.
        affine: whether to learn a scale and a shift for each channel.
        device, dtype: where the parameters live, and their type; None means the default.
        bias: whether `affine` includes the shift.

    Shape: (N, C, *) → the same.
    Initialisation: weight (C,) = 1, bias (C,) = 0.

    Example:
        >>> import taper
        >>> taper.nn.GroupNorm(1, 2)(taper.tensor([[1.0, 3.0]])).detach()
        tensor([[-1.0000,  1.0000]])
    """

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = empty(num_channels, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if value is None else Parameter(value))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square of the last dimensions.

        y = x / √(mean(x²) + eps) · weight

    Args:
        normalized_shape: the shape of the dimensions to normalise over, or the length of the last
            one.
        eps: against division by 0; None means the epsilon of the dtype, or float32's for half
            precision.
        elementwise_affine: whether to learn a scale for each element.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*, *normalized_shape) → the same.
    Initialisation: weight = 1, of the shape `normalized_shape`.

    Example:
        >>> import taper
        >>> taper.nn.RMSNorm(2)(taper.tensor([[1.0, 7.0]])).detach()
        tensor([[0.2000, 1.4000]])
    """

    weight: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        value = None
        if elementwise_affine:
            value = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", value)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
