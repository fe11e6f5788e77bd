"""Which module made a node, and where in a model that module is.

Owns the names of modules for errors and pictures.  A node keeps a weak reference to the module
whose forward recorded it; the path below the model is looked up only when somebody asks.  Knows
modules only by what they have: `_modules`, a dict of children.
"""

from __future__ import annotations

import gc
from typing import Any

from taper.arrays.native import native
from taper.autograd.provenance import describe
from taper.autograd.state import local

__all__ = ["Holders", "described", "holders_of", "module_of", "origin", "path_of", "running_module"]

Holders = dict[int, tuple[str, Any]]  # by `id`: the name of a module in the other that holds it


def running_module() -> Any:
    """Return the module whose forward runs on this thread, the innermost one; None if none does."""
    return local.state.module if native is None else native.module_running()


def module_of(node: Any) -> Any:
    """Return the module whose forward recorded a node; None if there was none, or it is gone."""
    reference = getattr(node, "_module", None)
    return None if reference is None else reference()


def path_of(module: Any, holders: Holders | None = None) -> str:
    """Return the path of a module below the outermost module that holds it: `blocks.4.norm`.

    Searches the memory for its holders, which takes milliseconds, unless they are given.
    """
    holders = holders_of(type(module)) if holders is None else holders
    names: list[str] = []
    seen = {id(module)}
    while id(module) in holders:
        name, module = holders[id(module)]
        if id(module) in seen:  # a module that holds itself
            break
        seen.add(id(module))
        names.append(name)
    return ".".join(reversed(names))


def described(module: Any) -> str:
    """Return `blocks.4.norm LayerNorm`, for errors."""
    return f"{path_of(module)} {type(module).__name__}".lstrip()


def holders_of(kind: type) -> Holders:
    """Return, of all modules in memory, for each that another one holds its name and that one.

    `kind` is the class of any module.
    """
    base = next((each for each in reversed(kind.__mro__) if "__call__" in vars(each)), kind)
    found: dict[int, tuple[str, Any]] = {}
    for each in gc.get_objects():
        if isinstance(each, base):
            for name, child in vars(each).get("_modules", {}).items():
                if child is not None:
                    found.setdefault(id(child), (name, each))
    return found


def origin(node: Any) -> str:
    """Return where a node was recorded: `in blocks.4.norm LayerNorm at model.py:12 in forward`."""
    module = module_of(node)
    within = "" if module is None else f"in {described(module)} "
    return f"{within}at {describe((node._code, node._offset))}"
