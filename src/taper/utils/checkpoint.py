"""`taper.utils.checkpoint`: less memory for more time.

A checkpointed call keeps its inputs instead of what its operators save, and is computed again when
a backward pass needs those values.  Owns: the public functions and their settings.
`_checkpoint.frames` has the kind that uses saved-tensor hooks, `_checkpoint.reentrant` the older
one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from taper.autograd.graph import saved_tensors_hooks
from taper.autograd.state import NO_GRAD, local
from taper.nn.modules.container import Sequential
from taper.userwarning import warn_user
from taper.utils._checkpoint.autocasting import AutocastState, casting_as
from taper.utils._checkpoint.debugging import DebugLog
from taper.utils._checkpoint.frames import (
    CheckpointError,
    Frame,
    GraphExecGroup,
    unpack,
)
from taper.utils._checkpoint.randomness import (
    DefaultDeviceType,
    RandomState,
    drawing_from,
    get_device_states,
    set_device_states,
)
from taper.utils._checkpoint.reentrant import (
    CheckpointFunction,
    check_backward_validity,
    detach_variable,
)
from taper.utils._checkpoint.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "set_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "DefaultDeviceType",
    "set_checkpoint_debug_enabled",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
    "SAC_IGNORED_OPS",
    "GraphExecGroup",
]

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]

_RECOMMENDED = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, "
    "you can pass use_reentrant=True. Refer to docs for more details on the differences between "
    "the two variants."
)
_KIND_NOT_SAID = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
    "PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception. "
    f"{_RECOMMENDED}"
)
_KIND_OF_A_CHAIN_NOT_SAID = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
    "explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed. "
    f"{_RECOMMENDED}"
)

_DETERMINISM_CHECKS = ["default", "none"]

# What the context managers below have set; None leaves the choice to the arguments.
_early_stop: bool | None = None
_debug_enabled: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Say whether calls in the block stop recomputing once all is there; overrides the argument.

    Args:
        enable: whether they stop early.

    >>> import taper
    >>> from taper.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(taper.exp, taper.zeros(1, requires_grad=True), use_reentrant=False)
    """
    global _early_stop
    before = _early_stop
    _early_stop = enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Say whether calls in the block log their operators; None leaves it to the argument.

    Args:
        enabled: whether they log.

    >>> from taper.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass
    """
    global _debug_enabled
    before = _debug_enabled
    _debug_enabled = enabled
    try:
        yield
    finally:
        _debug_enabled = before


def noop_context_fn() -> Contexts:
    """Return the default of `context_fn`: nothing around forward and recomputation.

    >>> import taper
    >>> [type(each).__name__ for each in taper.utils.checkpoint.noop_context_fn()]
    ['nullcontext', 'nullcontext']
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)` and keep the inputs instead of what its operators save.

    A backward pass computes the call again.  `preserve_rng_state=False` among the keywords lets the
    recomputation draw new random numbers.

    Args:
        function: what to call.
        args: its arguments.
        use_reentrant: pass False, which allows any nesting of inputs and outputs, `autograd.grad`
            and double backward; True chooses the older kind.
        context_fn: returns two context managers, for forward and recomputation.
        determinism_check: "default" compares the recomputed tensors' shapes and dtypes with the
            saved ones'; "none" does not.
        debug: log the operators of both runs for the error.
        early_stop: end the recomputation when all needed values are there.

    Returns: what `function` returns.

    >>> import taper
    >>> from taper.utils.checkpoint import checkpoint
    >>> x = taper.tensor([0.0, 0.5], requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 0.5403, -0.1283])
    """
    if use_reentrant is None:
        warn_user(_KIND_NOT_SAID)
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    frame, context = _frame_for(
        function, kwargs, preserve_rng_state, context_fn, determinism_check, debug, early_stop
    )
    if local.state.mode & NO_GRAD:
        return function(*args, **kwargs)
    frame.keep_inputs(args)
    with saved_tensors_hooks(frame.pack, unpack), context:
        result = function(*args, **kwargs)
    frame.completed = True
    return result


def _frame_for(
    function: Callable[..., Any],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], Contexts],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> tuple[Frame, contextlib.AbstractContextManager[Any]]:
    """Return the frame of a non-reentrant call, and the context of its forward."""
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}"
        )
    explain = None
    if debug if _debug_enabled is None else _debug_enabled:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        log = DebugLog()
        context_fn, explain = log.contexts, log.explain
    forward_context, recompute_context = context_fn()
    random_state = RandomState.now() if preserve_rng_state else None
    autocast_state = AutocastState.now()

    def run(*inputs: Any) -> None:
        with drawing_from(random_state), casting_as(autocast_state), recompute_context:
            function(*inputs, **kwargs)

    stops = early_stop if _early_stop is None else _early_stop
    return Frame(run, stops, determinism_check == "default", explain), forward_context


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a chain of functions in `segments` checkpoints; the last segment is not checkpointed.

    Args:
        functions: a list of functions, or an `nn.Sequential`.
        segments: how many parts to make.
        input: the argument of the first function.
        use_reentrant: as in `checkpoint`.

    >>> import taper
    >>> from taper.utils.checkpoint import checkpoint_sequential
    >>> x = taper.tensor([0.5], requires_grad=True)
    >>> chain = [taper.sin, taper.exp, taper.cos, taper.tanh]
    >>> checkpoint_sequential(chain, 2, x, use_reentrant=False)
    tensor([-0.0443], grad_fn=<TanhBackward0>)
    """
    if use_reentrant is None:
        warn_user(_KIND_OF_A_CHAIN_NOT_SAID)
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    chain = list(functions.children() if isinstance(functions, Sequential) else functions)
    length = len(chain) // segments
    start = 0
    for start in range(length, length * segments, length):
        input = checkpoint(
            _in_a_row(chain[start - length : start]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return _in_a_row(chain[start:])(input)


def _in_a_row(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for function in functions:
            value = function(value)
        return value

    return run
