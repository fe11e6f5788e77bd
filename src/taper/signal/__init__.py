"""`taper.signal`: the window functions."""

from taper.signal import windows

__all__ = ["windows"]
