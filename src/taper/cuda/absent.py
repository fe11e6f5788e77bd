"""The errors of PyTorch without CUDA."""

from __future__ import annotations

from typing import NoReturn


def not_compiled() -> NoReturn:
    """Return the error of most functions."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def init() -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def missing(name: str) -> NoReturn:
    """Return the error of functions that call PyTorch's C++ part without asking first."""
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
