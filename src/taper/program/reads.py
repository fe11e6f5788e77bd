"""Numbers that `item()` gives to a function while it is recorded.

A program can return such a number, and it is cut where Python compares one with a plain number (see
`branches`).  It cannot go on from it otherwise: Python might do anything with it.  So it is a float
or int that tells on whoever compares it, computes with it or shows it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.program.form import Value

# What may be done with a number without having looked at it.
_BLIND = frozenset(
    "__class__ __new__ __init__ __init_subclass__ __subclasshook__ __getattribute__ __setattr__ "
    "__delattr__ __dir__ __doc__ __getformat__ __getnewargs__ __reduce__ __reduce_ex__ __sizeof__ "
    "__del__ from_bytes fromhex __getstate__".split()
)


class Read:
    """What `float` and `int` below share."""

    value: Value
    recorder: Any


def _telling(kind: type) -> Any:
    def method(name: str) -> Any:
        plain = getattr(kind, name)

        def tell(self: Any, *args: Any) -> Any:
            self.recorder.give_up("item(): the number is used in Python")
            return plain(self, *args)

        return tell

    names = [name for name in dir(kind) if name not in _BLIND and callable(getattr(kind, name))]
    methods = {name: method(name) for name in names}
    methods |= {name: _comparing(name) for name in _COMPARISONS}
    methods["__reduce_ex__"] = lambda self, protocol: (kind, (plain_number(self),))
    return type(f"Read{kind.__name__}", (Read, kind), methods)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "__lt__": operator.lt,
    "__le__": operator.le,
    "__gt__": operator.gt,
    "__ge__": operator.ge,
    "__eq__": operator.eq,
    "__ne__": operator.ne,
    "__bool__": operator.truth,
}


def _comparing(name: str) -> Any:
    """A method that compares a number with others, and notes how that came out."""
    compare = _COMPARISONS[name]

    def look(self: Any, *others: Any) -> Any:
        if any(not isinstance(each, Read | int | float) for each in others):
            self.recorder.give_up("item(): the number is compared with what is no number")
            return getattr(plain_number(self), name)(*others)
        numbers = [plain_number(each) if isinstance(each, Read) else each for each in others]
        outcome = compare(plain_number(self), *numbers)
        read = [each.value if isinstance(each, Read) else None for each in others]

        def test(array: np.ndarray, *arrays: np.ndarray) -> Any:
            rest = iter(arrays)
            pairs = zip(read, numbers, strict=True)
            given = [plain if value is None else next(rest).item() for value, plain in pairs]
            return compare(array.item(), *given)

        values = [self.value, *[each for each in read if each is not None]]
        self.recorder.branch(f"item().{name}", test, values, outcome)
        return outcome

    return look


def is_true(array: np.ndarray) -> bool:
    """Whether a tensor of one element is true in Python."""
    return bool(array.item())


_KINDS = {float: _telling(float), int: _telling(int)}


def number(plain: Any, value: Value, recorder: Any) -> Any:
    """Return a number that remembers the value it was read from; None for kinds without."""
    kind = _KINDS.get(plain.__class__)
    if kind is None:
        return None
    made = kind(plain)
    made.value = value
    made.recorder = recorder
    recorder.reads.append(made)
    return made


class _Nobody:
    """The recorder of a number that has outlived its recording, as in a list of the user's."""

    def give_up(self, reason: str) -> None:
        pass

    def branch(self, *_: Any) -> None:
        pass


def forget(reads: list[Any]) -> None:
    """Let numbers be ordinary: the recording is over."""
    for each in reads:
        each.value, each.recorder = None, _Nobody()
    reads.clear()


def plain_number(read: Any) -> Any:
    """Return the ordinary number."""
    kind = float if isinstance(read, float) else int
    return kind.__add__(read, kind(0)) if kind is int else float.__pos__(read)
