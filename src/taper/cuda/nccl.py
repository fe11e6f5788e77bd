"""`taper.cuda.nccl`: NVIDIA's library for several GPUs, which is missing."""

from __future__ import annotations

from typing import Any

from taper.absent.answers import not_in_c, own, refused
from taper.userwarning import warn_user


def is_available(tensors: Any) -> bool:
    """Return False: there is no NCCL."""
    warn_user("PyTorch is not compiled with NCCL support")
    return False


version = refused(lambda: not_in_c("_nccl_version"))

own(globals())
