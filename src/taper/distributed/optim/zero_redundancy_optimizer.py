"""ZeroRedundancyOptimizer: each process keeps the optimizer's state of a part of the parameters.

The parameters are divided between the processes, the largest first, each to the process that has
least.  A process updates its part, by an optimizer of its own, and gives the result to the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from taper.distributed import collectives, objects
from taper.distributed.groups import ProcessGroup, default_group, get_global_rank
from taper.ops.creation.convert import typename
from taper.optim.optimizer import Optimizer
from taper.tensor import CPU, Tensor, wrap

__all__ = ["ZeroRedundancyOptimizer"]

_NAME = "ZeroRedundancyOptimizer"


class ZeroRedundancyOptimizer(Optimizer):
    """Run an optimizer whose state is divided between the processes of a group.

    The parameters after a step are those of the plain optimizer, to the bit.

    Args:
        params: the parameters, or groups of them, the same in every process.
        optimizer_class: the optimizer that each process runs for its part.
        process_group: who shares the work; all without it.
        parameters_as_bucket_view: put the parameters of each process behind each other in memory,
            so that they are sent in one piece.
        overlap_with_ddp: refused.
        defaults: options of the optimizer.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.optim import ZeroRedundancyOptimizer
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> weight = taper.nn.Parameter(taper.ones(2))
    >>> optimizer = ZeroRedundancyOptimizer([weight], optimizer_class=taper.optim.SGD, lr=0.5)
    >>> weight.sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.5000, 0.5000])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                f"{_NAME}: overlap_with_ddp=True is not there; without it the step runs after the "
                "backward pass, with the same result"
            )
        groups = _checked(params)
        self.process_group = process_group if process_group is not None else default_group()
        self.world_size = self.process_group.size()
        self.rank = self.process_group.rank()
        self.global_rank = get_global_rank(self.process_group, self.rank)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self._join_config: Any = None
        self._is_ready = False
        super().__init__(groups, defaults)
        if optimizer_class is None:
            raise AssertionError("The local optimizer class has not been set")
        self._all_state_dicts: list[Any] = []
        self._is_ready = True
        self._build()

    # --- who has what ------------------------------------------------------------------------

    def _partition_parameters(self) -> list[list[dict[str, Any]]]:
        """Return for each process its groups: the largest parameters first, to who has least."""
        totals = [0] * self.world_size
        parts: list[list[dict[str, Any]]] = [[] for _ in range(self.world_size)]
        for group in self.param_groups:
            given: list[list[Tensor]] = [[] for _ in range(self.world_size)]
            for param in sorted(group["params"], key=lambda each: -each.numel()):
                rank = totals.index(min(totals))
                given[rank].append(param)
                totals[rank] += param.numel() if param.requires_grad else 0
            for rank, params in enumerate(given):
                parts[rank].append({**group, "params": params})
        return parts

    def _build(self) -> None:
        """Divide the parameters and make the optimizer of this process's part."""
        state = self.optim.state if hasattr(self, "optim") else {}
        self._parts = self._partition_parameters()
        self._trainable = self._which_are_trainable()
        self.optim: Any = self._optim_constructor(self._parts[self.rank], **self._optim_defaults)
        for param, values in state.items():
            if any(param is each for group in self._parts[self.rank] for each in group["params"]):
                self.optim.state[param] = values
        for ours, theirs in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in theirs.items():
                if name not in ("params", "param_names"):
                    ours.setdefault(name, value)
        self._buckets = [self._bucket(each) for each in self._parts]

    def _which_are_trainable(self) -> list[bool]:
        return [each.requires_grad for group in self.param_groups for each in group["params"]]

    def _params_of(self, rank: int) -> list[Tensor]:
        return [each for group in self._parts[rank] for each in group["params"]]

    def _bucket(self, groups: list[dict[str, Any]]) -> Tensor | None:
        """Put parameters behind each other in memory, if that is asked for; return it all."""
        params = [each for group in groups for each in group["params"]]
        if not self.parameters_as_bucket_view or not params:
            return None
        together = wrap(np.concatenate([each.detach()._array.reshape(-1) for each in params]))
        place = 0
        for each in params:
            each.data = together[place : place + each.numel()].view(each.shape)
            place += each.numel()
        return together

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, which are divided between the processes too."""
        super().add_param_group(param_group)
        if self._is_ready:
            self._build()

    # --- steps -------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update the part of this process, and exchange the results; return the closure's loss.

        Args:
            closure: computes the loss anew.
            kwargs: given to the step of the optimizer.
        """
        self._notify_join()
        if self._trainable != self._which_are_trainable():
            warnings.warn(
                f"{_NAME} detected that the trainable parameters changed; rebuilding the "
                "parameter buckets if enabled",
                stacklevel=3,
            )
            self._build()
        self._copy_options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        self._exchange()
        self._copy_options(self.optim.param_groups, self.param_groups)
        return loss

    def _notify_join(self) -> None:
        config = self._join_config
        if config is not None and config.enable:
            # late: few programs have uneven inputs
            from taper.distributed.algorithms import join

            uneven: Any = join
            uneven.Join.notify_join_context(self)

    def _exchange(self) -> None:
        """Give the parameters of each part from the process that has updated them to the others."""
        for rank in range(self.world_size):
            bucket = self._buckets[rank]
            for each in self._params_of(rank) if bucket is None else [bucket]:
                collectives.broadcast(each.detach(), group=self.process_group, group_src=rank)

    @staticmethod
    def _copy_options(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        for theirs, ours in zip(source, target, strict=True):
            for name, value in theirs.items():
                if name not in ("params", "param_names"):
                    ours[name] = value

    # --- dictionaries ------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the states of all processes at one of them, for `state_dict`.

        Args:
            to: the rank that gets them.
        """
        self._copy_options(self.param_groups, self.optim.param_groups)
        is_target = self.rank == to
        found: list[Any] = [None] * self.world_size
        objects.gather_object(
            self.optim.state_dict()["state"],
            found if is_target else None,
            group=self.process_group,
            group_dst=to,
        )
        self._all_state_dicts = found if is_target else []

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all processes as one dictionary, after `consolidate_state_dict`."""
        if not self._all_state_dicts:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to "
                "save the global state."
            )
        self._copy_options(self.optim.param_groups, self.param_groups)
        numbers = self._numbers()
        state: dict[Any, Any] = {}
        for rank, part in enumerate(self._all_state_dicts):
            params = self._params_of(rank)
            for key, value in part.items():
                state[numbers[params[key]] if isinstance(key, int) else key] = value
        result = super().state_dict()
        return {**result, "state": dict(sorted(state.items(), key=lambda each: str(each[0])))}

    def _numbers(self) -> dict[Tensor, int]:
        every = [each for group in self.param_groups for each in group["params"]]
        return {param: number for number, param in enumerate(every)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned: options, and the states of this process's part."""
        own = set(self._params_of(self.rank))
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        mine = {
            number: param
            for number, param in zip(saved, self._numbers(), strict=False)
            if param in own
        }
        state = {
            key: value
            for key, value in state_dict["state"].items()
            if key in mine or not isinstance(key, int)
        }
        super().load_state_dict({**state_dict, "state": state})
        self.optim.__setstate__({"state": self.state})
        self.state = type(self.state)(dict)
        self._parts = self._partition_parameters()
        self._copy_options(self.param_groups, self.optim.param_groups)

    # --- uneven inputs -----------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> Any:
        """Return what stands in for steps of this process when its inputs are over."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the tensors with which processes say that they go on."""
        return CPU

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group that waits for its members."""
        return self.process_group


class _ZeROJoinHook:
    """Take part in the steps of the others."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Do a step, whose gradients are those of the last batch."""
        self.zero.step()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Do nothing at the end."""


def _checked(params: Any) -> list[Any]:
    """Return parameters or groups as a list; refuse what PyTorch refuses."""
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {typename(params)}"
        )
    listed = list(params) if isinstance(params, Iterable) else [params]
    if not listed:
        raise ValueError(f"{_NAME} got an empty parameter list")
    if not all(isinstance(each, Tensor) for each in listed) and not all(
        isinstance(each, dict) for each in listed
    ):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    tensors: list[Tensor] = []
    for each in listed:
        if isinstance(each, Tensor):
            tensors.append(each)
            continue
        given = each["params"]
        each["params"] = [given] if isinstance(given, Tensor) else list(given)
        tensors += each["params"]
    kinds = list(dict.fromkeys(each.type() for each in tensors))
    if len(kinds) > 1:
        raise ValueError(
            f"{_NAME} only supports using the same dense type for all parameters but got both "
            f"{kinds[0]} and {kinds[1]}"
        )
    return listed
