"""Normalisation with statistics of a batch: `batch_norm`, `instance_norm`.

Owns: the kernel, its gradient on arrays (fused) and on Tensors (for second derivatives), and the
update of the running statistics, which as in PyTorch does not count as a write in place.

Row-major arrays of float32 are left to `native/norms.c`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, LOW_PRECISION, cast
from taper.arrays.layouts import laid_out_like
from taper.arrays.native import native
from taper.arrays.reduction import row_products
from taper.autograd.state import NO_GRAD, local
from taper.autograd.transforms import whole
from taper.autograd.views import requires_grad
from taper.factory import refuse
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.operands import scalar_array
from taper.ops.linalg.matmul import not_tensors
from taper.ops.norm.channels import (
    by_channel,
    by_rounded_statistics,
    channel_means,
    channel_products,
    inverse_deviation,
    row_means,
    spread,
)
from taper.ops.shape.ones import reshape, select, view_as_shape
from taper.tensor import Tensor

# --- what all normalisations share -----------------------------------------------------------


def normalised_rows(rows: ndarray, eps: float) -> tuple[ndarray, ndarray, ndarray]:
    """Normalise rows to mean 0 and variance 1; return means and inverse deviations as columns."""
    length = rows.shape[1]
    mean = row_means(rows).reshape(-1, 1)
    result = np.subtract(rows, mean, order="C")
    variance = row_products(result, result)
    variance *= scalar_array(1.0 / max(length, 1), rows.dtype)
    inverse = inverse_deviation(variance, eps).reshape(-1, 1)
    result *= inverse
    return result, mean, inverse


def rows_gradient(grad: ndarray, normalised: ndarray, inverse: ndarray) -> ndarray:
    """Compute the gradient of the rows that became `normalised`; writes into `normalised`."""
    length = grad.shape[1]
    along = row_products(grad, normalised)
    along *= scalar_array(-1.0 / max(length, 1), grad.dtype)
    normalised *= along[:, None]
    normalised += grad
    normalised -= row_means(grad)[:, None]
    normalised *= inverse
    return normalised


def in_single(array: ndarray | None) -> Any:
    """Convert half precision to single precision; leave anything else as it is."""
    if array is None or array.dtype.itemsize != 2:
        return array
    return cast(array, FLOAT32)


def same_dtype(array: ndarray, *others: ndarray | None) -> bool:
    """Tell whether all have one dtype that is computed in as it is: the usual case."""
    dtype = array.dtype
    if dtype.char not in "fd":
        return False
    for other in others:
        if other is not None and other.dtype is not dtype:
            return False
    return True


def refuse_mixed(array: ndarray, *others: ndarray | None) -> None:
    """Raise unless parameters have the input's dtype, or are float32 beside half precision.

    As in PyTorch, the first parameter decides whether the rest is looked at.
    """
    given = [each for each in others if each is not None]
    if not given or given[0].dtype == array.dtype:
        return
    if any(each.dtype != np.float32 for each in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if array.dtype.itemsize != 2 or array.dtype.kind not in "fV":
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def statistics_dtype(kernel: str, array: ndarray, *others: ndarray | None) -> np.dtype:
    """Return the dtype of saved means and deviations, checked: that of the parameters.

    All must be floating point; parameters may differ from the input only as float32 beside half
    precision.
    """
    which = dtypes.FROM_NUMPY[array.dtype]
    if not which.is_floating_point:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{which.scalar_type}'")
    given = [other.dtype for other in others if other is not None]
    for dtype in given:
        if dtype != array.dtype and (array.dtype.itemsize != 2 or dtype != np.float32):
            wanted = "all inputs must share same datatype."
            if given[0] != array.dtype and np.float32 not in given:
                wanted = "expect parameter to have scalar type of Float"
            raise RuntimeError(f"mixed dtype (CPU): {wanted}")
        if dtype != given[0]:
            names = [dtypes.FROM_NUMPY[each].scalar_type for each in (given[0], dtype)]
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    return given[0] if given else array.dtype


def rounded(results: tuple[ndarray, ...], dtype: np.dtype, kept: np.dtype) -> tuple[ndarray, ...]:
    """Convert results computed in single precision: the first to `dtype`, others to `kept`."""
    first, *others = results
    return (cast(first, dtype), *[each.astype(kept, copy=False) for each in others])


# --- the kernel ------------------------------------------------------------------------------


def nothing(*_: Any) -> Any:
    """Stand for a native function where there is none."""


_natively: Any = nothing if native is None else native.channel_norm
_backward_natively: Any = nothing if native is None else native.channel_norm_backward


def _sizes(array: ndarray) -> tuple[int, ...]:
    """Count samples, channels and the elements of a channel; 0 stands for no groups."""
    shape = array.shape
    return (*shape[:2], 1 if len(shape) == 2 else math.prod(shape[2:]), 0)


@op(
    name="native_batch_norm",
    outputs=("result0", "result1", "result2", "variance"),
    nondifferentiable=(1, 2, 3),
    public=False,
    method=False,
)
def native_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    eps: float,
) -> tuple[Array, ...]:
    """Normalise; also return the mean, the inverse deviation and the variance that were used."""
    vectors = (weight, bias, running_mean, running_var)
    _check(input, vectors, training)
    if not same_dtype(input, *vectors):
        kept = statistics_dtype("batch_norm", input, *vectors)
        wide = [in_single(each) for each in (input, *vectors)]
        found = native_batch_norm.op.kernel(*wide, training, eps)
        if training and kept in LOW_PRECISION:
            found = by_rounded_statistics(found[1], found[3], wide, kept, eps)
        return rounded(found, input.dtype, kept)
    known = (None, None) if training else (running_mean, running_var)
    found = _natively(input, *_sizes(input), weight, bias, *known, eps)
    if found is not None:
        return found if training else _without_statistics(found[0], running_var)
    array = by_channel(input)
    mean: Any = channel_means(array) if training else running_mean
    result = np.subtract(array, spread(mean, array), order="C")
    variance = channel_products(result, result) if training else running_var
    inverse = inverse_deviation(variance, eps)
    result *= spread(inverse if weight is None else inverse * weight, array)
    if bias is not None:
        result += spread(bias, array)
    if array is not input:
        result = laid_out_like(result.reshape(input.shape), input)
    if training:
        return result, mean, inverse, variance
    return _without_statistics(result, variance)


def _without_statistics(result: ndarray, variance: Any) -> tuple[ndarray, ...]:
    empty = np.empty(0, result.dtype)
    return result, empty, empty, variance


def _check(input: ndarray, vectors: tuple[ndarray | None, ...], training: bool) -> None:
    if input.ndim > 1:
        shape = input.shape[1:2]
        for vector in vectors:
            if vector is not None and vector.shape != shape:
                break
        else:
            if training or (vectors[2] is not None and vectors[3] is not None):
                return
    _refuse(input, vectors, training)


def _refuse(input: ndarray, vectors: tuple[ndarray | None, ...], training: bool) -> None:
    channels = input.shape[1] if input.ndim > 1 else 0
    for nr, name in ((2, "running_mean"), (3, "running_var"), (0, "weight"), (1, "bias")):
        vector = vectors[nr]
        if vector is None and nr > 1 and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        if vector is not None and vector.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {vector.size}")
    if input.ndim < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")


@derivative(native_batch_norm, wrt=("input", "weight", "bias"))
def native_batch_norm_all(
    grad_result0, input, weight, running_mean, running_var, result1, result2, training, eps, needs
):
    if type(grad_result0) is not ndarray:
        statistics = None if training else (running_mean, running_var)
        return _with_tensors(grad_result0, input, weight, statistics, eps, needs)
    known = (result1, result2, None) if training else (running_mean, running_var, eps)
    found = _backward_natively(grad_result0, input, *_sizes(input), weight, *known, needs)
    if found is not None:
        return found
    grad, array = by_channel(in_single(grad_result0)), by_channel(in_single(input))
    if training:
        mean, inverse = in_single(result1), in_single(result2)
    else:
        mean, inverse = in_single(running_mean), inverse_deviation(in_single(running_var), eps)
    scale = inverse if weight is None else inverse * in_single(weight)
    centered = np.subtract(array, spread(mean, array), order="C")
    along = channel_products(grad, centered) * inverse if needs[1] or training else None
    average = channel_means(grad) if needs[2] or training else None
    if needs[0] and training:
        centered *= spread(-inverse * along, array)
        centered += grad
        centered -= spread(average, array)
        centered *= spread(scale, array)
    elif needs[0]:
        np.multiply(grad, spread(scale, array), out=centered)
    count = array.size // array.shape[1]
    return (
        laid_out_like(centered.reshape(input.shape), input) if needs[0] else None,
        along * count if needs[1] else None,
        average * count if needs[2] else None,
    )


def _with_tensors(
    grad: Tensor, input: Tensor, weight: Any, statistics: Any, eps: float, needs: Any
) -> tuple[Any, Any, Any]:
    """Compute the same gradients with operators, to be differentiated again."""
    dims = (0, *range(2, input._array.ndim))
    shape = (1, -1, *[1] * (input._array.ndim - 2))
    if statistics is None:
        centered = input - input.mean(dims, keepdim=True)
        inverse = ((centered * centered).mean(dims, keepdim=True) + eps).rsqrt()
    else:
        centered = input - reshape(statistics[0], shape)
        inverse = (reshape(statistics[1], shape) + eps).rsqrt()
    normalised = centered * inverse
    for_weight = (grad * normalised).sum(dims) if needs[1] else None
    for_bias = grad.sum(dims) if needs[2] else None
    if not needs[0]:
        return None, for_weight, for_bias
    scaled = grad if weight is None else grad * reshape(weight, shape)
    if statistics is None:
        along = (scaled * normalised).mean(dims, keepdim=True)
        scaled = scaled - scaled.mean(dims, keepdim=True) - normalised * along
    return scaled * inverse, for_weight, for_bias


@tangent_of(native_batch_norm)
def native_batch_norm_tangent(
    input, weight, bias, running_mean, running_var, training, eps, input_t, weight_t, bias_t
):
    dims = (0, *range(2, input._array.ndim))
    shape = (1, -1, *[1] * (input._array.ndim - 2))
    if training:
        mean = input.mean(dims, keepdim=True)
        inverse = ((input - mean).square().mean(dims, keepdim=True) + eps).rsqrt()
    else:
        mean, inverse = reshape(running_mean, shape), (reshape(running_var, shape) + eps).rsqrt()
    normalised = (input - mean) * inverse
    moved = input.new_zeros(input.shape)
    if input_t is not None:
        moved = input_t * inverse
        if training:
            along = (moved * normalised).mean(dims, keepdim=True)
            moved = moved - moved.mean(dims, keepdim=True) - normalised * along
    if weight is not None:
        moved = moved * reshape(weight, shape)
    if weight_t is not None:
        moved = moved + normalised * reshape(weight_t, shape)
    if bias_t is not None:
        moved = moved + reshape(bias_t, shape)
    return moved, None, None, None


# --- the functions ---------------------------------------------------------------------------


@whole("batch_norm")
def _normalise(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: Any,
    eps: float,
) -> Tensor:
    if not isinstance(momentum, (float, int)):
        refuse("batch_norm", "momentum", 7, "float", momentum)
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not local.state.mode & NO_GRAD:
        _refuse_gradients(running_mean, running_var)
    if not input._array.size:
        return _normalise_nothing(input, weight, bias)
    arguments = (input, weight, bias, running_mean, running_var, bool(training), eps)
    result, mean, _, variance = native_batch_norm(*arguments)
    if training and running_mean is not None and running_var is not None:
        follow(running_mean, running_var, mean, variance, momentum, input._array)
    return result


def follow(
    running_mean: Tensor,
    running_var: Tensor,
    mean: Tensor,
    variance: Tensor,
    momentum: float,
    array: ndarray,
) -> None:
    """Move the running statistics towards those of a batch."""
    count = array.size // array.shape[1]
    unbiased = count / (count - 1) if count > 1 else math.inf
    statistics = running_mean._array, running_var._array, mean._array, variance._array
    _move_both(*statistics, momentum, unbiased)


def _move_both(
    running_mean: ndarray,
    running_var: ndarray,
    mean: ndarray,
    variance: ndarray,
    momentum: float,
    unbiased: float,
) -> None:
    _move(running_mean, mean, momentum, 1.0)
    _move(running_var, variance, momentum, unbiased)


def _normalise_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Normalise an empty input: as in PyTorch unchecked, but parameters get gradients."""
    result = input.clone()
    if weight is not None:
        result = result * select(weight, 0, 0)
    return result if bias is None else result + select(bias, 0, 0)


def _refuse_gradients(running_mean: Tensor | None, running_var: Tensor | None) -> None:
    for name, tensor in (("running_mean", running_mean), ("running_var", running_var)):
        if tensor is not None and tensor._requires_grad and requires_grad(tensor):
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


def _move(running: ndarray, found: ndarray, momentum: float, factor: float) -> None:
    """Move a running statistic towards `found * factor`; PyTorch does not count this as a write."""
    wide = in_single(found)
    step = np.multiply(wide, scalar_array(momentum * factor, wide.dtype))
    rest = scalar_array(1.0 - momentum, wide.dtype)
    if running.dtype is wide.dtype:
        np.multiply(running, rest, out=running)
        running += step
    else:
        running[...] = step + in_single(running) * rest


@composite(method=False, public=False)
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias, with one mean and variance for each channel

    Args:
        input: a tensor (N, C, *).
        running_mean, running_var: vectors (C,), used in evaluation and updated while training, or
            None.
        weight: factors (C,), or None.
        bias: summands (C,), or None.
        training: use mean and variance of the batch, not the running ones.
        momentum: share of the batch in the update of the running values (whose variance is
            unbiased).
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> mean, var = taper.zeros(1), taper.ones(1)
        >>> F.batch_norm(taper.tensor([[1.0], [3.0]]), mean, var, training=True)
        tensor([[-1.0000],
                [ 1.0000]])
        >>> mean, var
        (tensor([0.2000]), tensor([1.1000]))
    """
    if training:
        shape = input._array.shape
        if shape[0] == 1 and math.prod(shape[2:]) == 1:
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.size()}"
            )
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _normalise(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(method=False, name="batch_norm")
def plain_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Compute `nn.functional.batch_norm` with other argument order; `cudnn_enabled` is ignored.

    >>> import taper
    >>> x = taper.tensor([[1.0], [3.0]])
    >>> taper.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if not isinstance(input, Tensor):
        raise not_tensors("batch_norm", input=input)
    return _normalise(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite(method=False, public=False)
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample to mean 0 and variance 1.

    result = (x - mean) / √(var + eps) · weight + bias

    Args:
        input: a tensor (N, C, *).
        running_mean, running_var: vectors (C,), used without `use_input_stats` and updated with it,
            or None.
        weight: factors (C,), or None.
        bias: summands (C,), or None.
        use_input_stats: use mean and variance of the sample, not the running ones.
        momentum: share of the batch in the update of the running values.
        eps: added to the variance.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.instance_norm(taper.tensor([[[1.0, 3.0]]]))
        tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and math.prod(input.size()[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    return plain_instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


@composite(method=False, name="instance_norm")
def plain_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Compute `nn.functional.instance_norm` with its arguments in another order.

    >>> import taper
    >>> x = taper.tensor([[[1.0, 3.0]]])
    >>> taper.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    samples, channels, *spatial = input._array.shape
    statistics = [
        None if each is None else each.repeat(samples) for each in (running_mean, running_var)
    ]
    scale, shift = (None if each is None else each.repeat(samples) for each in (weight, bias))
    merged = view_as_shape(input.contiguous(), (1, samples * channels, *spatial))
    result = _normalise(
        merged, statistics[0], statistics[1], scale, shift, use_input_stats, momentum, eps
    )
    for running, repeated in zip((running_mean, running_var), statistics, strict=True):
        if use_input_stats and running is not None and repeated is not None:
            averages = view_as_shape(repeated, (samples, channels)).mean(0, keepdim=False)
            running.detach().copy_(averages)
    return view_as_shape(result, (samples, channels, *spatial))
