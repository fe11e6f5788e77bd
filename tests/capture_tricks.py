"""What the files of tricks on `capture` share: how results are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import taper

Trick = Callable[[Callable[..., Any]], list[Any]]


def shown(value: Any) -> Any:
    """What two results are compared by."""
    if isinstance(value, taper.Tensor):
        flags = value.requires_grad, value.dtype, value.stride(), value._version
        return (tuple(value.shape), value.detach().flatten().tolist(), flags)
    if isinstance(value, tuple | list):
        return [shown(each) for each in value]
    if isinstance(value, dict):
        return {name: shown(each) for name, each in value.items()}
    return type(value), value


def data(number: float, *shape: int) -> taper.Tensor:
    """A tensor that depends on a number; of three elements if no shape is given."""
    shape = shape or (3,)
    count = 1
    for length in shape:
        count *= length
    return taper.arange(float(count)).reshape(shape) + number
