"""`taper.backends.cusparselt`: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """Return False: cuSPARSELt is not used."""
    return False


def version() -> int | None:
    """Return None: there is no cuSPARSELt."""
    return None
