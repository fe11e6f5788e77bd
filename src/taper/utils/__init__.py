"""`taper.utils`: tools around the library.  Its modules load when they are first used."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from typing import Any


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    public = [each.name for each in pkgutil.iter_modules(__path__) if each.name[0] != "_"]
    return sorted({*globals(), *public})
