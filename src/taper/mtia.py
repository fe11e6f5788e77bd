"""`taper.mtia`: there are no tensors on Meta's accelerators."""

from __future__ import annotations


def is_available() -> bool:
    """Return False: there is no accelerator."""
    return False


def device_count() -> int:
    """Return the number of devices: 0."""
    return 0


def is_initialized() -> bool:
    """Return False: there is nothing to initialise."""
    return False


def empty_cache() -> None:
    """Refused: there is no device."""
    raise RuntimeError("Cannot execute emptyCache() without MTIA backend.")
