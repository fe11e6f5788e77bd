"""A loop as a function of two functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["while_loop"]


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> tuple[Any, ...]:
    """Call a function on its own results as long as another one says so.

    Args:
        cond_fn: gets what the loop carries and says whether to go on.
        body_fn: gets what the loop carries and returns what it carries next.
        carried_inputs: a tuple: what the loop carries first.

    Returns:
        A tuple of what the loop carries last.

    Example:
        >>> import taper
        >>> from taper._higher_order_ops import while_loop
        >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, taper.ones(2)))
        (3, tensor([8., 8.]))
    """
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried
