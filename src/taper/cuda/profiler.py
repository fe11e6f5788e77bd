"""`taper.cuda.profiler`: NVIDIA's profilers, which need CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from taper.absent.answers import not_compiled, own, refused

start = refused(lambda: not_compiled("CUDA"))
stop = refused(lambda: not_compiled("CUDA"))


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Refused: there is no CUDA."""
    start()
    yield


own(globals())
