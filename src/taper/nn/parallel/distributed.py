"""`DistributedDataParallel`: a module that several processes train, each on its own batches.

Every process has the whole module.  Parameters are made alike once; from then on they stay alike,
because the reducer (`taper.distributed.reducer`) averages the gradients of each backward pass.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from taper.autograd.function import Function
from taper.autograd.grad_mode import is_grad_enabled
from taper.autograd.variable import Variable
from taper.distributed.algorithms.join import Join, Joinable, JoinHook, told_others
from taper.distributed.buckets import (
    DEFAULT_FIRST_BUCKET_BYTES,
    BuiltinCommHookType,
    GradBucket,
    broadcast_coalesced,
    compute_bucket_assignment_by_size,
)
from taper.distributed.collectives import all_reduce
from taper.distributed.groups import ProcessGroup, default_group, leave_captures
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.reducer import Reducer
from taper.nn.modules.module import Module
from taper.nn.parallel.checks import (
    check_hook,
    check_module,
    group_of,
    refuse,
    syncs_buffers,
    tensors_in,
    verify_alike,
)
from taper.ops.creation.data import tensor
from taper.tensor import Tensor
from taper.userwarning import warn_user
from taper.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["DistributedDataParallel"]

_BROADCAST_BYTES = 250 << 20
_LEFT_OUT = ("process_group", "reducer", "logger")  # of a pickle: they belong to the process


@dataclass
class _MixedPrecision:
    """In which dtypes a module would be computed; refused, since it needs an accelerator."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None


class _DDPSink(Function):
    """Hand tensors on, so that the pass comes by the module even where no gradient flows."""

    @staticmethod
    def forward(ctx: Any, owner: Any, *inputs: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.owner = owner
        if not owner()._ddp_sink_clone:
            return inputs
        return tuple(each.clone() if isinstance(each, Tensor) else each for each in inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        module = ctx.owner()
        if module.static_graph and not module._static_graph_delay_allreduce_enqueued:
            Variable._execution_engine.queue_callback(module.reducer.delay_all_reduce)
            module._static_graph_delay_allreduce_enqueued = True
        return None, *grads


class _DDPJoinHook(JoinHook):
    """Take part in the collectives of those that still have batches."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp = ddp
        ddp._divide_by_initial_world_size = divide_by_initial_world_size

    def main_hook(self) -> None:
        """Send zeros where the others send gradients."""
        ddp = self.ddp
        ddp.reducer.rebuild_buckets()
        if ddp.will_sync_module_buffers():
            ddp._sync_module_buffers(ddp._find_common_rank(False))
        is_averaged = ddp._is_anybody_averaging(True)
        ddp.require_forward_param_sync = is_averaged
        if not is_averaged:
            return
        ddp.reducer.match_all_reduce()
        if ddp.find_unused_parameters:
            ddp.reducer.match_unused()
        ddp.reducer.push_all_rebuilt_params()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the parameters of a process that had most batches."""
        ddp = self.ddp
        rank = ddp._find_common_rank(is_last_joiner)
        ddp._broadcast([*ddp.module.parameters(), *ddp.module.buffers()], rank)


class DistributedDataParallel(Module, Joinable):
    """Train a module by a group of processes: gradients are averaged while they are computed.

    Args:
        module: the module, kept as the attribute `module`; the same in all processes.
        device_ids, output_device: None: there are no devices.
        dim: kept.
        broadcast_buffers: give the buffers of rank 0 to all at each forward pass; deprecated.
        init_sync: check that all modules have the same shapes, and give the parameters and buffers
            of rank 0 to all.
        process_group: the group; all processes without it.
        bucket_cap_mb: gradients are sent in pieces of this size; 25, of which the first piece has
            1, without it.
        find_unused_parameters: look in each forward pass which parameters will get no gradient.
        check_reduction: deprecated, without effect.
        gradient_as_bucket_view: let gradients be parts of the pieces, which saves a copy.
        static_graph: rely on passes that are all alike; unused parameters are then found once.
        delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision: refused.
        device_mesh: a mesh of one dimension instead of the group.
        skip_all_reduce_unused_params: keep; gradients of unused parameters are sent as zeros.
        bucket_cap_mb_list: refused.
        batched_grad_copy: kept.
        forward_sync_buffers: give the buffers of rank 0 to all at each forward pass.

    Example:
        >>> from taper import distributed as dist, nn
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> list(nn.parallel.DistributedDataParallel(nn.Linear(2, 3)).state_dict())
        ['module.weight', 'module.bias']
        >>> dist.destroy_process_group()
    """

    reducer: Reducer

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if (delay_all_reduce_named_params is None) != (param_to_hook_all_reduce is None):
            raise ValueError(
                "delay_all_reduce_named_params and param_to_hook_all_reduce need to be set at the "
                "same time."
            )
        refuse(delay_all_reduce_named_params, "delay_all_reduce_named_params")
        refuse(bucket_cap_mb_list, "bucket_cap_mb_list")
        refuse(
            mixed_precision,
            "mixed_precision",
            "it needs an accelerator; use torch.autocast('cpu') around the forward pass",
        )
        self.process_group = group_of(process_group, device_mesh)
        check_module(module, device_ids, output_device)
        if check_reduction:
            warn_user(
                "The `check_reduction` argument in `DistributedDataParallel` module is deprecated. "
                "Please avoid using it.",
                FutureWarning,
            )
        self.module = module
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.device = next(iter(self._trained())).device
        self.is_multi_device_module = False
        self.device_type = self.device.type
        self.device_ids = None
        self.output_device = None
        self.dim = dim
        self.static_graph = False
        self._divide_by_initial_world_size = True
        self.forward_sync_buffers = syncs_buffers(broadcast_buffers, forward_sync_buffers)
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.batched_grad_copy = batched_grad_copy
        self.mixed_precision = None
        self.broadcast_bucket_size = _BROADCAST_BYTES
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.bucket_bytes_cap_list: list[int] = []
        self.use_side_stream_for_tensor_copies = True
        self.skip_all_reduce_unused_params = skip_all_reduce_unused_params
        self._ddp_sink_clone = True
        self._comm_hooks: list[tuple[Any, Any]] = []
        self._assign_modules_buffers()
        if init_sync:
            parameters = self._trained()
            verify_alike(self.process_group, parameters)
            buffers = broadcast_buffers is not False or forward_sync_buffers is not None
            self._broadcast([each for _, each in self._named_states(buffers)], 0)
        self._make_reducer(static_graph)

    # --- construction --------------------------------------------------------------------------

    def _trained(self) -> list[Tensor]:
        """Return the parameters that get gradients."""
        return [parameter for _, parameter in self._named_trained()]

    def _named_trained(self) -> Iterator[tuple[str, Tensor]]:
        for name, parameter in self.module.named_parameters():
            if parameter.requires_grad and name not in self.parameters_to_ignore:
                yield name, parameter

    def _named_states(self, buffers: bool) -> Iterator[tuple[str, Tensor]]:
        """Return what all processes take from rank 0 at the beginning."""
        named = [*self.module.named_parameters(), *(self.module.named_buffers() if buffers else ())]
        return (pair for pair in named if pair[0] not in self.parameters_to_ignore)

    def _assign_modules_buffers(self) -> None:
        named = [
            (each, name)
            for name, each in self.module.named_buffers()
            if name not in self.parameters_to_ignore
        ]
        self.modules_buffers = [each for each, _ in named]
        self.named_module_buffers = {name: each for each, name in named}

    def _make_reducer(self, static_graph: bool) -> None:
        named = list(self._named_trained())
        parameters = [each for _, each in named]
        is_default = self.bucket_bytes_cap_default
        first = DEFAULT_FIRST_BUCKET_BYTES if is_default else self.bucket_bytes_cap
        # Without a search for unused parameters, buckets are made again after the first pass.
        is_final = self.find_unused_parameters and not static_graph
        limits = [first, self.bucket_bytes_cap] if is_final else [sys.maxsize]
        members, sizes = compute_bucket_assignment_by_size(parameters, limits)
        self.reducer = Reducer(
            parameters,
            members[::-1],
            sizes[::-1],
            self.process_group,
            (),
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.gradient_as_bucket_view,
            {place: name for place, (name, _) in enumerate(named)},
            first,
        )
        self._has_rebuilt_buckets = False
        self._static_graph_delay_allreduce_enqueued = False
        if static_graph:
            self._set_static_graph()

    def _set_static_graph(self) -> None:
        """Rely on passes that are all alike."""
        if self.static_graph:
            warn_user("You've set static_graph to be True, no need to call it again.")
            return
        self.static_graph = True
        self._static_graph_delay_allreduce_enqueued = False
        self.reducer.set_static_graph()
        if self.find_unused_parameters:
            warn_user(
                "You passed find_unused_parameters=true to DistributedDataParallel, "
                "`_set_static_graph` will detect unused parameters automatically, so you do not "
                "need to set find_unused_parameters=true, just be sure these unused parameters "
                "will not change during training loop while calling `_set_static_graph`."
            )

    def __getstate__(self) -> dict[str, Any]:
        if self.process_group is not default_group():
            raise RuntimeError(
                "DDP Pickling/Unpickling are only supported when using DDP with the default "
                "process group. That is, when you have called init_process_group and have not "
                "passed process_group argument to DDP constructor"
            )
        return {name: each for name, each in self.__dict__.items() if name not in _LEFT_OUT}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.process_group = default_group()
        super().__setstate__(state)
        self.__dict__.setdefault("require_forward_param_sync", True)
        self.__dict__.setdefault("require_backward_grad_sync", True)
        static_graph, self.static_graph = self.static_graph, False
        self._make_reducer(static_graph)

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Iterable[str]
    ) -> None:
        """Leave parameters and buffers of a module alone when it is wrapped."""
        names = set(params_and_buffers_to_ignore)
        module._ddp_params_and_buffers_to_ignore = names
        for name, parameter in module.named_parameters():
            if name in names:
                parameter._ddp_ignored = True  # type: ignore[attr-defined]
        for name, buffer in module.named_buffers():
            if name in names:
                buffer._ddp_ignored = True  # type: ignore[attr-defined]

    @property
    def broadcast_buffers(self) -> bool:
        """Whether buffers of rank 0 are given to all at each forward pass."""
        return self.forward_sync_buffers

    # --- forward -------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        leave_captures("DistributedDataParallel")
        records = is_grad_enabled() and self.require_backward_grad_sync
        self._prepare_forward()
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = records
        if records:
            finds = self.find_unused_parameters and not self.static_graph
            self.reducer.prepare_for_backward(list(tensors_in(output)) if finds else ())
            if finds or (self.static_graph and not self._static_graph_delay_allreduce_enqueued):
                return self._through_sink(output)
        return output

    def _prepare_forward(self) -> None:
        joining = told_others(self) if self._join_config.enable else None
        if joining is not None:
            work, active = joining
            keeps = self._divide_by_initial_world_size
            self.reducer.set_forward_pass_work_handle(work, active, keeps)
        if is_grad_enabled() and self.reducer.rebuild_buckets():
            self._has_rebuilt_buckets = True
        if self.will_sync_module_buffers():
            joins = self._join_config.enable
            self._sync_module_buffers(self._find_common_rank(True) if joins else 0)
        if self._join_config.enable:
            self._is_anybody_averaging(False)

    def _through_sink(self, output: Any) -> Any:
        """Return the output with a node around all its tensors."""
        leaves, structure = tree_flatten(output)
        places = [
            place
            for place, each in enumerate(leaves)
            if isinstance(each, Tensor) and each.requires_grad
        ]
        if not places:
            return output
        handed_on = _DDPSink.apply(weakref.ref(self), *[leaves[place] for place in places])
        for place, each in zip(places, handed_on, strict=True):
            leaves[place] = each
        return tree_unflatten(leaves, structure)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do not average gradients of forward passes inside the block: they add up.

        >>> import taper
        >>> from taper import distributed as dist, nn
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        >>> with model.no_sync():
        ...     model(taper.ones(2, 1)).sum().backward()
        >>> model(taper.ones(2, 1)).sum().backward()  # averages both
        >>> model.module.weight.grad
        tensor([[4.]])
        >>> dist.destroy_process_group()
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    # --- buffers -------------------------------------------------------------------------------

    def will_sync_module_buffers(self) -> bool:
        """Return whether the next forward pass takes the buffers of rank 0."""
        return (
            self.require_forward_param_sync
            and self.forward_sync_buffers
            and len(self.modules_buffers) > 0
        )

    def _sync_module_buffers(self, rank: int) -> None:
        self._assign_modules_buffers()  # a buffer may have been replaced
        self._broadcast(self.modules_buffers, rank)

    def _broadcast(self, tensors: list[Tensor], rank: int) -> None:
        if self.process_group.size() > 1:
            broadcast_coalesced(self.process_group, tensors, self.broadcast_bucket_size, rank)

    # --- uneven inputs -------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Let processes have different numbers of batches inside the block.

        Args:
            divide_by_initial_world_size: divide by the number of all processes also when some have
                no more batches, so that every batch counts alike.
            enable: False if all processes have as many batches.
            throw_on_early_termination: raise in all processes as soon as one has no more.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return what to do after the last batch."""
        return _DDPJoinHook(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the module."""
        return self.device

    @property
    def join_process_group(self) -> ProcessGroup:
        """The group of the module."""
        return self.process_group

    def _find_common_rank(self, is_candidate: bool) -> int:
        """Return the largest rank of those that offer theirs."""
        rank = tensor([self.process_group.rank() if is_candidate else -1])
        all_reduce(rank, RedOpType.MAX, self.process_group)
        if rank.item() == -1:
            raise ValueError(
                "BUG! Expected rank_cond to be true for at least one process. This indicates a bug "
                "in PyTorch, please report an issue."
            )
        return int(rank.item())

    def _is_anybody_averaging(self, is_joined_rank: bool) -> bool:
        """Say whether this process averages in this pass; return whether any does."""
        averages = self.require_backward_grad_sync and not is_joined_rank
        answer = tensor([1.0 if averages else 0.0])
        all_reduce(answer, group=self.process_group)
        return bool(answer.item())

    # --- how gradients are sent ----------------------------------------------------------------

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Let a function send gradients instead of averaging them.

        Args:
            state: given to the function.
            hook: `hook(state, bucket)` returns the future of a flat tensor: the gradients that the
                parameters shall get.  Nothing has been divided by the number of processes.

        >>> import taper
        >>> from taper import distributed as dist, nn
        >>> from taper.distributed.algorithms.ddp_comm_hooks import default_hooks
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        >>> dist.destroy_process_group()
        """
        check_hook(hook)
        self.reducer.register_comm_hook(state, hook)
        self._comm_hooks.append((hook, state))

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        """Send gradients in a way that has a name."""
        # late: these hooks are for few programs
        from taper.distributed.algorithms.ddp_comm_hooks import default_hooks

        compresses = comm_hook_type is BuiltinCommHookType.FP16_COMPRESS
        hook = default_hooks.fp16_compress_hook if compresses else default_hooks.allreduce_hook
        self.reducer.register_comm_hook(self.process_group, hook)

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return what is known about how this module is trained."""
        sizes = ", ".join(map(str, self.reducer.bucket_sizes()))
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "backend_name": self.process_group.name(),
            "module_name": type(self.module).__name__,
            "num_parameter_tensors": len(self._trained()),
            "total_parameter_size_bytes": sum(each.nbytes for each in self._trained()),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "bucket_sizes": sizes,
            "has_rebuilt_buckets": self._has_rebuilt_buckets,
            "broadcast_buffers": self.forward_sync_buffers,
            "find_unused_parameters": self.find_unused_parameters,
            "gradient_as_bucket_view": self.gradient_as_bucket_view,
            "static_graph": self.static_graph,
        }

    def _set_ddp_runtime_logging_sample_rate(self, sample_rate: int) -> None:
        if sample_rate < 1:
            raise ValueError("DDP runtime logging sample rate should be equal or greater than 1")

    def _set_ddp_sink_clone(self, val: bool) -> None:
        self._ddp_sink_clone = val
