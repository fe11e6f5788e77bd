"""Uneven inputs: processes that have run out of batches take part in what the others still do."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

from taper.distributed.collectives import all_reduce
from taper.distributed.groups import ProcessGroup
from taper.ops.creation.filled import ones, zeros
from taper.tensor import Tensor

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # rounds after which a process that waits says so


class JoinHook:
    """What a process does for the others after its last batch."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do something once, after the last batch of all.

        Args:
            is_last_joiner: whether this process was among the last.
        """


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """Return what holds outside of every block."""
        return _JoinConfig(False, False, False)


class Joinable(ABC):
    """Something that does collectives in each iteration, and can say which."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what to do after the last batch; keywords are those of `Join`."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of tensors that are exchanged."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group of processes."""


class Join:
    """Let processes have different numbers of batches inside a `with` block.

    Args:
        joinables: what does collectives in the block; the order is that of their hooks.
        enable: False if all processes are known to have as many batches.
        throw_on_early_termination: raise in all processes as soon as one has no more batches.
        kwargs: given to `join_hook` of each joinable.

    >>> from taper import distributed as dist, nn
    >>> from taper.distributed.algorithms.join import Join
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    >>> with Join([model]):
    ...     pass
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._join_hooks = [each.join_hook(**kwargs) for each in joinables]
        self._enable = enable
        self._throw_on_early_termination = throw_on_early_termination
        for place, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, place == 0)
        self._group, self._device = self._common()
        self._rank = self._group.rank()

    def _common(self) -> tuple[ProcessGroup, Any]:
        """Return the group and the device that all joinables share."""
        groups = [each.join_process_group for each in self._joinables]
        devices = [each.join_device for each in self._joinables]
        if any(each is not groups[0] for each in groups):
            raise ValueError("Using join context manager with multiple process groups")
        return groups[0], devices[0]

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._enable or kind is not None:
            return
        is_last_joiner = True
        rounds = 0
        while self._count_active():
            if self._throw_on_early_termination:
                self._tell_all_to_raise()
            is_last_joiner = False
            for each in self._join_hooks:
                each.main_hook()
            rounds += 1
            if rounds == _MANY:
                warnings.warn(
                    "Detected uneven input skew of greater than "
                    f"{rounds}. This means that rank {self._rank} has at least {rounds} fewer "
                    "inputs than other currently-active ranks. This level of skew could lead to "
                    "performance degradation during training.",
                    stacklevel=2,
                )
        for each in self._join_hooks:
            each.post_hook(is_last_joiner)

    def _count_active(self) -> int:
        """Return how many processes have begun another iteration."""
        count = zeros(1, device=self._device)
        all_reduce(count, group=self._group)
        return int(count.item())

    def _tell_all_to_raise(self) -> None:
        all_reduce(ones(1, device=self._device), group=self._group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell the others that this process has begun an iteration; joinables call this first.

        Args:
            joinable: who calls; the first of a block tells, the others do nothing.

        Returns: the sum on its way that says how many processes have, or None.
        """
        told = told_others(joinable)
        return None if told is None else told[0]


def told_others(joinable: Joinable) -> tuple[Any, Tensor] | None:
    """Do `notify_join_context`; return the work and the tensor in which the number arrives."""
    config = joinable._join_config
    if not config.is_first_joinable or not config.enable:
        return None
    group, device = joinable.join_process_group, joinable.join_device
    active = ones(1, device=device)
    work = all_reduce(active, group=group, async_op=True)
    if config.throw_on_early_termination:
        ended = zeros(1, device=device)
        all_reduce(ended, group=group)
        if ended.item():
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
    return work, active
