"""`taper.backends.nnpack`: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """Return False: NNPACK is not used."""
    return False
