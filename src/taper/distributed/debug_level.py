"""How much distributed modules say in their errors: `TORCH_DISTRIBUTED_DEBUG`."""

from __future__ import annotations

import enum
import os


class DebugLevel(enum.IntEnum):
    """`OFF`, `INFO` (names of parameters in errors) or `DETAIL` (the same)."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class _Level:
    now = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """Return how much is said.

    >>> from taper import distributed as dist
    >>> dist.get_debug_level().name
    'OFF'
    """
    return _Level.now


def set_debug_level(level: DebugLevel) -> None:
    """Set how much is said.

    Args:
        level: of `DebugLevel`.
    """
    _Level.now = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set how much is said from `TORCH_DISTRIBUTED_DEBUG`: OFF, INFO or DETAIL."""
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    _Level.now = DebugLevel[name]


set_debug_level_from_env()
