"""A choice between two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.tensor import Tensor

__all__ = ["cond"]


def cond(
    pred: bool | int | float | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:
    """Call one of two functions.

    Args:
        pred: a number or a tensor of one element: which one to call.
        true_fn: called if `pred` is true.
        false_fn: called if it is not.
        operands: what the function gets.

    Example:
        >>> import taper
        >>> from taper._higher_order_ops import cond
        >>> x = taper.tensor([1.0, 2.0])
        >>> cond(x.sum() > 2, taper.neg, taper.exp, (x,))
        tensor([-1., -2.])
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    return (true_fn if pred else false_fn)(*operands)
