"""What the proxy changes in a module: names that it lacks are explained, classes renamed.

Owns: a `__getattr__` put on modules and taken off again, the paths of classes likewise.  The
explanations are read only on failure.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any

from taper.compat.aliases import public_name
from taper.compat.paths import public_module
from taper.first_use import members_of

_IMPORT_FROM = opmap["IMPORT_FROM"]


class Explained:
    """The modules that explain, each with its former `__getattr__`."""

    def __init__(self) -> None:
        self.before: list[tuple[ModuleType, Any]] = []
        self.renamed: list[tuple[type, str]] = []

    def add(self, module: ModuleType) -> None:
        """Let a module explain what it lacks."""
        members = members_of(module)
        own = members.get("__getattr__")
        self.before.append((module, own))
        members["__getattr__"] = _explaining(module, own)
        self._rename(members, module.__name__)
        if module.__name__ == "taper":
            module.__name__ = "torch"

    def _rename(self, members: dict[str, Any], module: str) -> None:
        """Give the classes of a module the paths that PyTorch's have, which programs compare."""
        for value in list(members.values()):
            if isinstance(value, type) and value.__module__ in (module, "taper"):
                self.renamed.append((value, value.__module__))
                _move(value, public_module(value.__module__, value.__qualname__))

    def undo(self) -> None:
        """Give every module its own `__getattr__` back."""
        for module, own in self.before:
            if own is None:
                members_of(module).pop("__getattr__", None)
            else:
                members_of(module)["__getattr__"] = own
            if module.__name__ == "torch":
                module.__name__ = "taper"
        self.before.clear()
        for cls, path in self.renamed:
            _move(cls, path)
        self.renamed.clear()


def _move(cls: type, module: str) -> None:
    """Give a class the path of another module; Python 3.13 forgets its line with the old one."""
    line = vars(cls).get("__firstlineno__")
    cls.__module__ = module
    if line is not None:
        cls.__firstlineno__ = line  # type: ignore[attr-defined]


def _explaining(module: ModuleType, own: Callable[[str], Any] | None) -> Callable[[str], Any]:
    def __getattr__(name: str) -> Any:  # noqa: N807
        if own is not None:
            try:
                return own(name)
            except AttributeError as error:
                if _is_from_inside(error):
                    raise
        raise _error(module, name, sys._getframe(1)) from None

    return __getattr__


def _is_from_inside(error: AttributeError) -> bool:
    """Return whether the error arose in a call of the module's own `__getattr__`, not in itself."""
    ours = error.__traceback__
    own = ours and ours.tb_next
    return bool(own and own.tb_next)


def _error(module: ModuleType, name: str, asking: FrameType) -> Exception:
    public = public_name(module.__name__)
    if name.startswith("__"):  # the interpreter asks for these all the time
        return AttributeError(f"module {public!r} has no attribute {name!r}", name=name, obj=module)
    # late: read when a name is missing
    text = importlib.import_module("taper.compat.explanations").no_attribute(module, public, name)
    # `from torch import name`, which would discard the text of an AttributeError.
    if asking.f_code.co_code[asking.f_lasti] == _IMPORT_FROM:
        message = f"cannot import name {name!r} from {public!r}{text}"
        return ImportError(message, name=public, path=getattr(module, "__file__", None))
    return AttributeError(
        f"module {public!r} has no attribute {name!r}{text}", name=name, obj=module
    )
