"""`taper.backends.opt_einsum`: the order of contractions is not optimised by that package."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from taper.absent import devices
from taper.absent.answers import own
from taper.absent.switches import put, put_for_block

enabled: bool = False
strategy: str | None = None

is_available = devices.is_available


def get_opt_einsum() -> Any:
    """None: opt_einsum is not used."""
    return None


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[Any, ...]:
    """Set the switches that are not None; returns both as they were."""
    return put(__name__, {"enabled": _enabled, "strategy": _strategy})


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Set the switches for a block."""
    return put_for_block(set_flags, enabled, strategy)


own(globals())
