"""`taper.backends.cudnn`: there is none; its switches keep their values."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taper.backends.switches import Precision, SwitchModule, of_bool, of_precision

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
_FLAGS = (
    "enabled",
    "benchmark",
    "benchmark_limit",
    "deterministic",
    "allow_tf32",
    "fp32_precision",
    "depthwise_kernel",
)


def is_available() -> bool:
    """Return False: there is no CUDA."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Return False: there is no tensor on a GPU."""
    return False


def version() -> int | None:
    """Return None: there is no cuDNN."""
    return None


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
    _depthwise_kernel: str | None = None,
) -> tuple[Any, ...]:
    """Set the switches that are not None; return the former values."""
    module = sys.modules[__name__]
    before = tuple(getattr(module, name) for name in _FLAGS)
    values = (_enabled, _benchmark, None, _deterministic, _allow_tf32, None, _depthwise_kernel)
    for name, value in zip(_FLAGS, values, strict=True):
        if value is not None:
            setattr(module, name, value)
    return before


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
    depthwise_kernel: str = "auto",
) -> Iterator[None]:
    """Set the switches for a block."""
    before = set_flags(enabled, benchmark, None, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)


sys.modules[__name__].__class__ = SwitchModule
