"""Neural networks: modules, their functions, initial values, parameters."""

import importlib
from typing import TYPE_CHECKING, Any

from taper.nn import functional, init, modules, parallel, parameter, utils
from taper.nn.factory_options import factory_kwargs
from taper.nn.modules import *  # noqa: F403 - the list is in `modules`
from taper.nn.modules import __all__ as _modules
from taper.nn.parallel import DataParallel
from taper.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "factory_kwargs",
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *_modules,
]

# What few programs use is imported when they do.
_ON_DEMAND = ("attention", "common_types", "grad")

if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.nn import attention as attention
    from taper.nn import common_types as common_types
    from taper.nn import grad as grad
else:

    def __getattr__(name: str) -> Any:
        if name in _ON_DEMAND:
            return importlib.import_module(f"taper.nn.{name}")
        raise AttributeError(f"module 'taper.nn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})
