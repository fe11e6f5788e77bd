"""What operators do with batched tensors: one call for the whole batch, or one for each example.

Where an operator has no rule, or the rule declines, it runs example by example: a missing rule
costs time, never the right result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.arrays.layouts import ELEMENTWISE
from taper.autograd.interception import Call
from taper.func.batching import batched, is_batched
from taper.func.levels import written_name
from taper.func.results import RESULTS
from taper.func.rules import examples, one_by_one, whole_arguments, wrapped
from taper.opdef import TENSOR_KINDS, Op
from taper.opdef.writes import run_inplace
from taper.tensor import Tensor


def run_batched(level: Any, call: Call) -> Any:
    """Run a call some of whose tensors are batched by `level`."""
    op, arguments = call.op, call.arguments
    if call.kind == "out":
        raise RuntimeError(
            f"Batching rule not implemented for aten::{op.label}.out; the fallback path doesn't "
            "work on out= or view ops."
        )
    if call.kind == "inplace":
        return _write(level, call)
    special = RESULTS.get(op.name)
    if special is not None:
        result = special(level, *arguments)
        if result is not None:
            return result
    given = whole_arguments(level, op, arguments)
    if given is not None:
        if is_batched(arguments[0], level) and arguments[0]._place and _is_of_one_tensor(op):
            return _in_place(level, op, arguments[0]._place, given)
        return wrapped(level, op.call(op.function, given))
    return one_by_one(level, lambda each: op.call(op.function, each), arguments)


def _is_of_one_tensor(op: Op) -> bool:
    kinds = [param.kind in TENSOR_KINDS for param in op.params]
    return op.layout is ELEMENTWISE and sum(kinds) == 1


def _in_place(level: Any, op: Op, place: int, given: Sequence[Any]) -> Tensor:
    """Run an operator on one tensor with the batch where it was, which gives PyTorch's strides."""
    whole = op.call(op.function, (given[0].movedim(0, place), *given[1:]))
    return batched(whole.movedim(place, 0), level, place)


# --- writes ----------------------------------------------------------------------------------

_TOO_MANY = (
    "vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
    "extra_args that has more elements than `self`. This happened due to `other` being vmapped "
    "over but `self` not being vmapped over {where}. Please try to use out-of-place operators "
    "instead of {name}. If said operator is being called inside the PyTorch framework, please file "
    "a bug report instead."
)
_ARITHMETIC = frozenset("mul_ sub_ div_ copy_ masked_fill_ pow_".split())
_NAMED = frozenset("index_put_ fill_ scatter_add_".split())


def _write(level: Any, call: Call) -> Tensor:
    op, arguments = call.op, call.arguments
    target = arguments[0]
    if not is_batched(target, level):
        raise _unwritable(level, call)
    given = whole_arguments(level, op, arguments)
    if given is not None and given[0] is target._whole:
        run_inplace(op, tuple(given))
    else:
        columns = [examples(level, each) for each in arguments[1:]]
        for nr in range(level.size):
            run_inplace(op, (target._whole.select(0, nr), *(each[nr] for each in columns)))
    written: Tensor = target
    return written


def _unwritable(level: Any, call: Call) -> RuntimeError:
    name = written_name(call.op)
    if name == "add_":
        target = list(call.arguments[0]._array.shape)
        return RuntimeError(
            f"output with shape {target} doesn't match the broadcast shape {[level.size, *target]}"
        )
    if name in _ARITHMETIC:
        return RuntimeError(_TOO_MANY.format(name="inplace arithmetic", where="in a vmap"))
    if name in _NAMED:
        return RuntimeError(_TOO_MANY.format(name=name, where="in a vmap"))
    return RuntimeError(_TOO_MANY.format(name=f"aten::{name}", where=f"at level {level.depth}"))
