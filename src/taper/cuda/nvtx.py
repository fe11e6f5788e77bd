"""`taper.cuda.nvtx`: marks for NVIDIA's profilers, which need CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> NoReturn:
    """Refused: there is no CUDA."""
    _refuse()


def range_pop() -> NoReturn:
    """Refused: there is no CUDA."""
    _refuse()


def range_start(msg: str) -> NoReturn:
    """Refused: there is no CUDA."""
    _refuse()


def range_end(range_id: int) -> NoReturn:
    """Refused: there is no CUDA."""
    _refuse()


def mark(msg: str) -> NoReturn:
    """Refused: there is no CUDA."""
    _refuse()


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused: there is no CUDA."""
    range_push(msg.format(*args, **kwargs))
    yield
