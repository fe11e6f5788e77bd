"""`taper.backends.mps`: there is none."""

from __future__ import annotations

from typing import NoReturn


def is_available() -> bool:
    """Return False: there is no accelerator."""
    return False


def is_built() -> bool:
    """Return False: there is no accelerator."""
    return False


def is_macos13_or_newer(minor: int = 0) -> NoReturn:
    """Refused: only the backend knows."""
    is_macos_or_newer(13, minor)


def is_macos_or_newer(major: int, minor: int) -> NoReturn:
    """Refused: only the backend knows."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")
