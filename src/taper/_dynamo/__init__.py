"""`taper._dynamo`: what programs use of PyTorch's compiler.  There is none; see `compiler`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from taper._dynamo import backends, config, eval_frame, exc, utils
from taper._dynamo.backends import list_backends
from taper._dynamo.eval_frame import OptimizedModule, disable, optimized

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


def is_compiling() -> bool:
    """Return False: nothing is compiled."""
    return False


def is_dynamo_supported() -> bool:
    """Return False: there is no compiler."""
    return False


def is_inductor_supported() -> bool:
    """Return False: there is no compiler."""
    return False


def reset() -> None:
    """Do nothing: nothing was compiled."""


def graph_break(msg: str = "") -> None:
    """Do nothing: there is no captured graph."""


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Any = None,
    guard_fail_fn: Any = None,
    disable: bool = False,
    dynamic: bool | None = None,
) -> Callable[[Any], Any]:
    """Return a decorator; see `taper.compile`."""
    return lambda model: model if disable else optimized(model)


def optimize_assert(backend: Any = "inductor") -> Callable[[Any], Any]:
    """Return a decorator; see `taper.compile`."""
    return optimized


def run(fn: Any = None) -> Any:
    """Return the function itself, or a decorator if there is none."""
    return fn if fn is not None else run


def allow_in_graph(fn: Any) -> Any:
    """Return the function itself."""
    return fn


def disallow_in_graph(fn: Any) -> Any:
    """Return the function itself."""
    return fn


def forbid_in_graph(fn: Any) -> Any:
    """Return the function itself."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Return the function itself, marked as in PyTorch."""
    fn._dynamo_marked_constant = True
    return fn


def mark_dynamic(
    t: Any, index: Any, *, min: int | None = None, max: int | None = None, hint: Any = None
) -> None:
    """Do nothing: every size may change."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Do nothing: every size may change."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: every size may change."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Do nothing: nothing is replayed."""


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> NoReturn:
    """Refused: there is no compiler to explain."""
    raise NotImplementedError(
        "torch._dynamo.explain: nothing is compiled. Use taper.viz.make_dot to see the graph."
    )


def export(f: Any, *extra_args: Any, **extra_kwargs: Any) -> NoReturn:
    """Refused: there is no captured program."""
    raise NotImplementedError(
        "torch._dynamo.export: programs are not captured. Save the state_dict and the source."
    )
