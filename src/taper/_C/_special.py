"""PyTorch's module of the functions behind `torch.special`, as generated code names them."""

from __future__ import annotations

from typing import Any

from taper import special


def __getattr__(name: str) -> Any:
    if name.startswith("special_") and hasattr(special, name[8:]):
        return getattr(special, name[8:])
    raise AttributeError(f"module 'torch._C._special' has no attribute {name!r}")
