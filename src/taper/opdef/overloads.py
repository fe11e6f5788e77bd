"""Methods and functions with overloads, which say so when given a keyword that none of them has.

Owns: the text of that error.  Functions with one signature leave it to Python, whose text is the
same as PyTorch's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from taper.arrays.scalars import type_name
from taper.opdef import composites, methods


def declare_overloads(function: Callable[..., Any], *signatures: str) -> None:
    """Let the method of a composite, or one without method, list its overloads if keywords fail."""
    label = function.__name__
    is_method = label in methods

    @functools.wraps(function)
    def listing(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if f"{label}() got an unexpected keyword" not in str(error):
                raise
        raise _no_overload(label, args[is_method:], kwargs, signatures)

    (methods if is_method else composites)[label] = listing


def _no_overload(
    label: str, args: Sequence[Any], kwargs: Mapping[str, Any], signatures: Sequence[str]
) -> TypeError:
    names = list(kwargs)[::-1]
    given = [type_name(each) for each in args]
    given += [f"{name}={type_name(kwargs[name])}" for name in names]
    text = ", ".join(given) + (", " if not args else "")
    lines = []
    for each in signatures:
        lines.append(f" * ({each})\n")
        if len(each.split(", ")) == len(given):  # PyTorch counts a star, too
            why = "didn't match because some of the keywords were incorrect"
            lines.append(f"      {why}: {', '.join(names)}\n")
    return TypeError(
        f"{label}() received an invalid combination of arguments - got ({text}), but expected "
        f"one of:\n{''.join(lines)}"
    )
