"""Operators that write: in place and `out=`; and operators under a mode beyond no_grad.

Everything that can fail happens before the write, so that a failed call changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import device_of, has_elements, is_foreign
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.scalars import type_name
from taper.arrays.strides import broadcast_clash, preserved_strides, refuse_overlap
from taper.autograd import anomaly_mode, tangents
from taper.autograd.anomaly_mode import remember
from taper.autograd.conjugate import memory_of, resize, write_through
from taper.autograd.interception import Call, announce_write, intercept
from taper.autograd.meta import INFERENCE_COUNTER, Creation
from taper.autograd.probes import Unimplemented
from taper.autograd.saved import (
    pack_saved,
)
from taper.autograd.state import (
    ANOMALY,
    DUAL,
    INFERENCE,
    INTERCEPT,
    NO_GRAD,
    SAVED_HOOKS,
    State,
    local,
)
from taper.autograd.views import (
    CopySlices,
    bump_version,
    check_inplace,
    rebase_history,
    refuse_inference,
    requires_grad,
    wants_grad,
)
from taper.device import strided
from taper.opdef import Op
from taper.opdef.backward import node_class
from taper.opdef.nodes import TableNode
from taper.opdef.operands import (
    flat,
    is_without_kernel,
    operands_of,
    refuse_dtypes,
    refuse_saving,
    refuse_stale_views,
)
from taper.opdef.out_rules import (
    COMPARISONS,
    LEFT_TO_FALLBACK,
    RESIZED_FIRST,
    own_cast,
    refuse_cast_of,
    refuse_dtype,
    refuse_other_types,
    refuse_outs,
    refuse_shared_output,
    refuse_written_input,
)
from taper.opdef.recording import make_node
from taper.tensor import Tensor, array_of, element_strides
from taper.userwarning import warn_once, warn_user

# --- in place and out= -----------------------------------------------------------------------


def run_inplace(
    op: Op, arguments: tuple[Any, ...], write: Callable[[np.ndarray], None] | None = None
) -> Tensor:
    """Compute, check, write, count the write, and record it if need be: `name_`.

    Everything that can fail happens before the write, so a failed call changes nothing.  `write` is
    a shorter way, which changes its array at once or raises.
    """
    target: Tensor = arguments[0]
    if not isinstance(target, Tensor):
        name = op.label if op.label.endswith("_") else op.inplace_name
        kind = type_name(target)
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {kind}")
    state = local.state
    if state.mode > 1:
        return run_inplace_in_mode(op, state, arguments, write)
    if op.written is not None:
        op = op.written(*arguments).op
    shorter = _shorter_way(op, arguments, write)
    if write is None and shorter is not None:
        return _write_there(op, arguments, shorter, state)
    write = shorter
    first = op.params[0].name
    needs = {
        param.name: isinstance(value, Tensor) and wants_grad(value)
        for param, value in zip(op.params, arguments, strict=True)
        if param.name in op.wrt
    }
    others = any(need for name, need in needs.items() if name != first)
    try:
        record = check_inplace(target, others, state, last=False)
    except RuntimeError:
        refuse_other_types(op, arguments[1:])
        raise
    write = _checked_write(op, arguments, write)
    refuse_inference(target, state)
    return _write_recorded(op, arguments, needs if record else None, write, state)


def _write_recorded(
    op: Op,
    arguments: tuple[Any, ...],
    needs: dict[str, bool] | None,
    write: Callable[[np.ndarray], None],
    state: State,
) -> Tensor:
    """Write what has been checked, with a node if `needs` says who wants a gradient."""
    target: Tensor = arguments[0]
    node = None
    if needs is not None:
        replaced: dict[str, Any] = {}
        first = op.params[0].name
        if first in node_class(op).saved_tensor_names and any(needs.values()):
            # The formula needs the value from before the write, with its history.
            replaced[first] = target.clone()
            if state.dual_level >= 0:
                tangents.carry_over(target, replaced[first])
        node = make_node(op, arguments, needs, replaced)
    write_through(target, write)
    bump_version(target)
    if node is not None:
        _keep_written(node, target)
        rebase_history(target, node)
    return target


def _shorter_way(
    op: Op, arguments: tuple[Any, ...], write: Callable[[np.ndarray], None] | None
) -> Callable[[np.ndarray], None] | None:
    """Return how to write without a result beside the tensor, if there is a way."""
    if write is not None:
        # Without elements the kernel checks all that is to be checked.
        return write if has_elements(memory_of(arguments[0])) else None
    array: Any = getattr(arguments[0], "_array", None)
    found: Callable[[np.ndarray], None] | None = None
    if is_foreign(array):
        found = array.place.written(op.name, arguments)
    return found


def _write_there(
    op: Op, arguments: tuple[Any, ...], write: Callable[[np.ndarray], None], state: State
) -> Tensor:
    """Do the same in a way of the tensor's place, which has looked at the arguments."""
    target: Tensor = arguments[0]
    own = wants_grad(target)
    other = len(arguments) > 1 and isinstance(arguments[1], Tensor) and wants_grad(arguments[1])
    record = (own or other) and check_inplace(target, other, state, last=False)
    refuse_inference(target, state)
    first, *others = [param.name for param in op.params]
    needs = {first: own, **dict.fromkeys(others, other)} if record else None
    return _write_recorded(op, arguments, needs, write, state)


def _keep_written(node: TableNode, target: Tensor) -> None:
    """Let the node of a write keep what was written, where its formulas need that."""
    node._shape, node._dtype = target._array.shape, target._array.dtype
    for name in node.saved_output_names:
        setattr(node, f"kept_{name}", target._array)
        setattr(node, f"counter_{name}", target._counter)
        setattr(node, f"version_{name}", target._counter.value)


_CHECKED_FIRST = frozenset(("index_put", "index_copy", "index_reduce"))


def _checked_write(
    op: Op, arguments: tuple[Any, ...], write: Callable[[np.ndarray], None] | None
) -> Callable[[np.ndarray], None]:
    """Return `write`, or a write of what the kernel computes; raise if the call is wrong in itself.

    The order is PyTorch's: what cannot be saved, input and output in one memory where elements are
    picked by index, dtypes and shapes, any other input and output in one memory.
    """
    target: Tensor = arguments[0]
    try:
        refuse_other_types(op, arguments[1:])
        refuse_written_input(op, target, arguments[1:])
        if write is None:
            result = compute(op, arguments)
            check_destination(memory_of(target), result, op.inplace_name)
            _warn_of_parts(op, arguments, target._array)
            return functools.partial(np.copyto, src=result, casting="unsafe")
        if target._counter is INFERENCE_COUNTER:
            # A forbidden write must first report whatever else is wrong.
            write(target._array.copy())
    except (RuntimeError, IndexError) as error:
        refuse_stale_views(arguments[1:])
        refuse_saving(op, arguments)
        if op.layout is ELEMENTWISE:
            refuse_dtypes(op, arguments)
            refuse_overlap(memory_of(target))
        if is_without_kernel(error) or error.args == ("ZeroDivisionError",):
            refuse_cast(op, arguments)
        elif write is not None and op.name not in _CHECKED_FIRST:
            write(target._array.copy())
        raise
    return write


def compute(op: Op, arguments: tuple[Any, ...]) -> np.ndarray:
    """Run the kernel on the arrays of the arguments, promoted, without recording."""
    state = local.state
    mode = state.mode
    state.mode = NO_GRAD
    try:
        result = op.call(op.function, arguments)
    finally:
        state.mode = mode
    if result.layout is not strided:
        result = result.to_dense()
    array: np.ndarray = result._array
    return array


def check_destination(target: np.ndarray, result: np.ndarray, name: str = "") -> None:
    """Raise if the `result` of the operator `name` may not be written into `target` (§V16)."""
    refuse_overlap(target)
    if result.shape != target.shape and own_cast(name, target):  # these check the dtype first
        refuse_cast_of(name, target, result)
    refuse_shape(target, result)
    if result.dtype is not target.dtype:
        refuse_cast_of(name, target, result)


def refuse_shape(target: np.ndarray, result: np.ndarray | np.broadcast) -> None:
    """Raise if a result has another shape than the tensor that it is written into."""
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )


def _converts(op: Op | None, arguments: Sequence[Any], out: np.ndarray, result: np.ndarray) -> bool:
    """Tell whether PyTorch computes into another tensor, which it resizes too, and converts."""
    if not is_elementwise(op) or op is None or op.label.startswith("logical_"):
        return False
    computed = result.dtype
    if op.written is not None:  # a comparison writes what it compares
        computed = dtypes.result_type([array_of(each) for each in arguments]).numpy
    return out.dtype not in (computed, result.dtype)


def is_elementwise(op: Op | None) -> bool:
    # ldexp multiplies element by element, with a rule of its own for the layout.
    return op is not None and (op.layout is ELEMENTWISE or op.name == "ldexp")


def refuse_cast(op: Op, arguments: Sequence[Any]) -> None:
    """Raise if the common dtype of the operands may not be written into the first."""
    if op.name == "ldexp" or (op.promote is not None and not any(op.unpromoted)):
        check_destination(array_of(arguments[0]), _stand_in(op, arguments))


def _stand_in(op: Op, arguments: Sequence[Any]) -> np.ndarray:
    """Return an array like the result of an element-wise operator that has no kernel for it."""
    operands = operands_of(op, arguments)
    shapes = [np.shape(each) for each in operands]
    clash = broadcast_clash(shapes)
    if clash is not None:
        raise clash
    common = dtypes.bool_ if op.label in COMPARISONS else dtypes.result_type(operands)
    return np.broadcast_to(np.empty((), common.numpy), np.broadcast_shapes(*shapes))


def run_out(op: Op, arguments: tuple[Any, ...], out: Any) -> Any:
    """Run an operator of the table with `out=`."""
    refuse_outs(op, out)
    state = local.state
    if state.mode & INTERCEPT:
        call = Call(op, (*arguments, out), "out")
        return intercept(call, state, lambda: run_out(op, arguments, out))
    check = op.out if callable(op.out) else None
    fallback = op.left_to_fallback or op.name in LEFT_TO_FALLBACK
    label = op.label if op.differentiable and not fallback else None
    if label is None and state.mode & DUAL:
        involved = (*flat(arguments), *flat((out,)))
        tangents.refuse(op, involved, op.label)
        tangents.refuse_out(op.label, involved)

    def function(*given: Any) -> Any:
        return op.call(op.function, given)

    node = _unimplemented(op, arguments, out) if fallback else None
    outs = compute_into(label, function, arguments, out, check, op)
    if node is not None:
        for nr, each in enumerate(flat((outs,))):
            rebase_history(each, node, nr)
    return outs if op.returns is None else op.returns.out_type(outs)


def _unimplemented(op: Op, arguments: Sequence[Any], out: Any) -> Unimplemented | None:
    """Return the node of a result in `out=` that PyTorch's fallback records; None without grad."""
    outs = [each for each in flat((out,)) if isinstance(each, Tensor)]
    tensors = [each for each in (*flat(arguments), *outs) if isinstance(each, Tensor)]
    wanted = any(map(wants_grad, tensors))
    try:
        if not all([check_inplace(each, wanted, local.state, last=False) for each in outs]):
            return None
    except RuntimeError:
        raise out_without_gradient(f"aten::{op.label}") from None
    return Unimplemented(f"derivative for aten::{op.label} is not implemented", tensors, outs)


def out_without_gradient(label: str) -> RuntimeError:
    """Return the error of `out=` where a gradient would have to be recorded."""
    return RuntimeError(
        f"{label}(): functions with out=... arguments don't support automatic differentiation, but "
        "one of the arguments requires grad."
    )


def compute_into(
    label: str | None,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    out: Any,
    check: Callable[[np.ndarray, np.ndarray], None] | None = None,
    op: Op | None = None,
) -> Any:
    """Write results into the tensors given as `out=`, which are resized if need be (§V20).

    Composite functions use it too: `function(*arguments)` computes what is written.  `check(out,
    result)` may refuse what the usual rules allow.  A function without a `label` has no gradient to
    lose, so its inputs may require one.
    """
    outs = out if isinstance(out, (tuple, list)) else (out,)
    for each in outs:
        if not isinstance(each, Tensor):
            raise TypeError(f"{label}(): argument 'out' must be Tensor, not {type(each).__name__}")
    state = local.state
    if label is not None and not state.mode & NO_GRAD:
        involved = [each for each in (*flat(arguments), *outs) if isinstance(each, Tensor)]
        if any(map(wants_grad, involved)):
            raise out_without_gradient(label)
    if state.mode & DUAL:
        tangents.refuse_out(label, (*flat(arguments), *outs))
    mode = state.mode
    state.mode = NO_GRAD
    try:
        results = function(*arguments)
        results = results if isinstance(results, tuple) else (results,)
    except NotImplementedError as error:
        if op is not None and is_elementwise(op) and is_without_kernel(error):
            _check_outs(op, label, outs, [_stand_in(op, arguments)], arguments, check)
        raise
    finally:
        state.mode = mode
    arrays = [each._array for each in results]
    _check_outs(op, label, outs, arrays, arguments, check)
    for each in outs:
        refuse_inference(each, state)
    for each, array in zip(outs, arrays, strict=True):
        if mode & INTERCEPT:
            announce_write(each)
        write_out(each, array)
    return out


def recorded_into(
    label: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    out: Tensor,
    check: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> Any:
    """Write a result into `out=` where PyTorch ends in a copy: that has a gradient."""
    involved = [each for each in (*arguments, out) if isinstance(each, Tensor)]
    if local.state.mode & NO_GRAD or not any(map(requires_grad, involved)):
        return compute_into(label, function, arguments, out, check)
    result = function(*arguments)
    if check is not None:
        check(out._array, result._array)
    given, required = out._array.shape, result._array.shape
    if given != required:
        if label == "tensordot" and requires_grad(out):
            raise RuntimeError(
                "tensordot(): the 'out' tensor was specified and requires gradients, and its shape "
                "does not match the expected result. Either remove the 'out' argument, ensure it "
                "does not require gradients, or make sure its shape matches the expected output."
            )
        warn_of_resize(given, required)
        out.resize_(required)
    return out.copy_(result)


def _refuse_other_device(computed: Any, given: Any) -> None:
    if computed != given:
        raise RuntimeError(
            f"Attempting to copy from device {computed} to device {given}, but cross-device copies "
            "are not allowed!"
        )


def _check_outs(
    op: Op | None,
    label: str | None,
    outs: Sequence[Tensor],
    results: Sequence[np.ndarray],
    arguments: Sequence[Any],
    check: Callable[[np.ndarray, np.ndarray], None] | None,
) -> None:
    """Raise if one of the results may not be written into its tensor; warn of what is resized."""
    name = op.name if op is not None else label or ""
    pairs = list(zip(outs, results, strict=True))
    if is_elementwise(op):
        refuse_shared_output(op, label, outs, arguments)
    for number, (each, array) in enumerate(pairs):
        if check is not None:
            check(each._array, array)
        read = arguments[:1] if name == "ldexp" else arguments  # it multiplies by a new tensor
        if is_elementwise(op) and any(each is given for given in read):
            # An output that is an input keeps its shape.
            if own_cast(name, each._array):
                refuse_cast_of(name, each._array, array)
            refuse_shape(each._array, array)
        output = op.outputs[number] if op is not None else "result"
        refuse_dtype(name, each._array, array, output)
        if each._array.shape == array.shape:
            refuse_overlap(each._array)
    for each, array in pairs:
        if type(array) is not np.ndarray or type(each._array) is not np.ndarray:
            _refuse_other_device(device_of(array), each.device)
    early = op is not None and op.name in RESIZED_FIRST
    for each, array in pairs if early else ():
        warn_of_resize(each._array.shape, array.shape)
    if not is_elementwise(op):
        refuse_shared_output(op, label, outs, arguments)
    for each, array in () if early else pairs:
        for _ in range(1 + _converts(op, arguments, each._array, array)):
            warn_of_resize(each._array.shape, array.shape)
        _warn_of_parts(op, arguments, each._array)


def _warn_of_parts(op: Op | None, arguments: Sequence[Any], target: np.ndarray) -> None:
    """Warn where PyTorch compares complex numbers and converts what it found to real ones."""
    if target.dtype.kind in "cb" or op is None or op.label not in _OF_COMPLEX:
        return
    if any(getattr(array_of(each), "dtype", None) in _COMPLEX for each in arguments) or (
        any(each.__class__ is complex for each in arguments)
    ):
        warn_once("Casting complex values to real discards the imaginary part")


_COMPLEX = (np.dtype(np.complex64), np.dtype(np.complex128))
_OF_COMPLEX = frozenset("eq ne logical_and logical_or logical_xor".split())


def warn_of_resize(given: tuple[int, ...], required: tuple[int, ...]) -> None:
    """Warn that an `out=` tensor with elements has another shape than the result."""
    if given != required and 0 not in given:
        warn_user(
            "An output with one or more elements was resized since it had shape "
            f"{list(given)}, which does not match the required output shape "
            f"{list(required)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can "
            "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
            "t.resize_(0)."
        )


def write_out(out: Tensor, result: np.ndarray) -> None:
    """Put a result into an `out=` tensor."""
    if out._array.shape != result.shape:
        strides = preserved_strides(result.shape, element_strides(result))
        resize(out, result.shape, strides)
    write_through(out, functools.partial(np.copyto, src=result, casting="unsafe"))
    bump_version(out)


# --- modes -----------------------------------------------------------------------------------


_SEVERAL = (tuple, list)  # a constant: writing `tuple | list` at each call makes a new object


def run_in_mode(op: Op, state: State, arguments: tuple[Any, ...]) -> Any:
    """Run an operator under a mode beyond no_grad: the plain path, then what the mode asks for."""
    mode = state.mode
    if mode & INTERCEPT:
        return intercept(Call(op, arguments), state, lambda: op.call(op.function, arguments))
    if mode & DUAL:
        tangents.refuse(op, arguments, op.label)
    state.mode = NO_GRAD if mode & (NO_GRAD | INFERENCE) else 0
    try:
        result = op.call(op.function, arguments)
    finally:
        state.mode = mode
    outputs: Any = result
    if result.__class__ is not tuple and not isinstance(result, _SEVERAL):
        outputs = (result,)
    if outputs and not isinstance(outputs[0], Tensor):
        return result  # a formula called it, with a list of arrays or a NumPy scalar (D5)
    if mode & INFERENCE:
        mark_inference(op, arguments, outputs)
    if mode & SAVED_HOOKS and state.saved_hooks:
        node = next((each._grad_fn for each in outputs if each._grad_fn is not None), None)
        if node is not None and isinstance(node, TableNode):
            pack_saved(node, state.saved_hooks[-1], outputs)
    if mode & ANOMALY:
        for each in outputs:
            if each._grad_fn is not None:
                remember(each._grad_fn)
        if op.differentiable and anomaly_mode.watches_forward():
            anomaly_mode.refuse_forward(op, arguments, outputs)
    if mode & DUAL:
        tangents.propagate(op, arguments, outputs)
    return result


def mark_inference(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> None:
    """Mark results of inference mode; views of normal tensors stay normal (§I6)."""
    for each in outputs:
        if each._view is not None:
            each._view.creation = Creation.INFERENCE
        else:
            each._counter = INFERENCE_COUNTER


def written_by(tensor: Tensor) -> Any:
    """Return the node that wrote a tensor last; for a view, the one behind CopySlices."""
    node = tensor._grad_fn if tensor._view is None else tensor._view.base._grad_fn
    return node.fn if isinstance(node, CopySlices) else node


def run_inplace_in_mode(
    op: Op,
    state: State,
    arguments: tuple[Any, ...],
    write: Callable[[np.ndarray], None] | None,
) -> Tensor:
    mode, target = state.mode, arguments[0]
    if mode & INTERCEPT:
        call = Call(op, arguments, "inplace")
        written: Tensor = intercept(call, state, lambda: run_inplace(op, arguments, write))
        return written
    refuse_other_types(op, arguments[1:])
    before = written_by(target)
    tangent_of_result = None
    if mode & DUAL:
        tangents.refuse(op, arguments, f"{op.label}_")
        tangent_of_result = tangents.tangent_for(op, tangents.before_write(arguments))
    finite = None
    if mode & ANOMALY and anomaly_mode.watches_forward():
        finite = anomaly_mode.finite_ranges(op, arguments)
    inference = target._counter is INFERENCE_COUNTER
    state.mode = NO_GRAD if mode & (NO_GRAD | INFERENCE) else 0
    try:
        if inference and mode & INFERENCE and write is not None:
            write_through(target, write)
        elif inference and mode & INFERENCE:
            result = compute(op, arguments)
            check_destination(memory_of(target), result, op.inplace_name)
            write_through(target, functools.partial(np.copyto, src=result, casting="unsafe"))
        else:
            run_inplace(op, arguments, write)
    finally:
        state.mode = mode
    node = written_by(target)
    if node is not None and node is not before:
        if mode & SAVED_HOOKS and state.saved_hooks and isinstance(node, TableNode):
            pack_saved(node, state.saved_hooks[-1], (target,))
        if mode & ANOMALY:
            for each in (node, target._grad_fn, target._view and target._view.base._grad_fn):
                if each is not None:
                    remember(each)
    if mode & DUAL:
        tangents.write_tangent(target, tangent_of_result)
    if finite is not None:
        anomaly_mode.refuse_written(op, target, finite)
    return target
