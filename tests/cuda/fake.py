"""A device without a device: NumPy computes, and the processor may not read the arrays' addresses.

The addresses of arrays lie in memory without any access; what they mean lies elsewhere, at a fixed
distance.  So a piece of code that takes an array on the device for one of the processor's ends the
process, as it would on a machine with a GPU.
"""

from __future__ import annotations

import collections
import ctypes
import math
import mmap
from typing import Any

import numpy as np
from compiled_text import compiled

from taper.arrays.native import native
from taper.autograd.provenance import folders
from taper.gpu import chains, state
from taper.gpu.array import CudaArray, address, new_array, root_block
from taper.gpu.graphs import refuse_capture
from taper.gpu.memory import new_pool

SIZE = 1 << 30
# NumPy's functions that CuPy 14 lacks.
LACKING = frozenset(
    """asmatrix block bmat einsum_path frompyfunc geomspace histogram_bin_edges insert matrix matvec
    nanpercentile nanquantile ndenumerate nditer polyder polydiv polyint spacing unstack vecdot
    vecmat fmax_reduce""".split()
)
_KNOWN = frozenset(np.dtype(name) for name in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())


def _reserve() -> int:
    """An address range that nobody may read or write."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    found: int = libc.mmap(None, SIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)
    return found


def _renew(place: Any, result: Any) -> None:
    """Write results where those of the first call are."""
    if isinstance(place, np.ndarray):
        np.copyto(place, result)
    elif isinstance(place, tuple | list):
        for one, other in zip(place, result, strict=True):
            _renew(one, other)


_RULES = (
    *(np.add, np.subtract, np.multiply, np.divide, np.negative, np.sqrt, np.absolute),
    *(np.maximum, np.minimum, np.greater, np.less, np.where),
)


def _run_rule(instructions: bytes, columns: Any, constants: Any, numbers: Any) -> None:
    """The program of an update rule over all parameters; coefficients may lie on the device."""
    for nr, row in enumerate(zip(*columns, strict=True)):
        wide = np.float64 if row[0].itemsize == 8 else np.float32
        at = 0 if numbers is None or numbers.shape[1] == 1 else nr
        given = constants if numbers is None else numbers[: len(constants), at]
        registers: dict[int, Any] = dict(enumerate([each.astype(wide) for each in row]))
        registers |= {len(row) + place: each for place, each in enumerate(given)}
        for place in range(0, len(instructions), 5):
            operation, target, *operands = instructions[place : place + 5]
            called = _RULES[operation]
            count = 3 if called is np.where else called.nin
            with np.errstate(all="ignore"):
                found = called(*[registers.get(each) for each in operands[:count]])
            registers[target] = np.asarray(found, wide)
        for column, each in enumerate(row):
            each[...] = registers[column]


class PinnedMemoryPointer(bytearray):
    """What CuPy calls pinned memory."""


class Runtime:
    """What `taper.gpu.cupy_runtime.Runtime` offers, computed by NumPy."""

    name = "fake"
    kernels = None
    stream = 0
    streams = 0
    waits = 0  # for copies

    def __init__(self, limit: int = SIZE) -> None:
        self.start = _reserve()
        self.memory = mmap.mmap(-1, SIZE)
        self.real = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.next = 512
        self.limit = limit
        self.free: dict[int, list[int]] = collections.defaultdict(list)
        self.sizes: dict[int, int] = {}
        self.pool = new_pool(self._allocate, self._release, lambda: self.stream, self.room)
        self.work: Any = None  # what a graph that is being written does, as calls
        folders.append(__file__)
        self.lent = collections.Counter()

    def _allocate(self, size: int) -> int:
        if self.free[size]:
            return self.free[size].pop()
        if self.next + size > self.limit:
            larger = [each for each, places in self.free.items() if each > size and places]
            if not larger:
                raise MemoryError
            return self.free[min(larger)].pop()
        found = self.start + self.next
        self.next += size
        self.sizes[found] = size
        return found

    def _release(self, place: int) -> None:
        self.free[self.sizes[place]].append(place)

    def room(self) -> tuple[int, int]:
        kept = sum(self.sizes[each] for all_free in self.free.values() for each in all_free)
        return self.limit - self.next + kept, self.limit

    @staticmethod
    def knows(dtype: np.dtype) -> bool:
        return dtype in _KNOWN

    def lend(self, array: Any) -> np.ndarray:
        """A NumPy array on what the elements mean."""
        block = root_block(array)
        buffer = (ctypes.c_char * block.size).from_address(block.address - self.start + self.real)
        if self.work is None:  # a graph has addresses only: its room is used again and again
            buffer.block = block  # as long as somebody looks, the room is taken
        offset = address(array) - block.address if array.size else 0
        return np.ndarray(array.shape, array.dtype, buffer, offset, array.strides)

    def adopt_all(self, value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            return self.adopt(np.asarray(value))
        if isinstance(value, tuple):
            made = [self.adopt_all(each) for each in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if isinstance(value, list):
            return [self.adopt_all(each) for each in value]
        return value

    def adopt(self, array: np.ndarray) -> Any:
        block, original = self.pool.take(array.nbytes), array
        if not array.flags.forc:
            array = array.copy(order="K") if array.copy(order="K").flags.forc else array.copy()
        made = new_array(CudaArray, array.shape, array.dtype, block, 0, array.strides)
        if made.size:
            self._do(np.copyto, self.lend(made), original)
        return made

    def _do(self, function: Any, *args: Any, **options: Any) -> Any:
        """Call a function; in a graph, again at each launch, with its results in the same place."""
        result = function(*args, **options)
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if self.work is not None:
            self.work.append((function, args, options, result))
        return result

    def assign(self, target: Any, value: Any) -> None:
        value = self.lend(value) if value.__class__ is CudaArray else value
        self._do(np.copyto, self.lend(target), value, casting="unsafe")

    def pinned_empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        memory = PinnedMemoryPointer(max(1, math.prod(shape) * dtype.itemsize))
        return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)

    def pinned(self, array: np.ndarray) -> np.ndarray:
        made = self.pinned_empty(array.shape, array.dtype)
        made[...] = array
        return made

    def copy_in(self, target: Any, source: np.ndarray) -> None:
        self.waits += state.patience.waits and state.is_pinned_array(source)
        if self.work is None or source.size > 1:
            self._do(np.copyto, self.lend(target), source.copy())
        else:
            np.copyto(self.lend(target), source)

    def copy_out(self, target: np.ndarray, source: Any) -> None:
        refuse_capture("numbers are read")
        self.waits += state.patience.waits or not state.is_pinned_array(target)
        target[...] = self.lend(source)

    def function(self, module: str, name: str) -> Any:
        space: Any = np
        for part in module.split(".")[1:]:
            space = getattr(space, part, None)
        if name in LACKING or space is None:
            return None
        found = getattr(space, name, None)
        if found is None:
            return None
        self.lent[name] += 1
        return lambda *args, **options: self._do(found, *args, **options)

    def scatter(self, called: Any) -> Any:
        return lambda *args: self._do(called.at, *args)

    # --- graphs: a launch makes all calls again, on what lies in memory then ---------------------

    @staticmethod
    def properties() -> dict[str, Any]:
        return {"multiProcessorCount": 132, "maxThreadsPerMultiProcessor": 2048}

    def new_stream(self, priority: int) -> int:
        self.streams += 1
        return self.streams * 64

    def use_stream(self, stream: int) -> None:
        self.stream = stream
        if native is not None:
            native.use_stream(stream)

    def begin_capture(self, stream: int) -> None:
        self.work, self.before = [], self.memory[: self.next]

    def end_capture(self, stream: int) -> Any:
        found, self.work = self.work, None
        self.memory[: len(self.before)] = self.before  # nothing was done but written down
        return found

    def launch_graph(self, handle: Any) -> None:
        for function, args, options, result in handle:
            _renew(result, function(*args, **options))

    def drop_graph(self, handle: Any) -> None:
        handle.clear()

    @staticmethod
    def elementwise(called: Any, inputs: Any, out: Any) -> Any:
        return NotImplemented

    @staticmethod
    def reduction(called: Any, array: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
        return NotImplemented

    def update(self, instructions: bytes, columns: Any, constants: Any, where: Any) -> bool:
        lent = [[self.lend(each) for each in column] for column in columns]
        numbers = None if where is None else self.lend(where)
        self._do(_run_rule, instructions, lent, constants, numbers)
        return True

    def compile_chain(self, chain: Any, width: int) -> Any:
        return compiled(chains.text_of(chain, width))

    def run_chain(self, kernel: Any, chain: Any, width: int, places: list[int]) -> None:
        real = [each - self.start + self.real for each in places]
        self._do(kernel, chains.given(real))

    def synchronize(self) -> None:
        pass

    def empty_cache(self) -> None:
        self.pool.give_back()
