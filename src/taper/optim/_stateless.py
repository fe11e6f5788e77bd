"""Running an optimizer on other parameters and another state for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from taper.optim.optimizer import Optimizer
from taper.tensor import Tensor

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """Give an optimizer other parameters and another state inside the block, then its own again.

    The tensors given are the ones that are changed; entries that the block replaces are forgotten.

    Args:
        optimizer: the optimizer.
        swapin_parameters: the parameters by name, in the order of the optimizer's.
        swapin_optim_state: the state, in the form of `optimizer.state_dict()`.

    Example:
        >>> import taper
        >>> weight = taper.nn.Parameter(taper.ones(1))
        >>> weight.grad = taper.ones(1)
        >>> optimizer = taper.optim.SGD([weight], lr=0.1, momentum=0.9)
        >>> optimizer.step()
        >>> other = taper.nn.Parameter(taper.zeros(1))
        >>> other.grad = taper.ones(1)
        >>> state = optimizer.state_dict()
        >>> with taper.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, state):
        ...     optimizer.step()
        >>> other.item() < 0, optimizer.param_groups[0]["params"][0] is weight
        (True, True)
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    groups = _checked_groups(optimizer, swapin_optim_state)
    values = iter(swapin_parameters.values())
    state: defaultdict[Any, Any] = defaultdict(dict)
    contents = []
    for theirs in groups:
        params = []
        for number in theirs["params"]:
            param = next(values, None)
            if param is None:
                raise RuntimeError(
                    f"{_NAME} requires the explicit parameter state to match "
                    "optimizer.param_groups ordering."
                )
            params.append(param)
            if number in swapin_optim_state["state"]:
                state[param] = dict(swapin_optim_state["state"][number])
        contents.append({**theirs, "params": params})
    live_state, live_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        _install(optimizer, state, contents)
        yield
    finally:
        _install(optimizer, live_state, live_groups)


def _install(optimizer: Optimizer, state: Any, contents: list[dict[str, Any]]) -> None:
    """Fill the optimizer's own groups, which others may hold, with these contents."""
    optimizer.state = state
    for group, content in zip(optimizer.param_groups, contents, strict=True):
        group.clear()
        group.update(content)


def _checked_groups(optimizer: Optimizer, swapped: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the groups of the given state, if it has the form of the optimizer's own."""
    state, groups = swapped.get("state"), swapped.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter "
            f"ids to per-param state dicts, got {type(state).__name__}."
        )
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group "
            f"dicts, got {type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    for index, (live, group) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        _check_group(index, live, group)
    known = {number for group in groups for number in group["params"]}
    unknown = [key for key in state if key not in known]
    if unknown:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter "
            f"ids from param_groups[*]['params']; got extra keys {unknown}."
        )
    if not all(isinstance(entry, dict) for entry in state.values()):
        raise RuntimeError(
            f"{_NAME} requires per-parameter optimizer state entries to be dictionaries."
        )
    return groups


def _check_group(index: int, live: dict[str, Any], group: dict[str, Any]) -> None:
    numbers = group.get("params")
    if not isinstance(numbers, list) or not all(isinstance(each, int) for each in numbers):
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries "
            "keyed by packed parameter ids."
        )
    if group.keys() != live.keys():
        raise RuntimeError(
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the "
            f"live optimizer group keys for group {index}. Keys only in swap-in: "
            f"{sorted(group.keys() - live.keys())}. Keys only in live: "
            f"{sorted(live.keys() - group.keys())}."
        )
    if len(numbers) != len(live["params"]):
        raise RuntimeError(
            f"swapin_optim_state param group {index} has a different number of params than the "
            "live optimizer param group."
        )
