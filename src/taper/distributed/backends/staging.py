"""Arrays of a GPU for backends that carry memory of the processor: copies there and back.

PyTorch's gloo does the same.  Where no GPU is in use an operation pays for one question.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from taper.arrays.foreign import is_foreign
from taper.distributed.backends.base import Receipt
from taper.gpu import state

_Backend = TypeVar("_Backend")

# What moves arrays.  All but `send` write their first argument, an array or a list of them.
_OPERATIONS = (
    "all_reduce all_reduce_each reduce broadcast all_gather gather scatter reduce_scatter "
    "all_to_all send receive"
)


class _Copies:
    """The copies of one operation."""

    def __init__(self) -> None:
        self._pairs: list[tuple[Any, np.ndarray]] = []

    def of(self, value: Any, is_written: bool) -> Any:
        """Return an argument with arrays of the processor's in the place of others."""
        if isinstance(value, list | tuple):
            return [self.of(each, is_written) for each in value]
        if not is_foreign(value):
            return value
        copy = value.place.to_ndarray(value)
        if is_written:
            self._pairs.append((value, copy))
        return copy

    def write_back(self) -> None:
        """Give what was written to the device."""
        for array, copy in self._pairs:
            array[...] = array.place.from_ndarray(copy, array.device)
        self._pairs.clear()


class _Landing:
    """A message to the memory of a device, by way of the processor's."""

    def __init__(self, receipt: Receipt, copies: _Copies) -> None:
        self._receipt, self._copies = receipt, copies

    @property
    def source(self) -> int:
        """The rank that sent the message."""
        return self._receipt.source

    def is_done(self) -> bool:
        """Return whether the message has arrived; raise if it never will."""
        is_done = self._receipt.is_done()
        if is_done:
            self._copies.write_back()
        return is_done

    def wait(self, seconds: float) -> None:
        """Wait for the message; raise after so many seconds."""
        self._receipt.wait(seconds)
        self._copies.write_back()


def takes_arrays_of_devices(backend: type[_Backend]) -> type[_Backend]:
    """Let the operations of a backend take arrays of a GPU, too."""
    for name in _OPERATIONS.split():
        setattr(backend, name, _staged(getattr(backend, name)))
    return backend


def _staged(operation: Callable[..., Any]) -> Callable[..., Any]:
    name = operation.__name__

    @functools.wraps(operation)
    def staged(self: Any, *arguments: Any) -> Any:
        if state.runtime is None:
            return operation(self, *arguments)
        copies = _Copies()
        here = [copies.of(each, not nr and name != "send") for nr, each in enumerate(arguments)]
        found = operation(self, *here)
        if name == "receive":
            return _Landing(found, copies)
        copies.write_back()
        return found

    return staged
