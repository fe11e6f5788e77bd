"""softmax and log_softmax, with backward passes that are operators of their own.

Row-major arrays of float32 are left to `native/rows.c`; float16 and bfloat16 are computed in
float32, and rounded where PyTorch rounds.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from taper.arrays.elements import FLOAT32, FLOAT64, LOW_PRECISION
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.native import native
from taper.arrays.reduction import ABSENT, given_axis, row_sums
from taper.arrays.strides import wrap_dim
from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.writes import compute_into
from taper.ops.elementwise.unary import exp
from taper.ops.reduction.sums import sum_dim
from taper.tensor import Tensor

# NumPy's reductions of short rows cost 90 ns a row; in the transposed array they are long vectors.
_SHORT_ROW = 32
_MANY_ROWS = 16

_largest: Any = np.maximum.reduce


# --- kernels ---------------------------------------------------------------------------------


def _nothing(*_: Any) -> None:
    """Stand for the native function where there is none."""


_natively: Any = _nothing if native is None else native.softmax


def _normalised(array: np.ndarray, dim: int, logarithm: bool) -> np.ndarray:
    """Compute (log-)softmax of an array; rows are first shifted by their largest element."""
    ndim, dtype = array.ndim, array.dtype
    axis = dim if 0 <= dim < ndim else wrap_dim(dim, ndim)
    found: np.ndarray | None = _natively(logarithm, axis, array)
    if found is not None:
        return found
    if not array.size:
        return np.empty_like(array)
    if dtype is not FLOAT32 and dtype != FLOAT64:
        if dtype not in LOW_PRECISION:
            last = "_lastdim" if axis == ndim - 1 or not ndim else ""
            kind = "log_softmax" if logarithm else "softmax"
            raise no_kernel(f"{kind}{last}_kernel_impl", array.dtype)
        return _rounded_as_pytorch(array, axis, logarithm)
    if not ndim:
        return _shift_and_divide(array.reshape(1), 0, logarithm).reshape(())
    length = array.shape[axis]
    if axis == ndim - 1 and length <= _SHORT_ROW and array.size >= length * _MANY_ROWS:
        columns = np.ascontiguousarray(array.reshape(-1, length).T)
        columns = _shift_and_divide(columns, 0, logarithm)
        return np.ascontiguousarray(columns.T).reshape(array.shape)
    return _shift_and_divide(array, axis, logarithm)


# From so many elements behind the dimension on PyTorch divides what it has not rounded.
_WIDE_STEP = 32


def _rounded_as_pytorch(array: np.ndarray, axis: int, logarithm: bool) -> np.ndarray:
    """Compute (log-)softmax of half precision: some steps are rounded before the result is."""
    if not array.ndim:
        return _rounded_as_pytorch(array.reshape(1), 0, logarithm).reshape(())
    low, wide = array.dtype, array.astype(FLOAT32)
    last = axis == array.ndim - 1
    if last != logarithm or (not last and math.prod(array.shape[axis + 1 :]) >= _WIDE_STEP):
        return _normalised(wide, axis, logarithm).astype(low)
    shifted = wide - _largest(wide, axis, None, None, True)
    powers = np.exp(shifted)
    total = row_sums(powers, axis)
    if logarithm:
        total = np.log(total.astype(low).astype(FLOAT32)).astype(low)
        return np.subtract(shifted, total.astype(FLOAT32)).astype(low)
    return np.divide(powers.astype(low).astype(FLOAT32), total).astype(low)


def _shift_and_divide(array: np.ndarray, axis: int, logarithm: bool) -> np.ndarray:
    shifted = array - _largest(array, axis, None, None, True)
    if not logarithm:
        np.exp(shifted, shifted)
        shifted /= row_sums(shifted, axis)
        return shifted
    total = row_sums(np.exp(shifted), axis)
    shifted -= np.log(total, total)
    return shifted


# --- softmax ---------------------------------------------------------------------------------


@op(
    name="softmax_dim",
    label="softmax",
    node="SoftmaxBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def softmax_dim(self: Array, dim: int) -> Array:
    """Divide the exponentials along a dimension by their sum."""
    return _normalised(self, dim, False)


@derivative(softmax_dim, wrt="self")
def softmax_self(grad: Any, result: Any, dim: int) -> Any:
    return softmax_backward(grad, result, dim)


@tangent_of(softmax_dim)
def softmax_tangent(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return softmax_backward(self_t, result, dim)


@op(
    name="_softmax_backward_data",
    node="SoftmaxBackwardDataBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def softmax_backward(grad_output: Array, output: Array, dim: int) -> Array:
    """Compute the gradient of softmax: output * (grad - sum of grad * output)."""
    if not output.ndim:
        return softmax_backward(grad_output.reshape(1), output.reshape(1), 0).reshape(())
    axis = wrap_dim(dim, output.ndim)
    found = _natively(False, axis, output, grad_output)
    if found is not None:
        return found
    low = output.dtype in LOW_PRECISION
    grad, out = (_wide(grad_output), _wide(output)) if low else (grad_output, output)
    found = grad - row_sums(grad * out, axis)
    found *= out
    return found.astype(output.dtype) if low else found


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(FLOAT32)


@derivative(softmax_backward, wrt="grad_output")
def softmax_backward_grad(grad: Any, output: Any, dim: int) -> Any:
    return softmax_backward(grad, output, dim)


@derivative(softmax_backward, wrt="output")
def softmax_backward_output(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    total = sum_dim(grad_output * output, (dim,), True)
    return grad * (grad_output - total) - grad_output * sum_dim(grad * output, (dim,), True)


@tangent_of(softmax_backward)
def softmax_backward_tangent(
    grad_output: Tensor,
    output: Tensor,
    grad_output_t: Tensor | None,
    output_t: Tensor | None,
    dim: int,
) -> Tensor:
    terms = []
    if grad_output_t is not None:
        terms.append(softmax_backward(grad_output_t, output, dim))
    if output_t is not None:
        total = sum_dim(grad_output * output, (dim,), True)
        change = sum_dim(grad_output * output_t, (dim,), True)
        terms.append(output_t * (grad_output - total) - output * change)
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


@composite()
def softmax(
    input: Tensor,
    dim: int = ABSENT,
    dtype: Any = None,
    *,
    out: Tensor | None = None,
    axis: int = ABSENT,
) -> Tensor:
    """Turn numbers into probabilities along a dimension.

    result[i] = exp(input[i]) / Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is ABSENT:
        dim = given_axis("softmax", axis)
    if out is not None:
        return compute_into("softmax", softmax, (input, dim, dtype), out)
    return softmax_dim(input if dtype is None else input.to(dtype), dim)


# --- log_softmax -----------------------------------------------------------------------------


@op(
    name="log_softmax_dim",
    label="log_softmax",
    node="LogSoftmaxBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def log_softmax_dim(self: Array, dim: int) -> Array:
    """Compute the logarithm of softmax."""
    return _normalised(self, dim, True)


@derivative(log_softmax_dim, wrt="self")
def log_softmax_self(grad: Any, result: Any, dim: int) -> Any:
    return log_softmax_backward(grad, result, dim)


@tangent_of(log_softmax_dim)
def log_softmax_tangent(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return self_t - sum_dim(exp(result) * self_t, (dim,), True)


@op(
    name="_log_softmax_backward_data",
    node="LogSoftmaxBackwardDataBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def log_softmax_backward(grad_output: Array, output: Array, dim: int) -> Array:
    """Compute the gradient of log_softmax: grad - exp(output) * sum of grad."""
    if not output.ndim:
        return log_softmax_backward(grad_output.reshape(1), output.reshape(1), 0).reshape(())
    axis = wrap_dim(dim, output.ndim)
    found = _natively(True, axis, output, grad_output)
    if found is not None:
        return found
    low = output.dtype in LOW_PRECISION
    grad, out = (_wide(grad_output), _wide(output)) if low else (grad_output, output)
    found = np.exp(out)
    found *= row_sums(grad, axis)
    np.subtract(grad, found, found)
    return found.astype(output.dtype) if low else found


@derivative(log_softmax_backward, wrt="grad_output")
def log_softmax_backward_grad(grad: Any, output: Any, dim: int) -> Any:
    return grad - sum_dim(grad * exp(output), (dim,), True)


@derivative(log_softmax_backward, wrt="output")
def log_softmax_backward_output(grad: Any, grad_output: Any, output: Any, dim: int) -> Any:
    return -(grad * exp(output) * sum_dim(grad_output, (dim,), True))


@tangent_of(log_softmax_backward)
def log_softmax_backward_tangent(
    grad_output: Tensor,
    output: Tensor,
    grad_output_t: Tensor | None,
    output_t: Tensor | None,
    dim: int,
) -> Tensor:
    terms = []
    if grad_output_t is not None:
        terms.append(log_softmax_backward(grad_output_t, output, dim))
    if output_t is not None:
        terms.append(-(output_t * exp(output) * sum_dim(grad_output, (dim,), True)))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


@composite()
def log_softmax(
    input: Tensor,
    dim: int = ABSENT,
    dtype: Any = None,
    *,
    out: Tensor | None = None,
    axis: int = ABSENT,
) -> Tensor:
    """Take the logarithm of softmax along a dimension, without overflow.

    result[i] = input[i] - ln Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the exponentials of the results sum to 1.
        dtype: dtype that `input` is converted to first.
        out: tensor that receives the result.
        axis: NumPy's name for `dim`.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    if dim is ABSENT:
        dim = given_axis("log_softmax", axis)
    if out is not None:
        return compute_into("log_softmax", log_softmax, (input, dim, dtype), out)
    return log_softmax_dim(input if dtype is None else input.to(dtype), dim)


# --- of half types, in single precision ----------------------------------------------------------

# What PyTorch's autocast calls on a GPU: nothing but the result is in single precision.  The kernel
# there gives the gradient in `self_dtype` at once.


@op(
    name="softmax_single",
    label="softmax",
    node="SoftmaxBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def softmax_single(self: Array, dim: int) -> Array:
    """Compute softmax of a half type with a result in single precision."""
    return _normalised(self.astype(FLOAT32), dim, False)


@derivative(softmax_single, wrt="self")
def softmax_single_self(grad: Any, result: Any, dim: int, self_dtype: Any) -> Any:
    return softmax_backward(grad, result, dim)  # in float32; the engine casts it


@tangent_of(softmax_single)
def softmax_single_tangent(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return softmax_backward(self_t.float(), result, dim)


@op(
    name="log_softmax_single",
    label="log_softmax",
    node="LogSoftmaxBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def log_softmax_single(self: Array, dim: int) -> Array:
    """Compute log_softmax of a half type with a result in single precision."""
    return _normalised(self.astype(FLOAT32), dim, True)


@derivative(log_softmax_single, wrt="self")
def log_softmax_single_self(grad: Any, result: Any, dim: int, self_dtype: Any) -> Any:
    return log_softmax_backward(grad, result, dim)


@tangent_of(log_softmax_single)
def log_softmax_single_tangent(self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    return self_t.float() - sum_dim(exp(result) * self_t.float(), (dim,), True)


# --- as in nn.functional ---------------------------------------------------------------------


def _chosen_dim(name: str, ndim: int, stacklevel: int) -> int:
    """Choose a dimension as nn.functional does if none is given, with its warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        UserWarning,
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Turn numbers into probabilities along a dimension.

    result[i] = exp(input[i]) / Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1; leaving it out is deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _chosen_dim("softmax", input.ndim, _stacklevel)
    return softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Turn numbers into probabilities along a dimension, the largest for the smallest number.

    result[i] = exp(-input[i]) / Σⱼ exp(-input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the results sum to 1; leaving it out is deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.softmin(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _chosen_dim("softmin", input.ndim, _stacklevel)
    return softmax(-input, dim, dtype)


def functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """Take the logarithm of softmax along a dimension, without overflow.

    result[i] = input[i] - ln Σⱼ exp(input[j])

    Args:
        input: a floating point tensor.
        dim: dimension along which the exponentials of the results sum to 1; leaving it out is
            deprecated and warns.
        _stacklevel: where that warning points to.
        dtype: dtype that `input` is converted to first.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> F.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _chosen_dim("log_softmax", input.ndim, _stacklevel)
    return log_softmax(input, dim, dtype)
