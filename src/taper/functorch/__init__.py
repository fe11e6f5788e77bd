"""`functorch`: the transforms under an old name, and modules as functions of parameters."""

import importlib as _importlib
from typing import Any as _Any

from taper._functorch.apis import chunk_vmap
from taper.func import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    vjp,
    vmap,
)
from taper.functorch.make_functional import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    make_functional,
    make_functional_with_buffers,
)
from taper.version import __version__

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "__version__",
    "chunk_vmap",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> _Any:
    if name == "make_fx":  # late: tracing is loaded by those who trace
        return _importlib.import_module("taper.fx.experimental.proxy_tensor").make_fx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
