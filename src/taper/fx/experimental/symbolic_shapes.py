"""Questions about sizes that a compiler would not know: every size is a number."""

from __future__ import annotations

from typing import Any

__all__ = ["guard_or_false", "guard_or_true", "statically_known_true"]


def statically_known_true(x: Any) -> bool:
    """Return whether a condition holds.

    >>> from taper.fx.experimental.symbolic_shapes import statically_known_true
    >>> statically_known_true(2 > 1)
    True
    """
    return bool(x)


guard_or_true = statically_known_true
guard_or_false = statically_known_true
