"""The texts of failed comparisons.  Knows numbers and names, not tensors."""

from __future__ import annotations

from typing import Any, TypeAlias

# The place of a value in nested sequences and mappings: indices and keys from the outside in.
Path: TypeAlias = tuple[Any, ...]


def at_path(text: str, path: Path) -> str:
    """Return the text, with the item it is about if the values were nested."""
    if not path:
        return text
    return f"{text}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"


def scalar_mismatch(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """Return the text about two numbers that differ too much."""
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected != 0 else float("inf")
    return "\n".join(
        [
            _head("Scalars", rtol, atol),
            "",
            f"Expected {expected} but got {actual}.",
            f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}",
            f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}",
        ]
    )


def tensor_mismatch(
    mismatches: int,
    count: int,
    absolute: tuple[Any, tuple[int, ...]],
    relative: tuple[Any, tuple[int, ...]],
    rtol: float,
    atol: float,
) -> str:
    """Return the text about two tensors; `absolute` and `relative` are the worst, with places."""
    return "\n".join(
        [
            _head("Tensor-likes", rtol, atol),
            "",
            f"Mismatched elements: {mismatches} / {count} ({mismatches / count:.1%})",
            f"Greatest absolute difference: {absolute[0]} at index {absolute[1]}"
            + _allowed(atol, rtol, atol),
            f"Greatest relative difference: {relative[0]} at index {relative[1]}"
            + _allowed(rtol, rtol, atol),
        ]
    )


def attribute_mismatch(name: str, actual: Any, expected: Any) -> str:
    """Return the text about tensors that differ in something else than their values."""
    return f"The values for attribute {name!r} do not match: {actual} != {expected}."


def unexpected(text: str) -> str:
    """Return the text about an error that the comparison did not expect."""
    return (
        f"{text}\n\nresulted in the unexpected exception above. If you are a user and see this "
        "message during normal operation please file an issue at "
        "https://github.com/pytorch/pytorch/issues. If you are a developer and working on the "
        "comparison functions, please except the previous error and raise an expressive "
        "`ErrorMeta` instead."
    )


def _head(subject: str, rtol: float, atol: float) -> str:
    return f"{subject} are not {'equal' if _is_exact(rtol, atol) else 'close'}!"


def _allowed(bound: float, rtol: float, atol: float) -> str:
    return "" if _is_exact(rtol, atol) else f" (up to {bound} allowed)"


def _is_exact(rtol: float, atol: float) -> bool:
    return rtol == 0 and atol == 0
