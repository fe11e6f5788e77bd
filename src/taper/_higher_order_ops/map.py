"""A function of every element of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.ops.shape.split import stack
from taper.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """Call a function on every element along the first dimension and stack the results.

    Args:
        f: gets an element, a tensor or a tree of tensors like `xs`, and `args`.
        xs: a tensor or a tree of tensors.
        args: what every call gets besides.

    Example:
        >>> import taper
        >>> from taper._higher_order_ops.map import map
        >>> map(lambda row, factor: row.sum() * factor, taper.ones(3, 2), 10)
        tensor([20., 20., 20.])
    """
    leaves, spec = tree_flatten(xs)
    rows = zip(*(each.unbind(0) for each in leaves), strict=True)
    results = [f(tree_unflatten(list(row), spec), *args) for row in rows]
    return tree_map(lambda *each: stack(each), *results)
