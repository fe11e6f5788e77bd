"""What the user allows checkpoints to name, beyond plain data.

One list for the process, as in PyTorch.  Knows names and objects; must not know pickles.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from taper.compat.aliases import public_name
from taper.compat.paths import public_module

_allowed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow checkpoints to name these classes and functions, and to call them.

    Args:
        safe_globals: a list of objects, or of pairs of an object and the name that files use for
            it.

    >>> import taper, datetime
    >>> taper.serialization.add_safe_globals([datetime.date])
    >>> taper.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    >>> taper.serialization.clear_safe_globals()
    """
    _allowed.extend(each for each in list(safe_globals) if each not in _allowed)


def get_safe_globals() -> list[Any]:
    """Return what the user has allowed.

    >>> import taper
    >>> taper.serialization.get_safe_globals()
    []
    """
    return list(_allowed)


def clear_safe_globals() -> None:
    """Allow only plain data again.

    >>> import taper
    >>> taper.serialization.clear_safe_globals()
    """
    _allowed.clear()


class safe_globals:
    """Allow checkpoints to name these objects during the block.

    Args:
        safe_globals: a list of objects, or of pairs of an object and the name that files use for
            it.

    >>> import taper, datetime
    >>> with taper.serialization.safe_globals([datetime.date]):
    ...     taper.serialization.get_safe_globals()
    [<class 'datetime.date'>]
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        self._before = list(_allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _allowed[:] = self._before


def allowed_names() -> dict[str, Any]:
    """Return the allowed objects under all the names that a file may use for them."""
    return names_of(_allowed)


def names_of(objects: Iterable[Any]) -> dict[str, Any]:
    """Return objects, or pairs of an object and its name, by all names that files may use."""
    names: dict[str, Any] = {}
    for each in objects:
        if isinstance(each, tuple):
            named, name = each
            names[name] = named
        else:
            name = f"{each.__module__}.{getattr(each, '__qualname__', each.__name__)}"
            names[name] = each
            names[public_name(name)] = each
            if isinstance(each, type):
                names[
                    f"{public_module(each.__module__, each.__qualname__)}.{each.__qualname__}"
                ] = each
            # NumPy 1 had its private modules under another name.
            names[name.replace("numpy._core.", "numpy.core.", 1)] = each
    return names
