"""`taper.cuda`: what programs ask before they use a GPU, answered for a machine without one.

Questions get the answers of PyTorch without CUDA; functions that need a device raise its error.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from taper import dtypes
from taper.cuda import memory, random, streams
from taper.cuda.absent import init, missing, not_compiled
from taper.cuda.memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_allocator_backend,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from taper.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from taper.cuda.streams import Event, ExternalStream, Stream, StreamContext, set_stream, stream
from taper.device import device as Device
from taper.errors import AcceleratorError, OutOfMemoryError
from taper.tensor import Tensor

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "Event",
    "ExternalStream",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "empty_cache",
    "get_allocator_backend",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "list_gpu_processes",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "random",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
]

default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False
_initialized = False

# Rarely used parts are imported on demand.
_ON_DEMAND = frozenset({"amp", "nccl", "nvtx", "profiler"})


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- questions -------------------------------------------------------------------------------


def is_available() -> bool:
    """Return False: there is no CUDA.

    >>> import taper
    >>> taper.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Return False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: there is no device that could."""
    return False


def is_tf32_supported() -> bool:
    """Return False: there is no device that could."""
    return False


def device_count() -> int:
    """Return the number of CUDA devices: 0."""
    return 0


def get_arch_list() -> list[str]:
    """Return the architectures that kernels are compiled for: none."""
    return []


def get_gencode_flags() -> str:
    """Return the flags that kernels are compiled with: none."""
    return ""


def _is_compiled() -> bool:
    return False


def _is_in_bad_fork() -> bool:
    return False


def is_current_stream_capturing() -> NoReturn:
    """Refused: there is no CUDA."""
    raise RuntimeError("Tried to instantiate dummy base class _cuda_isCurrentStreamCapturing")


def graph_pool_handle() -> NoReturn:
    """Refused: there is no CUDA."""
    raise RuntimeError("Tried to instantiate dummy base class _graph_pool_handle")


# --- what needs a device ---------------------------------------------------------------------


def _needs_device(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        not_compiled()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no CUDA."
    return refuse


_lazy_init = init
can_device_access_peer = _needs_device("can_device_access_peer")
cudart = _needs_device("cudart")
current_blas_handle = _needs_device("current_blas_handle")
current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
default_stream = _needs_device("default_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_sync_debug_mode = _needs_device("get_sync_debug_mode")
ipc_collect = _needs_device("ipc_collect")
set_sync_debug_mode = _needs_device("set_sync_debug_mode")
synchronize = _needs_device("synchronize")


def _needs_driver(name: str) -> Callable[[Any], NoReturn]:
    def refuse(device: Any = None) -> NoReturn:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no CUDA driver to ask."
    return refuse


clock_rate = _needs_driver("clock_rate")
device_memory_used = _needs_driver("device_memory_used")
memory_usage = _needs_driver("memory_usage")
power_draw = _needs_driver("power_draw")
temperature = _needs_driver("temperature")
utilization = _needs_driver("utilization")


def _index(device: Any) -> Any:
    """Return the number of a device that is named by number, by text or as a `device`."""
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        if device.index is None:
            not_compiled()
        return device.index
    return device


def set_device(device: Any) -> None:
    """Choose a device, of which there are none; a number below 0 chooses nothing."""
    if _index(device) >= 0:
        missing("_cuda_setDevice")


class device:
    """Use one of the devices, of which there are none, in a block; below 0 nothing changes."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _index(device)

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *raised: object) -> None:
        return None


class device_of(device):
    """Use the device of a tensor in a block; for one on the CPU nothing changes."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class CUDAGraph:
    """Refused: there is no CUDA."""

    def __init__(self, keep_graph: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class CUDAGraph")


# --- types -----------------------------------------------------------------------------------


class _NoTensors(type):
    """The class of `cuda.FloatTensor` and the like, which have no instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return False


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
