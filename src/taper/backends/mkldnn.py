"""`taper.backends.mkldnn`: oneDNN, where the extra is installed, can be switched off.

The other switches keep their values and change nothing.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from taper.absent import devices
from taper.absent.answers import Block, own
from taper.absent.switches import Precision, SwitchModule, of_bool, of_precision, put, put_for_block
from taper.arrays.native import onednn

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


def _set_enabled(value: bool) -> None:
    of_bool("set_enabled_mkldnn")(value)
    onednn.use(value)


_CHECKS = {
    "enabled": _set_enabled,
    "deterministic": of_bool("set_deterministic_mkldnn"),
    "fp32_precision": of_precision("mkldnn"),
}

is_available = onednn.is_available
is_acl_available = devices.is_available


class verbose(Block):
    """A block in which oneDNN would tell what it does."""

    def __init__(self, level: int) -> None:
        self.level = level


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set the switches that are not None; returns all as they were."""
    switches = {"enabled": _enabled, "deterministic": _deterministic}
    return put(__name__, switches | {"allow_tf32": None, "fp32_precision": None})


def flags(
    enabled: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> AbstractContextManager[None]:
    """Set the switches for a block."""
    return put_for_block(set_flags, enabled, deterministic, allow_tf32, fp32_precision)


own(globals())
sys.modules[__name__].__class__ = SwitchModule
