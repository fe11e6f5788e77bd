"""The memory behind arrays: adopting foreign memory, a storage as bytes, and what is kept.

PyTorch's storage begins where the memory it was given begins, while the `base` of a NumPy view
leads back to the whole array it was cut from.  `adopt` ends that chain.  Knows ndarrays; must not
know Tensor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from taper.arrays.foreign import ForeignArray
from taper.arrays.native import native
from taper.arrays.strides import empty_with, owner_of

BYTE = np.dtype(np.uint8)


class Keeper:
    """Shows a piece of memory to NumPy and keeps its owner alive as long as arrays look at it."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, address: int, nbytes: int, readonly: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (nbytes,),
            "data": (address, readonly),
        }


def bytes_at(owner: Any, address: int, nbytes: int, readonly: bool = False) -> np.ndarray:
    """Return `nbytes` of memory as a flat array that keeps `owner` alive."""
    return np.asarray(Keeper(owner, address, nbytes, readonly))


def extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Return how many bytes lie between the first byte of an array and the last, ends included."""
    if 0 in shape:
        return 0
    steps = sum((length - 1) * step for length, step in zip(shape, strides, strict=True))
    return steps + itemsize


def adopt(array: np.ndarray) -> np.ndarray:
    """Return a plain ndarray on the memory of `array` whose storage begins at its first element."""
    if not array.size or (array.base is None and array.flags.forc):
        return array.view(np.ndarray)
    nbytes = extent(array.shape, array.strides, array.itemsize)
    flat = bytes_at(array, array.ctypes.data, nbytes, not array.flags.writeable)
    return np.ndarray(array.shape, array.dtype, flat, 0, array.strides)


def all_bytes(array: np.ndarray) -> np.ndarray:
    """Return the whole storage that `array` lies in, as a flat array of bytes on that memory."""
    if isinstance(array, ForeignArray):
        nbytes = array.storage.nbytes
        found: np.ndarray = array.place.on_storage(array.storage, BYTE, 0, (nbytes,), (1,))
        return found
    owner = owner_of(array)
    if owner.ndim == 1 and owner.dtype == BYTE and owner.flags.c_contiguous:
        return owner
    nbytes = extent(owner.shape, owner.strides, owner.itemsize)
    return bytes_at(owner, owner.ctypes.data, nbytes, not owner.flags.writeable)


def resized(
    array: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return an array of another shape that begins where `array` does, and its new elements.

    The result lies in the same storage, or in a larger copy if that is too small; `strides` count
    elements.
    """
    if isinstance(array, ForeignArray):
        larger = empty_with(shape, strides, array.dtype, array)
        return larger, larger.reshape(-1)[array.size :]
    memory = all_bytes(array)
    itemsize = array.itemsize
    start = array.ctypes.data - memory.ctypes.data
    needed = start + math.prod(shape) * itemsize
    kept = memory.nbytes
    if needed > kept:
        larger = np.empty(needed, BYTE)
        kept = min(kept, needed)
        larger[:kept] = memory[:kept]
        memory = larger
    fresh = memory[kept:].view(array.dtype)
    return on_bytes(memory, array.dtype, start // itemsize, shape, strides), fresh


def on_bytes(
    memory: np.ndarray,
    dtype: np.dtype[Any],
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> np.ndarray:
    """Return an array on flat bytes; `offset` and `strides` count elements."""
    if isinstance(memory, ForeignArray):
        found: np.ndarray = memory.place.on_storage(memory.storage, dtype, offset, shape, strides)
        return found
    steps = tuple([step * dtype.itemsize for step in strides])
    start = offset * dtype.itemsize
    if 0 in shape:  # may lie anywhere, but not behind the memory
        return np.ndarray(shape, dtype, memory, max(min(start, memory.nbytes), 0), steps)
    needed = start + extent(shape, steps, dtype.itemsize)
    if min(steps, default=0) < 0 or start < 0 or needed > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {dtype.itemsize} requiring a storage size of {needed} are out of "
            f"bounds for storage of size {memory.nbytes}"
        )
    return np.ndarray(shape, dtype, memory, start, steps)


# --- memory that is kept ---------------------------------------------------------------------


def memory_stats() -> dict[str, Any]:
    """Say how much memory of freed arrays is kept for the next ones.

    Arrays of 64 kB and more use blocks that are kept when they are freed, since fresh memory costs
    a page fault for every 4 kB.  `empty_cache` gives what is kept back to the system.

    Returns:
        A dictionary: `kept` and `used` (bytes now), `peak` (most bytes in use at once), `limit`
        (most bytes to keep), `reused` and `fresh` (how many arrays got a kept or a new block).
        Without the native module nothing is kept, and all are 0.

    >>> import taper
    >>> sorted(taper.memory_stats())
    ['fresh', 'kept', 'limit', 'peak', 'reused', 'used']
    """
    counts = native.memory_counts() if native is not None else (0,) * 6
    return dict(zip(("kept", "used", "peak", "limit", "reused", "fresh"), counts, strict=True))


def empty_cache() -> None:
    """Give the memory of freed arrays back to the system.

    >>> import taper
    >>> taper.empty_cache()
    >>> taper.memory_stats()["kept"]
    0
    """
    if native is not None:
        native.drop_memory()
