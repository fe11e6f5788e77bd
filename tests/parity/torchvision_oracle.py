"""torchvision as an oracle, even if its compiled operators do not fit the installed PyTorch.

`load()` returns the package.  Missing operators are declared, so that its Python part can be
imported; calling one of them would fail.
"""

from __future__ import annotations

import importlib
import re
import sys
from types import ModuleType

import torch

_MISSING = re.compile(r"operator torchvision::(\w+) does not exist")
_declared: list[torch.library.Library] = []


def load() -> ModuleType:
    """Return the package torchvision."""
    while True:
        try:
            return importlib.import_module("torchvision")
        except RuntimeError as error:
            missing = _MISSING.match(str(error))
            if missing is None:
                raise
        if not _declared:
            _declared.append(torch.library.Library("torchvision", "DEF"))
        _declared[0].define(f"{missing[1]}(Tensor x) -> Tensor")
        for name in [each for each in sys.modules if each.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
