"""`taper._dynamo`: what programs reach of PyTorch's compiler.  There is none; see `compiler`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from taper._dynamo import backends, config, eval_frame, exc, utils
from taper._dynamo.backends import list_backends
from taper._dynamo.eval_frame import OptimizedModule, disable, optimized
from taper.absent import compilers
from taper.absent.answers import own, refused

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "reset",
    "run",
    "utils",
]

is_compiling = compilers.not_at_work
is_dynamo_supported = compilers.not_at_work
is_inductor_supported = compilers.not_at_work
reset = compilers.nothing
allow_in_graph = compilers.itself
disallow_in_graph = compilers.itself
forbid_in_graph = compilers.itself
assume_constant_result = compilers.constant


def graph_break(msg: str = "") -> None:
    """Nothing to do: there is no captured graph."""


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Any = None,
    guard_fail_fn: Any = None,
    disable: bool = False,
    dynamic: bool | None = None,
) -> Callable[[Any], Any]:
    """A decorator; see `taper.compile`."""
    return lambda model: model if disable else optimized(model)


def optimize_assert(backend: Any = "inductor") -> Callable[[Any], Any]:
    """A decorator; see `taper.compile`."""
    return optimized


def run(fn: Any = None) -> Any:
    """The function itself, or without one a decorator."""
    return fn if fn is not None else run


def mark_dynamic(
    t: Any, index: Any, *, min: int | None = None, max: int | None = None, hint: Any = None
) -> None:
    """Nothing to do: every size may change."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Nothing to do: every size may change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Nothing to do: every size may change."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Nothing to do: nothing is replayed."""


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"torch._dynamo.{name}: {instead}")


explain = refused(
    lambda f, *extra_args, **extra_kwargs: _refuse(
        "explain", "nothing is compiled. Use taper.viz.make_dot to see the graph."
    )
)
export = refused(
    lambda f, *extra_args, **extra_kwargs: _refuse(
        "export", "programs are not captured. Save the state_dict and the source."
    )
)

own(globals())
