"""`torch.utils._mode_utils`: what code about modes asks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taper.ops.dispatching import switch

__all__ = ["all_same_mode", "no_dispatch"]


@contextmanager
def no_dispatch() -> Iterator[None]:
    """Let no class of tensors do the work of operators during the block."""
    before = switch.off
    switch.off = True
    try:
        yield
    finally:
        switch.off = before


def all_same_mode(modes: Any) -> bool:
    """Return whether all of some modes are the same object."""
    return all(tuple(mode == modes[0] for mode in modes))
