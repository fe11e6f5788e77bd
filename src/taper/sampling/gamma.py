"""The gamma distribution, and the Dirichlet distribution that is made of it.

Knows generators and NumPy arrays; must not know Tensor. Names and errors are PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from taper import dtypes
from taper.dtypes import no_kernel
from taper.sampling.fill import dtype_of, source
from taper.sampling.generator import Generator
from taper.sampling.one_by_one import OneByOne


def standard_gamma(concentrations: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """Return numbers of the gamma distribution of rate 1, each with its concentration.

    They are drawn in the order of the dimensions, and none is below the smallest normal number.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.gamma import standard_gamma
    >>> standard_gamma(np.array([2.0, 3.0]), Generator().manual_seed(0)).round(4)
    array([4.5526, 2.2156])
    """
    _check_dtype("gamma_cpu", concentrations)
    needs = concentrations != 0.0
    values = OneByOne(source(generator)).values(_one, _parameters(concentrations), needs)
    drawn = np.array(values, np.float64).reshape(concentrations.shape)
    return _at_least_tiny(drawn, concentrations.dtype)


def dirichlet(concentrations: np.ndarray, generator: Generator | None = None) -> np.ndarray:
    """Return points of simplices, one for each row: gamma numbers divided by their sum.

    >>> import numpy as np
    >>> from taper.sampling.generator import Generator
    >>> from taper.sampling.gamma import dirichlet
    >>> dirichlet(np.array([0.5, 3.0, 1.0]), Generator().manual_seed(0)).sum()
    np.float64(1.0)
    """
    _check_dtype("dirichlet", concentrations)
    values = standard_gamma(concentrations.astype(np.float64), generator)
    total = values.sum(axis=-1, keepdims=True) if values.ndim else values
    dtype = concentrations.dtype
    points = _at_least_tiny(values / total, dtype)
    return np.minimum(points, np.nextafter(dtype.type(1), dtype.type(0)))


def _at_least_tiny(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        narrow = values.astype(dtype)
    # NaN becomes the smallest number, too.
    return np.fmax(narrow, np.finfo(dtype).tiny)


def _check_dtype(kernel: str, concentrations: np.ndarray) -> None:
    kind = dtype_of(concentrations)
    if kind not in (dtypes.float32, dtypes.float64):
        raise no_kernel(kernel, kind)


def _parameters(concentrations: np.ndarray) -> Iterable[tuple[float, float, float]]:
    """Return each concentration, the centre of its proposals, and its exponent if below 1.

    PyTorch computes these in the dtype of the concentrations, the third always in single precision,
    and all the rest in double precision.
    """
    kind = concentrations.dtype.type
    with np.errstate(divide="ignore", over="ignore"):
        exponents = np.divide(kind(1.0), concentrations)
    centers = concentrations + (concentrations < 1.0).astype(kind) - kind(np.float32(1.0 / 3.0))
    columns = (each.ravel().tolist() for each in (concentrations, centers, exponents))
    return zip(*columns, strict=True)


def _one(concentration: float, center: float, exponent: float, draw: OneByOne) -> float:
    """Draw by Marsaglia and Tsang's rejection from a cubed normal number (2000)."""
    scale = center
    if concentration < 1.0:
        if concentration == 0.0:
            return 0.0
        # A gamma number of the concentration plus one, times a power of a uniform number.
        scale *= _power(1.0 - draw(), exponent)
    spread = 1.0 / math.sqrt(9.0 * center) if center > 0.0 else math.nan
    while True:
        normal = draw.normal()
        root = 1.0 + spread * normal
        if root <= 0.0:
            continue
        cube = root * root * root
        uniform = 1.0 - draw()
        square = normal * normal
        if uniform < 1.0 - 0.0331 * square * square:
            return scale * cube
        if math.log(uniform) < 0.5 * square + center * (1.0 - cube + math.log(cube)):
            return scale * cube


def _power(base: float, exponent: float) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
