"""Neural networks: modules, their functions, initial values, parameters."""

from taper.nn import functional, init, modules, parallel, parameter, utils
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
    "functional",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
    *_modules,
]
