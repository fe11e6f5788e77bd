"""Least squares: `linalg.lstsq` with LAPACK's four drivers.

Owns: the operator. `gels` takes full rank for granted; `gelsd` and `gelss` cut off small singular
values; `gelsy` cuts a QR decomposition with column exchanges. The rank that `gelsy` sees is found
by the singular values of the triangle, which LAPACK only estimates. PyTorch gives LAPACK
uninitialised pivots for `gelsy`: whether it exchanges columns changes from call to call.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import return_types
from taper.arrays import lapack
from taper.arrays.reduction import scalar_type
from taper.opdef import Array, derivative, op, tangent_of
from taper.ops.elementwise.complexes import conj
from taper.ops.linalg.checks import check_info, check_tensors, write_out
from taper.ops.linalg.matrices import mh, product, scaled_columns
from taper.ops.linalg.svd import pinv_gradient, pinv_tangent, pseudo_inverse
from taper.ops.shape.ones import squeeze_dim, unsqueeze
from taper.tensor import Tensor, array_of, is_complex

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _is_vector(A: Any, b: Any) -> bool:
    return bool(A.ndim - 1 == b.ndim)


@op(
    name="linalg_lstsq",
    label="linalg_lstsq",
    outputs=("solution", "residuals", "rank", "singular_values"),
    nondifferentiable=(2, 3),
    returns=return_types.linalg_lstsq,
    public=False,
    method=False,
)
def least_squares(
    self: Array, b: Array, rcond: float | None = None, driver: str | None = None
) -> Array:
    """Minimise the squares of A X - B; return X, sums of squares, rank, singular values."""
    driver = _check(self, b, driver)
    right = b[..., None] if _is_vector(self, b) else b
    batch = np.broadcast_shapes(self.shape[:-2], right.shape[:-2])
    *_, height, width = self.shape
    if rcond is None:
        rcond = float(np.finfo(self.dtype).eps) * max(height, width)
    solution, rank, values = _solve(self, right, rcond, driver)
    residuals = np.empty(0, self.real.dtype)
    full = driver == "gels" or (driver != "gelsy" and bool((rank == width).all()))
    if height > width and full:
        rest = self @ solution - right
        residuals = np.add.reduce(rest.real**2 + rest.imag**2, axis=-2)
    if driver == "gels":
        rank = np.empty(0, np.int64)
    if driver not in ("gelsd", "gelss"):
        values = np.empty(0, self.real.dtype)
    solution = np.broadcast_to(solution, (*batch, width, right.shape[-1]))
    solution = _as_lapack_leaves_it(solution, height)
    if b.ndim < self.ndim:
        solution = solution[..., 0]
    return solution, residuals, rank, values


def _as_lapack_leaves_it(solution: ndarray, height: int) -> ndarray:
    """Take the top of a taller matrix stored by columns: LAPACK overwrites B."""
    *lead, width, count = solution.shape
    room = np.zeros((*lead, count, max(height, width)), solution.dtype)
    room[..., :width] = solution.swapaxes(-1, -2)
    return room.swapaxes(-1, -2)[..., :width, :]


def _check(A: ndarray, b: ndarray, driver: Any) -> str:
    if A.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if A.dtype != b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {scalar_type(A.dtype)} and other's dtype {scalar_type(b.dtype)}"
        )
    if not 0 <= A.ndim - b.ndim <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    vector = _is_vector(A, b)
    _check_batches(A, b[..., None] if vector else b)
    axis = -1 if vector else -2
    if A.shape[-2] != b.shape[axis]:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({axis})")
    if A.dtype.char not in "fdFD":
        raise RuntimeError("This function doesn't handle types other than float and double")
    driver = driver if driver is not None else "gelsy"
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    return str(driver)


def _check_batches(A: ndarray, right: ndarray) -> None:
    one, other = A.shape[:-2], right.shape[:-2]
    lead = max(len(one), len(other))
    wide = [(1,) * (lead - len(each)) + each for each in (one, other)]
    for dim in reversed(range(lead)):
        sizes = wide[0][dim], wide[1][dim]
        if sizes[0] != sizes[1] and 1 not in sizes:
            raise RuntimeError(
                f"The size of tensor a ({sizes[0]}) must match the size of tensor b ({sizes[1]}) "
                f"at non-singleton dimension {dim}"
            )


def _solve(
    A: ndarray, right: ndarray, rcond: float, driver: str
) -> tuple[ndarray, ndarray, ndarray]:
    *lead, height, width = A.shape
    batch = np.broadcast_shapes(tuple(lead), right.shape[:-2])
    size = min(height, width)
    if not A.size or not right.size:
        zeros = np.zeros((*batch, width, right.shape[-1]), A.dtype)
        none = np.zeros(lead, np.int64)
        return zeros, none, np.zeros((*lead, size), A.real.dtype)
    if driver == "gels":
        return _by_triangle(A, right), np.zeros(lead, np.int64), np.zeros(0, A.real.dtype)
    U, values, Vh = np.linalg.svd(A, full_matrices=False)
    largest = values[..., :1]
    kept = values > rcond * largest
    rank = np.asarray(np.count_nonzero(kept, axis=-1)).astype(np.int64, order="C")
    if driver == "gelsy" and not bool((values[..., -1:] > 10 * rcond * largest).all()):
        solution, rank = _by_exchanges(A, right, rcond, batch)
        return solution, rank, values
    inverted = np.where(kept, 1 / np.where(kept, values, 1), 0)
    moved = inverted[..., None] * (lapack.adjoint(U) @ right)
    return (lapack.adjoint(Vh) @ moved).astype(A.dtype, copy=False), rank, values


def _by_triangle(A: ndarray, right: ndarray) -> ndarray:
    """Solve by QR of the matrix or, if wide, of its adjoint; a zero on the diagonal raises."""
    is_wide = A.shape[-2] < A.shape[-1]
    Q, R = np.linalg.qr(lapack.adjoint(A) if is_wide else A)
    # LAPACK solves these with zeros, without looking at the rank.
    is_zero = ~np.asarray(A.any(axis=(-2, -1)))
    missing = (np.diagonal(R, axis1=-2, axis2=-1) == 0) & ~is_zero[..., None]
    code = np.where(missing.any(-1), missing.argmax(-1) + 1, 0)
    check_info("torch.linalg.lstsq", code, _not_of_full_rank)
    is_zero = is_zero[..., None, None]
    R = np.where(is_zero, np.eye(R.shape[-1], dtype=R.dtype), R)
    if is_wide:
        solution = Q @ np.linalg.solve(lapack.adjoint(R), right)
    else:
        solution = np.linalg.solve(R, lapack.adjoint(Q) @ right)
    return np.where(is_zero, 0, solution).astype(A.dtype, copy=False)


def _not_of_full_rank(code: int) -> str:
    return (
        "The least squares solution could not be computed because the input matrix does not have "
        f"full rank (error code: {code})."
    )


# --- QR with column exchanges ----------------------------------------------------------------


def _by_exchanges(
    A: ndarray, right: ndarray, rcond: float, batch: tuple[int, ...]
) -> tuple[ndarray, ndarray]:
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    whole = np.broadcast_to(A, (*batch, *A.shape[-2:]))
    solution = np.empty((*batch, A.shape[-1], right.shape[-1]), A.dtype)
    rank = np.zeros(batch, np.int64)
    for index in np.ndindex(batch):
        solution[index], rank[index] = _one_by_exchanges(whole[index], right[index], rcond)
    return solution, rank.reshape(batch)[tuple([slice(None)] * len(batch))]


def _one_by_exchanges(A: ndarray, right: ndarray, rcond: float) -> tuple[ndarray, int]:
    R, order, right = _exchanged_qr(A, right)
    rank = _rank_of_triangle(R, rcond)
    solution = np.zeros((A.shape[1], right.shape[1]), A.dtype)
    if rank:
        top = R[:rank]
        # The shortest solution of the remaining rows.
        Q, square = np.linalg.qr(lapack.adjoint(top))
        found = Q @ lapack.solve_triangular(lapack.adjoint(square), right[:rank], False, False)
        solution[order] = found
    return solution, rank


def _exchanged_qr(A: ndarray, right: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Compute R of a QR decomposition that takes the longest column first, its order, and Q^H B."""
    work, right = A.copy(), right.copy()
    height, width = work.shape
    order = np.arange(width)
    for step in range(min(height, width)):
        lengths = np.add.reduce(np.abs(work[step:, step:]) ** 2, axis=0)
        place = step + int(lengths.argmax())
        if place != step:
            work[:, [step, place]] = work[:, [place, step]]
            order[[step, place]] = order[[place, step]]
        v = work[step:, step].copy()
        size = math.sqrt(float(lengths.max()))
        if not size:
            break
        direction = v[0] / abs(v[0]) if v[0] else 1
        v[0] += direction * size
        v /= np.linalg.norm(v)
        for block in (work[step:, step:], right[step:]):
            block -= 2 * v[:, None] * (v.conj() @ block)
    return np.triu(work)[: min(height, width)], order, right


def _rank_of_triangle(R: ndarray, rcond: float) -> int:
    """Count the rows to keep: as long as the leading triangle is conditioned well enough."""
    if not abs(R[0, 0]):
        return 0
    for size in range(2, len(R) + 1):
        values = np.linalg.svd(R[:size, :size], compute_uv=False)
        if values[0] * rcond >= values[-1]:
            return size - 1
    return len(R)


# --- derivatives -----------------------------------------------------------------------------


@derivative(least_squares, wrt=("self", "b"))
def least_squares_all(self, b, solution, needs, grad_solution=None, grad_residuals=None):
    vector = _is_vector(self, b)
    if vector:
        b, solution = unsqueeze(b, -1), unsqueeze(solution, -1)
        grad_solution = None if grad_solution is None else unsqueeze(grad_solution, -1)
    of_matrix = of_right = None
    if grad_solution is not None:
        inverse = pseudo_inverse(self)
        of_right = product(mh(inverse), grad_solution) if needs[1] else None
        if needs[0]:
            of_matrix = pinv_gradient(product(grad_solution, mh(b)), inverse, self)
    if grad_residuals is not None and array_of(grad_residuals).size:
        rest = scaled_columns(product(self, solution) - b, 2.0 * grad_residuals)
        part = product(rest, mh(solution))
        of_matrix = part if of_matrix is None else of_matrix + part
        of_right = -rest if of_right is None else of_right - rest
    if vector and of_right is not None:
        of_right = squeeze_dim(of_right, -1)
    return of_matrix, of_right


@tangent_of(least_squares)
def least_squares_tangent(self, b, solution, residuals, self_t, b_t):
    vector = _is_vector(self, b)
    if vector:
        b, solution = unsqueeze(b, -1), unsqueeze(solution, -1)
        b_t = None if b_t is None else unsqueeze(b_t, -1)
    inverse = pseudo_inverse(self)
    moved = None if b_t is None else product(inverse, b_t)
    if self_t is not None:
        part = product(pinv_tangent(self, inverse, self_t), b)
        moved = part if moved is None else moved + part
    of_residuals = residuals.detach() * 0
    if residuals.numel():
        rest = product(self, solution) - b
        change = None if self_t is None else product(self_t, solution)
        if b_t is not None:
            change = -b_t if change is None else change - b_t
        of_residuals = 2.0 * (conj(rest) * change).sum(-2)
        of_residuals = of_residuals.real if is_complex(self) else of_residuals
    return squeeze_dim(moved, -1) if vector else moved, of_residuals, None, None


def linalg_lstsq(
    input: Tensor,
    b: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Any = None,
) -> Any:
    """Find X with the least sum of squares of A X - B.

    `driver` is "gelsy", "gels" (faster, for full rank), "gelsd" or "gelss" (by singular values,
    which are returned); `rcond` is the relative size below which singular values count as zero.

    >>> import taper
    >>> A = taper.tensor([[1.0], [1.0]])
    >>> taper.linalg.lstsq(A, taper.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
    check_tensors("linalg_lstsq", input=input, b=b)
    arguments = (input, b, rcond, driver)
    if out is not None:
        returns = return_types.linalg_lstsq
        return write_out("linalg_lstsq", least_squares, arguments, out, returns, None)
    return least_squares(*arguments)
