"""Interceptors: code that sees every operator call of a thread before it runs, and may replace it.

Owns: the stack of interceptors of a thread.  The profiler, selective checkpointing and the
transforms of `func` use it.  An interceptor is a callable `interceptor(call, run)`, which returns
`run()` or another result.  While an interceptor runs, it is off, and those below it are on.

Only operators of the table pass through.  A composite function shows as the operators it calls, and
so does a recorded backward pass.  A thread without interceptors pays nothing: the mode has a bit
for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from taper.autograd.state import INTERCEPT, State, local


class Call(NamedTuple):
    """One call of an operator: of its function, its in-place twin, or with `out=`."""

    op: Any
    arguments: tuple[Any, ...]
    kind: Literal["plain", "inplace", "out"] = "plain"

    @property
    def name(self) -> str:
        """PyTorch's name of the operator: `mul`, `mul_`."""
        return self.op.inplace_name if self.kind == "inplace" else self.op.label or self.op.name


Interceptor = Callable[[Call, Callable[[], Any]], Any]


def push(interceptor: Interceptor) -> None:
    """Let `interceptor` see the operator calls of this thread, before all others."""
    _set(local.state, (*local.state.interceptors, interceptor))


def pop(interceptor: Interceptor) -> None:
    """Take an interceptor off, wherever it stands; the others stay."""
    state = local.state
    _set(state, tuple(each for each in state.interceptors if each is not interceptor))


@contextlib.contextmanager
def intercepting(interceptor: Interceptor) -> Iterator[None]:
    """Let `interceptor` see the operator calls of this thread during the block."""
    push(interceptor)
    try:
        yield
    finally:
        pop(interceptor)


def _set(state: State, interceptors: tuple[Interceptor, ...]) -> None:
    state.interceptors = interceptors
    state.mode = state.mode | INTERCEPT if interceptors else state.mode & ~INTERCEPT


def announce_write(tensor: Any) -> None:
    """Tell interceptors that have `about_to_write` of a write that no operator makes."""
    for each in local.state.interceptors:
        listener = getattr(each, "about_to_write", None)
        if listener is not None:
            listener(tensor)


def are_formulas_seen(state: State) -> bool:
    """Return whether an interceptor wants to see the operators of backward passes."""
    return any(hasattr(each, "sees_formulas") for each in state.interceptors)


def seen_made(name: str, arguments: tuple[Any, ...], options: dict[str, Any], result: Any) -> Any:
    """Show a tensor that the library has made itself to who sees what PyTorch calls there.

    The answer may be another tensor.  `name` is that of PyTorch's operator.
    """
    stack = local.state.interceptors
    if not stack or not hasattr(stack[-1], "see_made"):
        return result
    _set(local.state, stack[:-1])
    try:
        return stack[-1].see_made(name, arguments, options, result)
    finally:
        _set(local.state, stack)


def seen_node(node: Any, grads: Any) -> Any:
    """Show a node of a backward pass as a whole, if somebody wants to see it so; else None."""
    stack = local.state.interceptors
    if not stack or not hasattr(stack[-1], "see_node"):
        return None
    _set(local.state, stack[:-1])
    try:
        return stack[-1].see_node(node, grads)
    finally:
        _set(local.state, stack)


def intercept(call: Call, state: State, perform: Callable[[], Any]) -> Any:
    """Give a call to the topmost interceptor; `perform` calls the operator again without it."""
    stack = state.interceptors
    if not stack:
        return perform()
    _set(state, stack[:-1])
    try:
        return stack[-1](call, perform)
    finally:
        # An interceptor that was popped meanwhile stays away; one that was pushed is the caller's
        # mistake.
        _set(state, stack if len(state.interceptors) == len(stack) - 1 else state.interceptors)
