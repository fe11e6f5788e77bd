"""What `taper.cuda` answers where there is a GPU; loaded by the first question that needs it."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple

import numpy as np

from taper.cuda.streams import ExternalStream, Stream
from taper.device import device as Device
from taper.gpu import memory as blocks
from taper.gpu import state
from taper.tensor import Tensor, wrap

# --- the device ------------------------------------------------------------------------------


def is_available() -> bool:
    """Tell whether there is a GPU that can be used."""
    return True


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Tell whether the GPU computes with bfloat16."""
    return True


def is_tf32_supported() -> bool:
    """Tell whether float32 products can go through tensor cores."""
    return get_device_capability()[0] >= 8


def device_count() -> int:
    """Count the GPUs."""
    return state.device_count()


def is_initialized() -> bool:
    """Tell whether the GPU is in use."""
    return state.runtime is not None


def init() -> None:
    """Take the GPU into use."""
    state.start()


_lazy_init = init


def check(device: Any = None) -> int:
    """Return the number of a device, after a look whether it is there."""
    state.start()
    if device is None:
        return 0
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        device = device.index or 0
    if device != 0:
        raise AssertionError("Invalid device id")
    return 0


def current_device() -> int:
    """Return the number of the device in use."""
    return check()


def set_device(device: Any) -> None:
    """Choose a device; there is one."""
    check(device)


def get_device_name(device: Any = None) -> str:
    """Return what the driver calls the device."""
    check(device)
    name = state.runtime.properties()["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the version of the device's instructions."""
    check(device)
    found = state.runtime.properties()
    return found["major"], found["minor"]


class _CudaDeviceProperties(NamedTuple):
    """What the driver says about a device."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int
    L2_cache_size: int


def get_device_properties(device: Any = None) -> Any:
    """Return what the driver says about the device."""
    check(device)
    found = state.runtime.properties()
    return _CudaDeviceProperties(
        get_device_name(),
        found["major"],
        found["minor"],
        found["totalGlobalMem"],
        found["multiProcessorCount"],
        found["warpSize"],
        found["l2CacheSize"],
    )


def get_arch_list() -> list[str]:
    """Return what kernels are compiled for: this device."""
    major, minor = get_device_capability()
    return [f"sm_{major}{minor}"]


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Tell whether a device reads another's memory; there is one device."""
    return False


def synchronize(device: Any = None) -> None:
    """Wait until everything that was asked of the device is done."""
    check(device)
    state.runtime.synchronize()


def current_stream(device: Any = None) -> Stream:
    """Return the stream that work goes into."""
    check(device)
    return ExternalStream(state.runtime.stream)


def default_stream(device: Any = None) -> Stream:
    """Return the stream that work goes into if nobody has chosen another."""
    check(device)
    return ExternalStream(0)


def ipc_collect() -> None:
    """Nothing to do: no memory is shared with other processes."""


# --- memory ----------------------------------------------------------------------------------


def _pool(device: Any = None) -> Any:
    if state.runtime is None:
        return None
    check(device)
    return state.runtime.pool


def memory_allocated(device: Any = None) -> int:
    """Return the bytes of tensors."""
    pool = _pool(device)
    return 0 if pool is None else pool.in_use


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes of tensors since the last reset."""
    pool = _pool(device)
    return 0 if pool is None else pool.most_in_use


def memory_reserved(device: Any = None) -> int:
    """Return the bytes that were taken from the device, in use or kept."""
    pool = _pool(device)
    return 0 if pool is None else pool.kept


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were taken from the device since the last reset."""
    pool = _pool(device)
    return 0 if pool is None else pool.most_kept


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the largest numbers begin anew."""
    check(device)
    state.runtime.pool.reset_peaks()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Let the counts begin anew."""
    check(device)
    pool = state.runtime.pool
    pool.allocations = pool.blocks = pool.shortages = 0


def empty_cache() -> None:
    """Give memory that is kept back to the device."""
    if state.runtime is not None:
        state.runtime.empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and the total bytes of the device."""
    check(device)
    found: tuple[int, int] = state.runtime.room()
    return found


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limit what is taken from the device."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    check(device)
    state.runtime.pool.limit = int(state.runtime.room()[1] * fraction)


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return the numbers of the allocator by PyTorch's names."""
    pool = _pool(device)
    if pool is None:
        return collections.OrderedDict()
    return collections.OrderedDict(
        {
            "allocated_bytes.all.current": pool.in_use,
            "allocated_bytes.all.peak": pool.most_in_use,
            "reserved_bytes.all.current": pool.kept,
            "reserved_bytes.all.peak": pool.most_kept,
            "allocation.all.allocated": pool.blocks,
            "num_alloc_retries": pool.shortages,
            "num_ooms": pool.shortages,
            "num_device_alloc": pool.allocations,
        }
    )


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return the same, a dict for each part of a name."""
    found: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Return the numbers of the allocator as text."""
    return "\n".join(
        f"{name:32} {blocks.readable(value) if 'bytes' in name else value}"
        for name, value in memory_stats(device).items()
    )


def get_allocator_backend() -> str:
    """Return which allocator serves the device."""
    return "native"


# --- random numbers --------------------------------------------------------------------------


def _generator() -> Any:
    state.start()
    from taper.gpu.random import default  # late: for programs with a GPU

    return default


def manual_seed(seed: int) -> None:
    """Let the random numbers of the device begin anew."""
    _generator().manual_seed(int(seed))


manual_seed_all = manual_seed


def seed() -> None:
    """Let the random numbers of the device begin somewhere."""
    _generator().seed()


seed_all = seed


def initial_seed() -> int:
    """Return the seed of the device's random numbers."""
    found: int = _generator().initial_seed()
    return found


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return where the random numbers of the device are: 16 bytes on the CPU."""
    check(device)
    return wrap(np.frombuffer(_generator().state(), np.uint8).copy())


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Let the random numbers of the device go on from a state."""
    check(device)
    _generator().set_state(new_state._array.tobytes())


def get_rng_state_all() -> list[Tensor]:
    """Return the states of all devices."""
    return [get_rng_state()]


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of all devices."""
    for each in new_states:
        set_rng_state(each)
