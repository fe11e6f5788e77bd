"""The compiler of the operator table, second half: source text for the nodes of operators.

Owns: what a node keeps, and the specialised text that runs its formulas and drops what was kept.
`compiler` has the other half, the wrappers that fill a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.opdef import NAMESPACE, WITH_NUMBERS, Formula, Op, devices, nodes
from taper.opdef.text import (
    NUMBER_VERSION,
    SEQUENCES,
    Source,
    define,
    differentiable_params,
    has_edge,
    saved_names,
    saved_outputs,
    saved_plain,
    saved_properties,
)

# The ways to run a node: all its edges on arrays, some of them, all or some on Tensors.  For each
# the last argument, the test for what only `apply_slowly` knows, and how that is called.
WHOLE, PARTLY, TENSORS = "", "_partly", "_tensors"
_HEADS = {
    WHOLE: ("place=None", "node._status", "apply_slowly_once(node, grads, place)"),
    PARTLY: ("needs", "node._status", "apply_slowly(node, grads, False, needs)"),
    TENSORS: (
        "needs=None",
        "node._status or local.state.interceptors",
        "apply_slowly(node, grads, True, needs)",
    ),
}


def apply_source(op: Op, way: str = WHOLE) -> str:
    """The text of `apply`: the formulas on arrays or Tensors, for the gradients that are wanted.

    With a `place` the saved values are dropped as well, which is quicker than in a second call.
    The other ways keep them; `needs` says which edges a pass is for.
    """
    source = Source()
    last, rare, slow = _HEADS[way]
    source.add(f"def apply_{op.name}{way}(node, grads, {last}):", 0)
    params = [p for p in differentiable_params(op) if has_edge(op, p)]
    if any(param.kind == "tensors" for param in params) or op.many_outputs:
        # The number of edges or gradients varies: not worth specialising.
        source.add(f"return {slow}")
        return source.text()
    source.add(f"if {rare}:\n    return {slow}")
    source.add("edges = node._edges")
    position = {param.name: index for index, param in enumerate(params)}
    if way == TENSORS:
        flags = "".join(f"edges[{index}] is not None, " for index in position.values())
        source.add(f"if needs is None:\n    needs = ({flags})")
    for name in position:
        source.add(f"g_{name} = None")
    for index, formula in enumerate(op.formulas):
        _add_formula(source, op, index, formula, position, way)
    if way != WHOLE:
        each = [f"g_{name} if needs[{index}] else None" for name, index in position.items()]
        source.add(f"return ({', '.join(each)},)")
        return source.text()
    if saved_names(op) or saved_outputs(op):
        source.add("if place is not None:")
        source.add(_release_text(op), 2)
    # A formula for several gradients may give more than are wanted, which a hook would see.
    together = {name for formula in op.formulas if len(formula.wrt) > 1 for name in formula.wrt}
    each = [
        f"g_{name} if edges[{index}] is not None else None" if name in together else f"g_{name}"
        for name, index in position.items()
    ]
    source.add(f"return ({', '.join(each)},)")
    return source.text()


def _add_formula(
    source: Source, op: Op, index: int, formula: Formula, position: dict[str, int], way: str
) -> None:
    """Add the call of a formula, behind the look whether an edge is there and wanted."""
    condition = " or ".join(f"edges[{position[name]}] is not None" for name in formula.wrt)
    source.add(f"if {condition}:")
    arguments = ", ".join(_formula_arguments(source, op, formula, position, way))
    call = f"formula_{op.name}_{index}({arguments})"
    if formula.real is not None and way != TENSORS:
        NAMESPACE[f"real_{op.name}_{index}"] = devices.formula(formula.real)
        call = f"real_{op.name}_{index}({arguments}) if node._dtype is FLOAT32 else {call}"
    if way != WHOLE:  # saved values are looked at all the same
        wanted = " or ".join(f"needs[{position[name]}]" for name in formula.wrt)
        source.add(f"if {wanted}:", 2)
    targets = ", ".join(f"g_{name}" for name in formula.wrt)
    places = "".join(f"{position[name]}, " for name in formula.wrt)
    source.add(
        f"try:\n"
        f"    {targets} = {call}\n"
        f"except MISREAD as error:\n"
        f"    {targets}{',' * (len(formula.wrt) == 1)} = "
        f"rescued_gradients(node, grads, error, ({places}))",
        2 + (way != WHOLE),
    )


def _on_first_use(op: Op, way: str) -> Any:
    """Return what stands for a rarer way of an operator's node until it is first needed."""

    def first(node: Any, grads: list[Any], needs: Sequence[bool] | None = None) -> Any:
        function = define(f"apply_{op.name}{way}", apply_source(op, way))
        setattr(op.node_class, f"_apply{way}", staticmethod(function))
        return function(node, grads, needs)

    return staticmethod(first)


def release_source(op: Op) -> str:
    """The text of `release`: the saved tensors are dropped, plain values stay readable."""
    source = Source()
    source.add(f"def release_{op.name}(node, place):", 0)
    source.add(_release_text(op))
    return source.text()


def _release_text(op: Op) -> str:
    names = [*saved_names(op), *(op.outputs[nr] for nr in saved_outputs(op))]
    text = (
        "".join(f"node.kept_{name} = None\n" for name in names)
        + "node._status = 1\nnode._freed_at = place\n"
        + "if node._extra is not None:\n    release_packed(node)"
    )
    if all(_saves_something(op, formula) for formula in op.formulas):
        return text
    # A node that was recorded for the other formulas only has nothing to lose: it may run again.
    kept = " or ".join(f"node.kept_{name} is not None" for name in names)
    return f"if {kept} or node._status:\n    " + text.replace("\n", "\n    ")


def _saves_something(op: Op, formula: Formula) -> bool:
    """Whether a gradient always needs a saved tensor."""
    optional = {param.name for param in op.params if param.kind.startswith("optional")}
    return any(
        kind == "output" or (kind == "tensor" and name not in optional)
        for kind, name, _ in formula.sources
    )


def _formula_arguments(
    source: Source, op: Op, formula: Formula, position: dict[str, int], way: str
) -> list[str]:
    arguments = []
    for kind, name, what in formula.sources:
        if kind == "grad":
            arguments.append(_gradient_argument(source, op, formula, name, way))
        elif kind == "needs":
            flag = "edges[{}] is not None, " if way == WHOLE else "needs[{}], "
            needs = "".join(flag.format(position[each]) for each in formula.wrt)
            arguments.append(f"({needs})")
        elif kind == "plain":
            arguments.append(f"node.kept_{name}")
        elif kind == "property":
            arguments.append(f"node.kept_{name}_{what}")
        elif kind == "output":
            arguments.append(_output_argument(source, op.outputs[name], way))
        else:
            arguments.append(_input_argument(source, op, name, way))
    return arguments


def _gradient_argument(source: Source, op: Op, formula: Formula, nr: int, way: str) -> str:
    if formula.accepts_none or (len(op.outputs) == 1 and way != TENSORS):
        return f"grads[{nr}]"
    zeros = f"node.zero_grad({nr})"
    source.add(f"grad_{nr} = grads[{nr}]", 2)
    made = f"wrap({zeros})" if way == TENSORS else zeros
    source.add(f"if grad_{nr} is None:\n    grad_{nr} = {made}", 2)
    return f"grad_{nr}"


def _output_argument(source: Source, output: str, way: str) -> str:
    if way == TENSORS:
        return f"read_saved(node, {output!r})"
    source.add(
        f"counter = node.counter_{output}\n"
        f"if counter is not None and counter.value != node.version_{output}:\n"
        f"    stale(node, {output!r})",
        2,
    )
    return f"node.kept_{output}"


def _input_argument(source: Source, op: Op, name: str, way: str) -> str:
    kind = next(param.kind for param in op.params if param.name == name)
    array = "" if way == TENSORS else "._array"
    if kind == "tensor":
        source.add(
            f"a_{name} = node.kept_{name}\n"
            f"counter = a_{name}._counter\n"
            f"if counter is not None and counter.value != node.version_{name}:\n"
            f"    stale(node, {name!r})",
            2,
        )
        return f"a_{name}{array}"
    if way == TENSORS:
        return f"read_saved(node, {name!r})"
    if kind in SEQUENCES:
        return f"saved_arrays(node, {name!r})"
    source.add(
        f"a_{name} = node.kept_{name}\n"
        f"if node.version_{name} != {NUMBER_VERSION}:\n"
        f"    counter = a_{name}._counter\n"
        f"    if counter is not None and counter.value != node.version_{name}:\n"
        f"        stale(node, {name!r})\n"
        f"    a_{name} = a_{name}._array",
        2,
    )
    if kind == "operand":
        source.add(
            f"elif node._dtype is FLOAT32:\n"
            f"    a_{name} = SCALARS32[type(a_{name})].get(a_{name}, a_{name})",
            2,
        )
        if op.upcast == WITH_NUMBERS:
            source.add(
                f"elif node._dtype.itemsize == 2:\n    a_{name} = scalar_array(a_{name}, FLOAT32)",
                2,
            )
    return f"a_{name}"


def node_class(op: Op) -> Any:
    """The node class of an operator, made once."""
    if op.node_class is None:
        tensors, outputs = saved_names(op), [op.outputs[nr] for nr in saved_outputs(op)]
        plain = saved_plain(op)
        slots = [f"{part}_{name}" for name in tensors + outputs for part in ("kept", "version")]
        slots += [f"counter_{name}" for name in outputs]
        slots += [f"kept_{name}" for name in plain]
        slots += [f"kept_{name}_{what}" for name, what in saved_properties(op)]
        several = len(op.outputs) > 1 or op.many_outputs
        base = nodes.ManyOutputsNode if several else nodes.TableNode
        members: dict[str, Any] = {
            "__slots__": tuple(slots),
            "__module__": "taper.autograd",
            "op": op,
            "saved_tensor_names": tuple(tensors),
            "saved_output_names": tuple(outputs),
            "saved_plain_names": tuple(plain),
            "_saves": bool(tensors or outputs),
            "_without_grad": frozenset(op.nondifferentiable),
            "_unseen_outputs": frozenset(op.nondifferentiable),
            "_takes_real_part": op.name not in nodes.COMPLEX_STAYS,
            "_apply_partly": _on_first_use(op, PARTLY),
            "_apply_tensors": _on_first_use(op, TENSORS),
        }
        members.update(nodes.saved_properties_of(op, tensors, outputs, plain))
        if op.node_name in ("CopyBackwards", "NotImplemented"):
            members["_public_name"] = f"torch::autograd::{op.node_name}"
        op.node_class = type(str(op.node_name), (base,), members)
        NAMESPACE[f"N_{op.name}"] = op.node_class
        NAMESPACE[f"OP_{op.name}"] = op
        for index, formula in enumerate(op.formulas):
            NAMESPACE[f"formula_{op.name}_{index}"] = devices.formula(formula.function)
        if op.differentiable:
            run = define(f"apply_{op.name}", apply_source(op))
            op.node_class._run = op.node_class._run_once = run
        if op.node_class._saves:
            op.node_class._release = define(f"release_{op.name}", release_source(op))
    return op.node_class
