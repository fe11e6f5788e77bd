"""NumPy's names of parameters, which PyTorch takes as keywords too: `axis` is `dim`.

Owns: the names, what they add to the text of a wrapper (`compiler`), and a decorator for functions
that are not generated.  PyTorch takes `x`, `x1` and `a` for `input` and `x2` for `other` as well;
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
    """`dim` and what follows it, as far as it has no default: `axis` may be given in its place."""
    names = [each.public_name for each in op.params]
    if "dim" not in names:
        return []
    required = inspect.Parameter.empty
    return [each for each in op.params[names.index("dim") :] if each.default is required]


def renaming(op: Op, function: str, names: dict[str, str], arguments: str) -> Iterator[str]:
    """Text that puts what was given under a second name where it belongs."""
    needed = needed_from_dim(op)
    for name, other in names.items():
        if name in [each.public_name for each in needed]:
            missing = " or ".join(f"{each.public_name} is ABSENT" for each in needed)
            given = f"dim_or_axis(OP_{op.name}, {function!r}, {arguments}, {name}, {other})"
            yield f"if {missing}:\n    {name} = {given}"
        else:
            yield f"if {other} is not ABSENT:\n    {name} = {other}"


def dim_or_axis(op: Op, function: str, arguments: tuple[Any, ...], dim: Any, axis: Any) -> Any:
    """The dimension under either name, where an argument without default has not been given."""
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
    """Raise PyTorch's error if an argument without default has not been given."""
    names = [name for name, value in arguments.items() if value is ABSENT]
    if names:
        listed = ", ".join(f'"{name}"' for name in names)
        word = "arguments" if len(names) == 1 else "argument"  # PyTorch's numbers, the wrong way
        raise TypeError(f"{function}() missing {len(names)} required positional {word}: {listed}")


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which takes the second names too."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name, other in NAMES.items():
            if other in kwargs and name not in kwargs:
                kwargs[name] = kwargs.pop(other)
        return function(*args, **kwargs)

    return call
