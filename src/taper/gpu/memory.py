"""Room on the device: blocks that are kept when they are freed, and numbers about them.

A block costs a look into a list.  Sizes are rounded up to one of eight steps between powers of two,
small blocks are cut from pieces of 2 MB; a block goes back to the list of the stream that it was
made for.  Only if the device has no more room, what is kept is given back.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from taper.arrays.native import native
from taper.errors import OutOfMemoryError

_PIECE = 1 << 21
_SMALL = 1 << 20


def rounded(nbytes: int) -> int:
    """The size of the block that serves a request: 512 bytes or one of eight steps an octave."""
    if nbytes <= 512:
        return 512
    step = max(512, 1 << (nbytes.bit_length() - 4))
    return (nbytes + step - 1) & -step


# By size: exporters of a buffer that NumPy takes an address from, and that nobody may read on the
# processor.  When one goes, its room is free.
_classes: dict[int, Any] = {}


def _block_class(size: int) -> Any:
    found = _classes.get(size)
    if found is None:

        def __del__(self: Any) -> None:  # noqa: N807
            pool = self.pool
            if pool is not None:
                pool.give(self)

        members = {"pool": None, "size": size, "nbytes": size, "__del__": __del__, "stream": 0}
        found = type("DeviceBlock", (ctypes.c_char * size,), members)
        _classes[size] = found
    return found


class Pool:
    """The blocks of a device, in use and free."""

    def __init__(
        self,
        allocate: Callable[[int], int],
        release: Callable[[int], None],
        current_stream: Callable[[], int],
        room: Callable[[], tuple[int, int]],
    ) -> None:
        self._allocate = allocate
        self._release = release
        self.current_stream = current_stream
        self._room = room
        self._free: dict[tuple[int, int], list[int]] = {}
        self._rest: dict[int, tuple[int, int]] = {}  # by stream: address and bytes of a piece
        self._whole: dict[int, int] = {}  # what was allocated, by address
        self._cut: dict[int, int] = {}  # pieces that were cut, which stay
        self._lock = threading.RLock()  # a shortage gives blocks back inside of `_new`
        self.at_shortage: list[Callable[[], None]] = []
        self.limit: int | None = None
        self.fits = False
        self.in_use = self.most_in_use = 0
        self.kept = self.most_kept = 0
        self.allocations = self.blocks = self.shortages = 0

    def take(self, nbytes: int) -> Any:
        """Return a block of at least so many bytes."""
        size = rounded(nbytes)
        stream = self.current_stream()
        found = self._free.get((size, stream))
        if self.fits and not found:
            size = self._fitting(size, stream)
            found = self._free.get((size, stream))
        try:
            address = found.pop()  # type: ignore[union-attr]
        except (AttributeError, IndexError):
            address = self._new(size, stream)
        block = _block_class(size).from_address(address)
        block.pool, block.stream, block.address = self, stream, address
        block.nbytes = nbytes
        used = self.in_use = self.in_use + size
        if used > self.most_in_use:
            self.most_in_use = used
        self.blocks += 1
        return block

    def fit(self, expected: int | None) -> None:
        """Save room: for a graph, which keeps all its room for itself; None: no longer."""
        self.fits = expected is not None

    def _fitting(self, size: int, stream: int) -> int:
        """The size of the smallest free block that is as large, and less than twice."""
        sizes = [
            each
            for (each, owner), free in self._free.items()
            if free and owner == stream and size < each < 2 * size
        ]
        return min(sizes, default=size)

    def give(self, block: Any) -> None:
        """Take a block back: the next request for its size and stream gets it."""
        self.in_use -= block.size
        key = (block.size, block.stream)
        kept = self._free.get(key)
        if kept is None:
            kept = self._free.setdefault(key, [])
        kept.append(block.address)

    def hold(self, stream: int) -> list[Any]:
        """Return all free blocks of a stream, which are in use from now on."""
        found = []
        for (size, owner), addresses in self._free.items():
            while owner == stream and addresses:
                block = _block_class(size).from_address(addresses[-1])
                block.pool, block.stream, block.address = self, stream, addresses.pop()
                self.in_use += size
                found.append(block)
        return found

    def _new(self, size: int, stream: int) -> int:
        if size > _SMALL:
            return self._from_device(size)
        with self._lock:
            address, left = self._rest.get(stream, (0, 0))
            if left < size:
                address, left = self._from_device(_PIECE), _PIECE
                self._cut[address] = _PIECE
            self._rest[stream] = (address + size, left - size)
        return address

    def _from_device(self, size: int) -> int:
        if self.limit is None or self.kept + size <= self.limit:
            try:
                address = self._allocate(size)
            except MemoryError:
                address = 0
        else:
            address = 0
        if not address:
            self.shortages += 1
            self.give_back()
            for each in self.at_shortage:
                each()
            try:
                if self.limit is not None and self.kept + size > self.limit:
                    raise MemoryError
                address = self._allocate(size)
            except MemoryError:
                raise self._exhausted(size) from None
        self._whole[address] = size
        self.allocations += 1
        self.kept += size
        self.most_kept = max(self.most_kept, self.kept)
        return address

    def give_back(self) -> None:
        """Give the blocks that nobody uses back to the device; cut pieces stay."""
        with self._lock:
            for (size, _), addresses in self._free.items():
                if size <= _SMALL:
                    continue
                while addresses:
                    address = addresses.pop()
                    self._whole.pop(address, None)
                    self._release(address)
                    self.kept -= size

    def _exhausted(self, size: int) -> OutOfMemoryError:
        free, total = self._room()
        return OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {readable(size)}. GPU 0 has a total capacity "
            f"of {readable(total)} of which {readable(free)} is free. Of the allocated memory "
            f"{readable(self.in_use)} is allocated by PyTorch, and "
            f"{readable(self.kept - self.in_use)} is reserved by PyTorch but unallocated."
        )

    def reset_peaks(self) -> None:
        """Let the largest numbers be those of now."""
        self.most_in_use, self.most_kept = self.in_use, self.kept


def _counted(place: int) -> Any:
    """A number that the native module counts."""
    return property(lambda self: native.block_counts(False)[place], lambda self, value: None)


class NativePool(Pool):
    """The same with blocks that the native module makes and takes back: 0.1 us, not 1.6."""

    in_use, most_in_use, blocks = _counted(0), _counted(1), _counted(2)

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        native.know_room(lambda size: self._new(size, self.current_stream()))

    def take(self, nbytes: int) -> Any:
        """Return a block of at least so many bytes."""
        return native.take_block(nbytes)

    def fit(self, expected: int | None) -> None:
        """Cut blocks from pieces, the first of so many bytes; None: no longer."""
        native.fit_blocks(expected)

    def hold(self, stream: int) -> list[Any]:
        """Return all free blocks of a stream, which are in use from now on."""
        found: list[Any] = native.hold_blocks(stream)
        return found

    def give_back(self) -> None:
        """Give the blocks that nobody uses back to the device; cut pieces stay."""
        for address, size in native.drop_blocks(_SMALL + 1):
            self._whole.pop(address, None)
            self._release(address)
            self.kept -= size

    def reset_peaks(self) -> None:
        """Let the largest numbers be those of now."""
        native.block_counts(True)
        self.most_kept = self.kept


def new_pool(*given: Any) -> Pool:
    """The blocks of a device; the arguments are those of `Pool`."""
    return Pool(*given) if native is None else NativePool(*given)


def readable(nbytes: int) -> str:
    """A number of bytes as PyTorch's messages say it."""
    if nbytes < 1 << 10:
        return f"{nbytes} bytes"
    for unit, power in (("KiB", 10), ("MiB", 20)):
        if nbytes < 1 << (power + 10):
            return f"{nbytes / (1 << power):.2f} {unit}"
    return f"{nbytes / (1 << 30):.2f} GiB"
