"""`taper.xpu`: there are no tensors on Intel's GPUs."""

from __future__ import annotations

from typing import Any, NoReturn

from taper.absent import devices
from taper.absent.answers import dummy, not_compiled, not_in_c, own, refused

default_generators: tuple[Any, ...] = ()
is_available = devices.is_available
is_initialized = devices.is_initialized
is_bf16_supported = devices.is_bf16_supported
is_tf32_supported = devices.is_tf32_supported
device_count = devices.device_count
get_arch_list = devices.get_arch_list
manual_seed = devices.manual_seed
manual_seed_all = devices.manual_seed_all
seed = devices.seed
seed_all = devices.seed_all
get_rng_state_all = devices.get_rng_state_all
set_rng_state_all = devices.set_rng_state_all
empty_cache = devices.empty_cache
memory_allocated = devices.memory_allocated
max_memory_allocated = devices.max_memory_allocated
memory_reserved = devices.memory_reserved
max_memory_reserved = devices.max_memory_reserved
memory_stats = devices.memory_stats


def _no_xpu() -> NoReturn:
    not_compiled("XPU")


init = refused(lambda: _no_xpu())
current_device = refused(lambda: _no_xpu())
current_stream = refused(lambda device=None: _no_xpu())
get_device_capability = refused(lambda device=None: _no_xpu())
get_device_name = refused(lambda device=None: _no_xpu())
get_device_properties = refused(lambda device=None: _no_xpu())
get_rng_state = refused(lambda device="xpu": _no_xpu())
initial_seed = refused(lambda: _no_xpu())
mem_get_info = refused(lambda device=None: _no_xpu())
set_device = refused(lambda device: _no_xpu())
synchronize = refused(lambda device=None: _no_xpu())
reset_peak_memory_stats = refused(lambda device=None: not_in_c("_xpu_resetPeakMemoryStats"))


class Stream:
    """Refused: there is no GPU of Intel's."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        dummy("Stream")


class Event:
    """Refused: there is no GPU of Intel's."""

    def __init__(self, enable_timing: bool = False) -> None:
        dummy("Event")


own(globals())
