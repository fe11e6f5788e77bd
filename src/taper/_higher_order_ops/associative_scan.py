"""Running combinations of a sequence in a logarithmic number of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.func.vmap import vmap
from taper.ops.shape.split import cat, stack
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["associative_scan"]

_Combine = Callable[[Sequence[Tensor], Sequence[Tensor]], list[Tensor]]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """Combine every element of a sequence with all before it, by a function that is associative.

    result[i] = x[0] ∘ x[1] ∘ ... ∘ x[i]

    Args:
        combine_fn: takes two elements, each a tensor or a tree of tensors like `xs`, and returns
            their combination.
        xs: a tensor or a tree of tensors; `dim` counts the elements of the sequence.
        dim: the dimension to walk along.
        reverse: begin at the end.
        combine_mode: `"generic"`; the other one, `"pointwise"`, is for GPUs.

    Returns:
        A tree like `xs` of the same shapes.

    Example:
        >>> import taper
        >>> from taper._higher_order_ops.associative_scan import associative_scan
        >>> associative_scan(taper.mul, taper.arange(1.0, 5.0), 0, combine_mode="generic")
        tensor([ 1.,  2.,  6., 24.])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = tree_flatten(xs)
    if combine_mode == "pointwise" and not all(each.device.type == "cuda" for each in leaves):
        raise ValueError(
            "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU"
        )
    together = vmap(combine_fn)

    def combine(left: Sequence[Tensor], right: Sequence[Tensor]) -> list[Tensor]:
        result = together(tree_unflatten(list(left), spec), tree_unflatten(list(right), spec))
        combined = tree_leaves(result)
        if len(combined) != len(leaves):
            raise AssertionError(
                f"Combine_fn received wrong number of arguments, expected {len(leaves)}, "
                f"but got {len(combined)}"
            )
        return combined

    moved = [each.movedim(dim, 0) for each in leaves]
    if reverse:
        moved = [each.flip(0) for each in moved]
    results = _scan(combine, moved)
    if reverse:
        results = [each.flip(0) for each in results]
    return tree_unflatten([each.movedim(0, dim) for each in results], spec)


def _scan(combine: _Combine, elements: list[Tensor]) -> list[Tensor]:
    """Combine neighbours, scan the half as many, and fill in the elements between."""
    count = elements[0].shape[0]
    if count < 2:
        return elements
    pairs = combine([each[:-1:2] for each in elements], [each[1::2] for each in elements])
    odd = _scan(combine, pairs)
    before = [each[: (count - 1) // 2] for each in odd]
    rest = combine(before, [each[2::2] for each in elements]) if count > 2 else []
    even = [each[:1] for each in elements]
    if rest:
        even = [cat([first, other]) for first, other in zip(even, rest, strict=True)]
    return [_interleaved(one, other) for one, other in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    """Return a sequence whose elements come from one and the other in turn."""
    both = stack([even[: len(odd)], odd], 1).flatten(0, 1)
    return both if len(even) == len(odd) else cat([both, even[-1:]])
