"""Memory that several processes see: segments without a name, known by a file descriptor.

A process makes a segment; another maps it after a fork, or when it gets the descriptor.  Nothing
has a name in the file system, so the system frees the memory when the last process that maps it
lets go or dies, however it dies.  Knows ndarrays and descriptors; must not know Tensor.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import mmap
import os
from typing import Any

import numpy as np

from taper.arrays.memory import Keeper, bytes_at
from taper.arrays.strides import owner_of

AVAILABLE = os.name == "posix"
"""Whether this system can hand file descriptors from process to process."""


class Segment:
    """A mapping of shared memory; it ends when the last array on it is gone.

    `descriptor` is None once it was closed: from then on no other process can get the memory.
    """

    __slots__ = ("__weakref__", "_close", "_unmap", "address", "descriptor", "nbytes")

    def __init__(self, nbytes: int, descriptor: int | None = None) -> None:
        self.address = 0
        self._close = os.close  # kept here: when the interpreter ends, modules lose their names
        self.nbytes = max(nbytes, 1)
        self.descriptor: int | None
        self.descriptor = _new_file(self.nbytes) if descriptor is None else descriptor
        # Not mmap.mmap: before Python 3.13 it keeps a descriptor open for each mapping, and a
        # process that holds a thousand batches would reach its limit of open files.
        map_memory, self._unmap = _system_calls()
        read_and_write = mmap.PROT_READ | mmap.PROT_WRITE
        address = map_memory(None, self.nbytes, read_and_write, mmap.MAP_SHARED, self.descriptor, 0)
        if address is None or address == ctypes.c_void_p(-1).value:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        self.address = address

    def close_descriptor(self) -> None:
        """Keep the memory, but let no other process map it."""
        if self.descriptor is not None:
            descriptor, self.descriptor = self.descriptor, None
            self._close(descriptor)

    def __del__(self) -> None:
        # Ctrl-C may have interrupted `__init__`: then some slots are empty.
        if getattr(self, "address", 0):
            self._unmap(self.address, self.nbytes)
        if getattr(self, "descriptor", None) is not None:
            self.close_descriptor()


class Lease:
    """The use of a segment that belongs to a pool: `ended` is called when the last array is gone.

    `ended` may be any callable that takes the lease's `number`.  It is called wherever the array
    happens to be freed, so it must do next to nothing.
    """

    __slots__ = ("ended", "number", "segment")

    def __init__(self, segment: Segment, number: int, ended: Any) -> None:
        self.segment = segment
        self.number = number
        self.ended = ended

    def __del__(self) -> None:
        # Else Ctrl-C interrupted `__init__`.
        if (ended := getattr(self, "ended", None)) is not None:
            ended(self.number)


def bytes_of(owner: Segment | Lease, offset: int = 0, nbytes: int | None = None) -> np.ndarray:
    """Return a piece of a segment as a flat array of bytes that is a storage of its own."""
    segment = owner.segment if isinstance(owner, Lease) else owner
    length = segment.nbytes - offset if nbytes is None else nbytes
    return bytes_at(owner, segment.address + offset, length)


def keeper_of(array: np.ndarray) -> Segment | Lease | None:
    """Return what keeps the shared memory of an array; None if the memory is not shared."""
    base = owner_of(array).base
    if isinstance(base, Keeper) and isinstance(base.owner, (Segment, Lease)):
        return base.owner
    return None


def _new_file(nbytes: int) -> int:
    """Return the descriptor of a nameless file of zeros, kept in memory where possible."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("taper")
    elif AVAILABLE:
        # late: only systems without memfd need it
        with importlib.import_module("tempfile").TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    else:
        raise NotImplementedError(
            "tensors cannot be shared between processes on this system: send copies instead"
        )
    try:
        os.ftruncate(descriptor, nbytes)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@functools.cache
def _system_calls() -> tuple[Any, Any]:
    """Return the C library's `mmap` and `munmap`."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_ssize_t,
    )
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library.mmap, library.munmap


# --- files as memory -------------------------------------------------------------------------


def mapped_bytes(filename: str, shared: bool, nbytes: int) -> np.ndarray:
    """The first bytes of a file; a shared mapping is written back, and extended if needed."""
    if nbytes < 0:
        raise RuntimeError(
            f"unable to mmap {nbytes} bytes from file <{filename}>: Cannot allocate memory (12)"
        )
    if nbytes == 0:
        return np.empty(0, np.uint8)
    mode = "r+b" if shared else "rb"
    if shared and not os.path.exists(filename):
        mode = "w+b"
    try:
        with open(filename, mode) as file:
            present = os.fstat(file.fileno()).st_size
            if shared and present < nbytes:
                file.truncate(nbytes)
            elif present < nbytes:
                raise RuntimeError(
                    f"file <{filename}> size <{present}> is smaller than the required mapping "
                    f"size <{nbytes}>"
                )
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            return np.frombuffer(mmap.mmap(file.fileno(), nbytes, access=access), np.uint8)
    except OSError as error:
        how = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {how} mode: {error.strerror} ({error.errno})"
        ) from None
