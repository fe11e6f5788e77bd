"""The errors of PyTorch without CUDA."""

from __future__ import annotations

from typing import NoReturn


def not_compiled() -> NoReturn:
    """What most functions say."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def init() -> NoReturn:
    """Refused: there is no CUDA."""
    not_compiled()


def missing(name: str) -> NoReturn:
    """What functions say that go to PyTorch's C++ part without asking first."""
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")
