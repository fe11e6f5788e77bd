"""`taper.cuda.nvtx`: marks for NVIDIA's profilers, which need CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

from taper.absent.answers import own, refused

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def _lacks(name: str) -> NoReturn:
    raise AttributeError(f"'_NVTXStub' object has no attribute {name!r}")


mark = refused(lambda msg: _refuse())
range_push = refused(lambda msg: _refuse())
range_pop = refused(lambda: _refuse())
range_start = refused(lambda msg: _lacks("rangeStartA"))
range_end = refused(lambda range_id: _lacks("rangeEnd"))


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused: there is no CUDA."""
    range_push(msg.format(*args, **kwargs))
    yield


own(globals())
