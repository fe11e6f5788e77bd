"""`taper.accelerator`: there is none.

Questions answer that; functions that need a device raise the error of PyTorch without one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from taper.userwarning import warn_user


def is_available() -> bool:
    """Return False: there is no accelerator.

    >>> import taper
    >>> taper.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """Return the number of devices: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """Return None: there is no accelerator."""
    return None


# --- what needs a device ---------------------------------------------------------------------


def _refuse() -> NoReturn:
    raise RuntimeError("Cannot access accelerator device when none is available.")


def _needs_device(name: str, warning: str | None = None) -> Callable[..., NoReturn]:
    def refuse(*args: Any) -> NoReturn:
        if warning is not None:
            warn_user(warning, FutureWarning)
        _refuse()

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: there is no accelerator."
    return refuse


current_device_index = _needs_device("current_device_index")
current_device_idx = _needs_device("current_device_idx", "Use `current_device_index` instead.")
set_device_index = _needs_device("set_device_index")
set_device_idx = _needs_device("set_device_idx", "Use `set_device_index` instead.")
current_stream = _needs_device("current_stream")
set_stream = _needs_device("set_stream")
synchronize = _needs_device("synchronize")
empty_cache = _needs_device("empty_cache")
empty_host_cache = _needs_device("empty_host_cache")
get_device_capability = _needs_device("get_device_capability")
get_memory_info = _needs_device("get_memory_info")
memory_allocated = _needs_device("memory_allocated")
memory_reserved = _needs_device("memory_reserved")
memory_stats = _needs_device("memory_stats")
max_memory_allocated = _needs_device("max_memory_allocated")
max_memory_reserved = _needs_device("max_memory_reserved")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")


class device_index:
    """Use a device in the block; there are none, and None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *raised: object) -> None:
        return None
