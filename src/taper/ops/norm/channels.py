"""Statistics of channels and rows, on arrays, for normalisation.

Owns: means, variances and products by channel of (N, C) and (N, C, L).  Means over all dimensions
but the channels are products with a vector of equal weights: BLAS takes a tenth of the time of
NumPy's reduction.  Knows no Tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.layouts import laid_out_like
from taper.arrays.reduction import column_sums, row_products
from taper.opdef.operands import scalar_array

_WEIGHTS: dict[tuple[int, str], ndarray] = {}  # by length and dtype, the few that are in use
_WEIGHTS_LIMIT = 64
_SHORT = 1024  # up to this length a product by BLAS is an accurate mean


def averaging(length: int, dtype: np.dtype) -> ndarray:
    """Make a vector whose product with another is the mean of the other."""
    found = _WEIGHTS.get((length, dtype.char))
    if found is None:
        found = np.full(length, 1.0 / max(length, 1), dtype)
        if len(_WEIGHTS) < _WEIGHTS_LIMIT:
            _WEIGHTS[length, dtype.char] = found
    return found


def row_means(rows: ndarray) -> ndarray:
    """Compute the mean of each row of a matrix."""
    length = rows.shape[1]
    if length <= _SHORT:
        return rows.dot(averaging(length, rows.dtype))
    return row_products(rows, np.ones_like(rows[:1])) / rows.dtype.type(length)


def inverse_deviation(variance: Any, eps: float) -> ndarray:
    """Compute `1 / sqrt(variance + eps)`."""
    result = np.add(variance, scalar_array(eps, variance.dtype))
    np.sqrt(result, out=result)
    return np.reciprocal(result, out=result)


def by_channel(array: ndarray) -> ndarray:
    """View an array (N, C, ...) as (N, C) or (N, C, L)."""
    if array.ndim == 2:
        return array
    return array.reshape(array.shape[0], array.shape[1], math.prod(array.shape[2:]))


def channel_means(array: ndarray) -> ndarray:
    """Average what belongs to a channel, for an array (N, C) or (N, C, L)."""
    if array.ndim == 3:
        count, channels, length = array.shape
        array = row_means(array.reshape(count * channels, length)).reshape(count, channels)
    return averaging(array.shape[0], array.dtype).dot(array)


def channel_products(first: ndarray, second: ndarray) -> ndarray:
    """Average the products of what belongs to a channel of both arrays."""
    if first.ndim == 2:
        return averaging(first.shape[0], first.dtype).dot(first * second)
    return channel_sums(first, second) / (first.shape[0] * first.shape[2])


def channel_sums(first: ndarray, second: ndarray) -> ndarray:
    """Sum the products of what belongs to a channel of both arrays (N, C, L)."""
    return column_sums(row_products(first, second))


def spread(vector: Any, array: ndarray) -> Any:
    """View a value for each channel in a shape that broadcasts to (N, C) or (N, C, L)."""
    return vector if array.ndim == 2 else vector[:, None]


def by_rounded_statistics(
    mean: ndarray, variance: ndarray, wide: Sequence[Any], low: np.dtype[Any], eps: float
) -> tuple[ndarray, ...]:
    """Normalise by statistics of half precision, as PyTorch does where it keeps them so.

    In bfloat16 it rounds the sum of squares and the variance, too.
    """
    input, weight, bias = wide[:3]
    array = by_channel(input)
    if low != np.float16:
        count = array.size // array.shape[1]
        variance = _halved(_halved(variance * count, low) / count, low)
    mean, inverse = _halved(mean, low), _halved(inverse_deviation(variance, eps), low)
    result = np.subtract(array, spread(mean, array), order="C")
    result *= spread(inverse if weight is None else inverse * weight, array)
    if bias is not None:
        result += spread(bias, array)
    return laid_out_like(result.reshape(input.shape), input), mean, inverse, variance


def _halved(values: ndarray, low: np.dtype[Any]) -> ndarray:
    """Round float32 to half precision, and keep it as float32."""
    return values.astype(low).astype(np.float32)
