"""What a gradient looked like when it passed: a few numbers, and the values of small ones.

Owns: how a gradient is summed up at little cost.  A small array is copied and its numbers are
computed when somebody asks; of a large one they are computed at once, since it may be written or
freed the next moment, together with an even sample for the histogram.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays.reduction import glance_natively
from taper.tensor import Tensor
from taper.viz.reading import dtype_name

COPIED = 1024  # up to so many elements an array is copied whole
LISTED = 64  # up to so many elements the values are listed in JSON
BINS = 16


class Summary:
    """A gradient, summed up.

    `shape` and `dtype` are the gradient's.  Complex numbers count by their magnitude, except in
    `mean`.  A NaN is counted in `nan` and left out of `min`, `max` and `histogram`.

    >>> import taper
    >>> from taper.viz import Summary
    >>> summary = Summary(taper.tensor([3.0, 4.0, float("nan")]))
    >>> summary.min, summary.max, summary.nan, summary.values
    (3.0, 4.0, 1, [3.0, 4.0, nan])
    >>> Summary(taper.tensor([3.0, 4.0])).norm
    5.0
    """

    __slots__ = ("_array", "_numbers", "dtype", "shape")

    def __init__(self, gradient: Any) -> None:
        array = gradient._array if isinstance(gradient, Tensor) else np.asarray(gradient)
        self.shape: tuple[int, ...] = array.shape
        self.dtype = dtype_name(array.dtype)
        self._numbers: tuple[Any, ...] | None = None
        if array.size <= COPIED:
            self._array = array.copy()
        else:
            flat = np.ravel(array, order="K")  # a view of every dense array
            self._array = flat[:: array.size // COPIED][:COPIED].copy()
            self._numbers = _numbers(flat)

    @property
    def _all(self) -> tuple[Any, ...]:
        if self._numbers is None:
            self._numbers = _numbers(self._array.reshape(-1))
        return self._numbers

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def min(self) -> float:
        """The least element; NaN if there is none."""
        return self._all[0]

    @property
    def max(self) -> float:
        """The greatest element; NaN if there is none."""
        return self._all[1]

    @property
    def mean(self) -> Any:
        """The mean of all elements."""
        return self._all[2]

    @property
    def norm(self) -> float:
        """The Euclidean norm of all elements."""
        return self._all[3]

    @property
    def nan(self) -> int:
        """How many elements are NaN."""
        return self._all[4]

    @property
    def histogram(self) -> list[int]:
        """Counts in 16 intervals of equal length from `min` to `max`.

        Of a gradient with more than 1024 elements they count an even sample of that size.
        """
        array = _comparable(self._array.reshape(-1))
        array = array[np.isfinite(array)]
        low, high = self.min, self.max
        if not array.size:
            return [0] * BINS
        if not math.isfinite(low) or not math.isfinite(high):
            low, high = float(array.min()), float(array.max())
        width = (high - low) / BINS
        if not math.isfinite(width) or width <= 0:
            return [len(array)] + [0] * (BINS - 1)
        places = ((array.astype(np.float64) - low) / width).astype(np.int64).clip(0, BINS - 1)
        return [int(each) for each in np.bincount(places, minlength=BINS)]

    @property
    def values(self) -> Any:
        """The elements as nested lists, if there are at most 64; else None."""
        return self.array.tolist() if self.size <= LISTED else None

    @property
    def array(self) -> np.ndarray:
        """The elements as an array; of a gradient with more than 1024, an even sample of them."""
        return _wide(self._array)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as a dict; numbers that JSON lacks are texts: "nan", "inf", "-inf".

        >>> import taper
        >>> taper.viz.Summary(taper.tensor([0.0, 2.0])).to_json()["values"]
        [0.0, 2.0]
        """
        return {
            "shape": list(self.shape),
            "dtype": self.dtype,
            "min": plain(self.min),
            "max": plain(self.max),
            "mean": plain(self.mean),
            "norm": plain(self.norm),
            "nan": self.nan,
            "histogram": self.histogram,
            "values": plain(self.values),
        }

    def __str__(self) -> str:
        if self.size == 1:
            return number(self._array.reshape(-1)[0].item())
        shape = "x".join(map(str, self.shape))
        text = f"{self.dtype}[{shape}] norm {number(self.norm)}"
        return f"{text}, {self.nan} NaN" if self.nan else text

    def __repr__(self) -> str:
        return f"<Summary {self}>"


def _wide(array: np.ndarray) -> np.ndarray:
    """Return an array of half precision as float32: NumPy computes with that at speed."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.itemsize < 4 else array


def _comparable(array: np.ndarray) -> np.ndarray:
    array = _wide(array)
    return np.abs(array) if array.dtype.kind == "c" else array


def _numbers(flat: np.ndarray) -> tuple[Any, ...]:
    """Return least, greatest, mean, norm and the number of NaN, with few passes over the memory."""
    if not flat.size:
        return math.nan, math.nan, math.nan, 0.0, 0
    flat = _wide(flat)
    low, high, total, square = glance_natively(flat) or _glance(flat)
    missing = 0
    if math.isnan(low):
        ordered = _comparable(flat)
        missing = int(np.isnan(ordered).sum())
        low, high = float(np.fmin.reduce(ordered)), float(np.fmax.reduce(ordered))
    if not math.isfinite(square) or square < 1e-30:  # the range of float32 may be too small
        square = float(np.square(np.abs(flat).astype(np.float64)).sum())
    return low, high, total / flat.size, math.sqrt(square), missing


def _glance(flat: np.ndarray) -> tuple[float, float, Any, float]:
    """Return least, greatest, sum and sum of squares; the native module has it in one pass."""
    ordered = _comparable(flat)
    total = np.add.reduce(flat).item()
    return float(ordered.min()), float(ordered.max()), total, float(np.vdot(flat, flat).real)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return str(value)
    return value


def number(value: Any) -> str:
    """Return a number in at most a few digits, for people."""
    if isinstance(value, complex):
        return f"{value:.4g}"
    text = f"{float(value):.4g}"
    return "0" if text == "-0" else text
