"""The compiler of the operator table: source text for the wrapper of an operator.

Owns: the specialised fast paths.  Everything a wrapper does is spelled out for its operator (no
loops over arguments, no look-ups by name), because a generic wrapper is two to three times slower
(D3).  `recording` writes the part that records.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

import numpy as np

from taper.arrays.layouts import writing
from taper.arrays.reduction import ABSENT
from taper.autograd.conjugate import memory_of
from taper.autograd.cuts import unrecorded, without_gradient
from taper.autograd.detours import original_of
from taper.autograd.meta import (
    ASK,
    INFERENCE_COUNTER,
)
from taper.autograd.new_views import new_view, new_views
from taper.autograd.provenance import internal, user_frame
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.autograd.views import (
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
    devices,
    nodes,
    operands,
    recording,
    registry,
    writes,
)
from taper.opdef.backward import node_class
from taper.opdef.numpy_names import dim_or_axis, names_of, needed_from_dim, renaming
from taper.opdef.recording import add_recording, add_recording_of_one
from taper.opdef.text import (
    SEQUENCES,
    Source,
    define,
    is_binary,
    keeps_single,
    result_expression,
    saved_properties,
)
from taper.tensor import Tensor, fresh, wrap

_LITERALS = (type(None), bool, int, str)


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
    _add_numbers(source, op, op.label)
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
            f"    frame = getframe(1)\n"
            f"    if array_files.get(frame.f_code.co_filename) is not True:\n"
            f"        refuse_array(OP_{name}, {everything}, frame)\n"
            f"    return {on_arrays}"
        )
    source.add("state = local.state\nmode = state.mode")
    one = not (op.view or op.many_outputs or len(op.outputs) > 1)
    plainly = NO_GRAD | INFERENCE if one else NO_GRAD  # modes beyond these take the long way
    source.add(f"if mode > {plainly}:\n    return run_in_mode(OP_{name}, state, {everything})")
    _add_unpacking(source, op, everything, dunder)
    _add_kernel(source, op, everything)
    if one:
        source.add(
            "if type(r) is not ndarray:\n"
            f"    r = asarray(r) if type(r) in SCALARS else finished(OP_{name}, r, {everything})"
        )
        if op.differentiable:
            add_recording_of_one(source, op)
        else:
            source.add(f"flag = {_flag_without_gradient(op)}")
        source.add("t = fresh(r, flag)")
        source.add(f"if mode > {NO_GRAD}:\n    t._counter = INFERENCE_COUNTER")
    else:
        _add_result(source, op)
        if op.differentiable:
            add_recording(source, op)
    source.add(f"return {result_expression(op)}")
    return source.text()


# Plain parameters for which PyTorch takes a number, or a tensor without dimensions.
_NUMBERS = frozenset(
    "alpha beta delta input_scale lambd lower margin max_val maxnorm min_val nan negative_slope "
    "neginf ord p posinf scale threshold upper value".split()
)


def _add_numbers(source: Source, op: Op, label: str) -> None:
    """Numbers out of tensors; what is left out, and a Python number, costs one question."""
    for position, param in enumerate(op.params, 1):
        value = param.public_name
        if param.kind != "plain" or param.name not in _NUMBERS:
            continue
        left_out = ""
        if param.default is not REQUIRED:
            NAMESPACE[f"D_{op.name}_{param.name}"] = param.default
            left_out = f"{value} is not D_{op.name}_{param.name} and "
        place = 0 if param.keyword_only else position
        source.add(
            f"if {left_out}type({value}) not in NUMBERS:\n"
            f"    {value} = number_of({label!r}, {value!r}, {place}, {value})"
        )


def _add_deprecated(source: Source, op: Op, options: str) -> None:
    names = ", ".join(each.public_name for each in op.params if not each.keyword_only)
    source.add(f"if more:\n    return run_deprecated(OP_{op.name}, ({names}, *more), {options})")


def _add_unpacking(source: Source, op: Op, everything: str, dunder: str) -> None:
    """Arrays out of Tensors, with PyTorch's promotion of dtypes."""
    failure = f"OP_{op.name}, {everything}, {dunder!r}"
    if is_binary(op):
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


def _add_binary_unpacking(source: Source, op: Op, everything: str, failure: str) -> None:
    """As `_add_unpacking` and `_add_needs`: one question for a number, not four (30 ns)."""
    first, second = [param.public_name for param in op.params if param.kind != "plain"]
    low = ", low" if op.upcast else ""
    slow = f"a_{first}, a_{second}{low} = prepare(OP_{op.name}, (a_{first}, a_{second}))"
    if op.upcast:
        source.add("low = None")
    usual = ""
    if keeps_single(op):
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
        f"except FAILURES as error:\n"
        f"    r = rescued(OP_{op.name}, ({arrays}), error, {everything})"
    )
    if op.upcast:
        source.add("if low is not None:\n    r = to_low(r, low)")


def _add_result(source: Source, op: Op) -> None:
    if op.view:
        first = op.params[0].public_name
        rest = "".join(f", {param.public_name}" for param in op.params[1:])
        made, several = ("ts", "s") if op.many_outputs else ("t", "")
        source.add(
            f"frame = getframe(1)\n"
            f"{made} = new_view{several}({first}, r, state, frame, F_{op.name}{rest})\n"
            # Without a history, also if the tensor requires a gradient.
            f"if mode or {first}._counter is INFERENCE_COUNTER:\n"
            f"    return {made}"
        )
    else:
        source.add("ts = tuple([wrap(each) for each in r])")


def _flag_without_gradient(op: Op) -> str:
    first = op.params[0]
    if first.kind != "tensor":
        return "False"
    value = first.public_name
    label = (op.label or op.name).lstrip("_")
    return f"without_gradient({label!r}, {value}) if {value}._requires_grad and not mode else False"


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
    _add_numbers(source, op, op.inplace_name)
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
        call = call.replace(f"U_{op.name}({arrays})", f"W_{op.name}({arrays}, a_{first})")
    source.add(f"r = {call}", 4)
    refused = "(ValueError, TypeError, NotImplementedError)"  # the slow way says what comes first
    source.add(f"except {refused}:\n    {_slow_inplace(op)}", 3)
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
    devices.prepare(op)
    NAMESPACE[f"K_{op.name}"] = op.forward
    NAMESPACE[f"U_{op.name}"] = op.quick
    NAMESPACE[f"W_{op.name}"] = op.ufunc and writing(op.ufunc)
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
    if args and variant[:1] in ("", ".") and type(args[0]) is np.ndarray:
        operands.refuse_array(op, args, sys._getframe(2))
    lazy = original_of(op.lazy_functions[variant])
    base, is_method, _ = variant.partition(".")
    compiled = original_of(op.lazy_functions[base])
    if not is_method or "first_use" in compiled.__code__.co_names:
        compiled = compile_operator(op, base)
    lazy.__code__ = compiled.__code__
    lazy.__defaults__ = compiled.__defaults__
    lazy.__kwdefaults__ = compiled.__kwdefaults__
    return lazy


NAMESPACE.update(
    ABSENT=ABSENT,
    dim_or_axis=dim_or_axis,
    first_use=first_use,
    ndarray=np.ndarray,
    asarray=np.asarray,
    SCALARS=frozenset(np.sctypeDict.values()),
    copyto=np.copyto,
    fresh=fresh,
    Tensor=Tensor,
    local=local,
    getframe=sys._getframe,
    internal=internal,
    array_files=operands.array_files,
    user_frame=user_frame,
    requires_grad=requires_grad,
    new_view=new_view,
    new_views=new_views,
    memory_of=memory_of,
    INFERENCE_COUNTER=INFERENCE_COUNTER,
    ASK=ASK,
    FLOAT32=np.dtype(np.float32),
    NUMBERS=operands.NUMBERS,
    SCALARS32=operands.SCALARS32,
    apply_slowly=nodes.apply_slowly,
    read_saved=nodes.read_saved,
    scalar_array=operands.scalar_array,
    apply_slowly_once=nodes.apply_slowly_once,
    MISREAD=nodes.MISREAD,
    rescued_gradients=nodes.rescued_gradients,
    bad_arguments=operands.bad_arguments,
    explain=operands.explain,
    FAILURES=operands.FAILURES,
    finished=operands.finished,
    rescued=operands.rescued,
    number_of=operands.number_of,
    no_complex_gradient=operands.no_complex_gradient,
    run_deprecated=deprecated_overloads.run_deprecated,
    prepare=operands.prepare,
    complete=recording.complete,
    record=recording.record,
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
    version_of=recording.version_of,
    without_gradient=without_gradient,
    wrap=wrap,
    **{f"property_{name}": function for name, function in recording.PROPERTIES.items()},
)
