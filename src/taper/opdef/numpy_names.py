"""NumPy's names of parameters, which PyTorch takes as keywords too: `axis` is `dim`.

Owns: the names, what they add to the text of a wrapper (`compiler`), and a decorator for functions
that are not generated.  PyTorch also takes `x`, `x1` and `a` for `input` and `x2` for `other`;
taper does not, since that would cost every call 15 to 40 ns.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from taper.arrays.reduction import ABSENT

if TYPE_CHECKING:
    from taper.opdef import Op, Param

NAMES = {"dim": "axis", "keepdim": "keepdims"}


def names_of(op: Op) -> dict[str, str]:
    """Return the parameters of an operator that have a second name."""
    if not (op.public or op.method):
        return {}
    names = [each.public_name for each in op.params]
    return {name: NAMES[name] for name in names if name in NAMES}


def needed_from_dim(op: Op) -> list[Param]:
    """Return `dim` and the required parameters after it: `axis` may be given instead."""
    names = [each.public_name for each in op.params]
    if "dim" not in names:
        return []
    required = inspect.Parameter.empty
    return [each for each in op.params[names.index("dim") :] if each.default is required]


def renaming(op: Op, function: str, names: dict[str, str], arguments: str) -> Iterator[str]:
    """Return the text that moves what was given under a second name to its parameter."""
    needed = needed_from_dim(op)
    for name, other in names.items():
        if name in [each.public_name for each in needed]:
            missing = " or ".join(f"{each.public_name} is ABSENT" for each in needed)
            given = f"dim_or_axis(OP_{op.name}, {function!r}, {arguments}, {name}, {other})"
            yield f"if {missing}:\n    {name} = {given}"
        else:
            yield f"if {other} is not ABSENT:\n    {name} = {other}"


def dim_or_axis(op: Op, function: str, arguments: tuple[Any, ...], dim: Any, axis: Any) -> Any:
    """Return the dimension under either name; raise if a required argument is missing."""
    dim = axis if dim is ABSENT else dim
    refuse_missing(
        function,
        {
            each.public_name: dim if each.public_name == "dim" else value
            for each, value in zip(op.params, arguments, strict=True)
        },
    )
    return dim


def refuse_missing(function: str, arguments: dict[str, Any]) -> None:
    """Raise PyTorch's error if a required argument is missing."""
    names = [name for name, value in arguments.items() if value is ABSENT]
    if names:
        listed = ", ".join(f'"{name}"' for name in names)
        # PyTorch has singular and plural the wrong way round.
        word = "arguments" if len(names) == 1 else "argument"
        raise TypeError(f"{function}() missing {len(names)} required positional {word}: {listed}")


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function in a form that takes the second names too."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        for name, other in NAMES.items():
            if other in kwargs and name not in kwargs:
                kwargs[name] = kwargs.pop(other)
        return function(*args, **kwargs)

    return call
