"""Chebyshev series on arrays, with which the special functions here are computed.

The series are interpolants of the functions named beside them, computed with forty digits and cut
off where a term is below the last place of float64.  Knows arrays only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import in_blocks


def coefficients(*values: float) -> tuple[ndarray, ...]:
    """Return constants as 0-d arrays: NumPy takes 0.5 us longer for a Python number."""
    return tuple(np.array(value) for value in values)


def chebyshev(series: Sequence[ndarray], variable: ndarray) -> ndarray:
    """Return the value of a Chebyshev series at numbers from -1 to 1, by Clenshaw's recurrence."""
    twice = variable + variable
    last = np.zeros_like(variable)
    now = np.full_like(variable, series[-1])
    for each in series[-2:0:-1]:
        last, now = now, twice * now - last + each
    return variable * now - last + series[0]


def in_double(function: Callable[..., ndarray], *arrays: ndarray) -> ndarray:
    """Apply a function of float64 arrays to one real dtype, in blocks and without warnings."""
    wide = [np.asarray(each, np.float64) for each in arrays]
    with np.errstate(all="ignore"):
        result: Any = in_blocks(function, *wide)
    return np.asarray(result).astype(arrays[0].dtype, copy=False)
