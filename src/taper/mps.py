"""`taper.mps`: there are no tensors on Apple's GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """Return False: there is no accelerator."""
    return False


def device_count() -> int:
    """Return the number of devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no device generator."""


# --- what needs a device ---------------------------------------------------------------------


def _needs_device(name: str, inside: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {inside}() without MPS backend.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no GPU of Apple's."
    return refuse


seed = _needs_device("seed", "getDefaultGenerator")
get_rng_state = _needs_device("get_rng_state", "getDefaultGenerator")
set_rng_state = _needs_device("set_rng_state", "getDefaultGenerator")
empty_cache = _needs_device("empty_cache", "emptyCache")
synchronize = _needs_device("synchronize", "deviceSynchronize")
current_allocated_memory = _needs_device("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _needs_device("driver_allocated_memory", "getDriverAllocatedMemory")
recommended_max_memory = _needs_device("recommended_max_memory", "getRecommendedMaxMemory")
Event = _needs_device("Event", "acquireEvent")


def set_per_process_memory_fraction(fraction: float) -> NoReturn:
    """Refused: there is no GPU of Apple's."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    raise RuntimeError("Cannot execute setMemoryFraction() without MPS backend.")
