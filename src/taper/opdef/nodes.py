"""Nodes of the operator table, in plain unspecialised Python.

Owns: the base classes of generated node classes, their `_saved_*` attributes, and the formulas of a
node applied through their names.

Applying has two ways.  `backward` generates text in three variants: on arrays for all edges of a
node and for some, and on Tensors (`create_graph=True`).  `apply_slowly` takes everything else:
values that were packed, a varying number of edges, passes that somebody sees.  Tests hold the two
equal; the text is there because by name the backward of a small `mul` takes 11 us, and not 0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from taper.arrays.elements import FLOAT32
from taper.arrays.foreign import ForeignArray
from taper.arrays.strides import row_major
from taper.autograd.builtin import BuiltinNode
from taper.autograd.fitting import expected_at
from taper.autograd.interception import are_formulas_seen, seen_made, seen_node
from taper.autograd.meta import VersionCounter
from taper.autograd.node import FREED, PACKED, InputMetadata, Place
from taper.autograd.saved import (
    freed_error,
    general_form,
    handle,
    read_saved,
)
from taper.autograd.state import NO_GRAD, local
from taper.opdef import WITH_NUMBERS, Op
from taper.opdef.operands import FAILURES, NUMBERS, scalar_array
from taper.tensor import Tensor, wrap

# Parameters that are numbers of any type in PyTorch, where others are 64-bit integers.
SCALARS = frozenset(
    "alpha beta correction exponent input_scale lambd lower max max_val min min_val "
    "negative_slope ord other p scale self threshold upper value".split()
)
# Formulas of PyTorch's that do not take the real part of a gradient for a real input (§E18).
COMPLEX_STAYS = frozenset(
    "addr cumprod dist ldexp logaddexp mean_all mean_dim prod_all prod_dim sum_all sum_dim "
    "where_self".split()
)


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

    _apply_partly: ClassVar[Callable[..., Sequence[Any]]]  # `backward` generates them
    _apply_tensors: ClassVar[Callable[..., Sequence[Any]]]

    def _run_tensors(self, grads: list[Any]) -> Sequence[Any]:
        state = local.state
        if state.interceptors and state.mode & NO_GRAD:
            seen: Sequence[Any] | None = seen_node(self, grads)
            if seen is not None:
                return seen
        return type(self)._apply_tensors(self, grads)

    def _run_partly(self, grads: list[Any], needs: Sequence[bool], tensors: bool) -> Sequence[Any]:
        run = type(self)._apply_tensors if tensors else type(self)._apply_partly
        return run(self, grads, needs)

    def _output_counter(self, nr: int) -> VersionCounter:
        name = self.op.outputs[nr] if nr < len(self.op.outputs) else None
        if name not in self.saved_output_names:
            return VersionCounter()
        counter = getattr(self, f"counter_{name}")
        if counter is None:
            counter = VersionCounter()
            setattr(self, f"counter_{name}", counter)
        return counter

    def _saves_output(self, nr: int) -> bool:
        return nr < len(self.op.outputs) and self.op.outputs[nr] in self.saved_output_names

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

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        known = super()._input_metadata
        without = self.op.nondifferentiable
        return tuple([each for nr, each in enumerate(known) if nr not in without])


# What makes of a formula one that runs where its arrays are: `devices`, once a GPU is in use.
ways: list[Callable[[Any], Any]] = []


def call_formula(formula: Any, arguments: list[Any]) -> Any:
    """Run a formula."""
    function = formula.function
    for way in ways:
        function = way(function)
    return function(*arguments)


def apply_slowly(
    node: Any,
    grads: list[Any],
    tensors: bool,
    needs: Sequence[bool] | None = None,
    call: Callable[[Any, list[Any]], Any] = call_formula,
) -> Sequence[Any]:
    """The formulas of a node on arrays or Tensors, by name; `backward.apply_source` unrolls it.

    `needs` says which edges are of interest, if not all are; saved values are unpacked all the
    same, as in PyTorch. `call` runs a formula.
    """
    op: Op = node.op
    if node._status == FREED:
        raise freed_error(node)
    edges = node._edges
    recorded = [each is not None for each in edges]
    observed = node._extra is not None and bool(node._extra.post_hooks)
    flags = recorded if needs is None else list(needs)
    spans, position = {}, 0
    params = [param for param in op.params if op.formula_for(param.name) is not None]
    fixed = len([param for param in params if param.kind != "tensors"])
    for param in params:
        length = len(edges) - fixed if param.kind == "tensors" else 1
        span = spans[param.name] = slice(position, position + length)
        position += length
        if length > 1 and any(flags[span]):  # a list is needed as a whole, as in PyTorch
            # and a hook sees the gradients of all, also of those that nobody wants
            flags[span] = [True] * length if observed else recorded[span]
    found: list[Any] = [None] * len(edges)
    read: dict[str, Any] = {}  # a saved value is unpacked once, however many formulas name it
    if node._status == PACKED:  # all of them, in the order of packing
        for name in (*sorted(node.saved_tensor_names), *node.saved_output_names):
            read[name] = read_saved(node, name)
            if tensors and name in node.saved_output_names:
                read[name] = _shown_output(node, op.outputs.index(name), read[name])
    formulas = op.formulas
    if tensors and are_formulas_seen(local.state):  # who sees them, sees PyTorch's order: by name
        formulas = sorted(formulas, key=lambda formula: formula.wrt[0])
    for formula in formulas:
        wanted = [any(each is not None for each in edges[spans[name]]) for name in formula.wrt]
        if not any(wanted):
            continue
        arguments = [
            _argument(node, source, formula, grads, tensors, read) for source in formula.sources
        ]
        if not any(any(flags[spans[name]]) for name in formula.wrt):
            continue
        for index, source in enumerate(formula.sources):
            if source[0] == "needs":
                arguments[index] = tuple(
                    _needs(flags[spans[name]], kind)
                    for name, kind in ((n, _kind(op, n)) for n in formula.wrt)
                )
        try:
            results = call(formula, arguments)
        except MISREAD as error:
            places = [nr for name in formula.wrt for nr in range(len(edges))[spans[name]]]
            found[:] = _placed(found, places, rescued_gradients(node, grads, error, places))
            continue
        if len(formula.wrt) == 1:
            results = (results,)
        for name, result in zip(formula.wrt, results, strict=True):
            if _kind(op, name) == "tensors":
                found[spans[name]] = list(result)
            else:
                found[spans[name]] = [result]
    return [grad if need else None for need, grad in zip(flags, found, strict=True)]


# What a formula may raise that takes a foreign array for an ndarray or a Tensor.
MISREAD = FAILURES


def rescued_gradients(
    node: Any, grads: Sequence[Any], error: Exception, positions: Sequence[int]
) -> list[Any]:
    """Return what the edges at `positions` take, where the place of the gradients knows it."""
    foreign = next((each for each in grads if isinstance(each, ForeignArray)), None)
    if foreign is None:
        raise error
    expected = [expected_at(node, position) for position in positions]
    return [each and foreign.place.rescued_gradient(*each, error) for each in expected]


def _placed(found: list[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    given = dict(zip(places, values, strict=True))
    return [given.get(nr, each) for nr, each in enumerate(found)]


def apply_slowly_once(node: Any, grads: list[Any], place: Place | None) -> Sequence[Any]:
    """The formulas on arrays, by name; with a `place`, for the last time (see `_release`)."""
    results = apply_slowly(node, grads, False)
    if place is not None and node._saves:
        node._release(place)
    return results


def _kind(op: Op, name: str) -> str:
    return next(param.kind for param in op.params if param.name == name)


def _needs(flags: Sequence[bool], kind: str) -> Any:
    return tuple(flags) if kind == "tensors" else flags[0]


def _argument(
    node: Any,
    source: tuple[str, Any, str],
    formula: Any,
    grads: list[Any],
    tensors: bool,
    read: dict[str, Any],
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
            return _all_filled(node, grads, tensors)
        if grads[name] is None and not formula.accepts_none:
            return _filled(node, name, None, tensors)
        return grads[name]
    label = node.op.outputs[name] if kind == "output" else name
    if label not in read:
        read[label] = read_saved(node, label)
        if tensors and kind == "output":
            read[label] = _shown_output(node, name, read[label])
    value = read[label]
    if tensors or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(each._array if isinstance(each, Tensor) else each for each in value)
    if isinstance(value, Tensor):
        return value._array
    is_exact = node.op.upcast == WITH_NUMBERS and node._dtype.itemsize == 2
    return scalar_array(value, FLOAT32) if is_exact else value


def _shown_output(node: Any, nr: int, value: Any) -> Any:
    """Show the reading of a saved output, which PyTorch detaches from its node, to who sees it."""
    state = local.state
    if not state.interceptors or not state.mode & NO_GRAD or nr in node.op.nondifferentiable:
        return value
    return seen_made("detach", (value,), {}, value) if are_formulas_seen(state) else value


def _all_filled(node: Any, grads: list[Any], tensors: bool) -> list[Any]:
    """The gradients of many outputs; arrays of zeros are shared by outputs of one form."""
    if tensors:
        return [_filled(node, nr, grad, tensors) for nr, grad in enumerate(grads)]
    zeros: dict[Any, np.ndarray] = {}
    found = []
    for nr, grad in enumerate(grads):
        if grad is None:
            form = node._output_metadata(nr)
            grad = zeros.get(form)
            if grad is None:
                grad = zeros[form] = np.zeros(*form)
        found.append(grad)
    return found


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
    optional = {param.name for param in op.params if param.kind == "optional"}
    for formula in op.formulas:
        for kind, name, what in formula.sources:
            if (name in op.saved_sizes and what == "shape") or name in lists:
                continue
            if kind == "property" and what in public:
                ending = "_opt" if what == "shape" and name in optional else ""
                members[f"_saved_{name}_{public[what]}{ending}"] = stored(f"kept_{name}_{what}")
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
            return row_major(shape)
        return tuple(step // node._dtype.itemsize for step in getattr(node, f"kept_{name}_strides"))

    return property(strides)


def unsigned(value: Any) -> Any:
    """A saved integer as PyTorch shows it: -1 as 2**64 - 1."""
    if value.__class__ is int:
        return value if value >= 0 else value + 2**64
    if isinstance(value, (tuple, list)):
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


def saved_arrays(node: Any, name: str) -> tuple[Any, ...]:
    """A saved sequence of tensors and Nones as arrays, version-checked."""
    return tuple([None if each is None else each._array for each in read_saved(node, name)])
