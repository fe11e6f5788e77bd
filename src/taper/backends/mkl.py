"""`taper.backends.mkl`: matrix products are NumPy's, usually OpenBLAS."""

from __future__ import annotations

from taper.absent import devices
from taper.absent.answers import Block, own

VERBOSE_OFF = 0
VERBOSE_ON = 1

is_available = devices.is_available


class verbose(Block):
    """A block in which MKL would tell what it does."""

    def __init__(self, enable: int) -> None:
        self.enable = enable


own(globals())
