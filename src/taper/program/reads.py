"""Numbers that `item()` gives to a function while it is recorded.

A program can return such a number, but not go on from it: Python might do anything with it.  So it
is a float or int that tells on whoever computes with it, compares it or shows it.
"""

from __future__ import annotations

from typing import Any

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
    return type(f"Read{kind.__name__}", (Read, kind), {name: method(name) for name in names})


_KINDS = {float: _telling(float), int: _telling(int)}


def number(plain: Any, value: Value, recorder: Any) -> Any:
    """Return a number that remembers the value it was read from; None for kinds without."""
    kind = _KINDS.get(plain.__class__)
    if kind is None:
        return None
    made = kind(plain)
    made.value = value
    made.recorder = recorder
    return made


def plain_number(read: Any) -> Any:
    """Return the ordinary number."""
    kind = float if isinstance(read, float) else int
    return kind.__add__(read, kind(0)) if kind is int else float.__pos__(read)
