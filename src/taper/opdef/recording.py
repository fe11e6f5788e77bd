"""Recording a call: how a node comes to hold what its formulas need, and how it joins the graph.

There is one way to fill what all nodes have (edges, the user's line, the place in the order, shape
and dtype): `complete`, and `record`, which also makes the tensor.  Both are native where they can
be, 1.4 us less an operation, half of a small `mul`; their twins here say what they do (D7).

There are two ways to fill what one operator's formulas name.  The wrapper of an operator has text
generated for it, because going through names takes 5 us more (D4).  `make_node` goes through the
names, for calls that are rare or slow anyway: in place, and where somebody sees the call first.
"""

from __future__ import annotations

import functools
import sys
import weakref
from types import FrameType
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import device_of, is_array
from taper.autograd import natively
from taper.autograd.conjugate import memory_of
from taper.autograd.node import LEAF, LIVE
from taper.autograd.provenance import user_frame
from taper.autograd.state import State, local
from taper.autograd.views import requires_grad
from taper.opdef import Op, Param
from taper.opdef.backward import node_class
from taper.opdef.text import (
    NUMBER_VERSION,
    SEQUENCES,
    Source,
    differentiable_params,
    has_edge,
    is_binary,
    keeps_single,
    needed_by,
    result_expression,
    saved_names,
    saved_outputs,
    saved_plain,
    saved_properties,
    wanted_params,
)
from taper.tensor import Tensor, array_of, geometry, outline_of, wrap

# Properties that are attributes of the array: read in place, a call costs 0.2 us.
_INLINE = {
    "shape": "shape",
    "dtype": "dtype",
    "ndim": "ndim",
    "strides": "strides",
    "numel": "size",
}

# PyTorch makes these from a copy into a new tensor, which is recorded.
_COPIES = frozenset({"clone", "_to_copy", "sort_values", "sort_stable", "diag_embed"})


# --- what all nodes have ----------------------------------------------------------------------


def complete_in_python(
    node: Any, array: Any, state: State, frame: FrameType, dtype: Any, *pairs: Any
) -> None:
    """Fill what all nodes have; `pairs` are tensors, and whether each needs a gradient.

    An edge leads to what made the tensor, or to the leaf itself (D11).  `array` is the one output,
    whose dtype is `dtype` where the caller knows it; None if there are several.
    """
    edges: tuple[Any, ...] = ()
    numbers: tuple[int, ...] = ()
    each = iter(pairs)
    for tensor, needs in zip(each, each, strict=True):
        if not needs:
            edges += (None,)
            numbers += (0,)
        elif tensor._grad_fn is None:
            edges += (tensor,)
            numbers += (LEAF,)
        else:
            edges += (tensor._grad_fn,)
            numbers += (tensor._output_nr,)
    node._edges, node._edge_nrs = edges, numbers
    if frame.f_code is not state.user_code:
        frame = user_frame(frame)
        state.user_code = frame.f_code
    node._code, node._offset = frame.f_code, frame.f_lasti
    if array is not None:
        node._shape = array.shape
        node._dtype = array.dtype if dtype is None else dtype
    node._status = LIVE
    node._extra = None
    node._module = None if state.module is None else weakref.ref(state.module)
    sequence = node._sequence = state.sequence
    state.sequence = sequence + 1


def record_in_python(
    node: Any, array: np.ndarray, state: State, frame: FrameType, dtype: Any, *pairs: Any
) -> Tensor:
    """Complete the node of a fresh result, and make the tensor."""
    if array.dtype.kind in "biu":  # only a write in place may give whole numbers a history
        name = dtypes.FROM_NUMPY[array.dtype].scalar_type
        raise RuntimeError(f"Autograd not support dtype: {name}")
    complete_in_python(node, array, state, frame, dtype, *pairs)
    tensor = wrap(array)
    tensor._requires_grad = True
    tensor._grad_fn = node
    return tensor


complete = natively.complete or complete_in_python
record = natively.record or record_in_python


# --- the text for one operator ----------------------------------------------------------------


def _needs_text(op: Op) -> str:
    """An expression for: some parameter requires a gradient."""
    return " or ".join(
        f"True in n_{param.public_name}" if param.kind == "tensors" else f"n_{param.public_name}"
        for param in wanted_params(op)
    )


def _add_needs(source: Source, op: Op, depth: int = 1) -> None:
    for param in wanted_params(op):
        value = param.public_name
        if param.kind == "operand" and is_binary(op):
            continue
        if param.kind == "tensors":
            source.add(f"n_{value} = [requires_grad(each) for each in {value}]", depth)
        elif param.kind == "tensor":
            source.add(f"n_{value} = {value}._requires_grad", depth)
        else:
            source.add(f"n_{value} = False if p_{value} else {value}._requires_grad", depth)


def add_recording(source: Source, op: Op) -> None:
    """What `requires_grad` asks for, after the outputs are made."""
    result = result_expression(op)
    if not op.view:  # `compiler` has asked
        source.add(f"if mode:\n    return {result}")
    _add_needs(source, op)
    source.add(f"if not ({_needs_text(op)}):\n    return {result}")
    _add_node(source, op, result)


def add_recording_of_one(source: Source, op: Op) -> None:
    """The same for a single fresh output, which is then made with its history (10 ns less)."""
    source.add("if mode:\n    flag = state.cut\nelse:")
    _add_needs(source, op, 2)
    source.add(f"if {_needs_text(op)}:", 2)
    inner = Source()
    names = [param.public_name for param in wanted_params(op) if param.kind != "tensors"]
    _add_node(inner, op, f"unrecorded(r, {', '.join(names)})")
    source.lines += ["        " + line for line in inner.lines]
    # A history that was cut before stays cut at that place (see `cuts`).
    flag = f"n_{names[-1]}" if names else "False"
    for name in reversed(names[:-1]):
        flag = f"n_{name} if n_{name} is not False else {flag}"
    source.add(f"flag = {flag}", 2)


def _from_inference(op: Op) -> str:
    """An expression for: no tensor is a normal one, whose history autograd would keep (I2).

    A number among the operands counts as a normal tensor.
    """
    texts = {
        "tensor": "{}._counter is INFERENCE_COUNTER",
        "operand": "not p_{0} and {0}._counter is INFERENCE_COUNTER",
        "optional": "(p_{0} or {0}._counter is INFERENCE_COUNTER)",
        "optional_operand": "(p_{0} or {0}._counter is INFERENCE_COUNTER)",
        "tensors": "all([each._counter is INFERENCE_COUNTER for each in {}])",
    }
    found = [(param.public_name, texts.get(param.kind)) for param in op.params]
    return " and ".join(text.format(name) for name, text in found if text is not None)


def _add_node(source: Source, op: Op, unrecorded: str) -> None:
    """Node, edges and saved values; a view may turn out to need no gradient: then `unrecorded`."""
    wanted = wanted_params(op)
    names = [param.public_name for param in wanted if param.kind != "tensors"]
    if names:
        source.add(f"if {' or '.join(f'n_{name} is ASK' for name in names)}:")
        for name in names:
            source.add(f"if n_{name}:\n    n_{name} = requires_grad({name})", 2)
        source.add(f"if not ({_needs_text(op)}):\n    return {unrecorded}", 2)
    if op.name not in _COPIES and all(param.kind != "indices" for param in op.params):
        source.add(f"if {_from_inference(op)}:\n    return {unrecorded}")
    if not op.complex_gradient:
        result = "r[0]" if len(op.outputs) > 1 else "r"
        source.add(f"if {result}.dtype is not FLOAT32 and {result}.dtype.kind == 'c':")
        source.add(f"raise no_complex_gradient(OP_{op.name})", 2)
    source.add(f"node = N_{op.name}()")
    _add_saving(source, op)
    _add_history(source, op, wanted)


def _add_history(source: Source, op: Op, wanted: list[Param]) -> None:
    """Complete the node, and make it that of the outputs."""
    pairs = "".join(
        _pairs_text(param, param in wanted)
        for param in differentiable_params(op)
        if has_edge(op, param)
    )
    if op.many_outputs or len(op.outputs) > 1:
        source.add(f"complete(node, None, state, getframe(1), None{pairs})\nnode.set_outputs(ts)")
        _add_outputs(source, op)
    elif op.view:  # `compiler` has found the user's frame, and made the tensor
        source.add(f"complete(node, r, state, frame, None{pairs})\nt._grad_fn = node")
    else:
        dtype = "dtype" if keeps_single(op) else "None"
        source.add(f"return record(node, r, state, getframe(1), {dtype}{pairs})")


def _pairs_text(param: Param, wanted: bool) -> str:
    """Arguments of `complete`: a tensor, or several, each with whether it needs a gradient."""
    value = param.public_name
    if param.kind == "tensors":
        needs = f"n_{value}" if wanted else f"[False] * len({value})"
        return f", *[part for pair in zip({value}, {needs}) for part in pair]"
    return f", {value}, n_{value}" if wanted else ", None, False"


def _add_outputs(source: Source, op: Op) -> None:
    if op.many_outputs:
        source.add("for nr, t in enumerate(ts):\n    set_history(t, node, nr)")
        return
    for nr in range(len(op.outputs)):
        if nr not in op.nondifferentiable:
            source.add(f"set_history(ts[{nr}], node, {nr})")
        elif nr in saved_outputs(op):  # it cannot ask the node for its counter later
            source.add(f"node.counter_{op.outputs[nr]} = version_counter(ts[{nr}])")


def _add_saving(source: Source, op: Op) -> None:
    public = {param.name: param for param in op.params}
    for name in saved_names(op):
        param = public[name]
        value = param.public_name
        guards = [
            f"True in n_{public[each].public_name}"
            if public[each].kind == "tensors"
            else f"n_{public[each].public_name}"
            for each in needed_by(op, name)
        ]
        guard = " or ".join(guards)
        if param.kind in SEQUENCES:
            source.add(
                f"if {guard}:\n"
                f"    node.kept_{name} = tuple({value})\n"
                f"    node.version_{name} = tuple([version_of(each) for each in {value}])\n"
                f"else:\n    node.kept_{name} = None\n    node.version_{name} = 0"
            )
            continue
        version = f"0 if {value}._counter is None else {value}._counter.value"
        if param.kind != "tensor":
            version = f"{NUMBER_VERSION} if p_{value} else {version}"
        source.add(
            f"if {guard}:\n"
            f"    node.kept_{name} = {value}\n"
            f"    node.version_{name} = {version}\n"
            f"else:\n"
            f"    node.kept_{name} = None\n"
            f"    node.version_{name} = 0"
        )
    for name in saved_plain(op):
        source.add(f"node.kept_{name} = {public[name].public_name}")
    for name, what in saved_properties(op):
        if name in public:
            value = public[name].public_name
            if public[name].kind == "tensor" and what in _INLINE:
                text = f"{value}._array.{_INLINE[what]}"
                if what == "strides":  # as PyTorch: only for the gradient that needs them
                    text += f" if {_guard_of_property(op, name, what)} else ()"
                source.add(f"node.kept_{name}_{what} = {text}")
            else:
                source.add(f"node.kept_{name}_{what} = property_{what}({value})")
        else:
            array = "r" if len(op.outputs) == 1 else f"r[{op.outputs.index(name)}]"
            source.add(f"node.kept_{name}_{what} = property_{what}({array})")
    for nr in saved_outputs(op):
        name = op.outputs[nr]
        array = "r" if len(op.outputs) == 1 else f"r[{nr}]"
        source.add(
            f"node.kept_{name} = {array}\nnode.version_{name} = 0\nnode.counter_{name} = None"
        )


def _guard_of_property(op: Op, name: str, what: str) -> str:
    """The condition under which some formula that is run names the property."""
    public = {param.name: param.public_name for param in op.params}
    formulas = [each for each in op.formulas if ("property", name, what) in each.sources]
    return " or ".join(f"n_{public[each]}" for formula in formulas for each in formula.wrt)


# --- the same by name -------------------------------------------------------------------------


def make_node(
    op: Op,
    arguments: tuple[Any, ...],
    needs: dict[str, bool],
    replaced: dict[str, Any],
    kind: Any = None,
) -> Any:
    """A node for a call, without its outputs: what the generated text does, through names.

    `replaced` gives values to save in the place of arguments; `kind` is a class in the place of the
    operator's own.
    """
    node = (kind or node_class(op))()
    values = dict(zip((param.name for param in op.params), arguments, strict=True))
    pairs: list[Any] = []
    for name, are_many in _with_edges(op):
        if are_many:
            pairs += [part for each in values[name] for part in (each, requires_grad(each))]
        else:
            pairs += values[name], needs[name]
    complete(node, None, local.state, sys._getframe(1), None, *pairs)
    _fill_saved(op, node, {**values, **replaced}, needs)
    return node


@functools.cache
def _with_edges(op: Op) -> list[tuple[str, bool]]:
    """The names of the parameters that nodes have edges for, and which of them are sequences."""
    return [(param.name, param.kind == "tensors") for param in op.params if has_edge(op, param)]


def _fill_saved(op: Op, node: Any, values: dict[str, Any], needs: dict[str, bool]) -> None:
    for name in node.saved_tensor_names:
        guards = [each.wrt for each in op.formulas if ("tensor", name, "") in each.sources]
        wanted = any(needs[each] for wrt in guards for each in wrt)
        value = values[name] if wanted else None
        setattr(node, f"kept_{name}", value)
        if isinstance(value, (tuple, list)):
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


def version_of(tensor: Any) -> int:
    counter = None if tensor is None else tensor._counter
    return 0 if counter is None else counter.value


def _shape(value: Any) -> Any:
    """The shape of a tensor, the shapes of several, and (0,) for an optional one that is None."""
    if value is None:
        return (0,)
    if isinstance(value, (list, tuple)):
        return [array_of(each).shape for each in value]
    return array_of(value).shape


def _strides(value: Any) -> tuple[int, ...]:
    try:
        return memory_of(value).strides
    except AttributeError:
        return outline_of(value).strides


PROPERTIES: dict[str, Any] = {
    "shape": _shape,
    "device": lambda value: device_of(array_of(value)),
    "dtype": lambda value: array_of(value).dtype,
    "ndim": lambda value: array_of(value).ndim,
    "strides": _strides,
    "numel": lambda value: array_of(value).size,
    "geometry": lambda value: geometry(value if is_array(value) else memory_of(value)),
}
