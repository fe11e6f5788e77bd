"""`taper.backends.cudnn`: there is none; its switches keep their values."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from taper.absent import devices
from taper.absent.answers import own
from taper.absent.switches import Precision, SwitchModule, of_bool, of_precision, put, put_for_block

enabled: bool = True
benchmark: bool = False
benchmark_limit: int | None = None
deterministic: bool = False
allow_tf32: bool = True
fp32_precision: str = "none"
depthwise_kernel: str = "auto"
conv = Precision("cuda", "tf32")
rnn = Precision("cuda", "tf32")

_CHECKS = {
    "enabled": of_bool("set_enabled_cudnn"),
    "benchmark": of_bool("set_benchmark_cudnn"),
    "deterministic": of_bool("set_deterministic_cudnn"),
    "allow_tf32": of_bool("set_allow_tf32_cublas"),
    "fp32_precision": of_precision("cuda"),
}

is_available = devices.is_available
version = devices.version


def is_acceptable(tensor: Any) -> bool:
    """False: there is no tensor on a GPU."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
    _depthwise_kernel: str | None = None,
) -> tuple[Any, ...]:
    """Set the switches that are not None; returns all as they were."""
    values = {"enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": None}
    values |= {"deterministic": _deterministic, "allow_tf32": _allow_tf32, "fp32_precision": None}
    return put(__name__, values | {"depthwise_kernel": _depthwise_kernel})


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> AbstractContextManager[None]:
    """Set the switches for a block."""
    return put_for_block(set_flags, enabled, benchmark, None, deterministic, allow_tf32)


own(globals())
sys.modules[__name__].__class__ = SwitchModule
