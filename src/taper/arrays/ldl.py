"""LDL factors of symmetric and Hermitian matrices on arrays: LAPACK's sytrf, hetrf, sytrs, hetrs.

Owns: the diagonal pivoting of Bunch and Kaufman with the lower triangle, one matrix at a time, and
its pivots: `p` for a 1x1 block exchanged with row p, `-p` twice for a 2x2 block.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.lapack import by_columns, magnitude

_ALPHA = (1 + math.sqrt(17)) / 8  # the value that bounds the growth of elements best


def ldl_factor(matrices: ndarray, hermitian: bool) -> tuple[ndarray, ndarray, ndarray]:
    """Return L and D of each matrix in one array, the pivots, and the first zero block's number."""
    work = np.tril(matrices)
    pivots = np.zeros(matrices.shape[:-1], np.int32)
    info = np.zeros(matrices.shape[:-2], np.int32)
    for index in np.ndindex(info.shape):
        info[index] = _factor(work[index], pivots[index], hermitian)
    return by_columns(work), pivots, info


def _factor(work: ndarray, pivots: ndarray, hermitian: bool) -> int:
    size, step, info = len(work), 0, 0
    while step < size:
        if hermitian:
            work[step, step] = work[step, step].real
        place, width, zero = _choose(work, step)
        last = step + width - 1
        if zero:
            info = info or step + 1
        elif place != last:
            _exchange(work, step, last, place, hermitian)
        if not zero and width == 1:
            _eliminate_one(work, step, hermitian)
        elif not zero:
            _eliminate_two(work, step, hermitian)
        pivots[step : step + width] = place + 1 if width == 1 else -(place + 1)
        step += width
    return info


def _choose(work: ndarray, step: int) -> tuple[int, int, bool]:
    """Return the row to exchange with, the width of the block, and whether all is zero."""
    corner = float(magnitude(work[step, step]))
    below = magnitude(work[step + 1 :, step])
    largest = float(below.max()) if below.size else 0.0
    if max(corner, largest) == 0 or math.isnan(corner):
        return step, 1, True
    if corner >= _ALPHA * largest:
        return step, 1, False
    row = step + 1 + int(below.argmax())
    others = [*magnitude(work[row, step:row]), *magnitude(work[row + 1 :, row])]
    widest = float(max(others))
    if corner >= _ALPHA * largest * (largest / widest):
        return step, 1, False
    if float(magnitude(work[row, row])) >= _ALPHA * widest:
        return row, 1, False
    return row, 2, False


def _exchange(work: ndarray, step: int, last: int, place: int, hermitian: bool) -> None:
    """Exchange rows and columns `last` and `place` of the trailing lower triangle."""
    work[place + 1 :, [last, place]] = work[place + 1 :, [place, last]]
    between = slice(last + 1, place)
    column, row = work[between, last].copy(), work[place, between].copy()
    if hermitian:
        column, row = column.conj(), row.conj()
        work[place, last] = work[place, last].conj()
    work[between, last], work[place, between] = row, column
    work[last, last], work[place, place] = work[place, place], work[last, last]
    if last > step:
        work[last, step], work[place, step] = work[place, step], work[last, step]


def _conj_if(values: Any, hermitian: bool) -> Any:
    return values.conj() if hermitian else values


def _eliminate_one(work: ndarray, step: int, hermitian: bool) -> None:
    column = work[step + 1 :, step]
    scaled = column / work[step, step]
    outer = scaled[:, None] * _conj_if(column, hermitian)
    work[step + 1 :, step + 1 :] -= np.tril(outer)
    work[step + 1 :, step] = scaled


def _eliminate_two(work: ndarray, step: int, hermitian: bool) -> None:
    columns = work[step + 2 :, step : step + 2].copy()
    if not len(columns):
        return
    block = _block(work, step, hermitian)
    scaled = np.linalg.solve(block.T, columns.T).T.astype(work.dtype)
    outer = scaled @ _conj_if(columns, hermitian).T
    work[step + 2 :, step + 2 :] -= np.tril(outer)
    work[step + 2 :, step : step + 2] = scaled


def _block(factors: ndarray, step: int, hermitian: bool) -> ndarray:
    """Return the 2x2 block of D that begins at `step`."""
    first, second = factors[step, step], factors[step + 1, step + 1]
    if hermitian:
        first, second = first.real, second.real
    corner = factors[step + 1, step]
    return np.array([[first, _conj_if(corner, hermitian)], [corner, second]])


def ldl_solve(factors: ndarray, pivots: ndarray, right: ndarray, hermitian: bool) -> ndarray:
    """Return X of A X = B from the LDL factors of A; the stacks broadcast."""
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    result = np.array(np.broadcast_to(right, (*batch, *right.shape[-2:])))
    factors = np.broadcast_to(factors, (*batch, *factors.shape[-2:]))
    pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    for index in np.ndindex(batch):
        _solve(factors[index], pivots[index], result[index], hermitian)
    return by_columns(result)


def _swap(rows: ndarray, one: int, other: int) -> None:
    if one != other:
        rows[[one, other]] = rows[[other, one]]


def _solve(factors: ndarray, pivots: ndarray, right: ndarray, hermitian: bool) -> None:
    """Solve forward through L and D, then back through the transpose of L."""
    size = len(factors)
    starts: list[tuple[int, int]] = []
    step = 0
    while step < size:
        width = 1 if pivots[step] > 0 else 2
        last = step + width - 1
        _swap(right, last, abs(int(pivots[step])) - 1)
        below = factors[step + width :, step : step + width]
        right[step + width :] -= below @ right[step : step + width]
        if width == 1:
            pivot = factors[step, step]
            right[step] /= pivot.real if hermitian else pivot
        else:
            block = _block(factors, step, hermitian)
            right[step : step + 2] = np.linalg.solve(block, right[step : step + 2])
        starts.append((step, width))
        step += width
    for step, width in reversed(starts):
        below = _conj_if(factors[step + width :, step : step + width], hermitian)
        right[step : step + width] -= below.T @ right[step + width :]
        _swap(right, step + width - 1, abs(int(pivots[step])) - 1)
