"""Dispatch: `__torch_dispatch__` of modes and of tensors, below autograd.

Owns: how a call of an operator becomes a call of an overload (`identity`) that a mode or a class
answers, and how the answer gets its history.  Operators reach it as interceptors (D12), so that a
thread without modes pays nothing.

A handler that calls the overload with the arguments that it was given gets the operator's own
result, with its history.  Any other answer gets the history that the operator would have recorded.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from taper.autograd import detours, interception, overrides
from taper.autograd.disturbances import new_lock
from taper.autograd.interception import Call, pop, push
from taper.autograd.saved import general_form
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import set_history, wants_grad
from taper.opdef import Op, composites, methods
from taper.opdef.nodes import TableNode
from taper.opdef.recording import make_node
from taper.ops.identity import OpOverload, overload_named, overload_of, shown_arguments
from taper.ops.shown_calls import SHOWN
from taper.tensor import Tensor, wrap


class _Pending(threading.local):
    calls: tuple[PendingCall, ...] = ()


_pending = _Pending()


class PendingCall:
    """A call that a handler has been told of and may still ask for."""

    __slots__ = ("args", "func", "grad", "kwargs", "result", "run")

    def __init__(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[], Any]
    ) -> None:
        self.func, self.args, self.kwargs, self.run = func, args, kwargs, run
        self.grad = local.state.mode & NO_GRAD
        self.result: Any = None

    def is_meant(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Return whether a call is this one: the same values, not only equal ones."""
        return (
            self.func is func
            and self.result is None
            and len(args) == len(self.args)
            and kwargs.keys() == self.kwargs.keys()
            and all(a is b for a, b in zip(args, self.args, strict=True))
            and all(value is self.kwargs[name] for name, value in kwargs.items())
        )

    def perform(self) -> Any:
        """Run the operator as it was called, with its history."""
        state = local.state
        before = state.mode & NO_GRAD
        state.mode = state.mode & ~NO_GRAD | self.grad
        try:
            self.result = self.run()
        finally:
            state.mode = state.mode & ~NO_GRAD | before
        return self.result


def performed(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the result of the pending call, if this is the one; else None."""
    if _pending.calls and _pending.calls[-1].is_meant(func, args, kwargs):
        return _pending.calls[-1].perform()
    return None


OpOverload.performed = staticmethod(performed)


class Dispatcher:
    """The interceptor of a mode."""

    sees_formulas = True  # a backward pass runs on Tensors, so that its operators are seen

    def __init__(self, mode: Any) -> None:
        self.mode = mode

    def see_made(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """Let the mode see a tensor that the library has made itself."""
        func = overload_named(name if "." in name else f"{name}.default")
        return self.answer(func, args, kwargs, lambda: result)

    def see_node(self, node: Any, grads: Sequence[Any]) -> Any:
        """Let the mode see the formulas of a node as the one operator that they are in PyTorch."""
        show = _WHOLE_NODES.get(node.op.label)
        if show is None or grads[0] is None or node._status:
            return None
        name, args, several = show(node, grads)

        def run() -> Any:
            found = node._run([each if each is None else each._array for each in grads])
            made = tuple(None if each is None else wrap(np.asarray(each)) for each in found)
            return made if several else made[0]

        result = self.answer(overload_named(f"{name}.default"), args, {}, run)
        return list(result) if several else [result]

    def __call__(self, call: Call, run: Callable[[], Any]) -> Any:
        func = overload_of(call)
        args, kwargs = shown_arguments(call)
        result = self.answer(func, args, kwargs, run, call)
        if not local.state.mode & NO_GRAD:
            self.show_saving(result)
        return result

    def show_saving(self, result: Any) -> None:
        """Show that a node saves outputs of its own, which PyTorch detaches first."""
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        nodes = [each._grad_fn for each in outputs if isinstance(each, Tensor)]
        node: Any = next((each for each in nodes if each is not None), None)
        for name in node.saved_output_names if isinstance(node, TableNode) else ():
            nr = node.op.outputs.index(name)
            if nr not in node.op.nondifferentiable and outputs[nr]._grad_fn is node:
                self.see_made("detach", (outputs[nr],), {}, outputs[nr])

    def answer(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: Callable[[], Any],
        call: Call | None = None,
    ) -> Any:
        """Let the mode do the work of an overload; `run` does it as it was called."""
        values = overrides.flat((*args, *kwargs.values()))
        found = [type(each) for each in values if overrides.dispatches(type(each))]
        types = tuple(dict.fromkeys(found))
        return answered(self.mode.__torch_dispatch__, func, types, args, kwargs, run, call)


class ClassDispatcher(Dispatcher):
    """The interceptor, below all modes, of tensors whose classes do the work of operators."""

    def __init__(self) -> None:
        super().__init__(None)

    def show_saving(self, result: Any) -> None:
        """Do nothing: a wrapper is detached when it is saved."""

    def see_node(self, node: Any, grads: Sequence[Any]) -> Any:
        """Return None: the formulas run, one operator after the other."""
        return None

    def answer(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        run: Callable[[], Any],
        call: Call | None = None,
    ) -> Any:
        """Ask the classes of the arguments, if they want to do the work."""
        values = overrides.flat((*args, *kwargs.values()))
        asked = _first_of_each_class(each for each in values if overrides.dispatches(type(each)))
        if not asked or switch.off:
            return run()
        state = local.state
        below = state.interceptors
        interception._set(state, (self, *below) if self not in below else below)
        try:
            return self._ask(asked, func, args, kwargs, run, call)
        finally:
            interception._set(state, below)

    @staticmethod
    def _ask(
        asked: list[Any], func: Any, args: Any, kwargs: Any, run: Any, call: Call | None
    ) -> Any:
        types: tuple[Any, ...] = tuple(map(type, asked))
        for each in types:
            handler = each.__torch_dispatch__
            found = answered(handler, func, types, args, kwargs, run, call)
            if found is not NotImplemented:
                return found
        lines = "\n".join(f"  - tensor subclass {each!r}" for each in types)
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers "
            f"returned NotImplemented:\n\n{lines}\n\nFor more information, try re-running with "
            "TORCH_LOGS=not_implemented"
        )


class _Switch(threading.local):
    off = False


switch = _Switch()
_of_classes = ClassDispatcher()


def _first_of_each_class(values: Iterable[Any]) -> list[Any]:
    """Return a value of each class, subclasses before their base classes."""
    found: list[Any] = []
    for each in values:
        kind = type(each)
        if kind not in map(type, found):
            places = [i for i, other in enumerate(found) if issubclass(kind, type(other))]
            found.insert(places[0] if places else len(found), each)
    return found


def let_classes_dispatch() -> None:
    """Let the classes of tensors do the work of operators in this thread, while there are some."""
    state = local.state
    if _of_classes not in state.interceptors:
        interception._set(state, (_of_classes, *state.interceptors))
    if not _lasting:
        _lasting.append(True)
        _enter()


def _rest() -> None:
    """Look for no classes any more, when the last such tensor of the process has gone."""
    if not sys.is_finalizing():  # then modules may be empty by now
        pop(_of_classes)


overrides.end_dispatch.append(_rest)
_lasting: list[bool] = []


def _mask(node: Any) -> list[bool]:
    return [each is not None for each in node._edges]


def _layer_norm(node: Any, grads: Sequence[Any]) -> Any:
    saved = node._saved_input, list(node._saved_normalized_shape)
    rest = (node._saved_result1, node._saved_result2, node._saved_weight, node._saved_bias)
    return "native_layer_norm_backward", (grads[0], *saved, *rest, _mask(node)), True


def _batch_norm(node: Any, grads: Sequence[Any]) -> Any:
    saved = node._saved_input, node._saved_weight, node._saved_running_mean
    rest = node._saved_running_var, node._saved_result1, node._saved_result2
    options = node._saved_training, node._saved_eps, _mask(node)
    return "native_batch_norm_backward", (grads[0], *saved, *rest, *options), True


# Nodes whose formulas are one operator in PyTorch, and several here if they run on Tensors.
_WHOLE_NODES: dict[str, Any] = {
    "silu": lambda node, grads: ("silu_backward", (grads[0], node._saved_self), False),
    "mish": lambda node, grads: ("mish_backward", (grads[0], node._saved_self), False),
    "native_layer_norm": _layer_norm,
    "native_batch_norm": _batch_norm,
}


def answered(
    handler: Callable[..., Any],
    func: Any,
    types: tuple[type, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    run: Callable[[], Any],
    call: Call | None,
) -> Any:
    """Ask a handler, and give what it returns the history of the operator."""
    state = local.state
    before = state.mode & NO_GRAD
    pending = PendingCall(func, args, kwargs, run)
    outer = _pending.calls
    _pending.calls = (*outer, pending)
    state.mode |= NO_GRAD
    try:
        result = handler(func, types, args, kwargs)
    finally:
        state.mode = state.mode & ~NO_GRAD | before
        _pending.calls = outer
    if call is not None and not before and result is not pending.result:
        record_afterwards(call, result)
    return result


def record_afterwards(call: Call, result: Any) -> None:
    """Give an answer the history that the operator would have recorded, where it has none."""
    op, arguments = call.op, call.arguments
    if call.kind != "plain" or not op.differentiable:
        return
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    if not all(isinstance(each, Tensor) and each._grad_fn is None for each in outputs):
        return
    needs = {
        param.name: _wants(value)
        for param, value in zip(op.params, arguments, strict=True)
        if param.name in op.wrt
    }
    if any(needs.values()) and not any(each is given for each in outputs for given in arguments):
        _record(op, arguments, needs, outputs)


def _wants(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_wants, value))
    return isinstance(value, Tensor) and bool(wants_grad(value))


def _record(op: Op, arguments: Any, needs: dict[str, bool], outputs: Sequence[Any]) -> None:
    node = make_node(op, arguments, needs, {})
    wrapped = any(overrides.dispatches(type(each)) for each in outputs)
    if op.many_outputs or len(op.outputs) > 1:
        node.set_outputs(outputs)
    else:
        node._shape, node._dtype = outputs[0]._array.shape, outputs[0]._array.dtype
    for name in node.saved_output_names:
        output = outputs[op.outputs.index(name)]
        setattr(node, f"kept_{name}", output._array)
        setattr(node, f"version_{name}", 0)
        setattr(node, f"counter_{name}", None)
    for nr, each in enumerate(outputs):
        if nr not in op.nondifferentiable:
            set_history(each, node, nr)
    if wrapped:  # its array says nothing, so the tensor itself is kept, apart from its history
        for name in node.saved_output_names:
            value = general_form(node, name)
            own = value.output_nr in op.nondifferentiable
            value.pack(_itself if own else _detached, _itself, outputs[value.output_nr])


def _itself(tensor: Any) -> Any:
    return tensor


def _detached(tensor: Any) -> Any:
    return tensor.detach()


# --- functions that are no operators of the table ---------------------------------------------


@functools.cache
def _seeing(name: str) -> Callable[..., Any]:
    """Return the handler of a function's detour: it shows the call to the innermost mode."""

    def handle(run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        state = local.state
        stack = state.interceptors
        if not stack or not isinstance(stack[-1], Dispatcher) or kwargs.get("out") is not None:
            return run(*args, **kwargs)
        described = SHOWN[name](args, kwargs)
        if described is None:
            return run(*args, **kwargs)
        overload, shown, named = described
        interception._set(state, stack[:-1])
        try:
            return stack[-1].answer(
                overload_named(overload), shown, named, lambda: run(*args, **kwargs)
            )
        finally:
            interception._set(state, stack)

    return handle


def _lifted(run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Show a tensor that has been made of other data."""
    result = run(*args, **kwargs)
    if result is args[0]:
        return result
    return interception.seen_made("lift_fresh", (result,), {}, result)


def _item(run: Callable[..., Any], tensor: Any) -> Any:
    state = local.state
    stack: tuple[Any, ...] = state.interceptors
    seen = stack and isinstance(stack[-1], Dispatcher) and tensor._array.size == 1
    if not seen:
        return run(tensor)
    interception._set(state, stack[:-1])
    try:
        func = overload_named("_local_scalar_dense.default")
        return stack[-1].answer(func, (tensor,), {}, lambda: run(tensor))
    finally:
        interception._set(state, stack)


def _handlers() -> dict[Any, Any]:
    """Return who sees the functions that are loaded."""
    found: dict[Any, Any] = {}
    for name in SHOWN:
        for table in (composites, methods):
            function = table.get(name)
            if isinstance(function, FunctionType) and not hasattr(function, "op"):
                found.setdefault(function, _seeing(name))
    for name in ("as_tensor", "asarray", "tensor"):
        found[composites[name]] = _lifted
    found[methods["new_tensor"]] = _lifted
    for name in ("__bool__", "__complex__", "__float__", "__int__", "item"):
        found[methods[name]] = _item
    return found


# --- modes -----------------------------------------------------------------------------------

_lock = new_lock()
_open = [0]


def _enter() -> None:
    with _lock:
        _open[0] += 1
        if _open[0] == 1:
            detours.lead_through("dispatch", _handlers())


def _leave() -> None:
    with _lock:
        _open[0] -= 1
        if not _open[0]:
            detours.leave("dispatch")


def _grow() -> None:
    with _lock:
        if _open[0]:
            detours.lead_through("dispatch", _handlers())


overrides.grown.append(_grow)


def open_modes() -> list[Any]:
    """Return the modes that see the operators of this thread, the innermost last."""
    found = local.state.interceptors
    return [each.mode for each in found if type(each) is Dispatcher]


def open_mode(mode: Any) -> None:
    """Let a mode see the operators of this thread."""
    _enter()
    push(Dispatcher(mode))


def close_mode() -> Any:
    """Take the innermost mode off, and return it."""
    found = [each for each in local.state.interceptors if type(each) is Dispatcher]
    pop(found[-1])
    _leave()
    return found[-1].mode
