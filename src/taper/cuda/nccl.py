"""`taper.cuda.nccl`: NVIDIA's library for several GPUs, which is missing."""

from __future__ import annotations

from typing import Any, NoReturn

from taper.cuda.absent import missing
from taper.userwarning import warn_user


def is_available(tensors: Any) -> bool:
    """Return False: there is no NCCL."""
    warn_user("PyTorch is not compiled with NCCL support")
    return False


def version() -> NoReturn:
    """Refused: there is no NCCL."""
    missing("_nccl_version")
