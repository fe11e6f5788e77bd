"""Packages whose rarely used parts are imported when they are first used.

Owns: the one import inside a function that stands for all of them.  Knows no package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any


def on_first_use(
    package: dict[str, Any], modules: Iterable[str] = (), members: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a package, given its `globals()`.

    `modules` are modules of the package; `members` names what a module of it holds, for names that
    the package itself shall have.
    """
    own, among, holders = package["__name__"], frozenset(modules), members or {}

    def load(name: str) -> Any:
        if name in among:
            return importlib.import_module(f"{own}.{name}")  # late: what few use shall cost few
        if name in holders:
            holder = importlib.import_module(f"{own}.{holders[name]}")  # late: likewise
            return package.setdefault(name, getattr(holder, name))
        raise AttributeError(f"module {own!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*package, *among, *holders})

    return load, names


_members: Any = vars(ModuleType)["__dict__"]


def members_of(module: ModuleType) -> dict[str, Any]:
    """Return the members of a module that are loaded; `vars` of a `Whole` one loads the rest."""
    found: dict[str, Any] = _members.__get__(module)
    return found


class Whole(ModuleType):
    """A package of which programs walk through `__dict__`: asking for it loads what is in a list.

    >>> import taper
    >>> "Weibull" in vars(taper.distributions)
    True
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        members = members_of(self)
        if not members.setdefault("_is_whole", False):
            members["_is_whole"] = True  # first: an import asks for it again
            for name in members["__all__"]:
                getattr(self, name)
        return members
