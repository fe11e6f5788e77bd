"""The device through CuPy: memory, streams, libraries, and functions that are not our own."""

from __future__ import annotations

import collections
import ctypes
import functools
import math
import os
import warnings
from typing import Any

# CuPy's own kernels may use CUB; nothing else of its settings is ours to choose.
os.environ.setdefault("CUPY_ACCELERATORS", "cub")

import cupy
import numpy as np
from cupy.cuda import runtime as driver

from taper.arrays.native import native
from taper.autograd.provenance import folders
from taper.gpu import chains, kernels, products, rules, state
from taper.gpu.array import CudaArray, address, new_array, root_block
from taper.gpu.graphs import refuse_capture
from taper.gpu.memory import new_pool

_NO_MEMORY = 2  # the runtime's cudaErrorMemoryAllocation

_KNOWN = frozenset(np.dtype(name) for name in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split())


class Runtime:
    """What the room needs of a device; `tests/cuda/fake.py` has the same without one."""

    name = "cupy"

    def __init__(self) -> None:
        driver.setDevice(0)
        self.stream = 0  # where kernels go
        self._streams: dict[int, Any] = {}
        folders.append(os.path.dirname(os.path.abspath(cupy.__file__)) + os.sep)
        self._pinned = cupy.cuda.PinnedMemoryPool()
        cupy.cuda.set_pinned_memory_allocator(self._pinned_for_cupy)
        self.pool = new_pool(self._allocate, driver.free, lambda: self.stream, driver.memGetInfo)
        cupy.cuda.set_allocator(self._for_cupy)
        self._functions: dict[tuple[str, str], Any] = {}
        self.kernels = kernels.Kernels(self)
        self._copying: collections.deque[tuple[int, Any]] = collections.deque()
        self._events: list[int] = []  # that no copy needs any more
        self._chains: dict[str, Any] = {}  # kernels by their texts
        self._library: Any = None
        state.at_start.append(self._start_library)

    def _start_library(self) -> None:
        self._library = products.start(self._allocate)

    @staticmethod
    def _allocate(size: int) -> int:
        try:
            found: int = driver.malloc(size)
        except driver.CUDARuntimeError as error:
            if error.status == _NO_MEMORY:
                raise MemoryError from None
            raise
        return found

    def _for_cupy(self, size: int) -> Any:
        """Room for CuPy's own arrays, from the same pool."""
        block = self.pool.take(size)
        memory = cupy.cuda.UnownedMemory(block.address, block.size, block, 0)
        return cupy.cuda.MemoryPointer(memory, 0)

    def _pinned_for_cupy(self, size: int) -> Any:
        """Memory that CuPy copies from; a graph copies from it again and again."""
        found = self._pinned.malloc(size)
        if state.capturing is not None:
            state.capturing.kept.append(found)
        return found

    # --- arrays ----------------------------------------------------------------------------------

    @staticmethod
    def knows(dtype: np.dtype) -> bool:
        """Whether CuPy computes with a dtype."""
        return dtype in _KNOWN

    @staticmethod
    def lend(array: Any) -> Any:
        """A CuPy array on the memory of one of ours."""
        block = root_block(array)
        memory = cupy.cuda.UnownedMemory(block.address, block.size, block, 0)
        offset = address(array) - block.address if array.size else 0
        dtype = array.dtype
        if dtype not in _KNOWN:
            dtype = np.dtype(f"u{dtype.itemsize}")
        return cupy.ndarray(
            array.shape, dtype, cupy.cuda.MemoryPointer(memory, offset), strides=array.strides
        )

    def adopt_all(self, value: Any) -> Any:
        """Our arrays on the memory of CuPy's, in whatever holds them."""
        if isinstance(value, cupy.ndarray):
            return self.adopt(value)
        if isinstance(value, tuple):
            made = [self.adopt_all(each) for each in value]
            return value._make(made) if hasattr(value, "_make") else tuple(made)
        if isinstance(value, list):
            return [self.adopt_all(each) for each in value]
        return value

    @staticmethod
    def adopt(array: Any) -> Any:
        """One of our arrays on the memory of a CuPy array."""
        block: Any = getattr(array.data.mem, "_owner", None)
        if not hasattr(block, "address"):  # memory that is not from our pool, or nothing
            block = _borrowed(array)
        offset = array.data.ptr - block.address if array.size else 0
        return new_array(CudaArray, array.shape, array.dtype, block, offset, array.strides)

    def to_dlpack(self, array: Any, stream: Any, max_version: Any) -> Any:
        """A capsule on the memory of an array, for other libraries."""
        options = {} if max_version is None else {"max_version": max_version}
        return self.lend(array).__dlpack__(stream=stream, **options)

    def from_dlpack(self, exporter: Any) -> Any:
        """An array on the memory that another library shows."""
        return self.adopt(cupy.from_dlpack(exporter))

    def assign(self, target: Any, value: Any) -> None:
        """Write a number or an array into all elements of an array."""
        if self.kernels.assign(target, value):
            return
        if value.__class__ is CudaArray:
            value = self.lend(value)
        elif isinstance(value, np.ndarray):
            value = value[()]
        self.lend(target)[...] = value

    def copy_in(self, target: Any, source: np.ndarray) -> None:
        """Copy an array of the processor's into one of the same dense layout."""
        if state.capturing is not None:
            source = self.pinned(source)  # which the graph reads at each launch
            state.capturing.kept.append(source)
        driver.memcpyAsync(
            address(target),
            source.ctypes.data,
            source.nbytes,
            driver.memcpyHostToDevice,
            self.stream,
        )

        # The driver has its own copy of other memory already.
        if state.capturing is None and state.is_pinned_array(source):
            self._wait_for(source)

    def _wait_for(self, pinned: np.ndarray) -> None:
        """Wait until pinned memory is copied; or keep it until then, for those who do not wait."""
        if state.patience.waits:
            driver.streamSynchronize(self.stream)
            return
        while self._copying and not driver.eventQuery(self._copying[0][0]):
            self._events.append(self._copying.popleft()[0])
        event = self._events.pop() if self._events else self.new_event(False, False)
        driver.eventRecord(event, self.stream)
        self._copying.append((event, pinned))

    @staticmethod
    def pinned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array in memory that the device reads and writes by itself."""
        count = math.prod(shape)
        memory = cupy.cuda.alloc_pinned_memory(max(count * dtype.itemsize, 1))
        made: np.ndarray = np.frombuffer(memory, dtype, count).reshape(shape)
        return made

    def pinned(self, array: np.ndarray) -> np.ndarray:
        """A copy in such memory."""
        made = self.pinned_empty(array.shape, array.dtype)
        made[...] = array
        return made

    def copy_out(self, target: np.ndarray, source: Any) -> None:
        """Copy an array of the same dense layout to the processor, and wait for it.

        Who does not want to wait does not, for pinned memory.
        """
        refuse_capture("numbers are read")
        driver.memcpyAsync(
            target.ctypes.data,
            address(source),
            target.nbytes,
            driver.memcpyDeviceToHost,
            self.stream,
        )
        if not state.patience.waits and state.is_pinned_array(target):
            self._wait_for(target)
        else:
            driver.streamSynchronize(self.stream)

    # --- functions -------------------------------------------------------------------------------

    def function(self, module: str, name: str) -> Any:
        """A function of CuPy's for one of NumPy's; None if there is none."""
        key = (module, name)
        if key not in self._functions:
            space: Any = cupy
            for part in module.split(".")[1:]:
                space = getattr(space, part, None)
            self._functions[key] = getattr(space, name, None)
        return self._functions[key]

    @staticmethod
    def scatter(called: Any) -> Any:
        """CuPy's `ufunc.at`, where it has one."""
        theirs = getattr(cupy, called.__name__, None)
        return getattr(theirs, "at", None)

    def elementwise(self, called: Any, inputs: Any, out: Any) -> Any:
        """A ufunc by a kernel of our own, or NotImplemented."""
        if called is np.matmul:
            one, other = inputs
            if out is None:
                return products.matmul(one, other)
            return products.matmul_into(one, other, out)
        return self.kernels.elementwise(called, inputs, out)

    @staticmethod
    def product(one: Any, other: Any, out: Any) -> None:
        """Write the products of two stacks of matrices into a third."""
        products.product(one, other, out)

    @staticmethod
    def biased(one: Any, other: Any, bias: Any) -> Any:
        """The product of two matrices, and whether a vector was added to its rows."""
        return products.biased(one, other, bias)

    def reduction(self, called: Any, array: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
        """A reduction by a kernel of our own, or NotImplemented."""
        return self.kernels.reduction(called, array, axis, dtype, keepdims)

    def update(self, instructions: bytes, columns: Any, constants: Any, where: Any) -> bool:
        """Run the update rule of an optimizer over the arrays of its parameters."""
        rules.launch(self.kernels, instructions, columns, constants, where)
        return True

    def compile_chain(self, chain: Any, width: int) -> Any:
        """A kernel for a chain of element-wise operations."""
        text = chains.text_of(chain, width)
        found = self._chains.get(text)
        if found is None:
            found = self._chains[text] = self.kernels.compile(text, "chain")
        return found

    def run_chain(self, kernel: Any, chain: Any, width: int, places: list[int]) -> None:
        """Run such a kernel on arrays at these addresses."""
        blocks = chains.blocks_of(chain, width)
        self.kernels.launch(kernel, blocks, 256, (chains.given(places),))

    # --- the device ------------------------------------------------------------------------------

    @staticmethod
    def synchronize() -> None:
        """Wait until all that was asked for is done."""
        driver.deviceSynchronize()

    @functools.cached_property
    def _properties(self) -> dict[str, Any]:
        found: dict[str, Any] = driver.getDeviceProperties(0)
        return found

    def properties(self) -> dict[str, Any]:
        """What the driver says about the device."""
        return self._properties

    @staticmethod
    def room() -> tuple[int, int]:
        """Free and total bytes of the device."""
        found: tuple[int, int] = driver.memGetInfo()
        return found

    # --- graphs ----------------------------------------------------------------------------------

    @staticmethod
    def begin_capture(stream: int) -> None:
        """Write down what goes into a stream."""
        driver.streamBeginCapture(stream, driver.streamCaptureModeRelaxed)

    @staticmethod
    def end_capture(stream: int) -> Any:
        """Return what was written down, ready to be launched."""
        graph = driver.streamEndCapture(stream)
        try:
            return driver.graphInstantiate(graph)
        finally:
            driver.graphDestroy(graph)

    def launch_graph(self, handle: int) -> None:
        """Do what was written down, in the current stream."""
        driver.graphLaunch(handle, self.stream)

    @staticmethod
    def drop_graph(handle: int) -> None:
        """Let a graph go."""
        driver.graphExecDestroy(handle)

    # --- streams and events ----------------------------------------------------------------------

    @staticmethod
    def new_stream(priority: int) -> int:
        """Make a stream that does not wait for the default one."""
        found: int = driver.streamCreateWithPriority(driver.streamNonBlocking, priority)
        return found

    @staticmethod
    def drop_stream(stream: int) -> None:
        """Let a stream go once its work is done."""
        driver.streamDestroy(stream)  # CuPy's object for it owns nothing

    def use_stream(self, stream: int) -> None:
        """Let work go into a stream from now on."""
        self.stream = stream
        if native is not None:
            native.use_stream(stream)
        self._cupy_stream(stream).use()
        if self._library is not None:
            self._library.use_stream(stream)

    def _cupy_stream(self, stream: int) -> Any:
        """CuPy's object for a stream."""
        found = self._streams.get(stream)
        if found is None:
            with warnings.catch_warnings():  # the newer name wants an object of somebody's class
                warnings.simplefilter("ignore", DeprecationWarning)
                found = cupy.cuda.ExternalStream(stream) if stream else cupy.cuda.Stream.null
            self._streams[stream] = found
        return found

    @staticmethod
    def wait_for_stream(stream: int) -> None:
        """Wait until the work in a stream is done."""
        driver.streamSynchronize(stream)

    @staticmethod
    def is_stream_done(stream: int) -> bool:
        """Tell whether the work in a stream is done."""
        return not driver.streamQuery(stream)

    @staticmethod
    def new_event(timing: bool, blocking: bool) -> int:
        """Make an event."""
        flags = 0 if timing else driver.eventDisableTiming
        found: int = driver.eventCreateWithFlags(
            flags | (driver.eventBlockingSync if blocking else 0)
        )
        return found

    @staticmethod
    def drop_event(event: int) -> None:
        """Let an event go."""
        driver.eventDestroy(event)

    @staticmethod
    def record_event(event: int, stream: int) -> None:
        """Put an event into a stream."""
        driver.eventRecord(event, stream)

    @staticmethod
    def let_wait(stream: int, event: int) -> None:
        """Let a stream wait for an event."""
        driver.streamWaitEvent(stream, event)

    @staticmethod
    def is_event_done(event: int) -> bool:
        """Tell whether the work before an event is done."""
        return not driver.eventQuery(event)

    @staticmethod
    def wait_for_event(event: int) -> None:
        """Wait until the work before an event is done."""
        driver.eventSynchronize(event)

    @staticmethod
    def elapsed(start: int, end: int) -> float:
        """Return the milliseconds between two events."""
        found: float = driver.eventElapsedTime(start, end)
        return found

    def empty_cache(self) -> None:
        """Give back what is kept."""
        driver.deviceSynchronize()
        self.pool.give_back()


def _borrowed(array: Any) -> Any:
    size = max(array.data.mem.size, 1)
    kind: Any = type("BorrowedBlock", (ctypes.c_char * size,), {})
    block = kind.from_address(array.data.mem.ptr or 1)
    block.address, block.size, block.owner = array.data.mem.ptr or 1, size, array
    return block
