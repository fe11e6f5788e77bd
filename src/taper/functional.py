"""`taper.functional`: functions that PyTorch also keeps under this name."""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = """
atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique
unique_consecutive unravel_index
"""
__all__ = _NAMES.split()


def __getattr__(name: str) -> Any:
    if name in __all__:
        # late: the functions load with the families that have them
        return getattr(importlib.import_module("taper"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
