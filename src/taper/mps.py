"""`taper.mps`: there are no tensors on Apple's GPUs."""

from __future__ import annotations

from typing import Any, NoReturn

from taper.absent import devices
from taper.absent.answers import own, refused, without_backend

is_available = devices.is_available
device_count = devices.device_count


def manual_seed(seed: int) -> None:
    """Nothing to do: there is no device generator."""


def _no_mps(function: str) -> NoReturn:
    without_backend(function, "MPS")


seed = refused(lambda: _no_mps("getDefaultGenerator"))
get_rng_state = refused(lambda device="mps": _no_mps("getDefaultGenerator"))
set_rng_state = refused(lambda new_state, device="mps": _no_mps("getDefaultGenerator"))
empty_cache = refused(lambda: _no_mps("emptyCache"))
synchronize = refused(lambda: _no_mps("deviceSynchronize"))
current_allocated_memory = refused(lambda: _no_mps("getCurrentAllocatedMemory"))
driver_allocated_memory = refused(lambda: _no_mps("getDriverAllocatedMemory"))
recommended_max_memory = refused(lambda: _no_mps("getRecommendedMaxMemory"))


def set_per_process_memory_fraction(fraction: float) -> Any:
    """Refused: there is no GPU of Apple's."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    _no_mps("setMemoryFraction")


class Event:
    """Refused: there is no GPU of Apple's."""

    def __init__(self, enable_timing: bool = False) -> None:
        _no_mps("acquireEvent")


own(globals())
