"""Forward mode: how the tangents of a call's outputs follow from those of its arguments.

Owns: the ways in which an operator declares its rule (LINEAR, MULTILINEAR, POINTWISE, a function).
`duals` keeps tangents, and those of views and bases in step.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from taper.autograd.duals import (
    inherit,
    laid_out,
    overwrite,
    primal_of,
    set_tangent,
    tangent,
)
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import DUAL, INTERCEPT, NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.dtypes import promote_types
from taper.opdef import LINEAR, MULTILINEAR, POINTWISE, TENSOR_KINDS, Op
from taper.tensor import Tensor, geometry

__all__ = [
    "carry_over",
    "propagate",
    "refuse",
    "refuse_out",
    "set_tangent",
    "tangent",
    "tangent_for",
    "write_tangent",
]


def outside_of_level(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run as the `vmap`s outside the level see it: tangents may be batched, their tensors not."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        state = local.state
        vmaps = state.dual_vmaps
        if not vmaps:
            return function(*args)
        before, transforms, bit = state.interceptors, state.transforms, state.mode & INTERCEPT
        state.interceptors = state.transforms = vmaps
        state.mode |= INTERCEPT
        try:
            return function(*args)
        finally:
            state.interceptors, state.transforms = before, transforms
            state.mode = state.mode & ~INTERCEPT | bit

    return run


@outside_of_level
def propagate(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor]) -> None:
    """Give the outputs of a call the tangents that follow from those of its arguments."""
    if _is_unseen(op, arguments):
        return
    if op.view:
        inherit(arguments[0], outputs)
    tangents = tangent_for(op, arguments, outputs)
    if tangents is None:
        return
    several = tangents if isinstance(tangents, (tuple, list)) else (tangents,)
    own = _has_own_dtype(arguments)
    for output, found in zip(outputs, several, strict=False):
        if found is not None and _can_have_one(output):
            if own and (dtype := _common_dtype(op, arguments, found, output)) != found.dtype:
                found = found.to(dtype)
            set_tangent(output, laid_out(_fitted(found, output, own), output))


# Operators that PyTorch gives a number as a tensor, which autograd sees.
_WITH_NUMBERS = frozenset("add copysign div fmod mul remainder rsub sub xlogy".split())
# Operators that PyTorch computes by copying into new tensors, which autograd sees.
_COPIES = frozenset(("_to_copy", "clone", "constant_pad_nd", "sort"))


def _is_unseen(op: Op, arguments: tuple[Any, ...]) -> bool:
    """Return whether autograd does not see a call: one of inference tensors alone.

    Transforms of `func` wrap them, and see the call.
    """
    if local.state.transforms or op.label in _COPIES:
        return False
    values = [each for each in _flat(arguments) if isinstance(each, Tensor)]
    return all(each._counter is INFERENCE_COUNTER for each in values) and not (
        op.label in _WITH_NUMBERS and len(values) == 1
    )


def _has_own_dtype(arguments: tuple[Any, ...]) -> bool:
    """Return whether a tangent has another dtype than its tensor, which results then keep."""
    for value in arguments:
        for each in value if isinstance(value, (tuple, list)) else (value,):
            found = tangent(each) if isinstance(each, Tensor) else None
            if found is not None and found._array.dtype != each._array.dtype:
                return True
    return False


def _common_dtype(op: Op, arguments: tuple[Any, ...], found: Tensor, output: Tensor) -> Any:
    """Return the dtype of a tangent where one was given that has not the dtype of its tensor.

    Zeros of its dtype stand for the tangent of an operand that has none.  An element-wise formula
    in complex numbers gives a conjugate view, which is copied into memory like the output's.
    """
    if op.tangent == LINEAR:
        return found.dtype
    pairs = zip(op.params, arguments, strict=True)
    operands = [value for param, value in pairs if op.formula_for(param.name) is not None]
    if len(operands) > 1:
        constant = any(tangent(each) is None for each in _flat(operands))
        return promote_types(found.dtype, output.dtype) if constant else found.dtype
    copied = op.tangent == POINTWISE and found.dtype.is_complex
    return output.dtype if copied else found.dtype


def _can_have_one(tensor: Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _fitted(found: Tensor, output: Tensor, own_dtype: bool = False) -> Tensor:
    """Return a tangent with the shape and dtype of its tensor, or with a dtype of its own."""
    if found._array.shape != output._array.shape:
        found = found.expand(output._array.shape).clone()
    if not own_dtype and found._array.dtype != output._array.dtype:
        found = found.to(output.dtype)
    return found


@outside_of_level
def write_tangent(target: Tensor, found: Tensor | None) -> None:
    """Make `found`, or zero for None, the tangent of a tensor that was written in place."""
    if _can_have_one(target):
        own = _has_own_dtype((target,))
        overwrite(target, None if found is None else _fitted(found, target, own))


def before_write(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of a write for a recorded tangent: with the target as it is now."""
    if local.state.mode & NO_GRAD:
        return arguments
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    found = [each for each in map(tangent, tensors) if each is not None]
    if not any(requires_grad(each) for each in (*tensors, *found)):
        return arguments
    target = arguments[0]
    kept = target.clone()
    return tuple(kept if each is target else each for each in arguments)


@outside_of_level
def carry_over(source: Tensor, copy: Tensor) -> None:
    """Give a copy that was made without propagating tangents a copy of the tangent."""
    found = tangent(source)
    if found is not None:
        set_tangent(copy, laid_out(found.clone(), copy))


def _any_has_one(arguments: Sequence[Any]) -> bool:
    return any(tangent(each) is not None for each in _flat(arguments))


def _flat(arguments: Sequence[Any]) -> Iterator[Any]:
    for value in arguments:
        yield from value if isinstance(value, (list, tuple)) else (value,)


@outside_of_level
def refuse(op: Op, arguments: tuple[Any, ...], name: str) -> None:
    """Raise if an argument has a tangent that the operator cannot propagate, before it computes."""
    missing = op.left_to_fallback or (op.tangent is None and op.differentiable)
    if (missing or name in _OUT_OF_PLACE_ONLY) and _any_has_one(arguments):
        head, tail = (f"aten::{name}", "") if op.left_to_fallback else (name, _NOT_YET)
        raise NotImplementedError(
            f"Trying to use forward AD with {head} that does not support it{tail}."
        )


_NOT_YET = " because it has not been implemented yet"
_OUT_OF_PLACE_ONLY = frozenset(("asinh_", "atanh_"))


@outside_of_level
def tangent_for(op: Op, arguments: tuple[Any, ...], outputs: Sequence[Tensor] | None = None) -> Any:
    """Return the tangents of a call's outputs; None if no argument has one."""
    if op.tangent is None or not _any_has_one(arguments):
        return None
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
    primals = _primals(arguments)
    if op.tangent == MULTILINEAR:
        terms = []
        for position, param in enumerate(op.params):
            found = tangent(arguments[position]) if param.kind in TENSOR_KINDS else None
            if found is not None:
                replaced = (*primals[:position], found, *primals[position + 1 :])
                terms.append(op.call(op.function, replaced))
        return _total(terms)
    if outputs is None:
        outputs = _outputs(op, primals)
    if op.tangent == POINTWISE:
        return _pointwise(op, arguments, primals, outputs)
    return _by_rule(op, arguments, primals, outputs)


def _primals(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments without tangents, for a recorded computation that outlives this one."""
    if local.state.mode & NO_GRAD:
        return arguments
    return tuple(
        [_primal(each) for each in value] if isinstance(value, (list, tuple)) else _primal(value)
        for value in arguments
    )


def _primal(value: Any) -> Any:
    return value if tangent(value) is None else primal_of(value)


def _outputs(op: Op, arguments: tuple[Any, ...]) -> Sequence[Tensor]:
    result = op.call(op.function, arguments)
    return result if isinstance(result, (tuple, list)) else (result,)


def _linear_arguments(op: Op, arguments: tuple[Any, ...]) -> list[Any]:
    """Put tangents in place of the tensors, zero where there is none."""
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
    return value.detach().new_zeros(value._array.shape) if found is None else found


def _pointwise(
    op: Op, arguments: tuple[Any, ...], primals: tuple[Any, ...], outputs: Sequence[Tensor]
) -> Any:
    """Run the backward formulas with grad := tangent, conjugated on both sides if complex."""
    terms = []
    values = _named(op, primals, outputs)
    for param, value in zip(op.params, arguments, strict=True):
        found = tangent(value) if param.kind in TENSOR_KINDS else None
        formula = op.formula_for(param.name)
        if found is None or formula is None:
            continue
        given: list[Any] = []
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
    total = _total(terms)
    if len(terms) == 1 and total.dtype.is_complex and (total.is_conj() or requires_grad(total)):
        return _copied(total)
    return total


def _copied(found: Tensor) -> Tensor:
    """Return a tangent in memory like its tensor's: no conjugate view, but a recorded copy."""
    return found.new_empty_strided(found._array.shape, found.stride()).copy_(found)


def _by_rule(
    op: Op, arguments: tuple[Any, ...], primals: tuple[Any, ...], outputs: Sequence[Tensor]
) -> Any:
    """Run the rule written for the operator: it names `<tensor>_t`, parameters and results."""
    values = _named(op, primals, outputs)
    duals = _named(op, arguments, outputs)
    given = []
    for name in inspect.signature(op.tangent).parameters:
        if name.endswith("_t") and name[:-2] in values:
            value = duals[name[:-2]]
            several = isinstance(value, (list, tuple))
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
    """Raise if an `out=` function is given a dual (§D7)."""
    if any(tangent(each) is not None for each in involved):
        raise NotImplementedError(
            f"Trying to use forward AD with {label}_out that does not support it because it is an "
            "out= function"
        )
