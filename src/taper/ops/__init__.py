"""The operators, one family a file.  Importing this puts their methods on Tensor."""

import importlib
import pkgutil

from taper import opcompile  # noqa: F401 - provides what lazy functions need on first use
from taper.opdef import methods
from taper.tensor import Tensor

for _module in sorted(each.name for each in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"taper.ops.{_module}")

for _name, _function in methods.items():
    setattr(Tensor, _name, _function)
