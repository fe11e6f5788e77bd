"""Functions of sparse tensors as functions of their elements, for gradcheck."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from taper.device import strided
from taper.ops.sparse.converting import to_dense, with_values
from taper.tensor import Tensor


def is_moved(value: Any) -> bool:
    """Whether a value is a sparse tensor that requires a gradient."""
    return isinstance(value, Tensor) and value.layout is not strided and value.requires_grad


def of_elements(
    function: Callable[..., Any], inputs: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function of the elements of sparse tensors with dense results, and its inputs."""
    places: list[Any] = []
    moved: list[Any] = []
    for each in inputs:
        found: Any = None
        if is_moved(each):
            found = each.detach()
            found = found.coalesce() if found.is_sparse else found
            each = found.values().clone().requires_grad_()
        places.append(found)
        moved.append(each)

    def dense_function(*values: Any) -> Any:
        made = [
            value if found is None else with_values(found, value)
            for value, found in zip(values, places, strict=True)
        ]
        result = function(*made)
        if not isinstance(result, (list, tuple)):
            return to_dense(result) if isinstance(result, Tensor) else result
        return tuple([to_dense(each) if isinstance(each, Tensor) else each for each in result])

    return dense_function, tuple(moved)
