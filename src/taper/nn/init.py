"""Filling tensors with initial values; the same numbers as PyTorch's for the same seed.

All functions write into the tensor they get, unrecorded, and return it. The fans of a weight are
its numbers of inputs and outputs: fan_in = shape[1] Π shape[2:], fan_out = shape[0] Π shape[2:].
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.autograd.overrides import has_grown as _has_grown
from taper.ops.creation.filled import empty_like
from taper.ops.creation.filled import eye as eye_matrix
from taper.ops.elementwise.blend import where
from taper.ops.on_demand import load_family
from taper.ops.random.draws import randperm
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_LINEAR = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor of the standard deviation that fits a nonlinearity.

        linear, conv*, sigmoid: 1; tanh: 5/3; relu: √2; leaky_relu: √(2 / (1 + param²)); selu: 3/4

    Args:
        nonlinearity: the name of the function.
        param: the slope of "leaky_relu"; None means 0.01.

    Example:
        >>> from taper.nn import init
        >>> init.calculate_gain("relu") ** 2
        2.0000000000000004
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is None:
        slope = 0.01
    elif isinstance(param, (int, float)) and not isinstance(param, bool):
        slope = param
    else:
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


# --- plain distributions and constants -------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor from the uniform distribution U(a, b).

    Args:
        tensor: the tensor to fill.
        a, b: the ends of the range; b is excluded.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> generator = taper.Generator().manual_seed(0)
        >>> taper.nn.init.uniform_(taper.empty(3), a=-1, generator=generator)
        tensor([-0.0075,  0.5364, -0.8230])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a tensor from the normal distribution N(mean, std²).

    Args:
        tensor: the tensor to fill.
        mean, std: mean and standard deviation.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> generator = taper.Generator().manual_seed(0)
        >>> taper.nn.init.normal_(taper.empty(3), std=0.1, generator=generator)
        tensor([ 0.1541, -0.0293, -0.2179])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill a tensor from the normal distribution N(mean, std²), cut off outside of [a, b].

    Values are drawn until all are inside: normal ones if most of those are, else uniform ones,
    each kept with the probability that the density at its place gives.

    Args:
        tensor: the tensor to fill.
        mean, std: mean and standard deviation before cutting.
        a, b: the ends of the range.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> weight = taper.nn.init.trunc_normal_(taper.empty(100), a=-0.5, b=0.5)
        >>> bool(weight.abs().amax() <= 0.5)
        True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if tensor.is_meta:
        return tensor
    with no_grad():
        if inside > 0.3:
            return _fill_by_redrawing(tensor, mean, std, a, b, generator)
        return _fill_by_rejection(tensor, mean, std, a, b, generator)


def _fill_by_redrawing(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    tensor.normal_(mean, std, generator=generator)
    outside = (tensor < low) | (tensor > high)
    while outside.any():
        fresh = empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(where(outside, fresh, tensor))
        outside = (tensor < low) | (tensor > high)
    return tensor


def _fill_by_rejection(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> Tensor:
    highest = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(values: Tensor) -> Tensor:
        density = ((values - mean) / std) ** 2 * -0.5 - highest
        return empty_like(tensor).uniform_(generator=generator).log() > density

    pending = rejected(tensor.uniform_(a, b, generator=generator))
    while pending.any():
        fresh = empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(where(pending, fresh, tensor))
        pending = pending & rejected(fresh)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with one value.

    Args:
        tensor: the tensor to fill.
        val: the value.

    Example:
        >>> import taper
        >>> taper.nn.init.constant_(taper.empty(2), 0.5)
        tensor([0.5000, 0.5000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with 1.

    Args:
        tensor: the tensor to fill.

    Example:
        >>> import taper
        >>> taper.nn.init.ones_(taper.empty(3))
        tensor([1., 1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with 0.

    Args:
        tensor: the tensor to fill.

    Example:
        >>> import taper
        >>> taper.nn.init.zeros_(taper.empty(3))
        tensor([0., 0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Args:
        tensor: the matrix to fill.

    Example:
        >>> import taper
        >>> taper.nn.init.eye_(taper.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(eye_matrix(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that channels pass unchanged, as many as there are.

    Args:
        tensor: the weight, of 3, 4 or 5 dimensions.
        groups: the groups of the convolution; channels pass in each.

    Example:
        >>> import taper
        >>> taper.nn.init.dirac_(taper.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    channels = sizes[0] // groups
    middle = tuple(length // 2 for length in sizes[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels, sizes[1])):
                tensor[(group * channels + channel, channel, *middle)] = 1
    return tensor


# --- scaled by the size of the layer ---------------------------------------------------------


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a weight uniformly, scaled by both its fans (Glorot and Bengio).

        U(-k, k), k = gain √(6 / (fan_in + fan_out))

    Args:
        tensor: the weight to fill, of at least 2 dimensions.
        gain: a factor, such as `calculate_gain` returns.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> weight = taper.nn.init.xavier_uniform_(taper.empty(3, 3))
        >>> bool(weight.abs().amax() <= 1.0)
        True
    """
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill a weight normally, scaled by both its fans (Glorot and Bengio).

        N(0, std²), std = gain √(2 / (fan_in + fan_out))

    Args:
        tensor: the weight to fill, of at least 2 dimensions.
        gain: a factor, such as `calculate_gain` returns.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> taper.nn.init.xavier_normal_(taper.empty(4, 6)).shape
        torch.Size([4, 6])
    """
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill a weight uniformly, scaled by one of its fans (He et al.).

        U(-k, k), k = gain √(3 / fan)

    Args:
        tensor: the weight to fill, of at least 2 dimensions.
        a: the slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: what follows; the gain is `calculate_gain(nonlinearity, a)`.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> weight = taper.nn.init.kaiming_uniform_(taper.empty(2, 6))
        >>> bool((weight.abs() <= 1).all())
        True
    """
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill a weight normally, scaled by one of its fans (He et al.).

        N(0, std²), std = gain / √fan

    Args:
        tensor: the weight to fill, of at least 2 dimensions.
        a: the slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: what follows; the gain is `calculate_gain(nonlinearity, a)`.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> taper.nn.init.kaiming_normal_(taper.empty(4, 6), nonlinearity="relu").shape
        torch.Size([4, 6])
    """
    if 0 in tensor.shape:
        return _nothing_to_fill(tensor)
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _nothing_to_fill(tensor: Tensor) -> Tensor:
    warn_user("Initializing zero-element tensors is a no-op")
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill a weight with orthonormal rows, or columns if there are fewer of them.

    The weight becomes the Q of a normal matrix's QR decomposition, with the signs that make the
    diagonal of R positive: so all orthogonal matrices are equally likely.

    Args:
        tensor: the weight to fill; the dimensions after the first count as columns.
        gain: a factor of the result.
        generator: the source of random numbers; None means the default generator.

    Example:
        >>> import taper
        >>> weight = taper.nn.init.orthogonal_(taper.empty(3, 5))
        >>> taper.allclose(weight @ weight.T, taper.eye(3), atol=1e-6)
        True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        q, r = load_family("linalg.qr").linalg_qr(drawn.t() if rows < columns else drawn)
        q = q * r.diag().sign()
        tensor.view(rows, columns).copy_(q.t() if rows < columns else q)
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix normally, then zero a part of each column.

    Args:
        tensor: the matrix to fill.
        sparsity: the fraction of zeros in each column.
        std: standard deviation of the other elements.
        generator: the source of normal numbers; the places of zeros come from the default
            generator.

    Example:
        >>> import taper
        >>> (taper.nn.init.sparse_(taper.empty(4, 3), sparsity=0.25) == 0).sum(0)
        tensor([1, 1, 1])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:zeros], column] = 0
    return tensor


# --- the names without underscore ------------------------------------------------------------


def _make_deprecate(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warn_user(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    details = (function.__doc__ or "").partition("\n")[2]
    prompt = ">>> import taper"
    quiet = f'{prompt}, warnings\n        >>> warnings.simplefilter("ignore")'
    called = details.replace(prompt, quiet).replace(f"init.{new}(", f"init.{old}(")
    deprecated.__doc__ = f"Call `{new}` by its old name; deprecated.\n{called}"
    return deprecated


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)

_has_grown(globals())
