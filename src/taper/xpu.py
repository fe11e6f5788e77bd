"""`taper.xpu`: there are no tensors on Intel's GPUs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """Return False: there is no accelerator."""
    return False


def device_count() -> int:
    """Return the number of devices: 0."""
    return 0


def is_initialized() -> bool:
    """Return False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: there is no device that could."""
    return False


def is_tf32_supported() -> bool:
    """Return False: there is no device that could."""
    return False


def get_arch_list() -> list[str]:
    """Return the architectures that kernels are compiled for: none."""
    return []


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device generator."""


def manual_seed_all(seed: int) -> None:
    """Do nothing: there are no device generators."""


def seed() -> None:
    """Do nothing: there is no device generator."""


def seed_all() -> None:
    """Do nothing: there are no device generators."""


def get_rng_state_all() -> list[Any]:
    """Return the states of all device generators: none."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Do nothing: there are no device generators."""


def empty_cache() -> None:
    """Do nothing: no device memory is cached."""


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


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Return what is known of device memory: nothing."""
    return OrderedDict()


# --- what needs a device ---------------------------------------------------------------------


def init() -> NoReturn:
    """Refused: there is no GPU of Intel's."""
    raise AssertionError("Torch not compiled with XPU enabled")


def _needs_device(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        init()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no GPU of Intel's."
    return refuse


current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
initial_seed = _needs_device("initial_seed")
mem_get_info = _needs_device("mem_get_info")
set_device = _needs_device("set_device")
synchronize = _needs_device("synchronize")


def reset_peak_memory_stats(device: Any = None) -> NoReturn:
    """Refused: there is no GPU of Intel's."""
    raise AttributeError("module 'torch._C' has no attribute '_xpu_resetPeakMemoryStats'")


class Stream:
    """Refused: there is no GPU of Intel's."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Stream")


class Event:
    """Refused: there is no GPU of Intel's."""

    def __init__(self, enable_timing: bool = False) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
