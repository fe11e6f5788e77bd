"""The rules: what each operator of the table does with sparse tensors.

A rule gets the operator and its arguments, Tensors and plain values, and returns a result without
history.  `run_operator`, which operators find on the class, adds the history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.autograd.interception import Call
from taper.autograd.state import NO_GRAD, local
from taper.opdef import Op, registry
from taper.ops.identity import overload_of
from taper.ops.sparse.nodes import recorded
from taper.ops.sparse.parts import is_sparse
from taper.ops.sparse.tensor import SparseTensor, unsupported
from taper.tensor import Tensor, array_or_sparse, wrap

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register what the operators with these names do."""

    def declare(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return declare


def run_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Run an operator, one of whose arguments is sparse."""
    within_formula = any(isinstance(each, np.ndarray) for each in arguments)
    given = tuple([_tensor(each) for each in arguments])
    if within_formula and op.name == "add" and not is_sparse(given[1]):
        given = (given[1], given[0], *given[2:])  # a pass adds gradients in any order
    found = RULES.get(op.name)
    if found is None:
        raise not_there(op, given)
    result = unrecorded(found, op, *given)
    if within_formula:  # which computes with arrays, where there are any
        return array_or_sparse(result) if isinstance(result, Tensor) else result
    return recorded(op, given, result)


def unrecorded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function without recording what it does; nobody hears that a history ended here."""
    state = local.state
    mode, cut = state.mode, state.cut
    state.mode, state.cut = mode | NO_GRAD, False
    try:
        return function(*arguments)
    finally:
        state.mode, state.cut = mode, cut


_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div_true",
    "negative": "neg",
}


def run_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Do what a formula asks of NumPy with a sparse gradient."""
    name = _UFUNCS.get(ufunc.__name__)
    if name is None or method != "__call__" or options:
        raise unsupported(ufunc.__name__, self._kind)
    op = registry[name]
    arguments = (*inputs, 1) if name in ("add", "sub") else inputs
    result = run_operator(op, tuple(arguments))
    return array_or_sparse(result) if isinstance(result, Tensor) else result


def _tensor(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    return value


def not_there(op: Op, arguments: tuple[Any, ...]) -> Exception:
    """Return the error of an operator that sparse tensors do not have."""
    name = overload_of(Call(op, arguments)).name().removeprefix("aten::")
    kind = next(each._kind for each in flattened(arguments) if is_sparse(each))
    if op.view and op.name not in ("view", "expand"):
        name = "as_strided"
    return unsupported(name, kind)


def flattened(arguments: Any) -> list[Any]:
    """The arguments, and those inside of sequences."""
    found: list[Any] = []
    for each in arguments:
        found.extend(each if isinstance(each, (list, tuple)) else [each])
    return found


def on_content(op: Op, x: SparseTensor, *rest: Any) -> SparseTensor:
    """Run an operator on the elements alone."""
    result: Tensor = op.call(op.function, (wrap(x._content), *rest))
    return x._with(result._array)
