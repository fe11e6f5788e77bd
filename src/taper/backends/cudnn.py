"""`taper.backends.cudnn`: there is none; its switches keep their values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled: bool = True
benchmark: bool = False
benchmark_limit: int | None = None
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    """False: there is no CUDA."""
    return False


def version() -> int | None:
    """None: there is no cuDNN."""
    return None


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches for a block."""
    switches = globals()
    wanted = {
        "enabled": enabled,
        "benchmark": benchmark,
        "benchmark_limit": benchmark_limit,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: switches[name] for name in wanted}
    switches.update(wanted)
    try:
        yield
    finally:
        switches.update(before)
