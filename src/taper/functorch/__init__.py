"""`functorch`: the transforms under an old name, and modules as functions of parameters."""

import importlib as _importlib
from typing import Any as _Any

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


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):  # type: ignore[no-untyped-def]
    """Return `vmap` of a function that takes a batch in some chunks, one after the other.

    >>> import taper
    >>> from taper.functorch import chunk_vmap
    >>> chunk_vmap(lambda x: x.sum(), chunks=2)(taper.ones(4, 3))
    tensor([3., 3., 3., 3.])
    """

    def run(*args, **kwargs):  # type: ignore[no-untyped-def]
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [each.shape[dim] for each, dim in zip(args, dims, strict=True) if dim is not None]
        size = -(-sizes[0] // chunks) if sizes else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return run


def __getattr__(name: str) -> _Any:
    if name == "make_fx":  # late: tracing is loaded by those who trace
        return _importlib.import_module("taper.fx.experimental.proxy_tensor").make_fx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
