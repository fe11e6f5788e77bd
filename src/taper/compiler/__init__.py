"""`taper.compiler`, and `taper.compile`: programs that ask for compilation are captured (D15).

A compiled function or module computes what the plain one computes, with its hooks, gradients and
errors.  Arguments are checked as PyTorch checks them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from taper._dynamo.backends import list_backends, looked_up
from taper._dynamo.eval_frame import disable, optimized
from taper.absent import compilers
from taper.absent.answers import own
from taper.compiler import config

__all__ = [
    "compile",
    "config",
    "assume_constant_result",
    "reset",
    "allow_in_graph",
    "substitute_in_graph",
    "list_backends",
    "disable",
    "set_stance",
    "cudagraph_mark_step_begin",
    "wrap_numpy",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "save_cache_artifacts",
    "load_cache_artifacts",
    "get_default_backend",
    "set_default_backend",
    "nested_compile_region",
]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_Model = TypeVar("_Model", bound=Callable[..., Any])


@overload
def compile(
    model: _Model,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> _Model: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Callable[[_Model], _Model]: ...
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function or module, captured (see `taper.capture`); without `model` a decorator.

    A module comes back in an `OptimizedModule`, whose `_orig_mod` it is and whose `state_dict` has
    the names under it, as in PyTorch. Differs: what runs is captured, not compiled, so the other
    arguments change nothing and a `backend` that is a function is never called.

    >>> import taper
    >>> @taper.compile(mode="reduce-overhead")
    ... def double(x):
    ...     return x * 2
    >>> double(taper.ones(2))
    tensor([2., 2.])
    >>> list(taper.compile(taper.nn.Linear(2, 3)).state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    chosen = _default_backend[0] if backend is None else backend
    if chosen == "inductor" and mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    looked_up(chosen)
    if not isinstance(dynamic, bool | None):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")

    def decorate(model: Callable[..., Any]) -> Any:
        return model if disable else optimized(model)

    return decorate if model is None else decorate(model)


# --- questions -------------------------------------------------------------------------------

is_compiling = compilers.not_at_work
is_dynamo_compiling = compilers.not_at_work
is_exporting = compilers.not_at_work


# --- instructions to a compiler --------------------------------------------------------------

reset = compilers.nothing
cudagraph_mark_step_begin = compilers.nothing
assume_constant_result = compilers.constant
wrap_numpy = compilers.itself


def allow_in_graph(fn: Any) -> Any:
    """The function, or the list of functions, itself."""
    if isinstance(fn, list | tuple):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def substitute_in_graph(
    original_fn: Callable[..., Any],
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Any], Any]:
    """A decorator that returns its function: what it stands for is called itself."""
    return lambda traceable: traceable


def nested_compile_region(
    fn: Any = None, *, options: Any = None, max_reuse_entries: int = 8, reuse_hash_fn: Any = None
) -> Any:
    """The function itself, or without one a decorator."""
    return fn if fn is not None else lambda function: function


class set_stance(contextlib.ContextDecorator):
    """How a compiler shall behave; for good, for a block, or for a function."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable[..., Any] | None = None,
    ) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        self.stance = stance

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


# --- backends and caches ---------------------------------------------------------------------

_default_backend: list[Any] = ["inductor"]


def get_default_backend() -> str | Callable[..., Any]:
    """The backend that is meant where `compile` names none."""
    backend: str | Callable[..., Any] = _default_backend[0]
    return backend


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Choose the backend that is meant where `compile` names none."""
    if backend is not None:
        looked_up(backend)
    _default_backend[0] = "inductor" if backend is None else backend


save_cache_artifacts = compilers.nothing  # in a cache


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: nothing is read."""


own(globals())
