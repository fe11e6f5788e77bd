"""Custom functions: `Function` with `forward`, `backward`, `apply`; the context is the node.

The context given to `forward` and `backward` is the node itself (G13), so whatever the user puts
on it lives exactly as long as the graph.  All names without an underscore are the user's, except
those that PyTorch's context has; a user's `ctx.name = ...` must not disturb the engine.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from taper.autograd.anomaly_mode import remember
from taper.autograd.meta import Creation
from taper.autograd.node import FREED, LIVE, Node, Place
from taper.autograd.probes import Error
from taper.autograd.provenance import user_frame
from taper.autograd.saved import SavedValue, freed_error, handle
from taper.autograd.state import ANOMALY, DUAL, INFERENCE, NO_GRAD, SAVED_HOOKS, local
from taper.autograd.tangents import set_tangent
from taper.autograd.tangents import tangent as tangent_of
from taper.autograd.views import (
    alias,
    bump_version,
    check_inplace,
    gradient_edge,
    make_view,
    rebase_history,
    requires_grad,
    run_unrecorded,
    set_history,
)
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

Metadata = tuple[tuple[int, ...], Any]

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
ONLY_ONCE = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Either access saved_tensors only once, or set "
    "clear_saved_tensors_on_access=False."
)


class FunctionCtx:
    """What `forward` and `backward` of a custom function get as their first argument."""

    to_save: Any
    saved_for_forward: Any
    dirty_tensors: Any
    non_differentiable: Any
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Save tensors for `backward`, which reads them from `saved_tensors`, version-checked."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for `jvp`."""
        for tensor in tensors:
            if not (tensor is None or isinstance(tensor, Tensor)):
                raise AssertionError(
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
    _saves = True
    _passes_undefined = False
    _takes_real_part = False

    # Whether outputs without a gradient give zeros to `backward`, or None (F8).
    _materialize_non_diff_grads = True
    # A view of the one input, made by taper's own views: writing it in place is allowed (F12).
    _is_pure_view = False

    def __init__(self) -> None:
        state = local.state
        self._edges = ()
        self._edge_nrs = ()
        self._sequence = state.sequence
        state.sequence += 1
        self._status = LIVE
        self._shape = ()
        self._dtype = None
        self._code = None
        self._offset = 0
        self._extra = None
        self._outputs: list[Metadata | None] = []  # of the forward; None for what is no tensor
        self._without_grad: frozenset[int] = frozenset()  # numbers of non-differentiable outputs
        self._saved: tuple[SavedValue, ...] | None = ()  # None once handed over (F19)
        self._is_tensor: tuple[bool, ...] = ()  # which arguments of `forward` are
        self._in_jvp = False
        self.to_save = self.saved_for_forward = None
        self.dirty_tensors = self.non_differentiable = None
        self.materialize_grads = True
        self.needs_input_grad: tuple[bool, ...] | None = None

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return max(len(self._outputs), 1)

    def _output_metadata(self, nr: int) -> Metadata:
        metadata = self._outputs[nr] if self._outputs else None
        return metadata if metadata is not None else ((), None)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` saved (in `jvp`: what `save_for_forward` saved)."""
        if self._in_jvp:
            return tuple(self.saved_for_forward or ())
        if self._saved is None:
            raise RuntimeError(ONLY_ONCE)
        if self._status == FREED:
            raise freed_error(self)
        values = tuple(value.unpack(self) for value in self._saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            for value in self._saved:
                value.release()
            self._saved = None
        return values

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        if self._status == FREED:
            raise freed_error(self)
        return tuple(handle(self, value) for value in self._saved or ())

    def _release(self, place: Place) -> None:
        if self._saved is not None:
            for value in self._saved:
                value.release()
            self._saved = ()
        self._status = FREED
        self._freed_at = place

    def _run(self, grads: list[Any]) -> Sequence[Any]:
        given = [None if grad is None else wrap(grad) for grad in grads]
        if self._forward_cls.boxed_grads_call:
            grads[:] = [None] * len(grads)
        return run_unrecorded(self, given)

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        given = [self._materialized(nr, grad) for nr, grad in enumerate(grads)]
        if self._forward_cls.boxed_grads_call:
            grads[:] = [None] * len(grads)  # the user holds the only references
        results = self._call_backward(given)
        return self._checked(results if isinstance(results, tuple) else (results,))

    def apply(self, *grads: Any) -> Any:
        """Run the user's `backward` alone."""
        return self._call_backward(list(grads))

    def _call_backward(self, given: list[Any]) -> Any:
        function = backward_function(self._forward_cls)
        if self._forward_cls.boxed_grads_call:
            return function(self, given)
        return function(self, *given)

    def _materialized(self, nr: int, grad: Any) -> Any:
        """A gradient for `backward`: zeros for an undefined one, unless told otherwise (F9)."""
        if grad is not None or not self.materialize_grads or not self._outputs:
            return grad
        metadata = self._outputs[nr]
        if metadata is None or (nr in self._without_grad and not self._materialize_non_diff_grads):
            return None
        return wrap(np.zeros(*metadata))

    def _checked(self, results: Sequence[Any]) -> list[Any]:
        """One gradient for each tensor argument, with PyTorch's checks (F3)."""
        expected = len(self._is_tensor)
        while len(results) > expected and results[-1] is None:
            results = results[:-1]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self._class_name()} returned an incorrect number of gradients "
                f"(expected {expected}, got {len(results)})"
            )
        grads = []
        for position, (is_tensor, grad) in enumerate(
            zip(self._is_tensor, results, strict=True), 1
        ):
            if is_tensor:
                if grad is not None and not isinstance(grad, Tensor):
                    raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
                grads.append(grad)
            elif grad is not None:
                raise RuntimeError(
                    f"function {self._class_name()} returned a gradient different than None at "
                    f"position {position}, but the corresponding forward input was not a Variable"
                )
        return grads


def backward_function(cls: Any) -> Callable[..., Any]:
    """The `backward` of a Function, or its `vjp`, which is another name for it."""
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
    # `backward(ctx, grads)` gets one list, which it may clear to free gradients early (F18).
    boxed_grads_call = False
    # The first reading of `saved_tensors` hands over the only references to them (F19).
    clear_saved_tensors_on_access = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )
        self._node = type(self)._backward_cls()

    def __getattr__(self, name: str) -> Any:
        if name == "_node":
            raise AttributeError(name)
        return getattr(self._node, name)  # an instance shows the attributes of an unused node

    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

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
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        return apply_function(cls, args, kwargs)


class InplaceFunction(Function):
    """Kept for programs that subclass it; takes `inplace` at construction."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


# --- running forward -------------------------------------------------------------------------


def apply_function(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls.apply(*args, **kwargs)`: run `forward` unrecorded, give its outputs their history."""
    separate = cls.setup_context is not Function.setup_context
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
        edges = [gradient_edge(each) if requires_grad(each) else (None, 0) for each in tensors]
        ctx._edges = tuple([edge for edge, _ in edges])
        ctx._edge_nrs = tuple([nr for _, nr in edges])
        frame = user_frame(sys._getframe(1))
        ctx._code, ctx._offset = frame.f_code, frame.f_lasti
        if mode & ANOMALY:
            remember(ctx)
    state.mode = (mode | NO_GRAD) & ~DUAL
    try:
        if separate:
            result = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, result)
        else:
            result = cls.forward(ctx, *args, **kwargs)
    finally:
        state.mode = mode
    returned = result if isinstance(result, tuple) else (result,)
    outputs = wrapped_outputs(ctx, tensors, returned, recording)
    if recording:
        _save(ctx, outputs, state)
    if mode & DUAL and any(tangent_of(each) is not None for each in tensors):
        _run_jvp(cls, ctx, args, outputs)
    ctx.dirty_tensors = ctx.non_differentiable = ctx.to_save = None
    return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def signature_of(cls: Any) -> inspect.Signature:
    """The signature of `forward`, found once."""
    known = cls.__dict__.get("_signature")
    if known is None or known[0] is not cls.forward:
        known = cls._signature = (cls.forward, inspect.signature(cls.forward))
    return known[1]


def _positional(
    cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Keyword arguments of `apply` in the places of `forward`'s parameters (F23)."""
    params = list(signature_of(cls).parameters.values())[1:]  # without the context
    named = [each for each in params if each.kind is each.POSITIONAL_OR_KEYWORD]
    known = {each.name for each in named}
    passed_on = any(each.kind is each.VAR_KEYWORD for each in params)
    rest = {name: kwargs[name] for name in kwargs if name not in known}
    for name in rest:
        if not passed_on and not any(each.name == name for each in params):
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    found = list(args)
    last = max((at for at, each in enumerate(named) if each.name in kwargs), default=-1)
    for position, each in enumerate(named[: max(last + 1, len(args))]):
        if position < len(args):
            if each.name in kwargs:
                raise TypeError(f"forward() got multiple values for argument '{each.name}'")
        elif each.name in kwargs:
            found.append(kwargs[each.name])
        elif each.default is not each.empty:
            found.append(each.default)
        else:
            raise TypeError(
                f"forward() missing required argument: '{each.name}' (position {position})"
            )
    missing = [
        (position, each)
        for position, each in enumerate(named)
        if position >= len(found) and each.default is each.empty
    ]
    if missing:
        position, each = missing[0]
        raise TypeError(f"forward() missing required argument: '{each.name}' (position {position})")
    return tuple(found), rest


def _contains(tensors: Sequence[Any] | None, tensor: Any) -> bool:
    return tensors is not None and any(each is tensor for each in tensors)


def wrapped_outputs(
    ctx: BackwardCFunction, inputs: list[Tensor], outputs: Sequence[Any], recording: bool
) -> list[Any]:
    """The outputs with their history: fresh ones, inputs returned as they are, inputs written."""
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
        # The views may share memory with each other, so none of them may be written (V10).
        for output in wrapped:
            if isinstance(output, Tensor) and output._view is not None:
                output._view.creation = Creation.MULTIPLE
    return wrapped


def _check_marks(ctx: BackwardCFunction, outputs: Sequence[Any]) -> None:
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
    """Give an output its history; an input returned as it is becomes a view of itself (F11)."""
    if is_input:
        if not differentiable and requires_grad(output):
            return alias(output)
        output = make_view(output, output._array, Creation.FUNCTION)
    elif not differentiable and output._view is None and output._grad_fn is not None:
        output.detach_()  # recorded inside `forward`, which must not show
    record = output._view
    if record is not None and not ctx._is_pure_view:
        record.creation = Creation.FUNCTION
    elif record is not None and differentiable:
        record.creation = Creation.PLAIN
    if differentiable:
        set_history(output, ctx, nr)
        if record is not None:
            record.version = output._counter.value
    return output


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
    """Count the write to an input and make the function its history (F10)."""
    bump_version(output)
    if differentiable and is_input:
        rebase_history(output, ctx, nr)
    elif differentiable:
        set_history(output, ctx, nr)
    elif is_input and requires_grad(output):
        return alias(output)
    return output


def _save(ctx: BackwardCFunction, outputs: list[Any], state: Any) -> None:
    """Turn what `save_for_backward` was given into saved values, outputs without a cycle."""
    values = []
    for position, tensor in enumerate(ctx.to_save or ()):
        if not (tensor is None or isinstance(tensor, Tensor)):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type "
                f"{type(tensor).__name__}"
            )
        nr = next((nr for nr, each in enumerate(outputs) if each is tensor), None)
        own = tensor is not None and nr is not None
        # A written view has a history of its own that leads here, so it counts as an output too.
        is_output = own and (tensor._grad_fn is ctx or _contains(ctx.dirty_tensors, tensor))
        value = SavedValue(tensor, is_output, nr or 0)
        if state.mode & SAVED_HOOKS and state.saved_hooks and tensor is not None:
            value.pack(*state.saved_hooks[-1], tensor)
        values.append(value)
    ctx._saved = tuple(values)


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
    ctx._in_jvp = True
    try:
        results = cls.jvp(ctx, *tangents)
    finally:
        ctx._in_jvp = False
        state.mode = mode
    results = results if isinstance(results, tuple | list) else (results,)
    for output, result in zip(outputs, results, strict=True):
        if isinstance(output, Tensor) and result is not None:
            set_tangent(output, result)


# --- once differentiable ---------------------------------------------------------------------


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose own result must not be differentiated again.

    >>> import taper
    >>> from taper.autograd.function import once_differentiable
    >>> class Square(taper.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2 * ctx.saved_tensors[0]
    >>> x = taper.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)
    """

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
        results = [_refusing(each, given) for each in (outputs if several else (outputs,))]
        return tuple(results) if several else results[0]

    return wrapper


def _refusing(output: Any, given: Sequence[Tensor]) -> Any:
    """The output on a node that refuses to be run."""
    if not isinstance(output, Tensor):
        return output
    result = wrap(output._array)
    text = "trying to differentiate twice a function that was marked with @once_differentiable"
    set_history(result, Error(text, given, (result,)))
    return result
