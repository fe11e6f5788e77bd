"""Linear layers: Identity, Linear, Bilinear, LazyLinear."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.lazy import LazyModuleMixin
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter, UninitializedParameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class Identity(Module):
    """Return the argument unchanged.

    Args:
        args, kwargs: anything, all ignored.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Identity(54, unused=True)(taper.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """Apply an affine map to the last dimension.

        y = x Wᵀ + b

    Args:
        in_features: length of the input's last dimension.
        out_features: length of the result's last dimension.
        bias: whether to add a learned bias.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*, in_features) → (*, out_features).

    Initialisation:
        weight (out_features, in_features) and bias (out_features,) ~ U(-k, k), k = 1/√in_features.

    Example:
        >>> import taper
        >>> taper.nn.Linear(2, 3)(taper.ones(5, 2)).shape
        torch.Size([5, 3])
    """

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter  # or None, but as in PyTorch checkers need not ask

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from U(-k, k), k = 1/√in_features."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        try:  # `self.weight` would cost 0.4 us for each of the two
            own: dict[str, Any] = self._parameters
            weight, bias = own["weight"], own["bias"]
        except KeyError:  # replaced by a plain attribute or a property
            weight, bias = self.weight, self.bias
        return F.linear(input, weight, bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """Apply `Linear`; attention layers use this name for their output projection."""


class Bilinear(Module):
    """Apply a map that is linear in each of two inputs.

        y[k] = x1ᵀ W[k] x2 + b[k]

    Args:
        in1_features: length of the last dimension of the first input.
        in2_features: length of the last dimension of the second input.
        out_features: length of the last dimension of the result.
        bias: whether to add a learned bias.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*, in1_features), (*, in2_features) → (*, out_features).

    Initialisation:
        weight (out_features, in1_features, in2_features) and bias (out_features,) ~ U(-k, k), k =
        1/√in1_features.

    Example:
        >>> import taper
        >>> taper.nn.Bilinear(2, 3, 4)(taper.ones(5, 2), taper.ones(5, 3)).shape
        torch.Size([5, 4])
    """

    in1_features: int
    in2_features: int
    out_features: int
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from U(-k, k), k = 1/√in1_features."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """Apply `Linear`, with `in_features` taken from the first input.

    Args:
        out_features, bias, device, dtype: as for `Linear`.

    Shape: (*, in_features) → (*, out_features).
    Initialisation: as `Linear`, at the first call; until then `weight` and `bias` have no shape.

    Example:
        >>> import taper
        >>> taper.nn.LazyLinear(3)(taper.ones(5, 2)).shape
        torch.Size([5, 3])
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give weight and bias the shapes that this input needs, and draw them."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = input.shape[-1]
            if self.in_features != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {self.in_features} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
