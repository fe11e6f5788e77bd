"""`torch._guards`: questions about captures at work, which libraries ask.  There are none."""

from __future__ import annotations

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """Return None: no mode makes tensors without elements."""


def detect_fake_mode(inputs: Any = None) -> None:
    """Return None: no mode makes tensors without elements."""
