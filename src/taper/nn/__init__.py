"""Neural networks: modules, their functions, initial values, parameters."""

from typing import TYPE_CHECKING

from taper.first_use import on_first_use
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

if TYPE_CHECKING:  # a checker that saw `__getattr__` would believe in every name
    from taper.nn import attention as attention
    from taper.nn import common_types as common_types
    from taper.nn import grad as grad
else:
    __getattr__, __dir__ = on_first_use(globals(), ("attention", "common_types", "grad"))
