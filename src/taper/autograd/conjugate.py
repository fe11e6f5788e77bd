"""ConjugateView: the conjugate or the negative of memory, not yet computed (§X4).

`conj()` returns the former; the imaginary part of a conjugate is the latter.  The view shares
memory and version counter with the tensor it conjugates: a write to either shows in both.  NumPy
has no such arrays, so operators, which read `_array`, get it computed anew on each reading; code
that writes calls `write_through`.  Knows tensors only; `views` says how it becomes a tracked view.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.elements import Conjugated
from taper.arrays.foreign import as_array
from taper.arrays.layouts import PRESERVED
from taper.arrays.memory import resized
from taper.arrays.strides import in_rows, owner_of, refuse_overlap
from taper.autograd.meta import INFERENCE_COUNTER, SharedCounter, VersionCounter
from taper.autograd.overrides import _disabled_torch_function_impl
from taper.tensor import Tensor, wrap


def _both(memory: Any, out: Any = None) -> Any:
    """Return the negative of the conjugate."""
    return np.negative(np.conjugate(memory), out=out)


# What is still to be done with the elements in memory.  Each of these undoes itself.
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

_FLAGS = {
    None: {},
    CONJUGATE: {"conj": True},
    NEGATIVE: {"neg": True},
    BOTH: {"conj": True, "neg": True},
}


def together(first: Any, second: Any) -> Any:
    """Return two changes as one; None stands for no change."""
    return second if first is None else _TOGETHER[first, second]


def flags_of(tensor: Tensor) -> dict[str, bool]:
    """Return PyTorch's names for what is still to be done with the elements, as stored in files."""
    return _FLAGS[tensor._change]


def change_of(flags: dict[str, bool]) -> Any:
    """Return the change that the flags in a file ask for; None if they ask for none."""
    change = CONJUGATE if flags.get("conj") else None
    return together(change, NEGATIVE) if flags.get("neg") else change


class ConjugateCounter(SharedCounter):
    """Be the counter of the memory, in a class that sends view operators to their careful path."""

    __slots__ = ()


class ConjugateView(Tensor):
    """A tensor whose elements are the conjugates, or negatives, of those in its memory.

    Its class is made by `class_showing` from the one that users know and that `__class__` names,
    so that `isinstance` holds; `type()` alone tells the two apart.
    """

    __slots__ = ()

    # The slot of the array holds the memory, which answers questions about shape, dtype and
    # strides.
    _memory: np.ndarray = Tensor._array
    _shown: type[Tensor]

    @property
    def _array(self) -> np.ndarray:
        memory = self._memory
        found = as_array(self._change(memory))
        return found if in_rows(memory) else PRESERVED(found, (memory,))

    @_array.setter
    def _array(self, array: np.ndarray) -> None:
        self._memory = as_array(self._change(array))

    @property
    def __class__(self) -> Any:
        return self._shown

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        _CLASS.__set__(self, class_showing(kind, self._change))


_CLASS: Any = object.__dict__["__class__"]


def _handler(kind: type[Tensor]) -> Any:
    """Return what a class has as `__torch_function__`; Tensor itself is not asked."""
    if kind is Tensor:
        return _disabled_torch_function_impl
    found = [vars(each) for each in kind.__mro__ if "__torch_function__" in vars(each)]
    return found[0]["__torch_function__"]


def _class_showing(kind: type[Tensor], change: Any) -> type[Tensor]:
    """Return the class of objects of a user's class whose elements are still to be changed."""
    if change is None:
        return kind
    bases = (ConjugateView,) if kind is Tensor else (ConjugateView, kind)
    members = {"__slots__": (), "_change": staticmethod(change), "_shown": kind}
    members |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    members["__torch_function__"] = _handler(kind)
    metaclass: Any = type(kind)
    made: type[Tensor] = metaclass(kind.__name__, bases, members)
    return made


# Bounded: a class that a program makes anew again and again must not be kept for ever.
class_showing: Any = functools.lru_cache(maxsize=64)(_class_showing)


def _property_of_memory(name: str) -> Callable[..., Any]:
    return lambda self: getattr(wrap(self._memory), name)


def _of_memory(name: str) -> Callable[..., Any]:
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(wrap(self._memory), name)(*args, **kwargs)

    ask.__name__ = name
    return ask


# The memory itself knows where the elements lie and how many there are: nothing is computed.
for _name in ("device", "dtype", "nbytes", "ndim", "shape"):
    setattr(ConjugateView, _name, property(_property_of_memory(_name)))
for _name in (
    "data_ptr",
    "dim",
    "is_contiguous",
    "numel",
    "size",
    "storage",
    "storage_offset",
    "stride",
    "untyped_storage",
):
    setattr(ConjugateView, _name, _of_memory(_name))


def on_memory(memory: np.ndarray, change: Any = CONJUGATE) -> Tensor:
    """Return a ConjugateView without history."""
    tensor = wrap(memory)
    _CLASS.__set__(tensor, class_showing(Tensor, change))
    tensor._counter = ConjugateCounter(VersionCounter())
    return tensor


def showing(memory: np.ndarray, change: Any) -> Tensor:
    """Return a tensor without history that shows memory as it is, or changed."""
    return wrap(memory) if change is None else on_memory(memory, change)


def as_gradient(grad: Any) -> Tensor:
    """Return a gradient as a tensor; one that was conjugated last as a view."""
    if isinstance(grad, Conjugated):
        return on_memory(np.conjugate(grad))
    return wrap(grad)


def memory_of(tensor: Any) -> np.ndarray:
    """Return the elements as they lie in memory."""
    memory: np.ndarray = tensor._array if tensor._change is None else tensor._memory
    return memory


def look_at(tensor: Any, memory: np.ndarray) -> None:
    """Let a tensor show other memory in the way it shows its own."""
    if tensor._change is None:
        tensor._array = memory
    else:
        tensor._memory = memory


def resize(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """Give a tensor another shape in place, and return its new elements, which are undefined.

    If its storage is too small, all tensors that look at that look at a larger copy afterwards.
    """
    array = memory_of(tensor)
    owner = owner_of(array)
    memory, fresh = resized(array, shape, strides)
    look_at(tensor, memory)
    del array
    grown = owner_of(memory)
    if memory.__class__ is not np.ndarray or not grown.nbytes > owner.nbytes > 0:
        return fresh
    if sys.getrefcount(owner) > _OURS:
        _move(owner, grown)
    return fresh


_OURS = 2  # a name here and the argument of `getrefcount`


def _move(owner: np.ndarray, memory: np.ndarray) -> None:
    """Let all tensors that look at the memory of `owner` look at its copy, `memory`."""
    start = owner.ctypes.data
    for each in gc.get_objects():
        if issubclass(type(each), Tensor):  # `isinstance` would run code of other objects
            try:
                array = memory_of(each)
            except AttributeError:  # a DTensor has no array of its own
                continue
            if owner_of(array) is owner:
                offset = array.ctypes.data - start
                look_at(each, np.ndarray(array.shape, array.dtype, memory, offset, array.strides))


def show(tensor: Tensor, memory: np.ndarray, change: Any) -> None:
    """Let a tensor with a counter show other memory, with another change than its own."""
    counter = tensor._counter
    if counter is not INFERENCE_COUNTER:
        if change is None:
            counter = counter.shared
        elif tensor._change is None:
            counter = ConjugateCounter(counter)
        tensor._counter = counter
    _CLASS.__set__(tensor, class_showing(tensor.__class__, change))
    look_at(tensor, memory)


def write_through(target: Tensor, write: Callable[[np.ndarray], Any]) -> None:
    """Let `write` change the elements of a tensor, even if they are only computed on reading."""
    array = target._array
    if target._change is not None:
        refuse_overlap(memory_of(target))  # PyTorch writes elsewhere, and copies
    write(array)
    if target._change is not None:
        target._change(array, out=memory_of(target))
