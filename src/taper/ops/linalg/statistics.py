"""Covariances and integrals along a dimension, as products and sums of other operators.

Owns: `cov`, `corrcoef`, `trapezoid`, `trapz`, `cumulative_trapezoid`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import refuse_without_elements
from taper.arrays.strides import existing_dim, wrap_dim
from taper.factory import integer
from taper.opdef import composite
from taper.opdef.operands import invalid_combination
from taper.ops.elementwise.arithmetic import div
from taper.ops.elementwise.clamping import clamp
from taper.ops.elementwise.complexes import complex_ as complex_of
from taper.ops.elementwise.complexes import conj
from taper.ops.elementwise.number import div_scalar, mul_scalar
from taper.ops.linalg.checks import check_tensors
from taper.ops.linalg.matmul import mm
from taper.ops.reduction.cumulative import cumsum
from taper.ops.reduction.sums import sum_dim
from taper.ops.shape.ones import squeeze_all, unsqueeze
from taper.ops.shape.parts import diagonal, select_at, slice_dim
from taper.ops.shape.reshape import view_as_shape
from taper.ops.shape.transpose import t
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

# --- covariances -----------------------------------------------------------------------------


def _check_weights(name: str, weights: Tensor, observations: int, integral: bool) -> None:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{weights.dim()} dimensions"
        )
    fits = weights.dtype.category == dtypes.INTEGER if integral else weights.dtype.is_floating_point
    if not fits:
        kind = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with "
            f"{weights.dtype.scalar_type} dtype"
        )
    if weights.numel() != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {weights.numel()} != {observations}"
        )
    if (weights._array < 0).any():
        raise RuntimeError(f"cov(): {name} cannot be negative")


def _check_rows(function: str, input: Tensor) -> None:
    if input.dim() > 2:
        raise RuntimeError(
            f"{function}(): expected input to have two or fewer dimensions but got an input with "
            f"{input.dim()} dimensions"
        )


@composite(arrays=True)
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Any:
    """Compute the covariances of the rows; columns are observations, which may have weights.

    >>> import taper
    >>> taper.cov(taper.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    tensor([[1., 2.],
            [2., 4.]])
    """
    check_tensors("cov", input=input)
    if type(correction) is not int:
        correction = integer("cov", "correction", 0, correction)
    _check_rows("cov", input)
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    refuse_without_elements(input._array, "equal")  # of the weights' sum and zero
    rows = view_as_shape(input, (1, input.numel())) if input.dim() < 2 else input
    observations = rows.shape[1]
    weights = _weights(fweights, aweights, observations)
    total: Any = wrap(np.asarray(float(observations), np.float32))
    if weights is not None:
        total = weights.sum()
        if not total._array:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    weighted = rows if weights is None else rows * weights
    centred = rows - unsqueeze(div(sum_dim(weighted, (1,)), total), 1)
    other = centred if weights is None else centred * weights
    divisor = _degrees_of_freedom(weights, aweights, total, correction)
    if not (divisor._array > 0):
        warn_user(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "number of observations."
        )
        divisor = wrap(np.zeros_like(divisor._array))
    products = mm(centred, conj(t(other)))
    if products.dtype.is_complex and rows.shape[0] == 1:  # a variance is real
        products = complex_of(products.real, wrap(np.zeros((1, 1), products.real._array.dtype)))
    return squeeze_all(div(products, divisor))


def _weights(fweights: Tensor | None, aweights: Tensor | None, observations: int) -> Any:
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, observations, True)
        weights = fweights
    if aweights is not None:
        _check_weights("aweights", aweights, observations, False)
        weights = aweights if weights is None else weights * aweights
    return weights


def _degrees_of_freedom(weights: Any, aweights: Any, total: Any, correction: int) -> Any:
    if weights is None or aweights is None:
        return total - correction
    if correction == 0:
        return total
    return total - correction * (weights * aweights).sum() / total


@composite()
def corrcoef(input: Tensor) -> Any:
    """Compute the correlation coefficients of the rows; columns are observations.

    >>> import taper
    >>> taper.corrcoef(taper.tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    check_tensors("corrcoef", input=input)
    _check_rows("corrcoef", input)
    found = cov(input)
    if found.dim() == 0:
        return found / found
    variances = diagonal(found, 0, 0, 1)
    deviations = (variances.real if variances.dtype.is_complex else variances).sqrt()
    count = deviations.shape[0]
    found = found / view_as_shape(deviations, (count, 1))
    found = found / view_as_shape(deviations, (1, count))
    if found.dtype.is_complex:
        return complex_of(clamp(found.real, -1, 1), clamp(found.imag, -1, 1))
    return clamp(found, -1, 1)


# --- integrals -------------------------------------------------------------------------------


def _arguments(function: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Return the points in the shape to multiply values with, or None, and the dimension."""
    if x is None:
        check_tensors(function, y=y)
        if y.dtype is dtypes.bool_:
            raise RuntimeError(
                f"{function}: received a bool input for `y`, but bool is not supported"
            )
        if isinstance(dx, (complex, bool)):
            raise RuntimeError(f"{function}: Currently, we only support dx as a real number.")
        return None, dim
    check_tensors(function, y=y, x=x)
    if dx is not None:
        given = (y, x, dx)
        error = invalid_combination(function, given, _signatures())
        text = error.args[0].replace(f", {type(dx).__name__})", f", dx={type(dx).__name__})", 1)
        raise TypeError(text)
    if dtypes.bool_ in (y.dtype, x.dtype):
        raise RuntimeError(
            f"{function}: received a bool input for `x` or `y`, but bool is not supported"
        )
    return _points(function, y, x, dim), dim


def _signatures() -> tuple[str, str]:
    return "(Tensor y, Tensor x, *, int dim = -1)", "(Tensor y, *, Number dx = 1, int dim = -1)"


def _points(function: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    if x.dim() == 1:
        position = wrap_dim(dim, y.dim())
        if x.shape[0] != y.shape[position]:
            raise RuntimeError(f"{function}: There must be one `x` value for each sample point")
        if y.dim() > 1:
            shape = [1] * y.dim()
            shape[position] = x.shape[0]
            return view_as_shape(x, tuple(shape))
    elif x.dim() < y.dim():
        return view_as_shape(x, (1,) * (y.dim() - x.dim()) + tuple(x.shape))
    return x


def _steps(values: Tensor, dim: int) -> tuple[Any, Any]:
    """Return all but the last, and all but the first."""
    length = values.shape[dim]
    return slice_dim(values, dim, 0, max(length - 1, 0), 1), slice_dim(values, dim, 1, length, 1)


def _times(values: Any, number: Any) -> Any:
    """Multiply with the node of PyTorch's C++ where there is one; whole numbers are promoted."""
    return (
        mul_scalar(values, number) if values.dtype.category >= dtypes.FLOATING else values * number
    )


def _halved(values: Any) -> Any:
    return div_scalar(values, 2.0) if values.dtype.category >= dtypes.FLOATING else values / 2.0


def _areas(y: Tensor, x: Tensor, dim: int) -> Any:
    left, right = _steps(y, dim)
    before, after = _steps(x, dim)
    return (left + right) * (after - before)


@composite(method=False, numpy_names=True)
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Integrate along `dim` by the trapezoidal rule, between points `x` or at distance `dx`.

    >>> import taper
    >>> taper.trapezoid(taper.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    points, dim = _arguments("trapezoid", y, x, dx, dim)
    length = y.shape[existing_dim(dim, y.dim())]
    if length == 0:
        shape = [each for nr, each in enumerate(y.shape) if nr != wrap_dim(dim, y.dim())]
        return y.detach().new_zeros(shape)
    if points is not None:
        return _halved(sum_dim(_areas(y, points, dim), (dim,)))
    last = select_at(y, dim, -1)
    ends = _times(select_at(y, dim, 0) + last, 0.5)
    return _times(sum_dim(y, (dim,)) - ends, 1.0 if dx is None else dx)


@composite(method=False, numpy_names=True)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Integrate by the trapezoidal rule: another name of `trapezoid`.

    >>> import taper
    >>> taper.trapz(taper.tensor([1.0, 2.0, 3.0]), dx=2.0)
    tensor(8.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


@composite(method=False, numpy_names=True)
def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: Any = None, dim: int = -1
) -> Any:
    """Integrate from the start up to each further point, by the trapezoidal rule.

    >>> import taper
    >>> taper.cumulative_trapezoid(taper.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    if isinstance(y, Tensor) and not y.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    points, dim = _arguments("cumulative_trapezoid", y, x, dx, dim)
    if points is not None:
        return _halved(cumsum(_areas(y, points, dim), dim))
    left, right = _steps(y, dim)
    return cumsum(_times(left + right, (1 if dx is None else dx) / 2.0), dim)
