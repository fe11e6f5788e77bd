"""PyTorch's symbolic numbers: the classes that libraries ask for, and functions of plain numbers.

Programs run as they are written, so every size is an `int`: nothing is ever a `SymInt`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from taper.absent.answers import refused_class
from taper.autograd.overrides import has_grown as _has_grown

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]

_NUMBERS = (np.integer, np.floating, int, float)
_WHY = "torch.{}: sizes are plain numbers, since programs run as they are written"

SymBool = refused_class("SymBool", "torch", _WHY.format("SymBool"))
SymFloat = refused_class("SymFloat", "torch", _WHY.format("SymFloat"))
SymInt = refused_class("SymInt", "torch", _WHY.format("SymInt"))


def sym_int(a: Any) -> int:
    """Return a number as an `int`.

    >>> import taper
    >>> taper.sym_int(3.7)
    3
    """
    return int(a)


def sym_float(a: Any) -> float:
    """Return a number as a `float`.

    >>> import taper
    >>> taper.sym_float(3)
    3.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Return the opposite of a truth value.

    >>> import taper
    >>> taper.sym_not(True)
    False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, as a float if one is a float.

    >>> import taper
    >>> taper.sym_max(3, 2.0)
    3.0
    """
    return _chosen(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, as a float if one is a float.

    >>> import taper
    >>> taper.sym_min(1, 2.0)
    1.0
    """
    return _chosen(min, a, b)


def _chosen(choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    for each in (a, b):
        if not isinstance(each, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(each)}")
    if isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating)):
        return choose(float(a), float(b))
    return choose(a, b)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """Return `t` if `b` is true and `f` if not; both are of one type.

    >>> import taper
    >>> taper.sym_ite(True, 1, 2)
    1
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """Return the square root of a number.

    >>> import taper
    >>> taper.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_sum(args: Iterable[Any]) -> Any:
    """Return the sum of numbers.

    >>> import taper
    >>> taper.sym_sum([1, 2])
    3
    """
    return sum(args)


_has_grown(globals())
