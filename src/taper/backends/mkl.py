"""`taper.backends.mkl`: matrix products are NumPy's, usually OpenBLAS."""

from __future__ import annotations

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Return False: MKL is not used."""
    return False


class verbose:
    """Show what MKL does during the block: nothing."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None
