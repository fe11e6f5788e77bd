"""Operators and helpers that are computed otherwise on the device than by their NumPy kernels.

What stands here says in `world.meanings` what it stands for: a function of the library, or the name
of an operator or formula.  It may answer NotImplemented, then the NumPy kernel runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays import elements, reduction
from taper.gpu.world import meanings

meanings.update(
    {
        elements.masked: lambda values, mask: np.where(mask, values, values.dtype.type(0)),
        elements.select: np.where,
        elements.in_blocks: lambda function, *arrays: function(*arrays),
        reduction.total_of: lambda array: np.add.reduce(array, axis=None),
        reduction.row_sums: lambda array, axis: np.add.reduce(array, axis=axis, keepdims=True),
        reduction.column_sums: lambda array: np.add.reduce(array, axis=0),
    }
)


def _sum_of(array: Any, axes: Any, keepdims: bool, dtype: Any) -> Any:
    return np.add.reduce(array, axis=axes, keepdims=keepdims, dtype=dtype)


meanings[reduction.add_blocks] = _sum_of
