"""What all comparisons with PyTorch need before it computes anything."""

import os

import pytest

# oneDNN believes in instructions for half precision that some virtual machines name but lack, and
# the process dies of them; it looks at this when it is first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

import torch


@pytest.fixture(autouse=True)
def checked_distributions():
    """A compiled function of another test switches PyTorch's checks of arguments off for good."""
    torch.distributions.Distribution.set_default_validate_args(True)
