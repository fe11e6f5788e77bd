"""Errors of accelerators, which programs catch and which are never raised here."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


class AcceleratorError(RuntimeError):
    """A device has failed."""
