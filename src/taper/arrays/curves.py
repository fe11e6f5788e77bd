"""Functions of an element, or of an element and a gradient, that the native module has as one loop.

`curve(NAME)` gives a function of (x, g, p) that returns a new array, or None where the twin must
compute: without the native module, and for operands that are not row-major of one shape and dtype.
The twin stands in the operator that asks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from taper.arrays.native import native


def curve(name: str) -> Callable[..., Any]:
    """The native function of a name, see `native/curves.c`."""
    if native is None:
        return _nothing
    return partial(native.curve, native.curve_number(name))


def _nothing(*_: Any) -> None:
    """Stand for every curve where there is no native module."""
