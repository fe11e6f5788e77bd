"""What LAPACK does and NumPy does not offer, on arrays: LU with pivots, triangular systems, LDL.

Owns: algorithms, vectorised over stacks of matrices, and the layout of results (by columns, as
LAPACK leaves them).  Knows no operators and no Tensors.  Dividing by zero gives inf or nan.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import laid_out
from taper.arrays.strides import row_major

_PANEL = 16  # columns that are eliminated one by one; the others by products
_LEAF = 64  # rows up to which LAPACK's general solver is as fast as splitting the triangle


def by_columns(matrices: ndarray) -> ndarray:
    """Return the matrices with their columns in one piece, as LAPACK returns them."""
    turned = matrices.swapaxes(-1, -2)
    return laid_out(turned, row_major(turned.shape)).swapaxes(-1, -2)


def adjoint(matrices: ndarray) -> ndarray:
    """Return the conjugate transpose of each matrix."""
    turned = matrices.swapaxes(-1, -2)
    return turned.conj() if matrices.dtype.kind == "c" else turned


def magnitude(values: ndarray) -> ndarray:
    """Return what LAPACK compares when it looks for a pivot: |re| + |im|."""
    if values.dtype.kind == "c":
        return np.abs(values.real) + np.abs(values.imag)
    return np.abs(values)


def zeros(like: ndarray, shape: tuple[int, ...], dtype: Any = None) -> ndarray:
    """Return an array of zeros where another is, and of its dtype unless one is given."""
    return np.zeros_like(like, dtype, "C", True, shape)


def identity(shape: tuple[int, ...], dtype: Any, like: ndarray | None = None) -> ndarray:
    """Return a stack of identity matrices, cut or padded with zeros to `shape`."""
    result = np.zeros(shape, dtype) if like is None else zeros(like, shape, dtype)
    result[..., range(min(shape[-2:])), range(min(shape[-2:]))] = 1
    return result


# --- LU --------------------------------------------------------------------------------------


def lu_factor(matrices: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Factor each matrix into L and U in one array, with LAPACK's pivots from 1, and `info`.

    The pivot is the first largest element of its column.  `info` is the number of the first zero on
    the diagonal of U, 0 if there is none.  The work is done on the transposes, in which a column of
    the matrix lies in one piece.
    """
    *lead, rows, columns = matrices.shape
    turned = matrices.swapaxes(-1, -2)
    work = np.array(turned.reshape(math.prod(lead), columns, rows), order="C")
    steps = min(rows, columns)
    pivots = np.empty((len(work), steps), np.int32)
    info = np.zeros(len(work), np.int32)
    if work.size:
        _factor_columns(work, 0, steps, pivots, info)
        if columns > steps:
            _eliminate_from(work[:, steps:], work, 0, steps, pivots)
    else:
        pivots[...] = np.arange(1, steps + 1)
    pivots = pivots.reshape(*lead, steps)
    return work.reshape(*lead, columns, rows).swapaxes(-1, -2), pivots, info.reshape(lead)


def _factor_columns(work: ndarray, start: int, stop: int, pivots: ndarray, info: ndarray) -> None:
    """Factor some columns: one half, then the rest after eliminating the first half from it."""
    if stop - start <= _PANEL:
        eliminate = _eliminate_alone if len(work) == 1 else _eliminate
        for step in range(start, stop):
            eliminate(work[:, start:stop], step - start, step, pivots, info)
        return
    middle = (start + stop) // 2
    _factor_columns(work, start, middle, pivots, info)
    _eliminate_from(work[:, middle:stop], work, start, middle, pivots)
    _factor_columns(work, middle, stop, pivots, info)
    _exchange(work[:, start:middle], middle, stop, pivots)


def _eliminate_from(right: ndarray, work: ndarray, start: int, stop: int, pivots: ndarray) -> None:
    """Eliminate the factored columns from `start` to `stop` from other columns."""
    _exchange(right, start, stop, pivots)
    corner = work[:, start:stop, start:stop].swapaxes(-1, -2)
    top = right[:, :, start:stop].swapaxes(-1, -2)
    top[...] = solve_triangular(corner, top, False, True)
    if stop < work.shape[2]:
        right[:, :, stop:] -= right[:, :, start:stop] @ work[:, start:stop, stop:]


def _exchange(columns: ndarray, start: int, stop: int, pivots: ndarray) -> None:
    """Do the row exchanges of some steps, all at once."""
    order = permutation(pivots[:, start:stop] - start, columns.shape[2] - start)
    part = columns[:, :, start:]
    if len(columns) == 1:
        part[0] = part[0][:, order[0]]
    else:
        part[...] = np.take_along_axis(part, order[:, None, :], 2)


def _eliminate(panel: ndarray, nr: int, step: int, pivots: ndarray, info: ndarray) -> None:
    """Do one step of the elimination: subtract column `nr` of the panel from the rows below."""
    place = magnitude(panel[:, nr, step:]).argmax(1) + step
    pivots[:, step] = place + 1
    if (place != step).any():
        stack = np.arange(len(panel))
        chosen = panel[stack, :, place]
        panel[stack, :, place] = panel[:, :, step]
        panel[:, :, step] = chosen
    pivot = panel[:, nr, step]
    zero = pivot == 0
    if zero.any():
        info[zero & (info == 0)] = step + 1
        pivot = np.where(zero, 1, pivot)
    below = panel[:, nr, step + 1 :]
    below /= pivot[:, None]
    if nr + 1 < panel.shape[1]:
        panel[:, nr + 1 :, step + 1 :] -= panel[:, nr + 1 :, step, None] * below[:, None, :]


def _eliminate_alone(panels: ndarray, nr: int, step: int, pivots: ndarray, info: ndarray) -> None:
    """Do the work of `_eliminate` for a single matrix, in half of the time."""
    panel = panels[0]
    place = int(magnitude(panel[nr, step:]).argmax()) + step
    pivots[0, step] = place + 1
    if place != step:
        chosen = panel[:, place].copy()
        panel[:, place] = panel[:, step]
        panel[:, step] = chosen
    pivot = panel[nr, step]
    if pivot == 0:
        info[0] = info[0] or step + 1
        return
    below = panel[nr, step + 1 :]
    below /= pivot
    if nr + 1 < len(panel):
        panel[nr + 1 :, step + 1 :] -= panel[nr + 1 :, step, None] * below


def permutation(pivots: ndarray, rows: int) -> ndarray:
    """Return the order in which the row exchanges of LAPACK's pivots leave the rows."""
    lead = pivots.shape[:-1]
    if math.prod(lead) == 1:
        alone = list(range(rows))
        for step, place in enumerate(pivots.reshape(-1).tolist()):
            alone[step], alone[place - 1] = alone[place - 1], alone[step]
        return np.array(alone, np.intp).reshape(*lead, rows)
    flat = pivots.reshape(math.prod(lead), pivots.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    stack = np.arange(len(flat))
    for step in range(flat.shape[-1]):
        place = flat[:, step] - 1
        chosen = order[stack, place]
        order[stack, place] = order[:, step]
        order[:, step] = chosen
    return order.reshape(*lead, rows)


def permutation_matrix(pivots: ndarray, rows: int, dtype: Any) -> ndarray:
    """Return P of A = P L U."""
    order = permutation(pivots, rows)
    return (order[..., None, :] == np.arange(rows)[:, None]).astype(dtype)


def is_odd(pivots: ndarray) -> ndarray:
    """Return whether the exchanges are an odd permutation."""
    moved = pivots != np.arange(1, pivots.shape[-1] + 1)
    return np.count_nonzero(moved, axis=-1) % 2 == 1


def lu_solve(
    factors: ndarray, pivots: ndarray, right: ndarray, left: bool = True, adjoint_of: bool = False
) -> ndarray:
    """Return X of A X = B (`left`) or X A = B, for A or its adjoint, from the LU of A."""
    if not left:
        return adjoint(lu_solve(factors, pivots, adjoint(right), True, not adjoint_of))
    order = permutation(pivots, factors.shape[-1])
    if not adjoint_of:
        lower = solve_triangular(factors, _reordered(right, order), False, True)
        return solve_triangular(factors, lower, True, False)
    turned = adjoint(factors)
    found = solve_triangular(turned, right, False, False)
    found = solve_triangular(turned, found, True, True)
    return _reordered(found, order.argsort(-1))


def _reordered(rows: ndarray, order: ndarray) -> ndarray:
    """Return the rows of each matrix in another order; the stacks broadcast."""
    if order.ndim == 1:
        return rows[..., order, :]
    batch = np.broadcast_shapes(order.shape[:-1], rows.shape[:-2])
    order = np.broadcast_to(order, (*batch, order.shape[-1]))[..., None]
    return np.take_along_axis(np.broadcast_to(rows, (*batch, *rows.shape[-2:])), order, -2)


# --- triangular systems ----------------------------------------------------------------------


def solve_triangular(matrices: ndarray, right: ndarray, upper: bool, unit: bool) -> ndarray:
    """Return X of A X = B; only one triangle of A is read, and `unit` takes its diagonal for ones.

    Large systems are split, so that most of the work is products.  Small ones go to LAPACK's
    general solver, for which an upper triangle is already factored.
    """
    size = matrices.shape[-1]
    if size <= _LEAF:
        return _solve_small(matrices, right, upper, unit)
    half = size // 2
    first, second = slice(None, half), slice(half, None)
    if upper:
        first, second = second, first
    start = solve_triangular(matrices[..., first, first], right[..., first, :], upper, unit)
    rest = right[..., second, :] - matrices[..., second, first] @ start
    end = solve_triangular(matrices[..., second, second], rest, upper, unit)
    start = np.broadcast_to(start, (*end.shape[:-2], *start.shape[-2:]))
    return np.concatenate((end, start) if upper else (start, end), axis=-2)


def _solve_small(matrices: ndarray, right: ndarray, upper: bool, unit: bool) -> ndarray:
    triangle = np.triu(matrices) if upper else np.tril(matrices)
    size = triangle.shape[-1]
    if unit:
        triangle[..., range(size), range(size)] = 1
    try:
        if upper:
            return np.linalg.solve(triangle, right)
        turned = np.linalg.solve(triangle[..., ::-1, ::-1], right[..., ::-1, :])
        return np.ascontiguousarray(turned[..., ::-1, :])
    except np.linalg.LinAlgError:
        return _substitute(triangle, right, upper)


def _substitute(triangle: ndarray, right: ndarray, upper: bool) -> ndarray:
    """Solve row by row; zeros on the diagonal give infinities."""
    batch = np.broadcast_shapes(triangle.shape[:-2], right.shape[:-2])
    result = np.array(np.broadcast_to(right, (*batch, *right.shape[-2:])))
    size = triangle.shape[-1]
    for step in reversed(range(size)) if upper else range(size):
        result[..., step, :] /= triangle[..., step, step, None]
        rest = slice(None, step) if upper else slice(step + 1, None)
        column = triangle[..., rest, step, None]
        result[..., rest, :] -= column * result[..., step, None, :]
    return result


# --- Cholesky --------------------------------------------------------------------------------


def cholesky(matrices: ndarray) -> tuple[ndarray, ndarray]:
    """Return the lower factor of each matrix, of which the lower triangle is read, and `info`.

    `info` is the order of the first leading minor that is not positive-definite, or 0.  If there is
    one, the factor holds what LAPACK's unblocked algorithm leaves there.
    """
    info = np.zeros(matrices.shape[:-2], np.int32)
    if not matrices.size:
        return matrices.copy(), info
    try:
        factor = np.linalg.cholesky(matrices)
        if not np.isnan(factor).any():
            return factor, info
    except np.linalg.LinAlgError:
        pass
    factor = np.tril(matrices)
    for index in np.ndindex(info.shape):
        info[index] = _cholesky_until_failure(factor[index])
    return factor, info


def _cholesky_until_failure(work: ndarray) -> int:
    """Factor one matrix in place, column by column; return the number of the failing column."""
    for step in range(len(work)):
        done = work[step, :step].conj()
        corner = (work[step, step] - work[step, :step] @ done).real
        if not corner > 0:
            work[step, step] = corner
            return step + 1
        root = math.sqrt(corner)
        work[step, step] = root
        work[step + 1 :, step] = (work[step + 1 :, step] - work[step + 1 :, :step] @ done) / root
    return 0


# --- Householder reflectors ------------------------------------------------------------------


def reflector_vectors(vectors: ndarray) -> ndarray:
    """Return the vectors of reflectors as `geqrf` stores them: below a diagonal of ones."""
    result = np.tril(vectors, -1)
    count = min(vectors.shape[-2:])
    result[..., range(count), range(count)] = 1
    return result


def _compact(vectors: ndarray, scales: ndarray) -> ndarray:
    """Return T of H_1 ... H_k = I - V T V^H."""
    count = scales.shape[-1]
    inner = adjoint(vectors) @ vectors
    result = np.zeros_like(inner)
    for step in range(count):
        scale = scales[..., step, None]
        column = result[..., :step, :step] @ inner[..., :step, step, None]
        result[..., :step, step] = -scale * column[..., 0]
        result[..., step, step] = scale[..., 0]
    return result


def apply_reflectors(
    vectors: ndarray, scales: ndarray, target: ndarray, turned: bool = False
) -> ndarray:
    """Return H_1 ... H_k X, or the adjoint of that product times X."""
    count = scales.shape[-1]
    vectors = reflector_vectors(vectors)[..., :count]
    compact = _compact(vectors, scales)
    if turned:
        compact = adjoint(compact)
    return target - vectors @ (compact @ (adjoint(vectors) @ target))
