"""The state of autocast, which both kinds of checkpoint keep for the recomputation (§P5)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from taper.amp.autocast_mode import autocast
from taper.amp.state import settings
from taper.autograd.state import local


class AutocastState(NamedTuple):
    """Whether autocast is on for the CPU, and how."""

    enabled: bool
    dtype: Any
    cache_enabled: bool

    @classmethod
    def now(cls) -> AutocastState:
        """Return the state of this moment."""
        found = settings()
        return cls(local.state.autocast is not None, found.dtypes["cpu"], found.cache_enabled)


@contextlib.contextmanager
def casting_as(start: AutocastState) -> Iterator[None]:
    """Set autocast as it was, during the block."""
    if start.enabled or local.state.autocast is not None:
        with autocast("cpu", start.dtype, start.enabled, start.cache_enabled):
            yield
    else:
        yield
