"""Activation functions as modules.

Long because: there are thirty activations, and each has its reference.
"""

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
    """Base of the activations that can overwrite their input; shows the choice in the `repr`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""

    def _with_inplace(self, text: str) -> str:
        return f"{text}, inplace=True" if self.inplace else text


class Threshold(_Inplace):
    """Replace elements that are not above a threshold.

        y = x if x > threshold else value

    Args:
        threshold: the limit.
        value: what replaces the elements at or below it.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Replace negative elements by 0.

        y = max(0, x)

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.ReLU()(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(_Inplace):
    """Multiply negative elements by a slope that is random while training.

        y = x if x ≥ 0 else a·x

    While training, a ~ U(lower, upper) is drawn for every element; else a = (lower + upper) / 2.

    Args:
        lower, upper: the range of slopes, by default 1/8 to 1/3.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Clip elements to a range.

        y = min(max(x, min_val), max_val)

    Args:
        min_val, max_val: the ends of the range.
        inplace: whether to overwrite the input with the result.
        min_value, max_value: deprecated names of `min_val` and `max_val`.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Clip elements to the range from 0 to 6.

        y = min(max(0, x), 6)

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.ReLU6()(taper.tensor([-1.0, 3.0, 7.0]))
        tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """Map elements to (0, 1) by the logistic function.

        y = 1 / (1 + exp(-x))

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Sigmoid()(taper.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Hardsigmoid(_Inplace):
    """Approximate the sigmoid by three straight lines.

        y = min(max(0, x/6 + 1/2), 1)

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Hardsigmoid()(taper.tensor([-4.0, 0.0, 1.0]))
        tensor([0.0000, 0.5000, 0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """Map elements to (-1, 1) by the hyperbolic tangent.

        y = (exp(x) - exp(-x)) / (exp(x) + exp(-x))

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Tanh()(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class SiLU(_Inplace):
    """Multiply elements by their sigmoid (also called swish).

        y = x / (1 + exp(-x))

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.SiLU()(taper.tensor([-1.0, 1.0]))
        tensor([-0.2689,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """Multiply elements by the tanh of their softplus.

        y = x tanh(log(1 + exp(x)))

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Mish()(taper.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """Multiply elements by their `Hardsigmoid`.

        y = x min(max(0, x/6 + 1/2), 1)

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Hardswish()(taper.tensor([-4.0, 0.0, 1.0]))
        tensor([-0.0000, 0.0000, 0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class ELU(_Inplace):
    """Let negative elements approach -alpha exponentially.

        y = x if x > 0 else alpha (exp(x) - 1)

    Args:
        alpha: minus the limit for very negative inputs.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Let negative elements approach -alpha exponentially, with slope 1 at 0.

        y = max(0, x) + min(0, alpha (exp(x/alpha) - 1))

    Args:
        alpha: minus the limit for very negative inputs.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Apply an ELU whose scale keeps the mean at 0 and the variance at 1 from layer to layer.

        y = 1.0507 (x if x > 0 else 1.6733 (exp(x) - 1))

    The constants are stored to sixteen digits. The property needs weights of variance 1/fan_in:
    `init.kaiming_normal_(w, nonlinearity="linear")`.

    Args:
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.SELU()(taper.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class GLU(Module):
    """Gate one half of the input by the sigmoid of the other half.

        y = a sigmoid(b), where a and b are the two halves of x along dim

    Args:
        dim: the dimension to halve; its length must be even.

    Shape: (*, 2n, *) → (*, n, *), with 2n at `dim`.

    Example:
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
    """Multiply elements by the probability that a standard normal number is smaller.

        y = x Φ(x), Φ(x) = (1 + erf(x/√2)) / 2
        tanh form: y = x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))

    Args:
        approximate: "none" for the exact formula, "tanh" for the approximation.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Replace small elements by 0.

        y = x if |x| > lambd else 0

    Args:
        lambd: half the width of the range that becomes 0.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Multiply negative elements by a small slope.

        y = max(0, x) + negative_slope min(0, x)

    Args:
        negative_slope: the slope below 0.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Compute the logarithm of the sigmoid without overflow.

        y = -log(1 + exp(-x))

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.LogSigmoid()(taper.tensor([0.0, 1.0]))
        tensor([-0.6931, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """Smooth the ReLU.

        y = log(1 + exp(beta x)) / beta

    Args:
        beta: the sharpness; large values approach the ReLU.
        threshold: where beta x is above it, y = x, which avoids overflow.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Move elements towards 0 and stop there.

        y = sign(x) max(0, |x| - lambd)

    Args:
        lambd: how far to move; at least 0.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Multiply negative elements by a learned slope.

        y = max(0, x) + weight min(0, x)

    Args:
        num_parameters: 1 for one slope, or the number of channels for one slope each.
        init: the first value of the slopes.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*) → (*); with one slope for each channel, (N, num_parameters, *).
    Initialisation: weight (num_parameters,) = init.

    Example:
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
    """Map elements to (-1, 1) by dividing by their size.

        y = x / (1 + |x|)

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Softsign()(taper.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """Subtract the hyperbolic tangent.

        y = x - tanh(x)

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
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
    """Turn small scores into large probabilities.

        y[i] = exp(-x[i]) / Σj exp(-x[j])

    Args:
        dim: the dimension along which the probabilities add up to 1; None guesses it, with a
            warning.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Softmin(dim=0)(taper.tensor([0.0, 1.0]))
        tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """Turn scores into probabilities.

        y[i] = exp(x[i]) / Σj exp(x[j])

    Args:
        dim: the dimension along which the probabilities add up to 1; None guesses it, with a
            warning.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Softmax(dim=0)(taper.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Turn the scores of channels into probabilities, at each place of an image.

        y[c] = exp(x[c]) / Σj exp(x[j]) over the channels j

    Shape: (N, C, H, W) → (N, C, H, W), or both without N.

    Example:
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
    """Turn scores into logarithms of probabilities, without overflow.

        y[i] = x[i] - log Σj exp(x[j])

    Args:
        dim: the dimension along which the probabilities add up to 1; None guesses it, with a
            warning.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.LogSoftmax(dim=0)(taper.tensor([0.0, 1.0]))
        tensor([-1.3133, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)
