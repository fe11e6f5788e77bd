"""`taper.cuda.profiler`: NVIDIA's profilers, which need CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from taper.cuda.absent import not_compiled


def start() -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def stop() -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Refused: there is no CUDA."""
    start()
    yield
