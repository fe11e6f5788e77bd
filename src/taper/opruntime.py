"""The paths of an operator that are not worth specialising, in plain unspecialised Python.

Owns: promotion of mixed dtypes, writing in place, `out=`, modes, error texts, and the generic
backward of table nodes (used under `create_graph=True` and for packed values).
Knows the table, not its compiler.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from taper import dtypes
from taper.autograd import tangents
from taper.autograd.meta import INFERENCE_COUNTER, Creation, VersionCounter
from taper.autograd.anomaly_mode import remember
from taper.autograd.builtin import BuiltinNode
from taper.autograd.node import FREED, LIVE
from taper.autograd.provenance import user_frame
from taper.autograd.saved import (
    freed_error,
    general_form,
    handle,
    pack_saved,
    read_saved,
)
from taper.autograd.state import ANOMALY, DUAL, INFERENCE, NO_GRAD, SAVED_HOOKS, State, local
from taper.autograd.views import (
    CopySlices,
    bump_version,
    check_inplace,
    gradient_edge,
    rebase_history,
    refuse_inference,
    requires_grad,
    set_history,
    version_counter,
    wants_grad,
)
from taper.opdef import FLOAT, NAMESPACE, Op
from taper.tensor import Tensor, geometry, row_major_strides, wrap

NUMBERS = frozenset({int, float, bool, complex})
NO_EDGE = (None, 0)

# Parameters that are numbers of any type in PyTorch, where others are 64-bit integers.
SCALARS = frozenset(
    "alpha beta correction exponent input_scale lambd lower max max_val min min_val "
    "negative_slope ord other p scale threshold upper value".split()
)
FLOAT32 = np.dtype(np.float32)
LOW_PRECISION = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

# 0-d float32 arrays of Python numbers in use: NumPy takes 0.5 us longer for a Python number.
# By type, since 1, 1.0, True and 1+0j are one key but not one operand; bool and complex stay empty.
SCALARS32: dict[type, dict[Any, np.ndarray]] = {int: {}, float: {}, bool: {}, complex: {}}
_SCALARS_LIMIT = 4096


# --- dtypes ----------------------------------------------------------------------------------


def scalar_array(number: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array; integers wrap around as in PyTorch."""
    kind = number.__class__
    if kind is int and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert")
    if dtype is FLOAT32 and (kind is int or kind is float):
        cache = SCALARS32[kind]
        known = cache.get(number)
        if known is not None:
            return known
        array = np.array(number, dtype)
        # 0.0 and -0.0 are one key, and nan none.
        if (number or kind is int) and number == number and len(cache) < _SCALARS_LIMIT:
            array.flags.writeable = False
            cache[number] = array
        return array
    try:
        return np.array(number, dtype)
    except OverflowError:
        return np.array(int(number) & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(dtype)


def prepare(op: Op, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands in the dtype the kernel wants; with `upcast`, also the low dtype to return to."""
    low = None
    free = op.unpromoted
    operands = [
        value for value, skip in zip(values, free, strict=True) if value is not None and not skip
    ]
    first = operands[0]
    if op.promote is None or len(operands) == 1:
        target = dtypes.FROM_NUMPY[first.dtype]
    else:
        target = dtypes.result_type(operands)
    if op.promote == FLOAT and target.category < dtypes.FLOATING:
        target = dtypes.default.float
    if op.check is not None:
        op.check(target, operands)
    dtype = target.numpy
    if op.upcast and dtype in LOW_PRECISION:
        low = dtype
        dtype = FLOAT32
    converted = []
    for value, skip in zip(values, free, strict=True):
        if value is None or skip:
            converted.append(value)
        elif value.__class__ in NUMBERS:
            converted.append(scalar_array(value, dtype))
        elif value.dtype is dtype or (op.promote is None and low is None):
            converted.append(value)
        else:
            converted.append(value.astype(dtype))
    return (*converted, low) if op.upcast else tuple(converted)


def run_low(op: Op, arguments: Sequence[Any]) -> Any:
    """An `upcast` kernel on float16 or bfloat16 arrays of a formula: in float32, rounded once."""
    low = arguments[0].dtype
    if low not in LOW_PRECISION:
        return op.call(op.kernel, arguments)
    given = [
        each.astype(FLOAT32)
        if isinstance(each, np.ndarray | np.generic) and each.dtype in LOW_PRECISION
        else each
        for each in arguments
    ]
    return to_low(op.call(op.kernel, given), low)


def to_low(result: Any, low: np.dtype) -> Any:
    """Round float32 results of an upcast kernel to the dtype of its inputs."""
    if isinstance(result, tuple | list):
        return tuple(to_low(each, low) for each in result)
    return result.astype(low) if result.dtype == FLOAT32 else result


# --- errors ----------------------------------------------------------------------------------


def explain(op: Op, arrays: Sequence[Any], error: ValueError) -> Exception:
    """PyTorch's words for what NumPy refused."""
    shapes = [each.shape for each in arrays if isinstance(each, np.ndarray)]
    text = str(error)
    if "broadcast" in text and len(shapes) >= 2:
        clash = broadcast_clash(shapes)
        if clash is not None:
            return clash
    return RuntimeError(f"{op.label}: {text}")


def broadcast_clash(shapes: Sequence[tuple[int, ...]]) -> RuntimeError | None:
    """The error for the first pair of shapes that do not broadcast, None if all do."""
    result: tuple[int, ...] = shapes[0]
    for shape in shapes[1:]:
        ndim = max(len(result), len(shape))
        left = (1,) * (ndim - len(result)) + result
        right = (1,) * (ndim - len(shape)) + shape
        for dim in reversed(range(ndim)):
            if left[dim] != right[dim] and left[dim] != 1 and right[dim] != 1:
                return RuntimeError(
                    f"The size of tensor a ({left[dim]}) must match the size of tensor b "
                    f"({right[dim]}) at non-singleton dimension {dim}"
                )
        result = tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))
    return None


def bad_arguments(op: Op, arguments: tuple[Any, ...], dunder: bool) -> Any:
    """What an operator does when an argument is neither Tensor nor number.

    Without any Tensor, arrays and NumPy scalars mean that a formula calls (D5).  Beside a Tensor,
    a NumPy scalar is a number.  Where PyTorch takes a number for the first tensor, it becomes one.
    """
    if any(isinstance(each, np.ndarray | np.generic) for each in _flat(arguments)):
        if not any(isinstance(each, Tensor) for each in _flat(arguments)):
            return op.call(op.kernel, arguments)
    plain = tuple([python_number(each) for each in arguments])
    if any(a is not b for a, b in zip(plain, arguments, strict=True)):
        return op.call(op.function, plain)
    if dunder:
        return NotImplemented
    if op.numbers and arguments[0].__class__ in NUMBERS:
        others = [each._array if isinstance(each, Tensor) else each for each in arguments[1:2]]
        common = dtypes.result_type([arguments[0], *others])
        if op.promote == FLOAT and common.category < dtypes.FLOATING:
            common = dtypes.default.float
        if op.check is not None:
            op.check(common, [arguments[0], *others])
        number = wrap(scalar_array(arguments[0], common.numpy))
        return op.call(op.function, (number, *arguments[1:]))
    if op.signatures:
        raise invalid_combination(op.label, arguments, op.signatures)
    for position, (param, value) in enumerate(zip(op.params, arguments, strict=True), 1):
        if param.kind in ("tensor", "operand", "optional", "optional_operand"):
            allowed = isinstance(value, Tensor) or (
                value.__class__ in NUMBERS and "operand" in param.kind
            )
            if not allowed and not (value is None and "optional" in param.kind):
                raise TypeError(
                    f"{op.label}(): argument '{param.public_name}' (position {position}) must be "
                    f"Tensor, not {type(value).__name__}"
                )
        elif param.kind == "tensors":
            refuse_sequence(op, param.public_name, position, value)
    raise TypeError(f"{op.label}(): the arguments do not fit")


def invalid_combination(
    label: str, arguments: Sequence[Any], signatures: Sequence[str]
) -> TypeError:
    """The error for arguments that fit none of a function's overloads."""
    given = ", ".join(type(each).__name__ for each in arguments)
    listed = "".join(f" * {each}\n" for each in signatures)
    return TypeError(
        f"{label}() received an invalid combination of arguments - got ({given}), but expected "
        f"one of:\n{listed}"
    )


def python_number(value: Any) -> Any:
    """A NumPy scalar or a number of a derived class as Python's own; anything else as it is."""
    if isinstance(value, np.bool_):
        return float(value)  # PyTorch takes it for a floating point number
    if isinstance(value, np.generic):
        return value.item()
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if isinstance(value, kind):
            return value if value.__class__ is kind else kind(value)
    return value


def refuse_sequence(op: Op, name: str, position: int, value: Any) -> None:
    if isinstance(value, Tensor) or not isinstance(value, list | tuple):
        raise TypeError(
            f"{op.label}(): argument '{name}' (position {position}) must be tuple of Tensors, "
            f"not {type(value).__name__}"
        )
    for index, each in enumerate(value):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument {position - 1}, "
                f"but got {type(each).__name__}"
            )


def _flat(arguments: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in arguments:
        found.extend(each if isinstance(each, list | tuple) else [each])
    return found


# --- nodes of the table ----------------------------------------------------------------------


def release_packed(node: Any) -> None:
    """Drop saved values that were packed or looked at."""
    for value in node._extra.saved.values():
        for each in value if isinstance(value, tuple) else (value,):
            each.release()


class TableNode(BuiltinNode):
    """A node whose formulas stand in the operator table."""

    __slots__ = ()

    op: Op
    saved_tensor_names: tuple[str, ...]
    saved_output_names: tuple[str, ...]
    saved_plain_names: tuple[str, ...]

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        return apply_slowly(self, grads, True)

    def _output_counter(self, nr: int) -> VersionCounter:
        name = self.op.outputs[nr] if nr < len(self.op.outputs) else None
        if name not in self.saved_output_names:
            return VersionCounter()
        counter = getattr(self, f"counter_{name}")
        if counter is None:
            counter = VersionCounter()
            setattr(self, f"counter_{name}", counter)
        return counter

    def zero_grad(self, nr: int) -> np.ndarray:
        shape, dtype = self._output_metadata(nr)
        return np.zeros(shape, dtype)


class ManyOutputsNode(TableNode):
    """A table node with more than one output; `rest` holds the metadata of all but the first."""

    __slots__ = ("rest",)

    rest: list[tuple[tuple[int, ...], Any]]

    @property
    def _output_count(self) -> int:  # type: ignore[override]
        return 1 + len(self.rest)

    def set_outputs(self, tensors: Sequence[Tensor]) -> None:
        self._shape = tensors[0]._array.shape if tensors else ()
        self._dtype = tensors[0]._array.dtype if tensors else None
        self.rest = [(each._array.shape, each._array.dtype) for each in tensors[1:]]

    def _output_metadata(self, nr: int) -> tuple[tuple[int, ...], Any]:
        return self.rest[nr - 1] if nr else (self._shape, self._dtype)


def apply_slowly(node: Any, grads: list[Any], tensors: bool) -> Sequence[Any]:
    """The formulas of a node on arrays or Tensors, by name; what `opcompile.apply_source` unrolls."""
    op: Op = node.op
    if node._status == FREED:
        raise freed_error(node)
    edges = node._edges
    spans, position = {}, 0
    params = [param for param in op.params if op.formula_for(param.name) is not None]
    fixed = len([param for param in params if param.kind != "tensors"])
    for param in params:
        length = len(edges) - fixed if param.kind == "tensors" else 1
        spans[param.name] = slice(position, position + length)
        position += length
    found: list[Any] = [None] * len(edges)
    for formula in op.formulas:
        wanted = [any(each is not None for each in edges[spans[name]]) for name in formula.wrt]
        if not any(wanted):
            continue
        arguments = [_argument(node, source, formula, grads, tensors) for source in formula.sources]
        for index, source in enumerate(formula.sources):
            if source[0] == "needs":
                arguments[index] = tuple(
                    _needs(edges[spans[name]], kind)
                    for name, kind in ((n, _kind(op, n)) for n in formula.wrt)
                )
        results = formula.function(*arguments)
        if len(formula.wrt) == 1:
            results = (results,)
        for name, result in zip(formula.wrt, results, strict=True):
            if _kind(op, name) == "tensors":
                found[spans[name]] = list(result)
            else:
                found[spans[name]] = [result]
    return [None if edge is None else grad for edge, grad in zip(edges, found, strict=True)]


def _kind(op: Op, name: str) -> str:
    return next(param.kind for param in op.params if param.name == name)


def _needs(edges: Sequence[Any], kind: str) -> Any:
    flags = tuple(edge is not None for edge in edges)
    return flags if kind == "tensors" else flags[0]


def _argument(
    node: Any, source: tuple[str, Any, str], formula: Any, grads: list[Any], tensors: bool
) -> Any:
    """One argument of a formula, as array or Tensor."""
    kind, name, what = source
    if kind == "needs":
        return None
    if kind == "plain":
        return getattr(node, f"kept_{name}")
    if kind == "property":
        return getattr(node, f"kept_{name}_{what}")
    if kind == "grad":
        if node.op.many_outputs:
            return [_filled(node, nr, grad, tensors) for nr, grad in enumerate(grads)]
        if grads[name] is None and not formula.accepts_none:
            return _filled(node, name, None, tensors)
        return grads[name]
    value = read_saved(node, node.op.outputs[name] if kind == "output" else name)
    if tensors or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(each._array if isinstance(each, Tensor) else each for each in value)
    return value._array if isinstance(value, Tensor) else value


def _filled(node: Any, nr: int, grad: Any, tensors: bool) -> Any:
    if grad is not None:
        return grad
    zeros = node.zero_grad(nr)
    return wrap(zeros) if tensors else zeros


def saved_properties_of(
    op: Op, tensors: list[str], outputs: list[str], plain: list[str]
) -> dict[str, Any]:
    """The `_saved_*` and `_raw_saved_*` attributes of a node class, with PyTorch's names."""
    members: dict[str, Any] = {}

    def saved(name: str) -> property:
        return property(lambda node: shown(read_saved(node, name)))

    def raw(name: str) -> property:
        return property(lambda node: handle(node, general_form(node, name)))

    def stored(slot: str) -> property:
        if slot.removeprefix("kept_") in SCALARS:
            return property(lambda node: getattr(node, slot))
        return property(lambda node: unsigned(getattr(node, slot)))

    for name in tensors + outputs:
        members[f"_saved_{name}"] = saved(name)
        members[f"_raw_saved_{name}"] = raw(name)
    for name in plain:
        members[f"_saved_{name}"] = stored(f"kept_{name}")
    public = {"shape": "sym_sizes", "numel": "sym_numel", "ndim": "dim"}
    lists = {param.name for param in op.params if param.kind == "tensors"}
    for formula in op.formulas:
        for kind, name, what in formula.sources:
            if (name in op.saved_sizes and what == "shape") or name in lists:
                continue
            if kind == "property" and what in public:
                members[f"_saved_{name}_{public[what]}"] = stored(f"kept_{name}_{what}")
            elif kind == "property" and what == "strides":
                members[f"_saved_{name}_sym_strides"] = strides_property(name)
    for name, dims in op.saved_sizes.items():
        for dim in dims:
            label = dim if dim >= 0 else f"minus_{-dim}"
            members[f"_saved_{name}_sym_argsize_{label}"] = size_property(name, dim)
    return members


def size_property(name: str, dim: int) -> property:
    """One length of a saved shape."""
    return property(lambda node: getattr(node, f"kept_{name}_shape")[dim])


def strides_property(name: str) -> property:
    """Saved strides, which count bytes, as PyTorch counts them: in elements."""

    def strides(node: Any) -> tuple[int, ...]:
        shape = getattr(node, f"kept_{name}_shape", None)
        if shape is not None and 0 in shape and getattr(node, f"kept_{name}_strides"):
            return row_major_strides(shape)
        return tuple(step // node._dtype.itemsize for step in getattr(node, f"kept_{name}_strides"))

    return property(strides)


def unsigned(value: Any) -> Any:
    """A saved integer as PyTorch shows it: -1 as 2**64 - 1."""
    if value.__class__ is int:
        return value if value >= 0 else value + 2**64
    if isinstance(value, tuple | list):
        return tuple([unsigned(each) for each in value])
    return value


def shown(value: Any) -> Any:
    """A saved Python number as the 0-d tensor that PyTorch shows."""
    if value.__class__ in NUMBERS:
        return wrap(np.array(value))
    return value


def stale(node: Any, name: str) -> None:
    """Raise the error of a saved tensor that was written since."""
    read_saved(node, name)


def version_of(tensor: Any) -> int:
    counter = None if tensor is None else tensor._counter
    return 0 if counter is None else counter.value


def saved_arrays(node: Any, name: str) -> tuple[Any, ...]:
    """A saved sequence of tensors and Nones as arrays, version-checked."""
    return tuple([None if each is None else each._array for each in read_saved(node, name)])


def make_node(
    op: Op, arguments: tuple[Any, ...], needs: dict[str, bool], replaced: dict[str, Any]
) -> Any:
    """A node for a call, without its outputs: the unspecialised twin of the generated recording.

    `replaced` gives values to save in the place of arguments.
    """
    node = node_class_of(op)()
    state = local.state
    node._status = LIVE
    node._extra = None
    node._sequence = state.sequence
    state.sequence += 1
    frame = user_frame(sys._getframe(1))
    node._code, node._offset = frame.f_code, frame.f_lasti
    values = dict(zip((param.name for param in op.params), arguments, strict=True))
    edges: list[tuple[Any, int]] = []
    for param in op.params:
        if op.formula_for(param.name) is None:
            continue
        if param.kind == "tensors":
            edges += [gradient_edge(each) for each in values[param.name]]
        else:
            edges.append(gradient_edge(values[param.name]) if needs[param.name] else NO_EDGE)
    node._edges = tuple(edge for edge, _ in edges)
    node._edge_nrs = tuple(nr for _, nr in edges)
    _fill_saved(op, node, {**values, **replaced}, needs)
    return node


def _fill_saved(op: Op, node: Any, values: dict[str, Any], needs: dict[str, bool]) -> None:
    for name in node.saved_tensor_names:
        guards = [each.wrt for each in op.formulas if ("tensor", name, "") in each.sources]
        wanted = any(needs[each] for wrt in guards for each in wrt)
        value = values[name] if wanted else None
        setattr(node, f"kept_{name}", value)
        if isinstance(value, tuple | list):
            setattr(node, f"kept_{name}", tuple(value))
            setattr(node, f"version_{name}", tuple([version_of(each) for each in value]))
        else:
            version = version_of(value) if isinstance(value, Tensor) else -1
            setattr(node, f"version_{name}", version)
    for name in node.saved_plain_names:
        setattr(node, f"kept_{name}", values[name])
    for formula in op.formulas:
        for kind, name, what in formula.sources:
            if kind == "property" and name in values:
                setattr(node, f"kept_{name}_{what}", PROPERTIES[what](values[name]))


def node_class_of(op: Op) -> Any:
    return op.node_class or NAMESPACE["node_class"](op)


# --- in place and out= -----------------------------------------------------------------------


def run_inplace(
    op: Op, arguments: tuple[Any, ...], write: Callable[[np.ndarray], None] | None = None
) -> Tensor:
    """`name_`: compute, check, write, count the write, and record it if it must be.

    Everything that can fail happens before the write, so a failed call changes nothing.  `write`
    is a shorter way, which changes its array at once or raises.
    """
    target: Tensor = arguments[0]
    state = local.state
    if state.mode > 1:
        return run_inplace_in_mode(op, state, arguments, write)
    first = op.params[0].name
    needs = {
        param.name: isinstance(value, Tensor) and wants_grad(value)
        for param, value in zip(op.params, arguments, strict=True)
        if param.name in op.wrt
    }
    others = any(need for name, need in needs.items() if name != first)
    record = check_inplace(target, others, state)
    if write is None:
        try:
            result = compute(op, arguments)
        except NotImplementedError:
            refuse_cast(op, arguments)  # PyTorch looks at this first
            raise
        check_destination(target._array, result)
    node = None
    if record:
        replaced: dict[str, Any] = {}
        if first in node_class_of(op).saved_tensor_names and any(needs.values()):
            # The formula needs the value from before the write, with its history.
            replaced[first] = target.clone()
        node = make_node(op, arguments, needs, replaced)
    if write is None:
        np.copyto(target._array, result, casting="unsafe")
    else:
        write(target._array)
    bump_version(target)
    if node is not None:
        node._shape, node._dtype = target._array.shape, target._array.dtype
        for name in node.saved_output_names:
            setattr(node, f"kept_{name}", target._array)
            setattr(node, f"counter_{name}", target._counter)
            setattr(node, f"version_{name}", target._counter.value)
        rebase_history(target, node)
    return target


def compute(op: Op, arguments: tuple[Any, ...]) -> np.ndarray:
    """The kernel on the arrays of the arguments, promoted, without recording."""
    state = local.state
    mode = state.mode
    state.mode = NO_GRAD
    try:
        result = op.call(op.function, arguments)
    finally:
        state.mode = mode
    array: np.ndarray = result._array
    return array


def check_destination(target: np.ndarray, result: np.ndarray) -> None:
    """Whether `result` may be written into `target` (V16)."""
    if result.shape != target.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}"
        )
    if result.dtype is not target.dtype:
        source, wanted = dtypes.FROM_NUMPY[result.dtype], dtypes.FROM_NUMPY[target.dtype]
        if not dtypes.can_cast(source, wanted):
            raise RuntimeError(
                f"result type {dtypes.scalar_type_name(source)} can't be cast to the desired "
                f"output type {dtypes.scalar_type_name(wanted)}"
            )
    if 0 in target.strides:
        refuse_overlap(target)


def refuse_cast(op: Op, arguments: Sequence[Any]) -> None:
    """Raise if the common dtype of the operands may not be written into the first."""
    operands = [
        value._array if isinstance(value, Tensor) else value
        for param, value in zip(op.params, arguments, strict=True)
        if param.kind in ("tensor", "operand")
    ]
    if op.promote is not None and not any(op.unpromoted):
        common = dtypes.result_type(operands)
        check_destination(operands[0], np.empty(operands[0].shape, common.numpy))


def refuse_overlap(target: np.ndarray) -> None:
    """An expanded tensor has several elements in one place; writing it makes no sense."""
    if 0 not in target.strides:
        return
    pairs = zip(target.shape, target.strides, strict=True)
    if target.size and any(length > 1 and stride == 0 for length, stride in pairs):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def run_out(op: Op, arguments: tuple[Any, ...], out: Any) -> Any:
    """`out=` of an operator of the table."""
    check = op.out if callable(op.out) else None
    label = op.label if op.differentiable else None
    outs = compute_into(label, lambda *given: op.call(op.function, given), arguments, out, check)
    return outs if op.returns is None else op.returns.out_type(outs)


def compute_into(
    label: str | None,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    out: Any,
    check: Callable[[np.ndarray, np.ndarray], None] | None = None,
) -> Any:
    """`out=`: the results are written into given tensors, which are resized if need be (V20).

    For composite functions too: `function(*arguments)` computes what is written.  `check(out,
    result)` may refuse what the usual rules allow.  Without a `label` the function has no gradient
    to lose, and inputs may require one.
    """
    outs = out if isinstance(out, tuple | list) else (out,)
    for each in outs:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"{label}(): argument 'out' must be Tensor, not {type(each).__name__}"
            )
    state = local.state
    if label is not None and not state.mode & NO_GRAD:
        involved = [each for each in (*_flat(arguments), *outs) if isinstance(each, Tensor)]
        if any(requires_grad(each) for each in involved):
            raise RuntimeError(
                f"{label}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad."
            )
    for each in outs:
        refuse_inference(each, state)
    if state.mode & DUAL:
        tangents.refuse_out(label, (*_flat(arguments), *outs))
    mode = state.mode
    state.mode = NO_GRAD
    try:
        results = function(*arguments)
    finally:
        state.mode = mode
    results = results if isinstance(results, tuple) else (results,)
    for each, result in zip(outs, results, strict=True):
        if check is not None:
            check(each._array, result._array)
        write_out(each, result._array)
    return out


def write_out(out: Tensor, result: np.ndarray) -> None:
    """Put a result into an `out=` tensor."""
    if out._array.shape != result.shape:
        if out._array.size:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out._array.shape)}, which does not match the required output shape "
                f"{list(result.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
                "t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        source, wanted = dtypes.FROM_NUMPY[result.dtype], out.dtype
        if not dtypes.can_cast(source, wanted):
            check_destination(np.empty(result.shape, out._array.dtype), result)
        out._array = result.astype(out._array.dtype)
    else:
        check_destination(out._array, result)
        np.copyto(out._array, result, casting="unsafe")
    bump_version(out)


# --- modes -----------------------------------------------------------------------------------


def run_in_mode(op: Op, state: State, arguments: tuple[Any, ...]) -> Any:
    """An operator under a mode beyond no_grad: the plain path, then what the mode asks for."""
    mode = state.mode
    state.mode = NO_GRAD if mode & (NO_GRAD | INFERENCE) else 0
    try:
        result = op.call(op.function, arguments)
    finally:
        state.mode = mode
    outputs = result if isinstance(result, tuple | list) else (result,)
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
    if mode & DUAL:
        tangents.propagate(op, arguments, outputs)
    return result


def mark_inference(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> None:
    """Results made in inference mode are inference tensors; views of normal tensors stay normal (I6)."""
    for each in outputs:
        if each._view is not None:
            each._view.creation = Creation.INFERENCE
        else:
            each._counter = INFERENCE_COUNTER


def written_by(tensor: Tensor) -> Any:
    """The node of the operator that wrote a tensor last; behind CopySlices if it is a view."""
    node = tensor._grad_fn if tensor._view is None else tensor._view.base._grad_fn
    return node.fn if isinstance(node, CopySlices) else node


def run_inplace_in_mode(
    op: Op,
    state: State,
    arguments: tuple[Any, ...],
    write: Callable[[np.ndarray], None] | None,
) -> Tensor:
    mode = state.mode
    target: Tensor = arguments[0]
    before = written_by(target)
    tangent_of_result = None
    if mode & DUAL:
        tangent_of_result = tangents.tangent_for(op, arguments)
    inference = target._counter is INFERENCE_COUNTER
    state.mode = NO_GRAD if mode & (NO_GRAD | INFERENCE) else 0
    try:
        if inference and mode & INFERENCE and write is not None:
            write(target._array)
        elif inference and mode & INFERENCE:
            result = compute(op, arguments)
            check_destination(target._array, result)
            np.copyto(target._array, result, casting="unsafe")
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
    return target


# --- properties that formulas may name -------------------------------------------------------


def _array_of(value: Any) -> Any:
    return value._array if isinstance(value, Tensor) else value


PROPERTIES: dict[str, Any] = {
    "shape": lambda value: _array_of(value).shape if not isinstance(value, list | tuple) else [_array_of(each).shape for each in value],
    "dtype": lambda value: _array_of(value).dtype,
    "ndim": lambda value: _array_of(value).ndim,
    "strides": lambda value: _array_of(value).strides,
    "numel": lambda value: _array_of(value).size,
    "geometry": lambda value: geometry(_array_of(value)),
}


def helpers() -> dict[str, Any]:
    """The names that generated code uses."""
    return {
        "run_out": run_out,
        "run_in_mode": run_in_mode,
        "run_inplace": run_inplace,
        "bad_arguments": bad_arguments,
        "prepare": prepare,
        "to_low": to_low,
        "run_low": run_low,
        "explain": explain,
        "SCALARS32": SCALARS32,
        "NUMBERS": NUMBERS,
        "NO_EDGE": NO_EDGE,
        "wrap": wrap,
        "gradient_edge": gradient_edge,
        "set_history": set_history,
        "version_of": version_of,
        "saved_arrays": saved_arrays,
        "apply_slowly": apply_slowly,
        "release_packed": release_packed,
        "stale": stale,
        "version_counter": version_counter,
        **{f"property_{name}": function for name, function in PROPERTIES.items()},
    }


__all__ = ["TableNode", "compute_into", "helpers", "run_inplace", "run_out"]
