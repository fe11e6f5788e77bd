"""The compiler of the operator table: source text for the wrapper of an operator.

Owns: the specialised fast paths.  Everything a wrapper does is spelled out for its operator (no
loops over arguments, no look-ups by name), because a generic wrapper is two to three times slower
(D3).  The same behaviour in plain, unspecialised form is in `nodes`; tests hold the two equal.

Long because: the text of one wrapper is easier to follow in one place.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import Any

import numpy as np

from taper.arrays.reduction import ABSENT
from taper.autograd.conjugate import memory_of
from taper.autograd.cuts import unrecorded, without_gradient
from taper.autograd.detours import original_of
from taper.autograd.meta import (
    ASK,
    INFERENCE_COUNTER,
    Creation,
    VersionCounter,
    ViewRecord,
)
from taper.autograd.natively import record
from taper.autograd.provenance import internal, user_frame
from taper.autograd.state import local
from taper.autograd.views import (
    gradient_edge,
    make_view,
    make_views,
    requires_grad,
    set_history,
    version_counter,
)
from taper.opdef import (
    NAMESPACE,
    REQUIRED,
    Op,
    Param,
    deprecated_overloads,
    nodes,
    operands,
    registry,
    writes,
)
from taper.opdef.backward import (
    NUMBER_VERSION,
    SEQUENCES,
    Source,
    define,
    differentiable_params,
    has_edge,
    needed_by,
    node_class,
    partly_function,
    saved_names,
    saved_outputs,
    saved_plain,
    saved_properties,
)
from taper.opdef.numpy_names import dim_or_axis, names_of, needed_from_dim, renaming
from taper.tensor import Tensor, blank, wrap

_LITERALS = (type(None), bool, int, str)

# Properties that are attributes of the array: read in place, a call costs 0.2 us.
_INLINE = {
    "shape": "shape",
    "dtype": "dtype",
    "ndim": "ndim",
    "strides": "strides",
    "numel": "size",
}


# --- the wrapper -----------------------------------------------------------------------------


def _parameter_list(
    op: Op, out: bool, numpy_names: dict[str, str] | None = None, more: bool = False
) -> str:
    parts = []
    starred = False
    for param in op.params:
        if param.keyword_only and not starred:
            parts.append("*more" if more else "*")
            starred = True
        text = param.public_name
        if numpy_names and param in needed_from_dim(op):
            text += "=ABSENT"
        elif param.default is not REQUIRED:
            if isinstance(param.default, _LITERALS):
                text += f"={param.default!r}"
            else:
                NAMESPACE[f"D_{op.name}_{param.name}"] = param.default
                text += f"=D_{op.name}_{param.name}"
        parts.append(text)
    keywords = ["out=None"] if out else []
    keywords.extend(f"{name}=ABSENT" for name in (numpy_names or {}).values())
    if keywords:
        parts.extend(keywords if starred else ["*", *keywords])
    return ", ".join(parts)


def _argument_tuple(op: Op) -> str:
    names = [param.public_name for param in op.params]
    return "(" + "".join(f"{name}, " for name in names) + ")"


def wrapper_source(op: Op, dunder: str = "") -> str:
    """The text of the public function of an operator, or of its method `dunder`."""
    source = Source()
    name = op.name
    names = {} if dunder else names_of(op)
    more = not dunder and name in deprecated_overloads.NAMES
    source.add(f"def {name}({_parameter_list(op, bool(op.out) and not dunder, names, more)}):", 0)
    everything = _argument_tuple(op)
    for text in renaming(op, op.label, names, everything):
        source.add(text)
    if more:
        _add_deprecated(source, op, "out")
    if op.out and not dunder:
        source.add(f"if out is not None:\n    return run_out(OP_{name}, {everything}, out)")
    first = op.params[0]
    if first.kind in ("tensor", "operand") and not dunder:  # arrays have operators of their own
        on_arrays = _kernel_call(op, "")
        if op.upcast:
            on_arrays = (
                f"{on_arrays} if {first.public_name}.itemsize != 2 "
                f"else run_low(OP_{name}, {everything})"
            )
        source.add(
            f"if type({first.public_name}) is ndarray:\n"
            f"    filename = getframe(1).f_code.co_filename\n"
            f"    if internal.get(filename) is not True:\n"
            f"        refuse_array(OP_{name}, {everything}, filename)\n"
            f"    return {on_arrays}"
        )
    source.add("state = local.state\nmode = state.mode")
    source.add(f"if mode > 1:\n    return run_in_mode(OP_{name}, state, {everything})")
    _add_unpacking(source, op, everything, dunder)
    _add_kernel(source, op, everything)
    if op.view or op.many_outputs or len(op.outputs) > 1:
        _add_result(source, op)
        if op.differentiable:
            _add_recording(source, op)
    else:
        source.add("if type(r) is not ndarray:\n    r = asarray(r)")
        if op.differentiable:
            _add_recording_of_one(source, op)
        else:
            source.add(f"flag = {_flag_without_gradient(op)}")
        source.add(_FRESH.format(requires_grad="flag", node=None))
    source.add(f"return {_result_expression(op)}")
    return source.text()


def _add_deprecated(source: Source, op: Op, options: str) -> None:
    names = ", ".join(each.public_name for each in op.params if not each.keyword_only)
    source.add(f"if more:\n    return run_deprecated(OP_{op.name}, ({names}, *more), {options})")


def _add_unpacking(source: Source, op: Op, everything: str, dunder: str) -> None:
    """Arrays out of Tensors, with PyTorch's promotion of dtypes."""
    failure = f"OP_{op.name}, {everything}, {dunder!r}"
    if _is_binary(op):
        _add_binary_unpacking(source, op, everything, failure)
        return
    source.add("try:")
    operands = []
    for param in op.params:
        value = param.public_name
        if param.kind == "tensor":
            # Strides say where elements lie, which the array computed of a conjugate does not.
            lies = op.view and (param.name, "geometry") in saved_properties(op)
            read = f"memory_of({value})" if lies else f"{value}._array"
            source.add(f"a_{value} = {read}", 2)
        elif param.kind == "tensors":
            source.add(f"if {value}.__class__ is Tensor:\n    raise AttributeError", 2)
            source.add(f"a_{value} = [each._array for each in {value}]", 2)
        elif param.kind == "indices":
            source.add(
                f"a_{value} = [None if each is None else each._array for each in {value}]", 2
            )
        elif param.kind in ("operand", "optional", "optional_operand"):
            condition = {
                "operand": f"type({value}) in NUMBERS",
                "optional": f"{value} is None",
                "optional_operand": f"{value} is None or type({value}) in NUMBERS",
            }[param.kind]
            source.add(
                f"p_{value} = type({value}) is not Tensor and ({condition})\n"
                f"a_{value} = {value} if p_{value} else {value}._array",
                2,
            )
        else:
            continue
        operands.append(param)
    source.add(f"except AttributeError:\n    return bad_arguments({failure})")
    if op.upcast:
        source.add("low = None")
    source.add("try:")
    if op.promote or op.upcast:
        _add_promotion(source, op, operands)


def _is_binary(op: Op) -> bool:
    """Whether the operands are a tensor and a tensor or number, of one dtype: the common case."""
    kinds = [param.kind for param in op.params if param.kind != "plain"]
    return kinds == ["tensor", "operand"] and bool(op.promote or op.upcast)


def _keeps_single(op: Op) -> bool:
    """Whether the result of float32 operands is float32, as NumPy tells of a ufunc."""
    if op.ufunc is None or not _is_binary(op) or not op.differentiable:
        return False
    types = op.ufunc.resolve_dtypes((np.dtype(np.float32), np.dtype(np.float32), None))
    return bool(types[-1] == np.float32)


def _add_binary_unpacking(source: Source, op: Op, everything: str, failure: str) -> None:
    """As `_add_unpacking` and `_add_needs`: one question for a number, not four (30 ns)."""
    first, second = [param.public_name for param in op.params if param.kind != "plain"]
    low = ", low" if op.upcast else ""
    slow = f"a_{first}, a_{second}{low} = prepare(OP_{op.name}, (a_{first}, a_{second}))"
    if op.upcast:
        source.add("low = None")
    usual = ""
    if _keeps_single(op):
        # The dtype of the result, if it is known: to ask the array takes 20 ns.
        source.add("dtype = FLOAT32")
        usual = "; dtype = None"
    source.add(
        f"try:\n"
        f"    a_{first} = {first}._array\n"
        f"    if type({second}) is not Tensor and type({second}) in NUMBERS:\n"
        f"        p_{second} = True\n"
        f"        n_{second} = False\n"
        f"        a_{second} = (\n"
        f"            SCALARS32[type({second})].get({second}) "
        f"if a_{first}.dtype is FLOAT32 else None\n"
        f"        )\n"
        f"        if a_{second} is None:\n"
        f"            a_{second} = {second}\n"
        f"            {slow}{usual}\n"
        f"    else:\n"
        f"        p_{second} = False\n"
        f"        a_{second} = {second}._array\n"
        f"        n_{second} = {second}._requires_grad\n"
        f"        if a_{first}.dtype is not FLOAT32 or a_{second}.dtype is not FLOAT32:\n"
        f"            {slow}{usual}\n"
        f"except AttributeError:\n"
        f"    return bad_arguments({failure})\n"
        f"except RuntimeError as error:\n"
        f"    raise explain(OP_{op.name}, (), error, {everything}) from None\n"
        f"try:"
    )


def _add_promotion(source: Source, op: Op, operands: list[Param]) -> None:
    names = [f"a_{param.public_name}" for param in operands if param.kind not in SEQUENCES]
    whole = ", ".join(names)
    target = f"{whole}, low" if op.upcast else f"{whole},"
    slow = f"{target} = prepare(OP_{op.name}, ({whole},))"
    first = names[0]
    if len(names) == 1:
        source.add(f"if {first}.dtype is not FLOAT32:\n    {slow}", 2)
        return
    promoted = [name for name, free in zip(names, op.unpromoted, strict=True) if not free]
    checks = " or ".join(
        f"type({name}) is not ndarray or {name}.dtype is not FLOAT32" for name in promoted
    )
    source.add(f"if {checks}:\n    {slow}", 2)


def _kernel_call(op: Op, prefix: str = "a_") -> str:
    arguments = []
    for param in op.params:
        value = param.public_name
        if param.kind != "plain":
            value = f"{prefix}{value}"
        arguments.append(f"{param.name}={value}" if param.keyword_only else value)
    call = f"K_{op.name}({', '.join(arguments)})"
    plain = [param for param in op.params if param.kind == "plain"]
    if op.ufunc is None:
        return call
    tensors = ", ".join(f"{prefix}{each.public_name}" for each in op.params if each not in plain)
    for param in plain:
        NAMESPACE[f"D_{op.name}_{param.name}"] = param.default
    usual = [f"{each.public_name} is D_{op.name}_{each.name}" for each in plain]
    quick = f"U_{op.name}({tensors})"
    return f"({quick} if {' and '.join(usual)} else {call})" if plain else quick


def _add_kernel(source: Source, op: Op, everything: str) -> None:
    """The end of the `try` that `_add_unpacking` has begun."""
    arrays = "".join(f"a_{p.public_name}, " for p in op.params if p.kind != "plain")
    source.add(
        f"    r = {_kernel_call(op)}\n"
        f"except (RuntimeError, ValueError, IndexError, MemoryError) as error:\n"
        f"    raise explain(OP_{op.name}, ({arrays}), error, {everything}) from None"
    )
    if op.upcast:
        source.add("if low is not None:\n    r = to_low(r, low)")


_FRESH = """
t = blank()
t._array = r
t._requires_grad = {requires_grad}
t._grad_fn = {node}
t._output_nr = 0
t._counter = None
t._view = None
t._meta = None
"""


# The user's line (D6): `frame` and `code`.
_USER_FRAME = """
frame = getframe(1)
code = frame.f_code
if code is not state.user_code:
    if internal.get(code.co_filename, True):
        frame = user_frame(frame)
        code = frame.f_code
    else:
        state.user_code = code
"""

# What `views.make_view` does, spelled out; the frame serves the node as well.
_VIEW = (
    """
counter = {source}._counter
if counter is None:
    counter = version_counter({source})
"""
    + _USER_FRAME
    + """if counter.__class__ is not VersionCounter:  # inference tensors, conjugates, detached ones
    t = make_view({source}, r, NO_GRAD_VIEW if mode else PLAIN, {step})
    if counter is INFERENCE_COUNTER:
        return t  # without a history, also if the tensor requires a gradient
else:
    t = blank()
    t._array = r
    t._requires_grad = ASK
    t._grad_fn = None
    t._output_nr = 0
    t._counter = counter
    t._meta = None
    t._view = record = blank_record()
    record.version = counter.value
    record.requires_grad = False
    record.code = code
    record.offset = frame.f_lasti
    parent = {source}._view
    if parent is None:
        record.base = {source}
        record.creation = NO_GRAD_VIEW if mode else PLAIN
        record.replay = (None, {step})
    else:
        record.base = parent.base
        record.creation = NO_GRAD_VIEW if mode else parent.creation
        record.replay = (parent.replay, {step})
"""
)


def _add_result(source: Source, op: Op) -> None:
    if op.view:
        first = op.params[0].public_name
        rest = "".join(f"{param.public_name}, " for param in op.params[1:])
        step = f"(F_{op.name}, ({rest}))"
        if op.many_outputs:
            creation = "NO_GRAD_VIEW if mode else MULTIPLE"
            source.add(f"ts = make_views({first}, r, {creation}, {step})")
            source.add(f"if {first}._counter is INFERENCE_COUNTER:\n    return ts")
        else:
            source.add(_VIEW.format(source=first, step=step))
    else:
        source.add("ts = tuple([wrap(each) for each in r])")


def _result_expression(op: Op) -> str:
    if len(op.outputs) == 1 and not op.many_outputs:
        return "t"
    return f"R_{op.name}(ts)" if op.returns is not None else "ts"


def _wanted(op: Op) -> list[Param]:
    """The tensor parameters that have a gradient."""
    return [param for param in differentiable_params(op) if param.name in op.wrt]


def _needs_text(op: Op) -> str:
    """An expression for: some parameter requires a gradient."""
    return " or ".join(
        f"True in n_{param.public_name}" if param.kind == "tensors" else f"n_{param.public_name}"
        for param in _wanted(op)
    )


def _add_needs(source: Source, op: Op, depth: int = 1) -> None:
    for param in _wanted(op):
        value = param.public_name
        if param.kind == "operand" and _is_binary(op):
            continue
        if param.kind == "tensors":
            source.add(f"n_{value} = [requires_grad(each) for each in {value}]", depth)
        elif param.kind == "tensor":
            source.add(f"n_{value} = {value}._requires_grad", depth)
        else:
            source.add(f"n_{value} = False if p_{value} else {value}._requires_grad", depth)


def _add_recording(source: Source, op: Op) -> None:
    """What `requires_grad` asks for, after the outputs are made."""
    result = _result_expression(op)
    source.add(f"if mode:\n    return {result}")
    _add_needs(source, op)
    source.add(f"if not ({_needs_text(op)}):\n    return {result}")
    _add_node(source, op, result)


def _add_recording_of_one(source: Source, op: Op) -> None:
    """The same for a single fresh output, which is then made with its history (10 ns less)."""
    source.add("if mode:\n    flag = state.cut\nelse:")
    _add_needs(source, op, 2)
    source.add(f"if {_needs_text(op)}:", 2)
    inner = Source()
    names = [param.public_name for param in _wanted(op) if param.kind != "tensors"]
    _add_node(inner, op, f"unrecorded(r, {', '.join(names)})")
    if not _records_natively(op):
        inner.add(_FRESH.format(requires_grad=True, node="node") + "return t")
    source.lines += ["        " + line for line in inner.lines]
    # A history that was cut before stays cut at that place (see `cuts`).
    flag = f"n_{names[-1]}" if names else "False"
    for name in reversed(names[:-1]):
        flag = f"n_{name} if n_{name} is not False else {flag}"
    source.add(f"flag = {flag}", 2)


def _flag_without_gradient(op: Op) -> str:
    first = op.params[0]
    if first.kind != "tensor":
        return "False"
    value = first.public_name
    label = (op.label or op.name).lstrip("_")
    return f"without_gradient({label!r}, {value}) if {value}._requires_grad and not mode else False"


# PyTorch makes these from a copy into a new tensor, which is recorded.
_COPIES = frozenset({"clone", "_to_copy", "sort_values", "sort_stable", "diag_embed"})


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
    wanted = _wanted(op)
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
    if not _records_natively(op):
        _add_edges(source, op, differentiable_params(op), wanted)
        _add_saving(source, op)
        _add_outputs(source, op)
        return
    _add_saving(source, op)
    edges = "".join(
        f", {param.public_name}, n_{param.public_name}" if param in wanted else ", None, False"
        for param in differentiable_params(op)
        if has_edge(op, param)
    )
    dtype = "dtype" if _keeps_single(op) else "None"
    source.add(f"return record(node, r, state, getframe(1), {dtype}{edges})")


def _records_natively(op: Op) -> bool:
    """Whether the native module makes the edges, what all nodes have, and the result."""
    one = len(op.outputs) == 1 and not op.many_outputs and not op.view
    return record is not None and one and all(param.kind != "tensors" for param in op.params)


def _add_edges(source: Source, op: Op, params: list[Param], wanted: list[Param]) -> None:
    edges, numbers = [], []
    for param in params:
        value = param.public_name
        if param.kind == "tensors":
            source.add(
                f"pairs = [gradient_edge(each) if need else NO_EDGE "
                f"for each, need in zip({value}, n_{value})]\n"
                f"e_{value} = [each[0] for each in pairs]\n"
                f"i_{value} = [each[1] for each in pairs]"
                if param in wanted
                else f"e_{value} = [None] * len({value})\ni_{value} = [0] * len({value})"
            )
            edges.append(f"*e_{value}")
            numbers.append(f"*i_{value}")
            continue
        if param in wanted:
            source.add(
                f"if n_{value}:\n"
                f"    e_{value} = {value}._grad_fn\n"
                f"    if e_{value} is None:\n"
                f"        e_{value} = {value}\n"
                f"        i_{value} = -1\n"  # Node.LEAF
                f"    else:\n"
                f"        i_{value} = {value}._output_nr\n"
                f"else:\n"
                f"    e_{value} = None\n"
                f"    i_{value} = 0"
            )
            edges.append(f"e_{value}")
            numbers.append(f"i_{value}")
        elif has_edge(op, param):
            edges.append("None")
            numbers.append("0")
    nrs = f"({', '.join(numbers)},)"
    if not any(number.startswith("*") for number in numbers):
        # Nearly all are 0, or those of leaves: one tuple for all nodes saves making and freeing it.
        zeros = f"({', '.join('0' for _ in numbers)},)"
        leaves = f"({', '.join('-1' for _ in numbers)},)"
        all_leaves = f"{' == '.join(numbers)} == -1"
        nrs = f"{zeros} if not ({' or '.join(numbers)}) else {leaves} if {all_leaves} else {nrs}"
    source.add(f"node._edges = ({', '.join(edges)},)\nnode._edge_nrs = {nrs}")


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
        if op.view:
            source.add(f"node.counter_{name} = t._counter\nnode.version_{name} = t._counter.value")


def _guard_of_property(op: Op, name: str, what: str) -> str:
    """The condition under which some formula that is run names the property."""
    public = {param.name: param.public_name for param in op.params}
    formulas = [each for each in op.formulas if ("property", name, what) in each.sources]
    return " or ".join(f"n_{public[each]}" for formula in formulas for each in formula.wrt)


_NODE_BASICS = """
node._status = 0
node._extra = None
sequence = state.sequence
node._sequence = sequence
state.sequence = sequence + 1
node._code = code
node._offset = frame.f_lasti
"""


def _add_outputs(source: Source, op: Op) -> None:
    if not op.view or op.many_outputs:  # else `_VIEW` has found it
        source.add(_USER_FRAME)
    source.add(_NODE_BASICS)
    if len(op.outputs) == 1 and not op.many_outputs:
        known = "r.dtype if dtype is None else dtype" if _keeps_single(op) else "r.dtype"
        source.add(f"node._shape = r.shape\nnode._dtype = {known}")
        if op.view:
            source.add("t._grad_fn = node")
        return
    source.add("node.set_outputs(ts)")
    if op.many_outputs:
        source.add("for nr, t in enumerate(ts):\n    set_history(t, node, nr)")
        return
    for nr in range(len(op.outputs)):
        if nr not in op.nondifferentiable:
            source.add(f"set_history(ts[{nr}], node, {nr})")
        elif nr in saved_outputs(op):  # it cannot ask the node for its counter later
            source.add(f"node.counter_{op.outputs[nr]} = version_counter(ts[{nr}])")


_COUNT_WRITE = """
counter = input._counter
if counter is None:
    counter = version_counter(input)
counter.value += 1
frame = getframe(1)
code = frame.f_code
if internal.get(code.co_filename, True):
    frame = user_frame(frame)
    code = frame.f_code
counter.code = code
counter.offset = frame.f_lasti
return input
"""


def inplace_source(op: Op) -> str:
    """The text of the in-place function: float32 that is not recorded is written at once."""
    source = Source()
    names = names_of(op)
    more = op.name in deprecated_overloads.NAMES
    source.add(f"def {op.inplace_name}({_parameter_list(op, False, names, more)}):", 0)
    for text in renaming(op, op.inplace_name, names, _argument_tuple(op)):
        source.add(text)
    if more:
        _add_deprecated(source, op, "None, True")
    slow = _slow_inplace(op)
    kinds = {param.kind for param in op.params}
    if kinds <= {"tensor", "operand", "plain"} and op.params[0].kind == "tensor" and not op.view:
        source.add("mode = local.state.mode\nif mode < 2:\n    try:")
        for param in op.params:
            value = param.public_name
            if param.kind == "operand":
                source.add(
                    f"p_{value} = type({value}) is not Tensor and type({value}) in NUMBERS\n"
                    f"a_{value} = SCALARS32[type({value})].get({value}) "
                    f"if p_{value} else {value}._array",
                    3,
                )
            elif param.kind == "tensor":
                source.add(f"a_{value} = {value}._array", 3)
        source.add(f"except AttributeError:\n    {slow}", 2)
        _add_quick_write(source, op)
    source.add(slow)
    return source.text()


def _add_quick_write(source: Source, op: Op) -> None:
    first = op.params[0].public_name
    checks = [f"a_{first}.dtype is FLOAT32"]
    flags = [f"{first}._requires_grad"]
    apart = []
    for param in op.params[1:]:
        value = param.public_name
        if param.kind == "operand":
            checks.append(f"a_{value} is not None and a_{value}.dtype is FLOAT32")
            flags.append(f"(not p_{value} and {value}._requires_grad)")
            apart.append(f"(p_{value} or {_apart(first, value)})")
        elif param.kind == "tensor":
            checks.append(f"a_{value}.dtype is FLOAT32")
            flags.append(f"{value}._requires_grad")
            apart.append(_apart(first, value))
    checks.append(f"(mode or not ({' or '.join(flags)}))")
    checks.append(f"0 not in a_{first}.strides and {first}._counter is not INFERENCE_COUNTER")
    checks.append(f"{first}._change is None")
    checks += apart
    source.add(f"if {' and '.join(checks)}:\n    try:", 2)
    call = _kernel_call(op)
    # NumPy 2.4's negative is wrong from strides of 16 (64) bytes to the same: it copies then.
    if op.ufunc is not None and op.ufunc is not np.negative:
        arrays = ", ".join(f"a_{each.public_name}" for each in op.params if each.kind != "plain")
        call = call.replace(f"U_{op.name}({arrays})", f"W_{op.name}({arrays}, out=a_{first})")
    source.add(f"r = {call}", 4)
    source.add(f"except (ValueError, TypeError):\n    {_slow_inplace(op)}", 3)
    source.add(f"if r.shape == a_{first}.shape and r.dtype is FLOAT32:", 3)
    source.add(f"if r is not a_{first}:\n    copyto(a_{first}, r)", 4)
    source.add(_COUNT_WRITE.replace("input", first), 4)


def _apart(target: str, other: str) -> str:
    """An expression for: they have no elements in common, or all, as far as counters tell."""
    return f"({target}._counter is not {other}._counter or {target}._counter is None)"


def _slow_inplace(op: Op) -> str:
    return f"return run_inplace(OP_{op.name}, {_argument_tuple(op)})"


def compile_operator(op: Op, variant: str) -> FunctionType:
    """The real function for a lazy one: `variant` is "", "inplace" or `__name__`."""
    NAMESPACE[f"K_{op.name}"] = op.forward
    NAMESPACE[f"U_{op.name}"] = op.quick
    NAMESPACE[f"W_{op.name}"] = op.ufunc  # for results that are written to a given array
    NAMESPACE[f"F_{op.name}"] = op.function
    NAMESPACE[f"R_{op.name}"] = op.returns
    node_class(op)
    if variant == "inplace":
        return define(op.inplace_name, inplace_source(op))
    return define(op.name, wrapper_source(op, variant))


def first_use(label: str, args: tuple[Any, ...] = ()) -> Any:
    """Compile the operator behind a lazy function and put the code into that very function.

    The first call comes through here and not from its caller, so that arrays are refused here.
    """
    name, _, variant = label.partition(":")
    op = registry[name]
    if args and not variant and type(args[0]) is np.ndarray:
        operands.refuse_array(op, args, sys._getframe(2).f_code.co_filename)
    compiled = compile_operator(op, variant)
    lazy = original_of(op.lazy_functions[variant])
    lazy.__code__ = compiled.__code__
    lazy.__defaults__ = compiled.__defaults__
    lazy.__kwdefaults__ = compiled.__kwdefaults__
    return lazy


NAMESPACE.update(
    ABSENT=ABSENT,
    dim_or_axis=dim_or_axis,
    first_use=first_use,
    node_class=node_class,
    ndarray=np.ndarray,
    asarray=np.asarray,
    copyto=np.copyto,
    blank=blank,
    blank_record=functools.partial(object.__new__, ViewRecord),
    Tensor=Tensor,
    local=local,
    getframe=sys._getframe,
    internal=internal,
    user_frame=user_frame,
    requires_grad=requires_grad,
    make_view=make_view,
    memory_of=memory_of,
    make_views=make_views,
    INFERENCE_COUNTER=INFERENCE_COUNTER,
    VersionCounter=VersionCounter,
    PLAIN=Creation.PLAIN,
    NO_GRAD_VIEW=Creation.NO_GRAD,
    MULTIPLE=Creation.MULTIPLE,
    ASK=ASK,
    FLOAT32=np.dtype(np.float32),
    NO_EDGE=nodes.NO_EDGE,
    NUMBERS=operands.NUMBERS,
    SCALARS32=operands.SCALARS32,
    apply_slowly=nodes.apply_slowly,
    apply_slowly_once=nodes.apply_slowly_once,
    partly_function=partly_function,
    bad_arguments=operands.bad_arguments,
    explain=operands.explain,
    no_complex_gradient=operands.no_complex_gradient,
    gradient_edge=gradient_edge,
    run_deprecated=deprecated_overloads.run_deprecated,
    prepare=operands.prepare,
    record=record,
    refuse_array=operands.refuse_array,
    release_packed=nodes.release_packed,
    run_in_mode=writes.run_in_mode,
    run_inplace=writes.run_inplace,
    run_low=operands.run_low,
    run_out=writes.run_out,
    saved_arrays=nodes.saved_arrays,
    set_history=set_history,
    stale=nodes.stale,
    to_low=operands.to_low,
    unrecorded=unrecorded,
    version_counter=version_counter,
    version_of=nodes.version_of,
    without_gradient=without_gradient,
    wrap=wrap,
    **{f"property_{name}": function for name, function in nodes.PROPERTIES.items()},
)
