"""What users pass to a writer, as arrays: tensors, arrays, and single numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.dtypes import bfloat16
from taper.tensor import Tensor


def as_array(value: Any) -> np.ndarray:
    """Return the array of a tensor, an array or a number; bfloat16 becomes float32.

    >>> as_array(2.5)
    array([2.5])
    """
    if isinstance(value, Tensor):
        value = value.detach()
        return value.float().numpy() if value.dtype is bfloat16 else value.resolve_conj().numpy()
    if isinstance(value, np.ndarray):
        return value
    if np.isscalar(value):
        return np.array([value])
    raise NotImplementedError(f"Got {type(value)}, but numpy array or torch tensor are expected.")
