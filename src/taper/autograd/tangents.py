"""Forward-mode AD: tangents that travel with tensors while a dual level is open.

Owns: how a tangent follows from an operator's declaration.  A tangent hangs on the tensor
(`_meta.tangent`), not on the level, so it dies with the tensor (D10).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from taper.autograd.state import DUAL, NO_GRAD, local
from taper.autograd.views import can_stride, meta_of, replay
from taper.opdef import LINEAR, MULTILINEAR, POINTWISE, TENSOR_KINDS, Op
from taper.tensor import Tensor, element_strides, geometry, storage_offset


def tangent(tensor: Any) -> Tensor | None:
    """The tangent of a tensor, None if it has none; a view finds it in that of its base."""
    if not isinstance(tensor, Tensor):
        return None
    meta = tensor._meta
    if meta is not None and meta.tangent is not None:
        if meta.tangent_generation == local.state.dual_generation:
            return meta.tangent
        meta.tangent = None  # the level it belonged to is closed
    if tensor._view is None or not can_stride(tensor, tensor._view.base):
        return None
    whole = tangent(tensor._view.base)
    return None if whole is None else _part(whole, tensor)


def _part(whole: Tensor, view: Tensor) -> Tensor:
    """The view's tangent as the same view of its base's tangent."""
    record = view._view
    state = local.state
    mode = state.mode
    state.mode = NO_GRAD
    try:
        if element_strides(whole._array) == element_strides(record.base._array):
            offset = storage_offset(view._array) - storage_offset(record.base._array)
            start = storage_offset(whole._array) + offset
            found = whole.as_strided(view._array.shape, element_strides(view._array), start)
        else:
            found = replay(record, whole)
    finally:
        state.mode = mode
    set_tangent(view, found)
    return found


def set_tangent(tensor: Tensor, found: Tensor) -> None:
    """Let `tensor` carry a tangent until the level closes."""
    meta = meta_of(tensor)
    meta.tangent = found
    meta.tangent_generation = local.state.dual_generation


def propagate(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> None:
    """Give the outputs of a call the tangents that follow from those of its arguments."""
    tangents = tangent_for(op, arguments, outputs)
    if tangents is None:
        return
    several = tangents if isinstance(tangents, tuple | list) else (tangents,)
    for output, found in zip(outputs, several, strict=False):
        if found is not None and (output.dtype.is_floating_point or output.dtype.is_complex):
            set_tangent(output, _fitted(found, output))


def _fitted(found: Tensor, output: Tensor) -> Tensor:
    if found._array.shape != output._array.shape:
        found = found.expand(output._array.shape).clone()
    if found._array.dtype != output._array.dtype:
        found = found.to(output.dtype)
    return found


def tangent_for(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor] | None = None) -> Any:
    """The tangents of a call's outputs; None if no argument has one."""
    flat = [
        each
        for value in arguments
        for each in (value if isinstance(value, list | tuple) else [value])
    ]
    if all(tangent(each) is None for each in flat):
        return None
    if op.tangent is None:
        if not op.differentiable:
            return None
        raise NotImplementedError(
            f"Trying to use forward AD with {op.name} that does not support it because it has not "
            "been implemented yet."
        )
    state = local.state
    mode = state.mode
    state.mode = mode & ~DUAL
    try:
        return _by_kind(op, arguments, outputs)
    finally:
        state.mode = mode


def _by_kind(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor] | None) -> Any:
    if op.tangent == LINEAR:
        return op.call(op.function, _linear_arguments(op, arguments))
    if op.tangent == MULTILINEAR:
        terms = []
        for position, param in enumerate(op.params):
            found = tangent(arguments[position]) if param.kind in TENSOR_KINDS else None
            if found is not None:
                replaced = (*arguments[:position], found, *arguments[position + 1 :])
                terms.append(op.call(op.function, replaced))
        return _total(terms)
    if outputs is None:
        outputs = _outputs(op, arguments)
    if op.tangent == POINTWISE:
        return _pointwise(op, arguments, outputs)
    return _by_rule(op, arguments, outputs)


def _outputs(op: Op, arguments: tuple[Any, ...]) -> Sequence[Tensor]:
    result = op.call(op.function, arguments)
    return result if isinstance(result, tuple | list) else (result,)


def _linear_arguments(op: Op, arguments: tuple[Any, ...]) -> list[Any]:
    """Tangents in the place of tensors, zero where there is none."""
    replaced = []
    for param, value in zip(op.params, arguments, strict=True):
        if param.kind not in TENSOR_KINDS or op.formula_for(param.name) is None or value is None:
            replaced.append(value)
        elif param.kind == "tensors":
            replaced.append([_or_zero(each) for each in value])
        else:
            replaced.append(_or_zero(value) if isinstance(value, Tensor) else 0)
    return replaced


def _or_zero(value: Tensor) -> Tensor:
    found = tangent(value)
    return found if found is not None else value.detach().new_zeros(value._array.shape)


def _pointwise(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> Any:
    """The backward formulas with grad := tangent; conjugated around for complex tensors."""
    terms = []
    values = _named(op, arguments, outputs)
    for param, value in zip(op.params, arguments, strict=True):
        found = tangent(value) if param.kind in TENSOR_KINDS else None
        formula = op.formula_for(param.name)
        if found is None or formula is None:
            continue
        given = []
        for kind, name, what in formula.sources:
            if kind == "grad":
                given.append(found.conj() if found.dtype.is_complex else found)
            elif kind == "needs":
                given.append(tuple(each == param.name for each in formula.wrt))
            elif kind == "output":
                given.append(outputs[name])
            elif kind == "property":
                given.append(_property(values[name], what))
            else:
                given.append(values[name])
        result = formula.function(*given)
        if len(formula.wrt) > 1:
            result = result[formula.wrt.index(param.name)]
        terms.append(result.conj() if result.dtype.is_complex else result)
    return _total(terms)


def _by_rule(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> Any:
    """A rule written for the operator: it names `<tensor>_t`, parameters and results."""
    values = _named(op, arguments, outputs)
    given = []
    for name in inspect.signature(op.tangent).parameters:
        if name.endswith("_t") and name[:-2] in values:
            value = values[name[:-2]]
            several = isinstance(value, list | tuple)
            given.append([tangent(each) for each in value] if several else tangent(value))
        elif name.rpartition("_")[0] in values and name not in values:
            head, _, what = name.rpartition("_")
            given.append(_property(values[head], what))
        else:
            given.append(values[name])
    return op.tangent(*given)


def _named(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> dict[str, Any]:
    values = dict(zip((param.name for param in op.params), arguments, strict=True))
    values.update(zip(op.outputs, outputs, strict=False))
    return values


def _property(value: Tensor, what: str) -> Any:
    if what == "numel":
        return value.numel()
    if what == "geometry":
        return geometry(value._array)
    return getattr(value._array, what)


def _total(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def refuse_out(label: str | None, involved: Sequence[Any]) -> None:
    """Raise if an `out=` function is given a dual (D7)."""
    if any(tangent(each) is not None for each in involved):
        raise NotImplementedError(
            f"Trying to use forward AD with {label}_out that does not support it because it is an "
            "out= function"
        )


def write_tangent(target: Tensor, found: Any) -> None:
    """After a write in place: the target's tangent becomes `found`, in place where it has one."""
    current = tangent(target)
    if found is None:
        if current is not None:
            current.zero_()
        return
    found = _fitted(found, target)
    if current is None and target._view is not None and can_stride(target, target._view.base):
        # The other views of the base are to see it too.
        base = target._view.base
        zeros = base.detach().new_empty_strided(base._array.shape, element_strides(base._array))
        set_tangent(base, zeros.zero_())
        current = tangent(target)
    if current is None:
        set_tangent(target, found)
    elif found is not current:
        current.copy_(found)
