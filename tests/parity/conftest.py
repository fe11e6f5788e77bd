"""What all comparisons with PyTorch need before it computes anything."""

import os

import pytest

# oneDNN trusts instructions for half precision that some virtual machines announce but lack, and
# then the process dies; it reads this when it is first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

import torch


@pytest.fixture(autouse=True)
def checked_distributions():
    """Undo that a compiled function of another test switches PyTorch's checks off for good."""
    torch.distributions.Distribution.set_default_validate_args(True)
