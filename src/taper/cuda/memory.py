"""`taper.cuda.memory`: there is no device memory; questions answer 0, the rest is refused."""

from __future__ import annotations

from typing import Any, NoReturn

from taper.absent import devices
from taper.absent.answers import answer_where_there, not_compiled, not_in_c, own, refused
from taper.userwarning import warn_user

empty_cache = devices.empty_cache
memory_stats = devices.memory_stats
memory_allocated = devices.memory_allocated
max_memory_allocated = devices.max_memory_allocated
memory_reserved = devices.memory_reserved
max_memory_reserved = devices.max_memory_reserved


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """What is known of device memory: nothing."""
    return {}


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    return _renamed("memory_cached", "memory_reserved")


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    return _renamed("max_memory_cached", "max_memory_reserved")


def _renamed(old: str, new: str) -> int:
    warn_user(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)
    return 0


def list_gpu_processes(device: Any = None) -> str:
    """The processes on a device, which cannot be asked."""
    return "pynvml module not found, please install nvidia-ml-py"


# --- what needs a device ---------------------------------------------------------------------


def memory_summary(device: Any = None, abbreviated: bool = False) -> Any:
    """Refused: there is nothing to sum up."""
    raise KeyError("allocated_bytes.all.current")


def _reset_all(name: str) -> NoReturn:
    warn_user(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
    )
    not_in_c("_cuda_resetPeakMemoryStats")


memory_snapshot = refused(
    lambda mempool_id=None, include_traces=True: not_in_c("_cuda_memorySnapshot")
)
reset_peak_memory_stats = refused(lambda device=None: not_in_c("_cuda_resetPeakMemoryStats"))
reset_accumulated_memory_stats = refused(
    lambda device=None: not_in_c("_cuda_resetAccumulatedMemoryStats")
)
reset_max_memory_allocated = refused(lambda device=None: _reset_all("reset_max_memory_allocated"))
reset_max_memory_cached = refused(lambda device=None: _reset_all("reset_max_memory_cached"))
get_allocator_backend = refused(lambda: not_in_c("_cuda_getAllocatorBackend"))
mem_get_info = refused(lambda device=None: not_compiled("CUDA"))
set_per_process_memory_fraction = refused(lambda fraction, device=None: not_compiled("CUDA"))
caching_allocator_alloc = refused(lambda size, device=None, stream=None: not_compiled("CUDA"))
caching_allocator_delete = refused(
    lambda mem_ptr: not_in_c("_cuda_cudaCachingAllocator_raw_delete")
)

own(globals())
answer_where_there(globals(), "taper.cuda.present")
