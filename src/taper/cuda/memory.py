"""`taper.cuda.memory`: there is no device memory; questions answer 0, the rest is refused."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

from taper.cuda.absent import missing, not_compiled
from taper.userwarning import warn_user


def empty_cache() -> None:
    """Do nothing: no device memory is cached."""


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return what is known of device memory: nothing."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return what is known of device memory: nothing."""
    return {}


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of device memory in use: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes of device memory in use: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Return the bytes of device memory kept: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes of device memory kept: 0."""
    return 0


def memory_cached(device: Any = None) -> int:
    """Return `memory_reserved`, by its old name."""
    warn_user(
        "`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`",
        FutureWarning,
    )
    return 0


def max_memory_cached(device: Any = None) -> int:
    """Return `max_memory_reserved`, by its old name."""
    warn_user(
        "`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`",
        FutureWarning,
    )
    return 0


def list_gpu_processes(device: Any = None) -> str:
    """Return a text about the processes on a device: it cannot be asked."""
    return "pynvml module not found, please install nvidia-ml-py"


# --- what needs a device ---------------------------------------------------------------------


def memory_summary(device: Any = None, abbreviated: bool = False) -> NoReturn:
    """Refused: there is nothing to sum up."""
    raise KeyError("allocated_bytes.all.current")


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> NoReturn:
    """Refused: there is no CUDA."""
    missing("_cuda_memorySnapshot")


def reset_peak_memory_stats(device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    missing("_cuda_resetPeakMemoryStats")


def reset_accumulated_memory_stats(device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    missing("_cuda_resetAccumulatedMemoryStats")


def reset_max_memory_allocated(device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    _warn_all_are_reset("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    _warn_all_are_reset("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def _warn_all_are_reset(name: str) -> None:
    warn_user(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
    )


def get_allocator_backend() -> NoReturn:
    """Refused: there is no CUDA."""
    missing("_cuda_getAllocatorBackend")


def mem_get_info(device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def caching_allocator_delete(mem_ptr: int) -> NoReturn:
    """Refused: there is no CUDA."""
    missing("_cuda_cudaCachingAllocator_raw_delete")
