"""Ways to send the gradients of `DistributedDataParallel`, for `register_comm_hook`."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any

from taper.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)

__all__ = ["DDPCommHookType", "post_localSGD_hook", "register_ddp_comm_hook"]


def _plain(hook: Callable[..., Any], model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _power(
    hook: Callable[..., Any], model: Any, state: Any, matrix_approximation_rank: int
) -> None:
    own = powerSGD_hook.PowerSGDState(state, matrix_approximation_rank)
    model.register_comm_hook(own, hook)


class DDPCommHookType(Enum):
    """The ways by name; a value is called with `model=` and `state=` (a group, or None)."""

    ALLREDUCE = partial(_plain, default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_plain, default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_plain, default_hooks.bf16_compress_hook)
    POWER_SGD = partial(_power, powerSGD_hook.powerSGD_hook, matrix_approximation_rank=1)
    POWER_SGD_RANK2 = partial(_power, powerSGD_hook.powerSGD_hook, matrix_approximation_rank=2)
    BATCHED_POWER_SGD = partial(
        _power, powerSGD_hook.batched_powerSGD_hook, matrix_approximation_rank=1
    )
    BATCHED_POWER_SGD_RANK2 = partial(
        _power, powerSGD_hook.batched_powerSGD_hook, matrix_approximation_rank=2
    )
    NOOP = partial(_plain, debugging_hooks.noop_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Let a model send gradients in a way that has a name.

    Args:
        comm_hook_type: the way.
        model: a `DistributedDataParallel`.
        state: the group of processes; that of all without it.
    """
    comm_hook_type.value(model=model, state=state)
