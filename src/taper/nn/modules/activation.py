"""Activation functions as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor
from taper.userwarning import warn_user

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class _Inplace(Module):
    """An activation that can overwrite its input, and shows it in the `repr`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _with_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


class Threshold(_Inplace):
    """The input where it is above `threshold`, else `value`.

    >>> import taper
    >>> taper.nn.Threshold(0.1, 20)(taper.tensor([-1.0, 0.1, 2.0]))
    tensor([20., 20.,  2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"threshold={self.threshold}, value={self.value}")


class ReLU(_Inplace):
    """max(0, x).

    >>> import taper
    >>> taper.nn.ReLU()(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(_Inplace):
    """Leaky ReLU whose slope is drawn from [lower, upper] while training, else their mean.

    >>> import taper
    >>> taper.nn.RReLU().eval()(taper.tensor([-48.0, 2.0]))
    tensor([-11.,   2.])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"lower={self.lower}, upper={self.upper}")


class Hardtanh(_Inplace):
    """The input, cut off at `min_val` and `max_val`.

    >>> import taper
    >>> taper.nn.Hardtanh(-2, 2)(taper.tensor([-3.0, 0.5, 3.0]))
    tensor([-2.0000,  0.5000,  2.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        for old, new, value in (
            ("min_value", "min_val", min_value),
            ("max_value", "max_val", max_value),
        ):
            if value is not None:
                warn_user(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"min_val={self.min_val}, max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(0, x), 6).

    >>> import taper
    >>> taper.nn.ReLU6()(taper.tensor([-1.0, 3.0, 7.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> import taper
    >>> taper.nn.Sigmoid()(taper.tensor([0.0, 1.0]))
    tensor([0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Hardsigmoid(_Inplace):
    """The sigmoid made of straight lines: x/6 + 1/2 between -3 and 3.

    >>> import taper
    >>> taper.nn.Hardsigmoid()(taper.tensor([-4.0, 0.0, 1.0]))
    tensor([0.0000, 0.5000, 0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import taper
    >>> taper.nn.Tanh()(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(_Inplace):
    """x * sigmoid(x).

    >>> import taper
    >>> taper.nn.SiLU()(taper.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """x * tanh(softplus(x)).

    >>> import taper
    >>> taper.nn.Mish()(taper.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """x * hardsigmoid(x).

    >>> import taper
    >>> taper.nn.Hardswish()(taper.tensor([-4.0, 0.0, 1.0]))
    tensor([-0.0000, 0.0000, 0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class ELU(_Inplace):
    """x above 0, alpha * (exp(x) - 1) below.

    >>> import taper
    >>> taper.nn.ELU()(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"alpha={self.alpha}")


class CELU(_Inplace):
    """x above 0, alpha * (exp(x / alpha) - 1) below.

    >>> import taper
    >>> taper.nn.CELU(alpha=2.0)(taper.tensor([-1.0, 1.0]))
    tensor([-0.7869,  1.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"alpha={self.alpha}")


class SELU(_Inplace):
    """ELU scaled so that layers keep mean 0 and variance 1.

    >>> import taper
    >>> taper.nn.SELU()(taper.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """The first half of `dim` times the sigmoid of the second half.

    >>> import taper
    >>> taper.nn.GLU()(taper.tensor([1.0, 2.0, 0.0, 1.0]))
    tensor([0.5000, 1.4621])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """x times the normal distribution function of x; `approximate="tanh"` for the old formula.

    >>> import taper
    >>> taper.nn.GELU()(taper.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """The input, 0 where it is within +-lambd.

    >>> import taper
    >>> taper.nn.Hardshrink()(taper.tensor([-1.0, 0.3, 0.7]))
    tensor([-1.0000,  0.0000,  0.7000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(_Inplace):
    """x above 0, negative_slope * x below.

    >>> import taper
    >>> taper.nn.LeakyReLU(0.1)(taper.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return self._with_inplace(f"negative_slope={self.negative_slope}")


class LogSigmoid(Module):
    """log(sigmoid(x)).

    >>> import taper
    >>> taper.nn.LogSigmoid()(taper.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above `threshold`.

    >>> import taper
    >>> taper.nn.Softplus()(taper.tensor([0.0, 1.0]))
    tensor([0.6931, 1.3133])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """The input moved towards 0 by `lambd`, 0 within +-lambd.

    >>> import taper
    >>> taper.nn.Softshrink()(taper.tensor([-1.0, 0.3, 0.75]))
    tensor([-0.5000,  0.0000,  0.2500])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """x above 0, weight * x below; one learned weight, or one for each channel.

    >>> import taper
    >>> taper.nn.PReLU()(taper.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all weights to the initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x / (1 + |x|).

    >>> import taper
    >>> taper.nn.Softsign()(taper.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> import taper
    >>> taper.nn.Tanhshrink()(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class _AlongDim(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """softmax(-x) along `dim`.

    >>> import taper
    >>> taper.nn.Softmin(dim=0)(taper.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`.

    >>> import taper
    >>> taper.nn.Softmax(dim=0)(taper.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (batch, channel, height, width) or (channel, height, width).

    >>> import taper
    >>> taper.nn.Softmax2d()(taper.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along `dim`.

    >>> import taper
    >>> taper.nn.LogSoftmax(dim=0)(taper.tensor([0.0, 1.0]))
    tensor([-1.3133, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)
