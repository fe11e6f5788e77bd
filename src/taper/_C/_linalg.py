"""PyTorch's module of the functions behind `torch.linalg`, as generated code names them."""

from __future__ import annotations

from typing import Any

from taper import linalg


def __getattr__(name: str) -> Any:
    if name.startswith("linalg_") and hasattr(linalg, name[7:]):
        return getattr(linalg, name[7:])
    raise AttributeError(f"module 'torch._C._linalg' has no attribute {name!r}")
