"""Running an update rule over lists that the caller keeps: functions such as `optim.adam.adam`.

Owns: the loop. Each function's module says which rule, which coefficients and which lists.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from taper.autograd.conjugate import write_through
from taper.autograd.provenance import user_frame
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.ops.elementwise.complexes import view_as_real
from taper.optim.rule_optimizer import RuleOptimizer, keep_plain, keep_recorded
from taper.optim.update import (
    Numbers,
    Place,
    computed_in,
    count_writes,
    new_state,
    run_recorded,
    run_rule,
)
from taper.tensor import Tensor


def check_steps(state_steps: Sequence[Any]) -> None:
    """Raise if the counts of steps are not tensors, as they once were not."""
    if not all(isinstance(each, Tensor) for each in state_steps):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )


def run_lists(
    optimizer: type[RuleOptimizer],
    group: dict[str, Any],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Sequence[Sequence[Any]],
    scalars: Sequence[Sequence[Tensor]] = (),
) -> None:
    """Update each parameter in place; `states` and `scalars` are lists with a place for each.

    A state that is None is made, if the rule makes it from the first gradient.
    """
    _check_ways(optimizer, group, params)
    frame = user_frame(sys._getframe(2))
    place = frame.f_code, frame.f_lasti
    found_inf, grad_scale = group.get("found_inf"), group.get("grad_scale")
    if group.get("fused") and found_inf is not None and float(found_inf):
        return
    for nr, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if group.get("fused") and grad_scale is not None:
            grad.div_(grad_scale)
        own = [each[nr] for each in scalars]
        first = any(each[nr] is None for each in states)
        for each in states:
            if each[nr] is None:
                each[nr] = new_state(param._array * 0)  # type: ignore[index]
        kept = [each[nr] for each in states]
        _run_one(optimizer, group, (param, grad, *kept), own, first, place)


def _check_ways(
    optimizer: type[RuleOptimizer], group: dict[str, Any], params: Sequence[Tensor]
) -> None:
    if params and (group.get("foreach") or group.get("capturable")):
        can_capture = all([each.is_cuda for each in params])
        optimizer._check_ways(optimizer, group, can_capture)  # type: ignore[arg-type]


def _run_one(
    optimizer: type[RuleOptimizer],
    group: dict[str, Any],
    tensors: Sequence[Tensor],
    scalars: Sequence[Tensor],
    first: bool,
    place: Place,
) -> None:
    rule = optimizer._rule
    recorded = not local.state.mode & NO_GRAD and any(map(requires_grad, (*tensors, *scalars)))
    values = tuple([each._array.item() for each in scalars])
    if recorded:
        values = optimizer._recorded_scalars(scalars)
    param = tensors[0]
    dtype = None if recorded else computed_in(param._array.dtype)
    numbers: Numbers = optimizer._numbers(group, values, dtype)
    numbers.first = first
    keep_recorded(scalars, numbers.after)
    if recorded:
        if param.is_complex():
            tensors = [view_as_real(each) for each in tensors]
        run_recorded(rule, numbers, *tensors)
    else:
        arrays = [each._array for each in tensors[1:]]
        write_through(param, lambda array: run_rule(rule, numbers, array, *arrays))
        count_writes(place, tensors[2:])
        count_writes(place, (param,), numbers.writes)
    count_writes(place, keep_plain(scalars, numbers.after))
