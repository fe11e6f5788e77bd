"""The activation functions of `nn.functional`, with PyTorch's signatures there and `inplace=`.

Owns: the choice between an operator and its in-place twin.
"""

from __future__ import annotations

from numpy import ndarray

from taper.arrays.reduction import scalar_type
from taper.opdef import inplace_function
from taper.opdef.writes import compute_into
from taper.ops.activation import (
    leaky as leaky_activation,
)
from taper.ops.activation import (
    smooth as smooth_activation,
)
from taper.ops.activation import (
    straight as activation,
)
from taper.ops.activation.leaky import prelu
from taper.ops.activation.smooth import gelu, log_sigmoid_forward, softplus
from taper.ops.activation.straight import hardshrink, softshrink
from taper.ops.elementwise.trigonometry import tanh
from taper.ops.elementwise.unary import abs, sigmoid
from taper.tensor import Tensor

_relu_in_place = inplace_function(activation.relu)

relu_ = _relu_in_place
threshold_ = activation.threshold_in_place
leaky_relu_ = leaky_activation.leaky_relu_in_place
rrelu_ = leaky_activation.rrelu_in_place
elu_ = smooth_activation.elu_in_place
selu_ = smooth_activation.selu_in_place
celu_ = smooth_activation.celu_in_place


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The positive part of every element.

    >>> import taper
    >>> relu(taper.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _relu_in_place(input) if inplace else activation.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Every element kept within [0, 6].

    >>> import taper
    >>> relu6(taper.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    return hardtanh(input, 0, 6, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Every element that is above `threshold`, else `value`.

    >>> import taper
    >>> threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
    tensor([10.,  2.])
    """
    function = activation.threshold_in_place if inplace else activation.threshold
    return function(input, threshold, value)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x above zero, else `negative_slope` times x.

    >>> import taper
    >>> leaky_relu(taper.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    function = leaky_activation.leaky_relu_in_place if inplace else leaky_activation.leaky_relu
    return function(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """x above zero, else x times a slope: drawn from [lower, upper] while training, else the mean.

    >>> import taper
    >>> rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    function = leaky_activation.rrelu_in_place if inplace else leaky_activation.rrelu
    return function(input, lower, upper, training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above zero, else `alpha * (exp(x) - 1)`.

    >>> import taper
    >>> elu(taper.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return (smooth_activation.elu_in_place if inplace else smooth_activation.elu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising elu.

    >>> import taper
    >>> selu(taper.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return (smooth_activation.selu_in_place if inplace else smooth_activation.selu)(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above zero, else `alpha * (exp(x / alpha) - 1)`.

    >>> import taper
    >>> celu(taper.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """
    return (smooth_activation.celu_in_place if inplace else smooth_activation.celu)(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x times sigmoid(x).

    >>> import taper
    >>> silu(taper.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """
    return (smooth_activation.silu_in_place if inplace else smooth_activation.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x times tanh(softplus(x)).

    >>> import taper
    >>> mish(taper.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """
    return (smooth_activation.mish_in_place if inplace else smooth_activation.mish)(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Every element kept within [min_val, max_val].

    >>> import taper
    >>> hardtanh(taper.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    function = activation.hardtanh_in_place if inplace else activation.hardtanh
    return function(input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`.

    >>> import taper
    >>> hardtanh_(taper.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, True)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """(x + 3) / 6 kept within [0, 1].

    >>> import taper
    >>> hardsigmoid(taper.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """
    return (activation.hardsigmoid_in_place if inplace else activation.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x times hardsigmoid(x).

    >>> import taper
    >>> hardswish(taper.tensor([-4.0, 1.0]))
    tensor([-0.0000, 0.6667])
    """
    return (activation.hardswish_in_place if inplace else activation.hardswish)(input)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + abs(x)).

    >>> import taper
    >>> softsign(taper.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> import taper
    >>> tanhshrink(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)).

    >>> import taper
    >>> logsigmoid(taper.tensor([0.0, 1.0]))
    tensor([-0.6931, -0.3133])
    """
    if out is not None:
        return compute_into("log_sigmoid_forward", logsigmoid, (input,), out, _same_scalar_type)
    return log_sigmoid_forward(input)[0]


def _same_scalar_type(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        wanted, found = scalar_type(result.dtype), scalar_type(out.dtype)
        raise RuntimeError(f"expected scalar type {wanted} but found {found}")


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along a dimension times the sigmoid of the second.

    >>> import taper
    >>> glu(taper.tensor([2.0, 0.0]))
    tensor([1.])
    """
    return smooth_activation.glu(input, dim)


__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]
