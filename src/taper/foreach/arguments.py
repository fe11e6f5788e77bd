"""Arguments of functions over lists: which overload they choose, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taper.autograd.views import requires_grad
from taper.opdef.operands import NUMBERS, invalid_combination, python_number
from taper.tensor import Tensor

SELF = "tuple of Tensors self"


def tensor_list(function: str, name: str, position: int, value: Any) -> Sequence[Tensor]:
    """Return an argument that must be a list or tuple of Tensors."""
    if isinstance(value, Tensor) or not isinstance(value, list | tuple):
        raise TypeError(
            f"{function}(): argument '{name}' (position {position}) must be tuple of Tensors, "
            f"not {type(value).__name__}"
        )
    check_elements(value, position - 1)
    return value


def check_elements(values: Sequence[Any], argument: int) -> None:
    for nr, each in enumerate(values):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {nr} in argument {argument}, but got "
                f"{type(each).__name__}"
            )


def check_lengths(first: Sequence[Any], *others: Sequence[Any]) -> None:
    """Raise if there is nothing, or lists of tensors have different lengths."""
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for each in others:
        if len(each) != len(first):
            raise RuntimeError(
                "Tensor lists must have the same number of tensors, got "
                f"{len(first)} and {len(each)}"
            )


def is_number(value: Any) -> bool:
    """Return whether a value counts as a number, as a one-element tensor without gradient does."""
    if isinstance(value, Tensor):
        return not value._array.ndim and not requires_grad(value)
    return python_number(value).__class__ in NUMBERS


def number_of(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else python_number(value)


def form_of(value: Any, tensor_first: bool, tensors: bool) -> str | None:
    """Return which overload an argument beside the list chooses; None if it fits none.

    `tensors`: there is an overload for a tensor; `tensor_first`: it comes before that for numbers.
    """
    if isinstance(value, list | tuple):
        if value and any(isinstance(each, Tensor) for each in value):
            check_elements(value, 1)
            return "List"
        return "ScalarList" if all(map(is_number, value)) else None
    if isinstance(value, Tensor) and tensors and (tensor_first or not is_number(value)):
        return "Tensor"
    return "Scalar" if is_number(value) else None


def check_scalars(tensors: Sequence[Any], scalars: Sequence[Any]) -> None:
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    if len(scalars) != len(tensors):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def refusal(
    function: str,
    given: Sequence[Any],
    expected: Sequence[str],
    keywords: Mapping[str, Any] | None = None,
) -> TypeError:
    """Return the error of arguments that fit no overload."""
    return invalid_combination(function, given, expected, keywords or {})
