"""`taper.accelerator`: there is none."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """False: there is no accelerator."""
    return False


def device_count() -> int:
    """The number of devices: 0."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """None: there is no accelerator."""
    return None
