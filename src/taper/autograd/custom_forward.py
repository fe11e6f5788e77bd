"""Running `forward` of a custom function: arguments, the history of outputs, saved tensors.

`forward` runs unrecorded; afterwards each tensor it returned is one of four kinds (F10 to F12): a
fresh one, an input returned as it is, a view of an input, or an input that it wrote.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

from taper.arrays.strides import strided, view_strides
from taper.autograd.anomaly_mode import refuse_forward, remember, watches_forward
from taper.autograd.context import BackwardCFunction
from taper.autograd.custom_jvp import run_jvp
from taper.autograd.duals import tangent as tangent_of
from taper.autograd.meta import Creation
from taper.autograd.overrides import watch
from taper.autograd.provenance import user_frame
from taper.autograd.saved import SavedValue
from taper.autograd.state import (
    ANOMALY,
    CLASS_PATHS,
    DUAL,
    INFERENCE,
    NO_GRAD,
    SAVED_HOOKS,
    local,
)
from taper.autograd.views import (
    alias,
    bump_version,
    check_inplace,
    gradient_edge,
    make_view,
    rebase_history,
    requires_grad,
    set_history,
    wants_grad,
)
from taper.tensor import Tensor, element_strides
from taper.userwarning import warn_user

NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)
WRITES_A_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)


def no_setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
    """Fill the context after a `forward` that does not take one."""
    raise NotImplementedError("setup_context is not implemented.")


def apply_function(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `forward` unrecorded and give its outputs their history: `cls.apply(*args, **kwargs)`."""
    separate = cls.setup_context is not no_setup_context
    if separate:
        bound = signature_of(cls).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
    elif kwargs:
        args, kwargs = _positional(cls, args, kwargs)
    state = local.state
    mode = state.mode
    ctx = cls._backward_cls()
    tensors = [each for each in args if isinstance(each, Tensor)]
    ctx._is_tensor = tuple([isinstance(each, Tensor) for each in args])
    ctx.needs_input_grad = tuple(
        [isinstance(each, Tensor) and requires_grad(each) for each in args]
    )
    recording = not mode & (NO_GRAD | INFERENCE) and True in ctx.needs_input_grad
    if recording:
        _connect(ctx, tensors, mode)
    dual_enabled = state.dual_enabled
    state.mode = (mode | NO_GRAD) & ~DUAL
    state.dual_enabled = False
    try:
        if separate:
            result = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
    finally:
        state.mode = mode
        state.dual_enabled = dual_enabled
    returned = result if isinstance(result, tuple) else (result,)
    if recording and _is_simple(ctx, result, tensors):
        ctx._shape, ctx._dtype = result._array.shape, result._array.dtype
        ctx._outputs = ((ctx._shape, ctx._dtype),)
        set_history(result, ctx)
        outputs = [result]
    else:
        outputs = wrapped_outputs(ctx, tensors, returned, recording)
    if recording:
        _save(ctx, outputs, state)
    if mode & DUAL and any(tangent_of(each) is not None for each in tensors):
        run_jvp(cls, ctx, args, returned, outputs)
    ctx.dirty_tensors = ctx.non_differentiable = ctx.to_save = None
    if mode & ANOMALY and watches_forward():
        refuse_forward(cls, args, outputs)
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _connect(ctx: BackwardCFunction, inputs: list[Tensor], mode: int) -> None:
    """Give the node its edges and the user's line."""
    edges = [gradient_edge(each) if requires_grad(each) else (None, 0) for each in inputs]
    ctx._edges = tuple([edge for edge, _ in edges])
    ctx._edge_nrs = tuple([nr for _, nr in edges])
    frame = user_frame(sys._getframe(1))
    ctx._code, ctx._offset = frame.f_code, frame.f_lasti
    if mode & ANOMALY:
        remember(ctx)


def signature_of(cls: Any) -> inspect.Signature:
    """Return the signature of `forward`, found once."""
    known = cls.__dict__.get("_signature")
    if known is None or known[0] != cls.forward:
        known = cls._signature = (cls.forward, inspect.signature(cls.forward))
    return known[1]


def _positional(
    cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put keyword arguments of `apply` into the places of `forward`'s parameters (§F23).

    As in PyTorch all parameters before a named one must be given too, whatever their defaults.
    """
    params = list(signature_of(cls).parameters.values())[1:]  # without the context
    names = [each.name for each in params if each.kind is each.POSITIONAL_OR_KEYWORD]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max(names.index(name) for name in kwargs)
    found = list(args)
    for position in range(len(args), last + 1):
        if names[position] not in kwargs:
            raise TypeError(
                f"forward() missing required argument: '{names[position]}' (position {position})"
            )
        found.append(kwargs[names[position]])
    return tuple(found), {}


def _contains(tensors: Sequence[Any] | None, tensor: Any) -> bool:
    return tensors is not None and any(each is tensor for each in tensors)


def _is_simple(ctx: BackwardCFunction, result: Any, inputs: list[Tensor]) -> bool:
    """Return whether `forward` returned one fresh floating-point tensor, the commonest case."""
    return (
        isinstance(result, Tensor)
        and result._view is None
        and ctx.dirty_tensors is None
        and ctx.non_differentiable is None
        and not ctx._is_pure_view
        and result._array.dtype.kind in "fc"
        and not _contains(inputs, result)
    )


def wrapped_outputs(
    ctx: BackwardCFunction, inputs: list[Tensor], outputs: Sequence[Any], recording: bool
) -> list[Any]:
    """Return the outputs with their history: fresh ones, inputs passed through, inputs written."""
    _check_marks(ctx, outputs)
    tensors = [each for each in outputs if isinstance(each, Tensor)]
    differentiable = [recording and _can_differentiate(ctx, each) for each in outputs]
    ctx._outputs = [
        (each._array.shape, each._array.dtype) if isinstance(each, Tensor) else None
        for each in outputs
    ]
    ctx._without_grad = frozenset([nr for nr, each in enumerate(differentiable) if not each])
    ctx._shape, ctx._dtype = ctx._output_metadata(0)
    if ctx._is_pure_view and (len(inputs) != 1 or len(tensors) != 1):
        raise RuntimeError(
            "Pure view custom Function can only have one input Tensor and one output Tensor. Open "
            "an issue if you need to support more."
        )
    wrapped: list[Any] = []
    for nr, output in enumerate(outputs):
        if isinstance(output, Tensor):
            is_input = _contains(inputs, output)
            if not _contains(ctx.dirty_tensors, output):
                output = _finish_output(ctx, output, nr, is_input, differentiable[nr])
            else:
                _check_dirty(output, is_input, differentiable[nr], len(tensors))
                output = _finish_dirty(ctx, output, nr, is_input, differentiable[nr])
        wrapped.append(output)
    if sum(differentiable) > 1:
        # The views may share memory with each other, so none of them may be written (§V10).
        for output in wrapped:
            if isinstance(output, Tensor) and output._view is not None:
                output._view.creation = Creation.MULTIPLE
    return wrapped


def _check_marks(ctx: BackwardCFunction, outputs: Sequence[Any]) -> None:
    """Raise if a marked tensor may not be marked; a write counts as such in any case."""
    for name in ("dirty", "non_differentiable"):
        marked = ctx.dirty_tensors if name == "dirty" else ctx.non_differentiable
        for position, each in enumerate(marked or ()):
            if isinstance(each, Tensor):
                continue
            kind = type(each).__name__
            if name == "dirty":
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument {position} is of type "
                    f"{kind}"
                )
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got {kind}"
            )
    for dirty in ctx.dirty_tensors or ():
        bump_version(dirty)
    for dirty in ctx.dirty_tensors or ():
        if not _contains(outputs, dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )


def _can_differentiate(ctx: BackwardCFunction, output: Any) -> bool:
    if not isinstance(output, Tensor) or _contains(ctx.non_differentiable, output):
        return False
    return output.dtype.is_floating_point or output.dtype.is_complex


def _finish_output(
    ctx: BackwardCFunction, output: Tensor, nr: int, is_input: bool, differentiable: bool
) -> Tensor:
    """Give an output its history; an input returned as it is becomes a view of itself (§F11)."""
    if is_input:
        if not differentiable and wants_grad(output):
            return alias(output)
        kind = output.__class__
        output = make_view(output, _viewed(output._array), Creation.FUNCTION)
        if kind is not Tensor and not kind.__module__.startswith(CLASS_PATHS):
            output.__class__ = kind  # an instance of the user's subclass stays one (§F22)
            watch(output)
    elif not differentiable and output._view is None and output._grad_fn is not None:
        output.detach_()  # recorded inside `forward`, whose records must not show
    record = output._view
    if record is not None:
        record.creation = Creation.PLAIN if ctx._is_pure_view else Creation.FUNCTION
    if differentiable:
        set_history(output, ctx, nr)
        if record is not None:
            record.version = output._counter.value
    return output


def _viewed(array: Any) -> Any:
    """Return an array as `view_as` itself shows it, where strides of length 1 are found anew."""
    if 1 not in array.shape:
        return array
    found = view_strides(array.shape, element_strides(array), array.shape)
    if found is None:
        return array
    return strided(array, array.shape, tuple([step * array.itemsize for step in found]))


def _check_dirty(output: Tensor, is_input: bool, differentiable: bool, output_count: int) -> None:
    """Raise where an output may not be marked as dirty."""
    if not is_input:
        if output._view is not None:
            raise RuntimeError(NOT_AN_INPUT)
        warn_user(NOT_AN_INPUT)
    elif differentiable and output._view is not None:
        if output_count > 1:
            raise RuntimeError(WRITES_A_VIEW)
        check_inplace(output, True, local.state)
    elif differentiable and requires_grad(output) and output.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )


def _finish_dirty(
    ctx: BackwardCFunction, output: Tensor, nr: int, is_input: bool, differentiable: bool
) -> Tensor:
    """Make the function the history of an input that it wrote (§F10)."""
    if differentiable and is_input:
        if output._autograd_meta is not None:
            output._autograd_meta.grad = None
        rebase_history(output, ctx, nr)
    elif differentiable:
        set_history(output, ctx, nr)
    elif is_input and wants_grad(output):
        return alias(output)
    return output


def _save(ctx: BackwardCFunction, outputs: list[Any], state: Any) -> None:
    """Turn what `save_for_backward` was given into saved values, outputs without a cycle."""
    values = []
    # The context forgets first: a hook that stops here, as a checkpoint's does, must leave no
    # cycle.
    given, ctx.to_save = ctx.to_save, None
    for position, tensor in enumerate(given or ()):
        if not (tensor is None or isinstance(tensor, Tensor)):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type "
                f"{type(tensor).__name__}"
            )
        nr = next((nr for nr, each in enumerate(outputs) if each is tensor), None)
        # A written view has a history of its own that leads here, so it counts as an output too.
        is_output = (
            tensor is not None
            and nr is not None
            and (tensor._grad_fn is ctx or _contains(ctx.dirty_tensors, tensor))
        )
        value = SavedValue(tensor, is_output, nr or 0)
        if state.mode & SAVED_HOOKS and state.saved_hooks and tensor is not None:
            pack, unpack = state.saved_hooks[-1]
            value.pack(pack, unpack, tensor)
        values.append(value)
    ctx._kept_values = tuple(values)
