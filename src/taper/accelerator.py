"""`taper.accelerator`: there is none.

Questions answer so; what would need a device raises the error of PyTorch without one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from taper.absent import devices
from taper.absent.answers import own, refused
from taper.userwarning import warn_user

is_available = devices.is_available
device_count = devices.device_count


def current_accelerator(check_available: bool = False) -> Any:
    """None: there is no accelerator.

    >>> import taper
    >>> taper.accelerator.current_accelerator(), taper.accelerator.is_available()
    (None, False)
    """
    return None


def _refuse(instead: str | None = None) -> NoReturn:
    if instead is not None:
        warn_user(f"Use `{instead}` instead.", FutureWarning)
    raise RuntimeError("Cannot access accelerator device when none is available.")


current_device_index = refused(lambda: _refuse())
current_device_idx = refused(lambda: _refuse("current_device_index"))
set_device_index = refused(lambda device, /: _refuse())
set_device_idx = refused(lambda device, /: _refuse("set_device_index"))
current_stream = refused(lambda device=None, /: _refuse())
set_stream = refused(lambda stream: _refuse())
synchronize = refused(lambda device=None, /: _refuse())
empty_cache = refused(lambda: _refuse())
empty_host_cache = refused(lambda: _refuse())
get_device_capability = refused(lambda device=None, /: _refuse())
get_memory_info = refused(lambda device_index=None, /: _refuse())
memory_allocated = refused(lambda device_index=None, /: _refuse())
memory_reserved = refused(lambda device_index=None, /: _refuse())
memory_stats = refused(lambda device_index=None, /: _refuse())
max_memory_allocated = refused(lambda device_index=None, /: _refuse())
max_memory_reserved = refused(lambda device_index=None, /: _refuse())
reset_accumulated_memory_stats = refused(lambda device_index=None, /: _refuse())
reset_peak_memory_stats = refused(lambda device_index=None, /: _refuse())


class device_index:
    """A block on a device, of which there are none; None leaves things as they are."""

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *raised: object) -> None:
        return None


own(globals())
