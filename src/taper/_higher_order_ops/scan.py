"""A loop over a sequence that carries something along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.ops.shape.split import stack
from taper.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["scan"]


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Walk along a sequence, with something carried from each element to the next.

    Args:
        combine_fn: gets what is carried and an element; returns what is carried on and a result.
        init: what is carried to the first element.
        xs: a tensor or a tree of tensors; `dim` counts the elements.
        dim: the dimension to walk along.
        reverse: begin at the end; results stand where their elements do.

    Returns:
        What is carried last, and the results, stacked along a new dimension `dim`.

    Example:
        >>> import taper
        >>> from taper._higher_order_ops import scan
        >>> scan(lambda total, x: (total + x, total * x), taper.tensor(0.0), taper.arange(4.0))
        (tensor(6.), tensor([0., 0., 2., 9.]))
    """
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise RuntimeError("All xs leaves must at least have 'dim' number of dimensions")
    rows = list(zip(*(each.unbind(dim) for each in leaves), strict=True))
    carried, results = init, []
    for row in reversed(rows) if reverse else rows:
        carried, result = combine_fn(carried, tree_unflatten(list(row), spec))
        results.append(result)
    if reverse:
        results.reverse()
    return carried, tree_map(lambda *each: stack(each, dim), *results)
