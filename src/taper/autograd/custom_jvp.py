"""Forward mode through a custom function: its `jvp` and the checks of its results (§D13, §D14).

The user's `jvp` computes one tangent for each output.  It must treat tangents as `forward` treats
tensors: write in place where `forward` does, return a view where `forward` does.  Otherwise
tangents of views and bases would fall out of step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.autograd.context import BackwardCFunction
from taper.autograd.duals import (
    check_size,
    inherit,
    laid_out,
    lies_like,
    overwrite,
    set_tangent,
    tangent,
    zeros_like,
)
from taper.autograd.state import DUAL, local
from taper.autograd.tangents import outside_of_level
from taper.tensor import Tensor

_NOT_A_VIEW = (
    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
    "returning a view."
)
_OTHER_VIEW = "A custom Function is returning a view but the jvp is not returning a view of the "
_MODIFY = " If the forward is modifying an input inplace, then the jvp function must modify the "
_NOT_MODIFIED = (
    "An inplace custom Function is not modifying the forward mode gradients inplace."
    f"{_MODIFY}corresponding gradient inplace."
)
_NOT_RETURNED = (
    "An inplace custom Function is not returning the forward mode gradients as-is."
    f"{_MODIFY}gradient inplace and return it as-is."
)


@outside_of_level
def run_jvp(
    cls: Any,
    ctx: BackwardCFunction,
    args: tuple[Any, ...],
    returned: Sequence[Any],
    outputs: Sequence[Any],
) -> None:
    """Give the outputs the tangents that the user's `jvp` computes.

    `returned` is what `forward` returned, `outputs` are the same tensors with their history.
    """
    own = [tangent(each) for each in args]
    given = [
        zeros_like(each)
        if found is None and ctx.materialize_grads and _is_floating(each)
        else found
        for each, found in zip(args, own, strict=True)
    ]
    versions = [None if each is None else each._version for each in own]
    results = _checked(_call(cls, ctx, given), len(outputs))
    for nr, (original, output) in enumerate(zip(returned, outputs, strict=True)):
        if not isinstance(output, Tensor):
            continue
        found = results[nr]
        if not _is_floating(original) or _contains(ctx.non_differentiable, original):
            if found is not None:
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {nr}, but  the corresponding "
                    "forward output is not a differentiable Tensor.You should return None at that "
                    "position instead."
                )
        elif _contains(ctx.dirty_tensors, original):
            at = _position(args, original)
            if at is None:
                raise RuntimeError(
                    "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                    "input, there is no need to pass it to mark_dirty()."
                )
            _set_dirty(output, found, own[at], versions[at])
        else:
            _set_output(output, found, *_viewed(args, given, original))


def _is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def _contains(tensors: Sequence[Any] | None, tensor: Any) -> bool:
    return tensors is not None and any(each is tensor for each in tensors)


def _position(args: Sequence[Any], tensor: Tensor) -> int | None:
    return next((at for at, each in enumerate(args) if each is tensor), None)


def _call(cls: Any, ctx: BackwardCFunction, tangents: list[Any]) -> Any:
    """Call the user's `jvp`, which works on tangents and sees no tangents of them."""
    state = local.state
    mode, enabled = state.mode, state.dual_enabled
    state.mode = mode & ~DUAL
    state.dual_enabled = False
    ctx._in_jvp = True
    try:
        return cls.jvp(ctx, *tangents)
    finally:
        ctx._in_jvp = False
        state.mode, state.dual_enabled = mode, enabled


def _checked(results: Any, count: int) -> tuple[Any, ...]:
    several: tuple[Any, ...] = results if isinstance(results, tuple) else (results,)
    for nr, each in enumerate(several):
        if not (each is None or isinstance(each, Tensor)):
            raise RuntimeError(
                f"expected Variable or None (got {type(each).__name__}) for grad output {nr}."
            )
    if len(several) != count:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{count} but got {len(several)})"
        )
    return several


def _required(found: Tensor | None, output: Tensor) -> Tensor:
    if found is None or not _is_floating(found):
        raise RuntimeError(
            "Expected both tensor and its forward grad to be floating point or complex"
        )
    check_size(output, found)
    return found


def _set_dirty(
    output: Tensor, found: Tensor | None, own: Tensor | None, version: int | None
) -> None:
    """Set the tangent of an input that `forward` wrote: its own tangent, written by `jvp`."""
    if own is not None:
        if own._version == version:
            raise RuntimeError(_NOT_MODIFIED)
        if found is not own:
            raise RuntimeError(_NOT_RETURNED)
    overwrite(output, _required(found, output))


def _viewed(
    args: Sequence[Any], given: Sequence[Any], original: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """Return the input that an output is, or is a view of, and that input's tangent."""
    base = None if original._view is None else original._view.base
    for each, found in zip(args, given, strict=True):
        if isinstance(each, Tensor):
            root = each if each._view is None else each._view.base
            if each is original or (base is not None and base is root):
                return each, found
    return None, None


def _set_output(
    output: Tensor, found: Tensor | None, source: Tensor | None, source_tangent: Tensor | None
) -> None:
    if source is not None and source_tangent is not None:
        if found is None or found._view is None:
            raise RuntimeError(_NOT_A_VIEW)
        if source_tangent._view is None:
            if found._view.base is not source_tangent:
                raise RuntimeError(f"{_OTHER_VIEW}given grad input.")
        elif found._view.base is not source_tangent._view.base:
            raise RuntimeError(f"{_OTHER_VIEW}same base as the given grad input.")
    found = _required(found, output)
    if output._autograd_meta is not None and output._autograd_meta.tangent is not None:
        raise RuntimeError(
            "Only inplace operations can re-set the forward grad of a Tensor that already has one."
        )
    inherit(source, [output])
    if source is not None and not lies_like(found, output):
        raise RuntimeError(
            "Expected the output of forward differentiable view operations to have the tangent "
            "have the same layout as primal"
        )
    set_tangent(output, laid_out(found, output))
