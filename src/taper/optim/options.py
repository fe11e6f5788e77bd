"""Checks of hyperparameters that several optimizers share, with PyTorch's texts."""

from __future__ import annotations

from typing import Any

from taper.tensor import Tensor


def check_lr(lr: Any, text: str = "Invalid learning rate: {}") -> None:
    """Check that a rate is a number or a tensor of one, and not negative."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(text.format(lr))


def check_not_negative(**named: Any) -> None:
    """Refuse the first of these options that is negative; `eps` is called epsilon."""
    for name, value in named.items():
        if not 0.0 <= value:
            raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def check_betas(betas: Any) -> None:
    """Check that both are in [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
