"""Families of operators that are imported when they are first used.

Owns: the loading. `provided.py`, written from the table, says which names a family brings. A method
of a family that is not loaded yet is a stub on Tensor; looking it up loads the family.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from taper.autograd.overrides import has_grown
from taper.gpu.state import at_start
from taper.opdef import method_of, methods, quick_ways
from taper.opdef.guards import guarded
from taper.ops.provided import PROVIDES
from taper.tensor import Tensor

_GIVEN = {name: family for family, names in PROVIDES.items() for name in names.split()}

# The family of each function and method, and which names are functions.
FAMILY_OF = {name.removesuffix("()").removeprefix("."): family for name, family in _GIVEN.items()}
FUNCTIONS = frozenset(name.removesuffix("()") for name in _GIVEN if name[0] != ".")


def install(provided: Mapping[str, Callable[..., Any]]) -> None:
    """Put methods on Tensor: the given ones, and stubs for those of families not loaded."""
    for name, function in provided.items():
        setattr(Tensor, name, _method(name, function))
    for given in _GIVEN:
        name = given.removeprefix(".")
        if not given.endswith("()") and name not in provided and not hasattr(Tensor, name):
            setattr(Tensor, name, _Stub(name))


def load(name: str) -> None:
    """Load the family that provides `name`."""
    load_family(FAMILY_OF[name])


def load_family(family: str) -> Any:
    """Import a family and replace its stubs by its methods; return the module."""
    # late: half of the families are loaded when they are first used
    module = importlib.import_module(f"taper.ops.{family}")
    for name, function in methods.items():
        method = _method(name, function)
        if Tensor.__dict__.get(name) is not method:
            setattr(Tensor, name, method)
    has_grown()
    return module


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function as a method: in a public form of its own if it has a quick way there."""
    form: Callable[..., Any] = method_of(function, name)
    return guarded(name, function, "taper.Tensor") if function in quick_ways else form


def load_all() -> None:
    """Import every family, for code that wants the whole table."""
    for family in PROVIDES:
        load_family(family)


# A process with a GPU has all families, so that their functions can be told about it.
at_start.insert(0, load_all)


class _Stub:
    """Stands for a method on Tensor until it is looked up, to be called or to show its help."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type[Tensor]) -> Any:
        load(self.name)
        return getattr(owner if tensor is None else tensor, self.name)
