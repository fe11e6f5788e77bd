"""What any device or library that is not there answers: no, none, zero, or nothing to do."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any


def is_available() -> bool:
    """False: there is none."""
    return False


is_built = is_initialized = is_tf32_supported = is_available


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device that could."""
    return False


def device_count() -> int:
    """The number of devices: 0."""
    return 0


def version() -> int | None:
    """None: there is no such library."""
    return None


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: none."""
    return []


# --- generators ------------------------------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Nothing to do: there are no device generators."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Nothing to do: there are no device generators."""


seed_all = seed


def get_rng_state_all() -> list[Any]:
    """The states of all device generators: none."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Nothing to do: there are no device generators."""
    iter(new_states)


# --- memory ----------------------------------------------------------------------------------


def empty_cache() -> None:
    """Nothing to do: no device memory is cached."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory kept: 0."""
    return 0


max_memory_allocated, max_memory_reserved = memory_allocated, memory_reserved


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What is known of device memory: nothing."""
    return OrderedDict()
