"""`taper.backends.mkldnn`: there is none; its switches keep their values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taper.backends.switches import Precision, SwitchModule, of_bool, of_precision

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled: bool = True
deterministic: bool = False
allow_tf32: bool | None = None
fp32_precision: str = "none"
matmul = Precision("mkldnn", "none")
conv = Precision("mkldnn", "none")
rnn = Precision("mkldnn", "none")

_CHECKS = {
    "enabled": of_bool("set_enabled_mkldnn"),
    "deterministic": of_bool("set_deterministic_mkldnn"),
    "fp32_precision": of_precision("mkldnn"),
}


def is_available() -> bool:
    """Return False: oneDNN is not used."""
    return False


def is_acl_available() -> bool:
    """Return False: Arm's library is not used."""
    return False


class verbose:
    """Show what oneDNN does during the block: nothing."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set the switches that are not None; return the former values."""
    module: Any = sys.modules[__name__]
    before = (module.enabled, module.deterministic, module.allow_tf32, module.fp32_precision)
    if _enabled is not None:
        module.enabled = _enabled
    if _deterministic is not None:
        module.deterministic = _deterministic
    return before


@contextmanager
def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Set the switches for a block."""
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)


sys.modules[__name__].__class__ = SwitchModule
