"""PyTorch's module of the functions behind `torch.fft`, as generated code names them."""

from __future__ import annotations

from typing import Any

from taper import fft


def __getattr__(name: str) -> Any:
    if name.startswith("fft_") and hasattr(fft, name[4:]):
        return getattr(fft, name[4:])
    raise AttributeError(f"module 'torch._C._fft' has no attribute {name!r}")
