"""How a loader and its workers talk: messages through a socket, big arrays in shared memory.

A message is pickled.  Small data travels in the pickle; big pieces are copied into segments of
shared memory, and the message carries only their numbers.  A segment goes back to its sender when
the last array on it is gone at the receiver, and is used again: touching fresh memory costs more
than all copying (3 MB: 3.4 ms through fresh segments, 3.7 ms through the pipe, 0.6 ms through a
reused segment).  Where descriptors cannot be handed over, everything goes through the pipe.  Knows
tensors and processes; must not know data sets.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import pickle
import socket
from collections.abc import Iterable
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.memory import BYTE, all_bytes, extent, on_bytes
from taper.arrays.shared_memory import AVAILABLE, Lease, Segment, bytes_of, keeper_of
from taper.arrays.strides import owner_of
from taper.autograd.overrides import watch
from taper.autograd.views import requires_grad
from taper.factory import finish
from taper.multiprocessing.pickling import sendable
from taper.tensor import Tensor, element_strides, wrap

LARGE = 16_384
"""Bytes from which a piece of memory goes into a segment."""
MOST_INLINE = 65_536
"""Bytes of a pickle beyond which it goes into a segment itself: a pipe holds about three of them,
so a worker need not wait until it is read."""
_ALIGNMENT = 64
_ROUNDING = 65_536
# If a storage is that many times larger than a view of it, only the view is sent.
_SPARSE = 2
_DESCRIPTORS = 200  # the system hands over at most 253 with one message

_WITH_SEGMENTS = b"\x01"  # a pickle begins with another byte


# --- the memory of the sender ----------------------------------------------------------------


class Pool:
    """The segments that one process makes to send data in; they come back and are used again."""

    def __init__(self, most_free: int = 8) -> None:
        self.most_free = most_free
        self._segments: dict[int, Segment] = {}
        self._holders: dict[int, int] = {}  # this process, the other one, or both
        self._free: list[int] = []  # the last one was used last
        self._ended: list[int] = []  # leases that ended here; filled wherever one is freed
        self._made = 0
        self.dropped: list[int] = []
        """Segments that the receiver must forget."""

    def lease(self, nbytes: int) -> Lease:
        """Return memory for `nbytes`, which is not used again before the lease ends everywhere."""
        self.take_back(())
        for number in reversed(self._free):
            if nbytes <= self._segments[number].nbytes <= 2 * nbytes + _ROUNDING:
                self._free.remove(number)
                break
        else:
            number = self._made
            self._made += 1
            self._segments[number] = Segment(-(-nbytes // _ROUNDING) * _ROUNDING)
        self._holders[number] = 1
        return Lease(self._segments[number], number, self._ended.append)

    def sent(self, number: int) -> None:
        """Note that the receiver holds the segment, too."""
        self._holders[number] += 1

    def take_back(self, numbers: Iterable[int]) -> None:
        """Note that the receiver no longer holds these; negative numbers must not be reused."""
        for each in [*numbers, *(self._ended.pop() for _ in range(len(self._ended)))]:
            number = each if each >= 0 else ~each
            if each < 0:
                self._drop(number)
            elif number in self._holders:
                self._holders[number] -= 1
                if not self._holders[number]:
                    self._free.append(number)
        while len(self._free) > self.most_free:
            self._drop(self._free.pop(0))

    def _drop(self, number: int) -> None:
        if self._segments.pop(number, None) is not None:
            del self._holders[number]
            self.dropped.append(number)


_pool: Pool | None = None
_in_worker = False


def enter_worker(pool: Pool | None) -> None:
    """Make this process a worker; `empty` takes large arrays from its `pool`."""
    global _pool, _in_worker
    _pool, _in_worker = pool, True


def in_worker() -> bool:
    """Return whether this process is a worker of a loader."""
    return _in_worker


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return memory for an array; in a worker a large one goes where the loader will see it."""
    nbytes = dtype.itemsize * int(np.prod(shape))
    if _pool is None or nbytes < LARGE:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, bytes_of(_pool.lease(nbytes), 0, nbytes))


# --- pickling --------------------------------------------------------------------------------


_REDUCE = Tensor.__reduce_ex__  # a class that defines another way of pickling keeps it


class _Aside:
    """The large buffers of a pickle, which are not in it.

    It is apart from the pickler, which would otherwise refer to itself and keep all memory for a
    while.
    """

    def __init__(self) -> None:
        self.pieces: list[tuple[memoryview, Lease | None]] = []
        self.places: list[int] = []  # for each buffer of the pickle: which piece it is
        self.leases: dict[int, Lease] = {}  # by the id of the buffer
        self.place_of: dict[int, int | None] = {}  # likewise, for buffers that may come again

    def __call__(self, buffer: pickle.PickleBuffer) -> bool:
        place = self.place_of.get(id(buffer))
        if place is None:
            piece = buffer.raw()
            if piece.nbytes < LARGE:
                return True  # keep it in the pickle
            place = len(self.pieces)
            self.pieces.append((piece, self.leases.get(id(buffer))))
            if id(buffer) in self.place_of:
                self.place_of[id(buffer)] = place
        self.places.append(place)
        return False


class _Pickler(pickle.Pickler):
    """Pickles tensors by their memory, once for each storage, and puts large pieces aside."""

    def __init__(self, shares: bool) -> None:
        self.stream = io.BytesIO()
        self.aside = _Aside()
        self._buffers: dict[int, pickle.PickleBuffer] = {}  # by the id of the storage's array
        self._kept: list[np.ndarray] = []  # keeps arrays alive, so that ids stay unique
        super().__init__(self.stream, 5, buffer_callback=self.aside if shares else None)

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, Tensor) or type(value).__reduce_ex__ is not _REDUCE:
            return NotImplemented
        tensor = sendable(value)
        array = tensor._array
        needed = extent(array.shape, array.strides, array.itemsize)
        if needed > _SPARSE * array.nbytes:
            array = np.ascontiguousarray(array)
        owner = owner_of(array)
        buffer = self._buffers.get(id(owner))
        memory = all_bytes(owner)
        offset = 0 if array is owner or not array.size else array.ctypes.data - memory.ctypes.data
        if memory.nbytes > _SPARSE * needed:
            buffer = pickle.PickleBuffer(_writable(memory[offset : offset + needed]))
            offset = 0
        elif buffer is None:
            buffer = self._buffers[id(owner)] = pickle.PickleBuffer(_writable(memory))
            self._kept.append(owner)
            self.aside.place_of[id(buffer)] = None
            keeper = keeper_of(owner)
            if isinstance(keeper, Lease):
                self.aside.leases[id(buffer)] = keeper
        return _tensor, (
            buffer,
            dtypes.FROM_NUMPY[array.dtype].name,
            offset // array.itemsize,
            array.shape,
            None if not offset and array.flags.c_contiguous else element_strides(array),
            requires_grad(tensor),
            None if type(tensor) is Tensor else type(tensor),
            None if type(tensor) is Tensor else dict(value.__dict__),
        )


def _writable(memory: np.ndarray) -> Any:
    return memory if memory.flags.writeable else memory.copy()


def _tensor(
    buffer: Any,
    dtype: str,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    wants_grad: bool,
    kind: type[Tensor] | None,
    state: dict[str, Any] | None,
) -> Tensor:
    which = dtypes.DTYPES[dtype].numpy
    if strides is None:
        array = np.ndarray(shape, which, buffer)
    else:
        memory = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, BYTE)
        array = on_bytes(memory, which, offset, shape, strides)
    if not wants_grad and kind is None:
        return wrap(array)
    made = finish(array, wants_grad)
    if kind is not None:
        made.__class__ = kind
        watch(made)
        made.__dict__.update(state or {})
    return made


class Parcel:
    """A pickled value on its way: the message, and the descriptors to hand over with it."""

    def __init__(self, value: Any, pool: Pool | None) -> None:
        pickler = _Pickler(pool is not None)
        pickler.dump(value)
        self.message: Any = pickler.stream.getbuffer()
        self.new: list[Segment] = []
        self.used: dict[int, Lease] = {}
        if pool is not None and (pickler.aside.pieces or len(self.message) > MOST_INLINE):
            self._load(pickler.aside, pool)

    def _load(self, aside: _Aside, pool: Pool) -> None:
        """Copy the pieces that are not in a segment yet into one."""
        stream = self.message
        pieces = aside.pieces
        if len(stream) > MOST_INLINE:
            pieces = [*pieces, (stream, None)]
        room = sum(_aligned(piece.nbytes) for piece, lease in pieces if lease is None)
        common = pool.lease(room) if room else None
        table = []
        start = 0
        for piece, lease in pieces:
            if lease is None and common is not None:
                lease = common
                bytes_of(lease, start, piece.nbytes)[...] = np.frombuffer(piece, BYTE)
                table.append((lease.number, start, piece.nbytes))
                start += _aligned(piece.nbytes)
            elif lease is not None:
                first = np.frombuffer(piece, BYTE).ctypes.data - lease.segment.address
                table.append((lease.number, first, piece.nbytes))
            if lease is not None:
                self.used[lease.number] = lease
        leases = self.used.values()
        self.new = [each.segment for each in leases if each.segment.descriptor is not None]
        sizes = [(each.number, each.segment.nbytes) for each in leases if each.segment in self.new]
        rest = stream.tobytes() if len(stream) <= MOST_INLINE else None
        header = (rest, sizes, pool.dropped, table, aside.places)
        self.message = _WITH_SEGMENTS + pickle.dumps(header, 5)
        pool.dropped = []


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


# --- the line between two processes ----------------------------------------------------------

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_count_fork)


def _end_lease(ended: list[int], forks: int, number: int) -> None:
    # A process that was forked meanwhile may still look at the memory, so it is not used again.
    ended.append(number if forks == _forks else ~number)


class Channel:
    """One end of the line between a loader and a worker."""

    def __init__(self, connection: Any, pool: Pool | None = None) -> None:
        self.pool = pool if AVAILABLE else None
        self._connection = connection
        self._socket: socket.socket | None = None
        if AVAILABLE:
            self._socket = socket.socket(fileno=os.dup(connection.fileno()))
        self._segments: dict[int, Segment] = {}
        self._ended: list[int] = []

    def fileno(self) -> int:
        """Return the system's number of the line."""
        return int(self._connection.fileno())

    def packed(self, value: Any) -> Parcel:
        """Return anything that can be pickled, ready to be sent."""
        return Parcel(value, self.pool)

    def send(self, value: Any) -> None:
        """Send anything that can be pickled."""
        self.send_parcel(self.packed(value))

    def send_parcel(self, parcel: Parcel) -> None:
        """Send the result of `packed`."""
        self._connection.send_bytes(parcel.message)
        if self.pool is not None and self._socket is not None:
            for number in parcel.used:
                self.pool.sent(number)
            descriptors = [each.descriptor for each in parcel.new if each.descriptor is not None]
            for first in range(0, len(descriptors), _DESCRIPTORS):
                some = descriptors[first : first + _DESCRIPTORS]
                socket.send_fds(self._socket, [b"\0"], some)
            for segment in parcel.new:
                segment.close_descriptor()

    def receive(self) -> Any:
        """Wait for the next value and return it; EOFError if the other end is closed."""
        message = self._connection.recv_bytes()
        if message[:1] != _WITH_SEGMENTS:
            return pickle.loads(message)
        stream, sizes, dropped, table, places = pickle.loads(memoryview(message)[1:])
        descriptors = self._receive_descriptors(len(sizes))
        for (number, nbytes), descriptor in zip(sizes, descriptors, strict=True):
            self._segments[number] = Segment(nbytes, descriptor)
            self._segments[number].close_descriptor()
        leases: dict[int, Lease] = {}
        for number, _, _ in table:
            if number not in leases:
                ended = functools.partial(_end_lease, self._ended, _forks)
                leases[number] = Lease(self._segments[number], number, ended)
        for number in dropped:
            self._segments.pop(number, None)
        pieces = [bytes_of(leases[number], start, nbytes) for number, start, nbytes in table]
        if stream is None:
            stream = pieces.pop()
        return pickle.loads(stream, buffers=[pieces[each] for each in places])

    def _receive_descriptors(self, count: int) -> list[int]:
        found: list[int] = []
        while len(found) < count and self._socket is not None:
            data, some, _, _ = socket.recv_fds(self._socket, 1, min(count, _DESCRIPTORS))
            if not data:
                raise EOFError
            found += some
        return found

    def returned(self) -> list[int]:
        """Return segments of the other end that are no longer used here, for `Pool.take_back`."""
        ended = self._ended
        return [ended.pop() for _ in range(len(ended))]

    def close(self) -> None:
        """End the line; a process that waits for this end, or writes to it, notices at once.

        Closing alone would not do: processes forked meanwhile have the same socket open.
        """
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        self._connection.close()
