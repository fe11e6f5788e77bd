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
    """Replace negative elements by zero.

    result = max(0, x)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.relu(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    return _relu_in_place(input) if inplace else activation.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Move every element into [0, 6].

    result = min(max(0, x), 6)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.relu6(taper.tensor([-1.0, 7.0]))
        tensor([0., 6.])
    """
    return hardtanh(input, 0, 6, inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Replace elements that are not above a threshold.

    result = x where x > threshold, else value

    Args:
        input: a tensor.
        threshold: bound that an element must exceed.
        value: what the others become.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.threshold(taper.tensor([-1.0, 2.0]), 0.5, 10)
        tensor([10.,  2.])
    """
    function = activation.threshold_in_place if inplace else activation.threshold
    return function(input, threshold, value)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Scale down negative elements.

    result = x where x > 0, else negative_slope · x

    Args:
        input: a tensor.
        negative_slope: factor of negative elements.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.leaky_relu(taper.tensor([-1.0, 2.0]), 0.1)
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
    """Scale down negative elements by a random slope while training, by the mean slope otherwise.

    result = x where x ≥ 0, else a · x; a is drawn from [lower, upper], or (lower + upper) / 2

    Args:
        input: a tensor.
        lower: smallest slope.
        upper: largest slope.
        training: whether slopes are drawn.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.rrelu(taper.tensor([-1.0, 2.0]), 0.25, 0.75)
        tensor([-0.5000,  2.0000])
    """
    function = leaky_activation.rrelu_in_place if inplace else leaky_activation.rrelu
    return function(input, lower, upper, training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Bend negative elements smoothly towards -alpha.

    result = x where x > 0, else alpha · (eˣ - 1)

    Args:
        input: a tensor.
        alpha: bound of the negative side.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.elu(taper.tensor([-1.0, 2.0]))
        tensor([-0.6321,  2.0000])
    """
    return (smooth_activation.elu_in_place if inplace else smooth_activation.elu)(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply elu with the two constants that keep mean 0 and variance 1 from layer to layer.

    result = s · x where x > 0, else s · a · (eˣ - 1), with a = 1.6733 and s = 1.0507

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.selu(taper.tensor([-1.0, 1.0]))
        tensor([-1.1113,  1.0507])
    """
    return (smooth_activation.selu_in_place if inplace else smooth_activation.selu)(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Bend negative elements smoothly towards -alpha, with slope 1 at zero for any alpha.

    result = x where x > 0, else alpha · (exp(x / alpha) - 1)

    Args:
        input: a tensor.
        alpha: bound of the negative side.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.celu(taper.tensor([-1.0, 1.0]))
        tensor([-0.6321,  1.0000])
    """
    return (smooth_activation.celu_in_place if inplace else smooth_activation.celu)(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply every element by its sigmoid; also called swish.

    result = x / (1 + e⁻ˣ)

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.silu(taper.tensor([-1.0, 1.0]))
        tensor([-0.2689,  0.7311])
    """
    return (smooth_activation.silu_in_place if inplace else smooth_activation.silu)(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply every element by the hyperbolic tangent of its softplus.

    result = x · tanh(ln(1 + eˣ))

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.mish(taper.tensor([-1.0, 1.0]))
        tensor([-0.3034,  0.8651])
    """
    return (smooth_activation.mish_in_place if inplace else smooth_activation.mish)(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Move every element into [min_val, max_val].

    result = min(max(min_val, x), max_val)

    Args:
        input: a tensor.
        min_val: lower bound.
        max_val: upper bound.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardtanh(taper.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    function = activation.hardtanh_in_place if inplace else activation.hardtanh
    return function(input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Move every element into [min_val, max_val], in place.

    Args:
        input: the tensor that is changed.
        min_val: lower bound.
        max_val: upper bound.

    Returns: `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardtanh_(taper.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, True)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Approximate the sigmoid by straight lines.

    result = min(max(0, x + 3), 6) / 6

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardsigmoid(taper.tensor([-4.0, 0.0]))
        tensor([0.0000, 0.5000])
    """
    return (activation.hardsigmoid_in_place if inplace else activation.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Multiply every element by its hardsigmoid.

    result = x · min(max(0, x + 3), 6) / 6

    Args:
        input: a tensor.
        inplace: write the result into `input`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.hardswish(taper.tensor([-4.0, 1.0]))
        tensor([-0.0000, 0.6667])
    """
    return (activation.hardswish_in_place if inplace else activation.hardswish)(input)


def softsign(input: Tensor) -> Tensor:
    """Squash every element into (-1, 1).

    result = x / (1 + |x|)

    Args:
        input: a tensor.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softsign(taper.tensor([-1.0, 3.0]))
        tensor([-0.5000,  0.7500])
    """
    return input / (abs(input) + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """Subtract from every element its hyperbolic tangent.

    result = x - tanh x

    Args:
        input: a tensor.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.tanhshrink(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Take the logarithm of the sigmoid of every element, without overflow.

    result = ln(1 / (1 + e⁻ˣ))

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.logsigmoid(taper.tensor([0.0, 1.0]))
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
    """Gate the first half of a tensor by the sigmoid of the second half.

    result = a · sigmoid(b), with a and b the halves of `input` along `dim`

    Args:
        input: a tensor whose length along `dim` is even.
        dim: dimension that is halved.

    Shape: (*, 2n, *) gives (*, n, *).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.glu(taper.tensor([2.0, 0.0]))
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
