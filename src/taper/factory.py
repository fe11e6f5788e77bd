"""What all functions that make tensors share: sizes, dtype, device and the finished tensor.

Owns: reading `zeros(2, 3)`, `zeros((2, 3))` and `zeros(size=(2, 3))`, the options that every
factory takes, and `requires_grad` and inference mode for what they make.  Knows no operator.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper import device as devices
from taper import dtypes
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import INFERENCE, local
from taper.tensor import Tensor, wrap


def finish(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A new leaf on `array`; made in inference mode it is an inference tensor (I1)."""
    made = wrap(array)
    if local.state.mode & INFERENCE:
        made._counter = INFERENCE_COUNTER
    if requires_grad:
        if array.dtype.kind not in "fcV" or array.dtype not in dtypes.FROM_NUMPY:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made._requires_grad = True
    return made


def shape_of(function: str, size: Sequence[Any], name: str = "size") -> tuple[int, ...]:
    """The shape that positional sizes mean: `(2, 3)` and `((2, 3),)` are the same."""
    if len(size) == 1 and isinstance(size[0], list | tuple):
        size = size[0]
    shape = tuple([operator.index(each) for each in size])
    for each in shape:
        if each < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {each}: {list(shape)}"
            )
    return shape


def dtype_of(function: str, dtype: Any, default: dtypes.dtype | None = None) -> np.dtype:
    """The NumPy dtype for the argument `dtype`; None is `default` or the default dtype."""
    if dtype is None:
        return dtypes.default.float_numpy if default is None else default.numpy
    return dtypes.as_dtype(dtype, function, "dtype").numpy


def check_device(function: str, device: Any) -> None:
    devices.usable(device, function)
