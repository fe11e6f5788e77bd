"""What a compiler that is not there answers: no; and functions stay what they are."""

from __future__ import annotations

from typing import Any, TypeVar

Marked = TypeVar("Marked")


def not_at_work() -> bool:
    """False: programs run as they are written."""
    return False


def nothing() -> None:
    """Nothing to do: programs run as they are written."""


def itself(fn: Marked) -> Marked:
    """The function itself: programs run as they are written."""
    return fn


def constant(fn: Any) -> Any:
    """The function itself, marked as in PyTorch."""
    fn._dynamo_marked_constant = True
    return fn
