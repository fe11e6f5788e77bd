"""`taper.cuda`: what programs ask before they use a GPU, answered for a machine without one.

Questions give the answers of PyTorch without CUDA; what would need a device raises its error.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from taper import dtypes, errors
from taper.absent import devices
from taper.absent.answers import (
    Block,
    answer_where_there,
    not_compiled,
    not_in_c,
    own,
    refused,
)
from taper.cuda import graphs, memory, random, streams
from taper.device import device as Device
from taper.first_use import on_first_use
from taper.gpu import state
from taper.tensor import Tensor

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False
_initialized = False

__getattr__, __dir__ = on_first_use(globals(), ("amp", "nccl", "nvtx", "profiler"))


# --- what the modules below have -------------------------------------------------------------

AcceleratorError = errors.AcceleratorError
OutOfMemoryError = errors.OutOfMemoryError
caching_allocator_alloc = memory.caching_allocator_alloc
caching_allocator_delete = memory.caching_allocator_delete
empty_cache = memory.empty_cache
get_allocator_backend = memory.get_allocator_backend
list_gpu_processes = memory.list_gpu_processes
max_memory_allocated = memory.max_memory_allocated
max_memory_cached = memory.max_memory_cached
max_memory_reserved = memory.max_memory_reserved
mem_get_info = memory.mem_get_info
memory_allocated = memory.memory_allocated
memory_cached = memory.memory_cached
memory_reserved = memory.memory_reserved
memory_snapshot = memory.memory_snapshot
memory_stats = memory.memory_stats
memory_stats_as_nested_dict = memory.memory_stats_as_nested_dict
memory_summary = memory.memory_summary
reset_accumulated_memory_stats = memory.reset_accumulated_memory_stats
reset_max_memory_allocated = memory.reset_max_memory_allocated
reset_max_memory_cached = memory.reset_max_memory_cached
reset_peak_memory_stats = memory.reset_peak_memory_stats
set_per_process_memory_fraction = memory.set_per_process_memory_fraction
get_rng_state = random.get_rng_state
get_rng_state_all = random.get_rng_state_all
initial_seed = random.initial_seed
manual_seed = random.manual_seed
manual_seed_all = random.manual_seed_all
seed = random.seed
seed_all = random.seed_all
set_rng_state = random.set_rng_state
set_rng_state_all = random.set_rng_state_all
Stream = streams.Stream
ExternalStream = streams.ExternalStream
Event = streams.Event
CUDAGraph = graphs.CUDAGraph
graph = graphs.graph
make_graphed_callables = graphs.make_graphed_callables
graph_pool_handle = graphs.graph_pool_handle
is_current_stream_capturing = graphs.is_current_stream_capturing


# --- questions -------------------------------------------------------------------------------

is_available = devices.is_available
is_initialized = devices.is_initialized
is_bf16_supported = devices.is_bf16_supported
is_tf32_supported = devices.is_tf32_supported
device_count = devices.device_count
get_arch_list = devices.get_arch_list
_is_compiled = _is_in_bad_fork = devices.is_available


def get_gencode_flags() -> str:
    """The flags that kernels are compiled with: none.

    >>> import taper
    >>> taper.cuda.get_gencode_flags(), taper.cuda.is_available()
    ('', False)
    """
    return ""


# --- what needs a device ---------------------------------------------------------------------


def _no_cuda() -> NoReturn:
    not_compiled("CUDA")


init = _lazy_init = refused(lambda: _no_cuda())
can_device_access_peer = refused(lambda device, peer_device: _no_cuda())
cudart = refused(lambda: _no_cuda())
current_blas_handle = refused(lambda: _no_cuda())
current_device = refused(lambda: _no_cuda())
current_stream = refused(lambda device=None: _no_cuda())
default_stream = refused(lambda device=None: _no_cuda())
get_device_capability = refused(lambda device=None: _no_cuda())
get_device_name = refused(lambda device=None: _no_cuda())
get_device_properties = refused(lambda device=None: _no_cuda())
get_sync_debug_mode = refused(lambda: _no_cuda())
ipc_collect = refused(lambda: _no_cuda())
set_sync_debug_mode = refused(lambda debug_mode: _no_cuda())
synchronize = refused(lambda device=None: _no_cuda())


def _no_driver() -> NoReturn:
    raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.")


clock_rate = refused(lambda device=None: _no_driver())
device_memory_used = refused(lambda device=None: _no_driver())
memory_usage = refused(lambda device=None: _no_driver())
power_draw = refused(lambda device=None: _no_driver())
temperature = refused(lambda device=None: _no_driver())
utilization = refused(lambda device=None: _no_driver())


def _index(device: Any) -> Any:
    """The number of a device that is named by number, by text or as a `device`."""
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is None:
            return current_device()
        return device.index
    return device


def set_device(device: Any) -> None:
    """Choose a device, of which there are none; a number below 0 chooses nothing."""
    if _index(device) >= 0:
        not_in_c("_cuda_setDevice")


class device:
    """A block on one of the devices, of which there are none; a number below 0 means nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0 and not state.device_count():
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *raised: object) -> None:
        return None


class device_of(device):
    """A block on the device of a tensor; for one on the CPU nothing changes."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class StreamContext(Block):
    """A block in a stream; without streams, or without one to use, nothing changes."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before = 0

    def __enter__(self) -> None:
        if self.stream is not None and state.runtime is not None:
            self._before = state.runtime.stream
            state.runtime.use_stream(self.stream.cuda_stream)

    def __exit__(self, *raised: object) -> None:
        if self.stream is not None and state.runtime is not None:
            state.runtime.use_stream(self._before)


def stream(stream: Stream | None) -> StreamContext:
    """A block in a stream; without streams nothing changes.

    >>> import taper
    >>> with taper.cuda.stream(None):
    ...     print(1)
    1
    """
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Let work go into a stream from now on; without streams there is nothing to do."""
    if stream is not None and state.runtime is not None:
        state.runtime.use_stream(stream.cuda_stream)


# --- types -----------------------------------------------------------------------------------


class _NoTensors(type):
    """The class of `cuda.FloatTensor` and the like, of which there are no instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return False


def fallbacks() -> dict[str, int]:
    """Return how often functions ran on the CPU because the device has no kernel for them.

    >>> import taper
    >>> taper.cuda.fallbacks()
    {}
    """
    dispatch = sys.modules.get("taper.gpu.dispatch")
    return {} if dispatch is None else dict(dispatch.fallbacks)


def _no_tensors(which: dtypes.dtype) -> Any:
    text = f"Tensors of {which!r} on a GPU, of which there are none."
    members = {"__module__": __name__, "__doc__": text}
    return _NoTensors(f"{which.scalar_type}Tensor", (), members)


FloatTensor = _no_tensors(dtypes.float32)
DoubleTensor = _no_tensors(dtypes.float64)
HalfTensor = _no_tensors(dtypes.float16)
BFloat16Tensor = _no_tensors(dtypes.bfloat16)
LongTensor = _no_tensors(dtypes.int64)
IntTensor = _no_tensors(dtypes.int32)
ShortTensor = _no_tensors(dtypes.int16)
CharTensor = _no_tensors(dtypes.int8)
ByteTensor = _no_tensors(dtypes.uint8)
BoolTensor = _no_tensors(dtypes.bool_)

own(globals())
answer_where_there(globals(), "taper.cuda.present")
