"""The average of parameters over the processes of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.distributed.collectives import all_reduce
from taper.distributed.groups import GroupMember, ProcessGroup, default_group
from taper.ops.shape.split import cat
from taper.tensor import Tensor

__all__ = [
    "average_parameters",
    "average_parameters_or_parameter_groups",
    "get_params_to_average",
]

Params = Iterable[Any]


def average_parameters(params: Iterator[Tensor], process_group: ProcessGroup | None) -> None:
    """Replace parameters by their average over the processes.

    Args:
        params: the parameters, of one dtype.
        process_group: the group; all processes without it.
    """
    if process_group == GroupMember.NON_GROUP_MEMBER:
        return
    group = process_group or default_group()
    members = list(params)
    if not members:
        return
    with no_grad():
        flat = cat([each.detach().reshape(-1) for each in members])
        flat.div_(group.size())
        all_reduce(flat, group=group)
        start = 0
        for each in members:
            each.copy_(flat[start : start + each.numel()].view(each.shape))
            start += each.numel()


def get_params_to_average(params: Params) -> list[Tensor]:
    """Return the parameters that have a gradient, of parameters or of groups of an optimizer.

    Args:
        params: parameters, or groups of an optimizer.
    """
    found: list[Tensor] = []
    for each in params:
        if isinstance(each, dict):
            found.extend(member for member in each["params"] if member.grad is not None)
        elif isinstance(each, Tensor):
            if each.grad is not None:
                found.append(each)
        else:
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
    return found


def average_parameters_or_parameter_groups(
    params: Params, process_group: ProcessGroup | None
) -> None:
    """Average the parameters that have a gradient.

    Args:
        params: parameters, or groups of an optimizer.
        process_group: the group; all processes without it.
    """
    average_parameters(iter(get_params_to_average(params)), process_group)
