"""Errors of accelerators, which programs catch and taper never raises."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


class AcceleratorError(RuntimeError):
    """A device has failed."""
