"""What all distributions share: which generator, in which order an array is filled, errors.

Knows generators, dtypes and NumPy arrays; must not know any distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.sampling import generator as generators
from taper.sampling.generator import Generator

WIDE_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


def dtype_of(values: np.ndarray) -> dtypes.dtype:
    """Return the dtype of the elements."""
    return dtypes.FROM_NUMPY[values.dtype]


def source(generator: Generator | None) -> Generator:
    """Return the generator to draw from: the given one, else the default one."""
    return generators.default_generator if generator is None else generator


def elsewhere(function: Any, out: Any, *arguments: Any) -> Any:
    """Fill an array of another device as `function`, which fills ndarrays, would."""
    return out.place.drawn(function, out, *arguments)


def in_memory_order(values: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Return `values`, which have the shape of `out`, with dimensions in the order of its strides.

    Counting through the result, the last dimension fastest, walks through the memory of `out`.
    """
    if out.flags.c_contiguous:
        return values
    return values.transpose(sorted(range(out.ndim), key=lambda dim: -abs(out.strides[dim])))


def write(out: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Put `values`, in the order drawn, into `out`, and return `out`."""
    if out.dtype.itemsize == 2 and values.dtype.itemsize == 8 and dtype_of(out).is_floating_point:
        # PyTorch converts 64 bits to half precision only by way of single precision.
        values = values.astype(np.float32)
    target = in_memory_order(out, out)
    target[...] = values.reshape(target.shape)
    return out
