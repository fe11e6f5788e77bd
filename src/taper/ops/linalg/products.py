"""Products and functions of matrices: powers, the exponential, chains, Vandermonde matrices.

Owns: `linalg.matrix_exp` (an operator), `matrix_power`, `multi_dot`, `vecdot`, `vander`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.layouts import ROW_MAJOR
from taper.arrays.reduction import scalar_type
from taper.device import contiguous_format
from taper.dtypes import C_NAMES
from taper.factory import finish
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.numpy_names import with_numpy_names
from taper.opdef.writes import compute_into
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.checks import check_floating, check_square, check_tensors, write_out
from taper.ops.linalg.einsum import multiply_chain
from taper.ops.linalg.matmul import matmul, same_dtype, vdot
from taper.ops.linalg.matrices import columns, constant, joined, mh, rows
from taper.ops.linalg.solve import linalg_inv
from taper.ops.reduction.cumulative import cumprod
from taper.ops.reduction.sums import sum_dim
from taper.ops.shape.join import linalg_cross as cross_product
from taper.ops.shape.ones import unsqueeze
from taper.ops.shape.parts import diagonal
from taper.ops.shape.reshape import expand_to
from taper.ops.shape.split import cat
from taper.tensor import Tensor, array_of, wrap

# --- the exponential -------------------------------------------------------------------------

# Coefficients of the numerator of the diagonal Pade approximant of degree 13, up to a factor.
_WHOLE = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
]
_PADE = [each / _WHOLE[0] for each in _WHOLE]  # makes exp(0) exactly 1
_RADIUS = 5.371920351148152  # up to this norm the approximant is exact in double precision


@op(
    name="linalg_matrix_exp",
    label="linalg_matrix_exp",
    node="LinalgMatrixExpBackward0",
    public=False,
    method=False,
    layout=ROW_MAJOR,
)
def exponential(self: Array) -> Array:
    """Compute the exponential of each square matrix."""
    check_square("linalg.matrix_exp", self)
    check_floating("linalg.matrix_exp", self)
    if not self.size:
        return self.copy()
    work = self.astype(np.complex128 if self.dtype.kind == "c" else np.float64)
    flat = work.reshape(-1, *work.shape[-2:])
    finite = np.isfinite(flat).all((-2, -1))
    result = np.full_like(flat, np.nan)
    if finite.any():
        result[finite] = _exponential(flat[finite])
    return result.reshape(self.shape).astype(self.dtype)


def _exponential(matrices: ndarray) -> ndarray:
    """Scale down until a rational approximation is exact, then square as often."""
    sizes = np.abs(matrices).sum(-2).max(-1)
    with np.errstate(divide="ignore"):
        halvings = np.maximum(np.ceil(np.log2(sizes / _RADIUS)), 0).astype(int)
    result = _approximant(matrices / (2.0**halvings)[:, None, None])
    for step in range(int(halvings.max())):
        again = halvings > step
        result[again] = result[again] @ result[again]
    return result


def _approximant(A: ndarray) -> ndarray:
    identity = np.eye(A.shape[-1])
    A2 = A @ A
    A4 = A2 @ A2
    A6 = A4 @ A2
    b = _PADE
    odd = A6 @ (b[13] * A6 + b[11] * A4 + b[9] * A2)
    odd = A @ (odd + b[7] * A6 + b[5] * A4 + b[3] * A2 + b[1] * identity)
    even = A6 @ (b[12] * A6 + b[10] * A4 + b[8] * A2)
    even = even + b[6] * A6 + b[4] * A4 + b[2] * A2 + b[0] * identity
    found: ndarray = np.linalg.solve(even - odd, even + odd)
    return found


def _exponential_along(matrix: Any, direction: Any) -> Any:
    """Differentiate the exponential in a direction, as a corner of a block matrix's exponential."""
    size = matrix.shape[-1]
    zeros = constant(np.zeros(matrix.shape, array_of(matrix).dtype), matrix)
    block = joined([joined([matrix, direction], -1), joined([zeros, matrix], -1)], -2)
    return columns(rows(exponential(block), None, size), size, None)


@derivative(exponential, wrt="self")
def exponential_self(grad, self):
    return _exponential_along(mh(self), grad)


@tangent_of(exponential)
def exponential_tangent(self, self_t):
    return _exponential_along(self, self_t)


def linalg_matrix_exp(input: Tensor) -> Any:
    """Compute the exponential of each square matrix.

    >>> import taper
    >>> taper.linalg.matrix_exp(taper.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_tensors("linalg_matrix_exp", input=input)
    return exponential(input)


@composite()
def matrix_exp(input: Tensor) -> Any:
    """Compute the exponential of matrices: another name of `linalg.matrix_exp`.

    >>> import taper
    >>> taper.matrix_exp(taper.zeros(1, 1))
    tensor([[1.]])
    """
    check_tensors("matrix_exp", input=input)
    return exponential(input)


# --- powers ----------------------------------------------------------------------------------


def _integer_power(function: str, n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(
            f"{function}(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    return n


def linalg_matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Any:
    """Raise each square matrix to the power n; negative powers are those of the inverse.

    >>> import taper
    >>> taper.linalg.matrix_power(taper.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    check_tensors("linalg_matrix_power", input=input)
    number = _integer_power("linalg_matrix_power", n)
    if out is not None:
        return compute_into("matmul", _power, (input, number), out, same_dtype)
    return _power(input, number)


def _power(base: Tensor, n: int) -> Any:
    check_square("linalg.matrix_power", base._array)
    if n == 0:
        identity = np.eye(base.shape[-1], dtype=base._array.dtype)
        return base.clone(memory_format=contiguous_format).copy_(wrap(identity))
    if n < 0:
        base, n = linalg_inv(base), -n
        if n == 1:
            return base
    if n == 1:
        return base.clone(memory_format=contiguous_format)
    if n == 3:
        return matmul(matmul(base, base), base)
    square: Any = None
    result: Any = None
    while n > 0:
        square = base if square is None else matmul(square, square)
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
    return result


@composite()
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Any:
    """Raise matrices to a power: another name of `linalg.matrix_power`.

    >>> import taper
    >>> taper.matrix_power(taper.tensor([[2]]), 3)
    tensor([[8]])
    """
    check_tensors("matrix_power", input=input)
    return linalg_matrix_power(input, _integer_power("matrix_power", n), out=out)


# --- products --------------------------------------------------------------------------------


def linalg_multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Any:
    """Multiply two or more matrices in the cheapest order; the first and last may be vectors.

    >>> import taper
    >>> taper.linalg.multi_dot([taper.ones(2, 3), taper.ones(3, 4), taper.ones(4)])
    tensor([12., 12.])
    """
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            "linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}"
        )
    for index, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument 0, but got {type(each).__name__}"
            )
    if out is not None:
        return compute_into("mm", lambda *given: _chain(given), tensors, out, _check_chain_dtype)
    return _chain(tensors)


def _check_chain_dtype(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        names = [C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (result, out)]
        raise RuntimeError(
            f"multi_dot(): expected out tensor to have dtype {names[0]} but got {names[1]}"
        )


def _chain(tensors: Sequence[Tensor]) -> Any:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices, shape = list(tensors), []
    for position, name in ((0, "first"), (-1, "last")):
        end = matrices[position]
        if end.dim() not in (1, 2):
            raise RuntimeError(
                f"multi_dot(): the {name} tensor must be 1D or 2D but got {end.dim()}D"
            )
        if end.dim() == 1:
            matrices[position] = unsqueeze(end, 0 if position == 0 else 1)
        else:
            shape.append(end.shape[0 if position == 0 else 1])
    for index, each in enumerate(matrices[1:-1], 1):
        if each.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {index} must be 2D but got {each.dim()}D")
    return multiply_chain(matrices, tuple(shape), tensors)


@with_numpy_names
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Any:
    """Sum conj(x) y along a dimension.

    >>> import taper
    >>> taper.linalg.vecdot(taper.tensor([[1.0, 2.0], [0.0, 1.0]]), taper.tensor([1.0, 1.0]))
    tensor([3., 1.])
    """
    check_tensors("linalg_vecdot", x=x, y=y)
    check_floating("linalg.vecdot", x._array)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_type} and y of type {y.dtype.scalar_type} instead"
        )
    if out is not None:
        return write_out("sum", _vecdot, (x, y, dim), out, None, _check_vecdot_dtype)
    return _vecdot(x, y, dim)


def _check_vecdot_dtype(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected out of dtype{scalar_type(result.dtype)} but found "
            f"{scalar_type(out.dtype)}"
        )


def _vecdot(x: Tensor, y: Tensor, dim: int) -> Any:
    if x.dim() == 1 and y.dim() == 1:
        return vdot(x, y)
    return sum_dim(conj(x) * y, (dim,))


@with_numpy_names
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Any:
    """Compute the cross product of vectors of length 3 along a dimension.

    >>> import taper
    >>> taper.linalg.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    check_tensors("linalg_cross", input=input, other=other)
    if out is not None:
        return write_out("linalg_cross", cross_product, (input, other, dim), out)
    return cross_product(input, other, dim)


def linalg_matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Any:
    """Multiply matrices: another name of `matmul`.

    >>> import taper
    >>> taper.linalg.matmul(taper.ones(2), taper.ones(2))
    tensor(2.)
    """
    check_tensors("linalg_matmul", input=input, other=other)
    return matmul(input, other, out=out)


def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """View the diagonal of the last two dimensions.

    >>> import taper
    >>> taper.linalg.diagonal(taper.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    check_tensors("linalg_diagonal", A=A)
    return diagonal(A, offset, dim1, dim2)


def linalg_vander(x: Tensor, *, N: int | None = None) -> Any:
    """Compute the powers 0 to N - 1 of each element, in a new last dimension.

    >>> import taper
    >>> taper.linalg.vander(taper.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    check_tensors("linalg_vander", x=x)
    if x.dtype is dtypes.bool_ or x._array.dtype in LOW_PRECISION:
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.scalar_type}"
        )
    if not x.dim():
        x = unsqueeze(x, 0)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    wide = expand_to(unsqueeze(x, -1), (*x.shape, count - 1))
    powers = cumprod(wide, -1)
    ones = np.ones((*x.shape, 1), powers._array.dtype)
    return cat([finish(ones, where=x.device), powers], -1)
