"""`taper.utils`: tools around the library.  Its modules load when they are first used."""

from __future__ import annotations

import pkgutil

from taper.first_use import on_first_use

_MODULES = [each.name for each in pkgutil.iter_modules(__path__)]
__getattr__, __dir__ = on_first_use(globals(), _MODULES)
