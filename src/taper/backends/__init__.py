"""`taper.backends`: switches of PyTorch's backends, which programs set without asking.

There is one backend, NumPy on the CPU.  The switches keep what is assigned to them and change
nothing; questions about backends get true answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from taper.backends import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "cusparselt",
    "kleidiai",
    "mha",
    "miopen",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "disable_global_flags",
    "flags",
    "flags_frozen",
]

fp32_precision: str = "none"


def disable_global_flags() -> None:
    """Do nothing: the switches may always be set."""


@contextmanager
def _allow_nonbracketed_mutation() -> Iterator[None]:
    """Let switches be set in a block; outside of it they may be, too."""
    yield


globals()["__allow_nonbracketed_mutation"] = _allow_nonbracketed_mutation


def flags_frozen() -> bool:
    """Return False: the switches may always be set."""
    return False


@contextmanager
def flags(fp32_precision: str = "none") -> Iterator[None]:
    """Set a precision for a block, which changes nothing."""
    yield
