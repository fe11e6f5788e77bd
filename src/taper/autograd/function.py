"""Custom functions: `Function` with `forward`, `backward`, `apply`; the context is the node.

The context given to `forward` and `backward` is the node itself (G13), so whatever the user puts
on it lives exactly as long as the graph.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from taper.autograd.tangents import set_tangent
from taper.autograd.tangents import tangent as tangent_of
from taper.autograd.meta import Creation
from taper.autograd.node import FREED, LIVE, Node
from taper.autograd.provenance import user_frame
from taper.autograd.saved import SavedValue, freed_error, handle
from taper.autograd.state import DUAL, NO_GRAD, SAVED_HOOKS, local
from taper.autograd.views import (
    apply_through_tensors,
    bump_version,
    check_inplace,
    gradient_edge,
    make_view,
    rebase_history,
    requires_grad,
    set_history,
)
from taper.tensor import Tensor, wrap


class FunctionCtx:
    """What `forward` and `backward` of a custom function get as their first argument."""

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for `backward`, which reads them from `saved_tensors`, version-checked."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for `jvp`."""
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, Tensor)):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that `forward` writes in place; they must be returned."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach `backward` as zeros (the default) or as None."""
        self.materialize_grads = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom function."""

    _forward_cls: ClassVar[Any]

    def __init__(self) -> None:
        state = local.state
        self.edges = ()
        self.edge_nrs = ()
        self.sequence = state.sequence
        state.sequence += 1
        self.status = LIVE
        self.shape = ()
        self.dtype = None
        self.code = None
        self.offset = 0
        self.extra = None
        self.outputs: list[tuple[tuple[int, ...], Any] | None] = []
        self.saved: list[SavedValue] = []
        self.to_save: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = True
        self.is_tensor_argument: tuple[bool, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.in_jvp = False

    @property
    def output_count(self) -> int:  # type: ignore[override]
        return max(len(self.outputs), 1)

    def output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        metadata = self.outputs[nr]
        return metadata if metadata is not None else ((), None)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` saved (in `jvp`: what `save_for_forward` saved)."""
        if self.in_jvp:
            return self.saved_for_forward
        if self.status == FREED:
            raise freed_error(self)
        return tuple(value.unpack(self) for value in self.saved)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self.status == FREED:
            raise freed_error(self)
        return tuple(handle(self, value) for value in self.saved)

    def release(self) -> None:
        for value in self.saved:
            value.release()
        self.saved = []
        self.status = FREED

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        return apply_through_tensors(self, grads)

    def apply_tensors(self, grads: list[Any]) -> Sequence[Any]:
        given = [self._materialized(nr, grad) for nr, grad in enumerate(grads)]
        results = _backward_function(self._forward_cls)(self, *given)
        return self._checked(results if isinstance(results, tuple | list) else (results,))

    def _materialized(self, nr: int, grad: Any) -> Any:
        if grad is None and self.materialize_grads and nr < len(self.outputs):
            metadata = self.outputs[nr]
            if metadata is not None:
                return wrap(np.zeros(*metadata))
        return grad

    def _checked(self, results: Sequence[Any]) -> list[Any]:
        """One gradient for each tensor argument, with PyTorch's checks (F3)."""
        expected = len(self.is_tensor_argument)
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})"
            )
        grads = []
        for position, (is_tensor, result) in enumerate(
            zip(self.is_tensor_argument, results, strict=True), 1
        ):
            if not is_tensor:
                if result is not None:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at "
                        f"position {position}, but the corresponding forward input was not a "
                        "Variable"
                    )
                continue
            if result is not None and not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            grads.append(result)
        return grads


def _backward_function(cls: Any) -> Callable[..., Any]:
    backward, vjp = cls.backward, cls.vjp
    if backward is not Function.backward and vjp is not Function.vjp:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return vjp if vjp is not Function.vjp else backward


class FunctionMeta(type):
    """Gives every Function its node class, `<Name>Backward`."""

    _backward_cls: Any

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        members = {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), members)
        super().__init__(name, bases, attributes)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """A differentiable operation written by the user.

    >>> import taper
    >>> class Double(taper.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> Double.apply(taper.ones(2, requires_grad=True))
    tensor([2., 2.], grad_fn=<DoubleBackward>)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result; gets the context first, unless `setup_context` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill the context after a `forward` that does not take one."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The rule for `func.vmap`."""
        raise NotImplementedError("To use autograd.Function with vmap, you must override the vmap")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        return _apply(cls, args, kwargs)


def _apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    separate = cls.setup_context is not Function.setup_context
    if separate:
        bound = inspect.signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args, kwargs = bound.args, {}
    state = local.state
    ctx = cls._backward_cls()
    ctx.is_tensor_argument = tuple(isinstance(each, Tensor) for each in args)
    ctx.needs_input_grad = tuple(isinstance(each, Tensor) and requires_grad(each) for each in args)
    recording = not state.mode & NO_GRAD and any(ctx.needs_input_grad)
    tensors = [each for each in args if isinstance(each, Tensor)]
    edges = [gradient_edge(each) if requires_grad(each) else (None, 0) for each in tensors]
    if recording:
        ctx.edges = tuple(edge for edge, _ in edges)
        ctx.edge_nrs = tuple(nr for _, nr in edges)
        frame = user_frame(sys._getframe(1))
        ctx.code, ctx.offset = frame.f_code, frame.f_lasti
    mode = state.mode
    state.mode = (mode | NO_GRAD) & ~DUAL
    try:
        if separate:
            result = cls.forward(*args)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
    finally:
        state.mode = mode
    several = isinstance(result, tuple | list)
    outputs = _wrapped_outputs(ctx, tensors, list(result) if several else [result], recording)
    _save(ctx, tensors, outputs, recording, state)
    if mode & DUAL and any(tangent_of(each) is not None for each in tensors):
        _run_jvp(cls, ctx, args, outputs)
    ctx.dirty_tensors = ctx.non_differentiable = ctx.to_save = ()
    return (tuple(outputs) if isinstance(result, tuple | list) else outputs[0])


def _contains(tensors: Sequence[Any], tensor: Any) -> bool:
    return any(each is tensor for each in tensors)


def _wrapped_outputs(
    ctx: BackwardCFunction, inputs: list[Tensor], outputs: list[Any], recording: bool
) -> list[Any]:
    """The outputs with their history: fresh ones, inputs returned as they are, inputs written."""
    for dirty in ctx.dirty_tensors:
        if not _contains(outputs, dirty):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
    ctx.outputs = [
        (each._array.shape, each._array.dtype) if isinstance(each, Tensor) else None
        for each in outputs
    ]
    if ctx.outputs and ctx.outputs[0] is not None:
        ctx.shape, ctx.dtype = ctx.outputs[0]
    done: list[tuple[Any, Any]] = []
    wrapped = []
    for nr, output in enumerate(outputs):
        if isinstance(output, Tensor):
            known = [new for old, new in done if old is output]
            new = known[0] if known else _wrapped_output(ctx, inputs, output, nr, recording, outputs)
            done.append((output, new))
            output = new
        wrapped.append(output)
    return wrapped


def _wrapped_output(
    ctx: BackwardCFunction,
    inputs: list[Tensor],
    output: Tensor,
    nr: int,
    recording: bool,
    outputs: list[Any],
) -> Tensor:
    is_input = _contains(inputs, output)
    dirty = _contains(ctx.dirty_tensors, output)
    dtype = output.dtype
    differentiable = (
        recording
        and not _contains(ctx.non_differentiable, output)
        and (dtype.is_floating_point or dtype.is_complex)
    )
    if dirty:
        return _dirty_output(ctx, output, is_input, differentiable, outputs)
    if is_input:
        # An input returned as it is becomes a view of itself, so that it can have this history.
        output = make_view(output, output._array, Creation.FUNCTION)
    elif output._view is not None and differentiable:
        output._view.creation = Creation.FUNCTION
    if differentiable:
        set_history(output, ctx, nr)
        if output._view is not None:
            output._view.version = output._counter.value
    return output


def _dirty_output(
    ctx: BackwardCFunction, output: Tensor, is_input: bool, differentiable: bool, outputs: list[Any]
) -> Tensor:
    if not is_input:
        if output._view is not None:
            raise RuntimeError(
                "mark_dirty: received a tensor that was not an input. "
                "Only input Tensors should be given to mark_dirty."
            )
        warnings.warn(
            "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
            "there is no need to pass it to mark_dirty().",
            UserWarning,
            stacklevel=5,
        )
    if not differentiable:
        bump_version(output)
        return output
    if output._view is None and requires_grad(output) and output.is_leaf and is_input:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    if output._view is not None and len([each for each in outputs if isinstance(each, Tensor)]) > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your "
            "Function cannot return more than one Tensor. This is not supported by the current "
            "autograd engine. You should either make sure the input is not a view (using .clone() "
            "for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second "
            "one that does the other operations). You can ask on the forum "
            "https://discuss.pytorch.org/ if you need help to do this change."
        )
    check_inplace(output, True, local.state)
    bump_version(output)
    if is_input:
        rebase_history(output, ctx)
    else:
        set_history(output, ctx)
    return output


def _save(
    ctx: BackwardCFunction,
    inputs: list[Tensor],
    outputs: list[Any],
    recording: bool,
    state: Any,
) -> None:
    """Turn what `save_for_backward` was given into saved values, outputs without a cycle."""
    for position, tensor in enumerate(ctx.to_save):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type "
                f"{type(tensor).__name__}"
            )
    if not recording:
        return
    for tensor in ctx.to_save:
        nr = next((i for i, each in enumerate(outputs) if each is tensor), None)
        is_output = tensor is not None and nr is not None and tensor._grad_fn is ctx
        value = SavedValue(tensor, is_output, nr or 0)
        if state.mode & SAVED_HOOKS and state.saved_hooks and tensor is not None:
            value.pack(*state.saved_hooks[-1])
        ctx.saved.append(value)


def _run_jvp(cls: Any, ctx: BackwardCFunction, args: tuple[Any, ...], outputs: list[Any]) -> None:
    """Tangents of a custom function, by its `jvp` (D13)."""
    tangents = []
    for each in args:
        found = tangent_of(each)
        if found is None and ctx.materialize_grads and isinstance(each, Tensor):
            if each.dtype.is_floating_point or each.dtype.is_complex:
                found = wrap(np.zeros_like(each._array))
        tangents.append(found)
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    ctx.in_jvp = True
    try:
        results = cls.jvp(ctx, *tangents)
    finally:
        ctx.in_jvp = False
        state.mode = mode
    results = results if isinstance(results, tuple | list) else (results,)
    for output, result in zip(outputs, results, strict=True):
        if isinstance(output, Tensor) and result is not None:
            set_tangent(output, result)


class ErrorNode(Node):
    """Raises its message when a gradient arrives: the history of what must not be differentiated."""

    __slots__ = ("message",)

    def __init__(self, message: str, inputs: Sequence[Tensor]) -> None:
        state = local.state
        pairs = [gradient_edge(each) for each in inputs]
        self.edges = tuple(edge for edge, _ in pairs)
        self.edge_nrs = tuple(nr for _, nr in pairs)
        self.sequence = state.sequence
        state.sequence += 1
        self.status = LIVE
        self.shape = ()
        self.dtype = None
        self.code = None
        self.offset = 0
        self.extra = None
        self.message = message

    def apply(self, grads: list[Any]) -> Sequence[Any]:
        raise RuntimeError(self.message)

    apply_tensors = apply


ErrorNode.__name__ = ErrorNode.__qualname__ = "Error"


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose own result must not be differentiated again."""

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        state = local.state
        mode = state.mode
        state.mode = mode | NO_GRAD
        try:
            outputs = fn(ctx, *args)
        finally:
            state.mode = mode
        given = [each for each in args if isinstance(each, Tensor) and requires_grad(each)]
        if mode & NO_GRAD or not given:
            return outputs
        several = isinstance(outputs, tuple)
        results = []
        for each in outputs if several else (outputs,):
            if isinstance(each, Tensor):
                node = ErrorNode(
                    "trying to differentiate twice a function that was marked with "
                    "@once_differentiable",
                    given,
                )
                each = wrap(each._array)
                node.shape, node.dtype = each._array.shape, each._array.dtype
                set_history(each, node)
            results.append(each)
        return tuple(results) if several else results[0]

    return wrapper


class InplaceFunction(Function):
    """Kept for programs that subclass it; takes `inplace` at construction."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
