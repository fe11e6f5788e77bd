"""ConjugateView: the conjugate of complex memory, not computed, as `conj()` returns it (§X4);
and the negative of memory, as the imaginary part of a conjugate is.

It shares memory and version counter with what it is the conjugate of: a write to either shows in
both.  NumPy has no such arrays, so `_array`, which operators read, is computed anew on each
reading; who writes calls `write_through`.  Knows tensors only; how it becomes a tracked view is
said in `views`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.meta import SharedCounter, VersionCounter
from taper.tensor import Tensor, wrap


def _both(memory: Any, out: Any = None) -> Any:
    """The negative of the conjugate."""
    return np.negative(np.conjugate(memory), out=out)


# What is still to be done with the elements in memory; each undoes itself.
CONJUGATE: Any = np.conjugate
NEGATIVE: Any = np.negative
BOTH: Any = _both

_TOGETHER = {
    (CONJUGATE, CONJUGATE): None,
    (NEGATIVE, NEGATIVE): None,
    (BOTH, CONJUGATE): NEGATIVE,
    (BOTH, NEGATIVE): CONJUGATE,
    (CONJUGATE, NEGATIVE): BOTH,
    (NEGATIVE, CONJUGATE): BOTH,
}


def together(first: Any, second: Any) -> Any:
    """Two changes, one after the other; None is no change."""
    return second if first is None else _TOGETHER[first, second]


class ConjugateCounter(SharedCounter):
    """The counter of the memory, in a class that sends view operators to their careful path."""

    __slots__ = ()


class ConjugateView(Tensor):
    """A tensor whose elements are the conjugates, or negatives, of those in its memory."""

    __slots__ = ("_change",)

    # The slot of the array holds the memory: who asks it for shape, dtype or strides is served.
    _memory: np.ndarray = Tensor._array
    _change: Any

    @property
    def _array(self) -> np.ndarray:
        return np.asarray(self._change(self._memory))

    @_array.setter
    def _array(self, array: np.ndarray) -> None:
        self._memory = np.asarray(self._change(array))


def _of_memory(name: str) -> Callable[..., Any]:
    def ask(self: ConjugateView, *args: Any, **kwargs: Any) -> Any:
        return getattr(wrap(self._memory), name)(*args, **kwargs)

    ask.__name__ = name
    return ask


# Where the elements lie is a matter of the memory, not of the array computed from it.
for _name in (
    "data_ptr",
    "is_contiguous",
    "storage",
    "storage_offset",
    "stride",
    "untyped_storage",
):
    setattr(ConjugateView, _name, _of_memory(_name))

ConjugateView.__name__ = ConjugateView.__qualname__ = Tensor.__name__
ConjugateView.__module__ = Tensor.__module__


def on_memory(memory: np.ndarray, change: Any = CONJUGATE) -> ConjugateView:
    """A ConjugateView without history."""
    tensor: ConjugateView = object.__new__(ConjugateView)
    tensor._change = change
    tensor._memory = memory
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._counter = ConjugateCounter(VersionCounter())
    tensor._view = None
    tensor._meta = None
    return tensor


def memory_of(tensor: Any) -> np.ndarray:
    """The elements as they lie in memory."""
    memory: np.ndarray = tensor._memory if type(tensor) is ConjugateView else tensor._array
    return memory


def look_at(tensor: Any, memory: np.ndarray) -> None:
    """Let a tensor show other memory in the way it shows its own."""
    if type(tensor) is ConjugateView:
        tensor._memory = memory
    else:
        tensor._array = memory


def write_through(target: Tensor, write: Callable[[np.ndarray], Any]) -> None:
    """Let `write` change the elements of a tensor, also where they are only computed."""
    array = target._array
    write(array)
    if type(target) is ConjugateView:
        target._change(array, out=target._memory)
