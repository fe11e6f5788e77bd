"""`taper.backends.kleidiai`: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """Return False: KleidiAI is not used."""
    return False
