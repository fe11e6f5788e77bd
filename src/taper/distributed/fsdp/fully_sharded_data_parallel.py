"""FullyShardedDataParallel: a module whose parameters are divided over processes, as a wrapper.

The parameters of each wrapped module are one vector, of which each process has a piece; the
optimizer updates the pieces.  `fully_shard` is the newer way, in which parameters keep their names.
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from taper.autograd.grad_mode import no_grad
from taper.distributed import collectives
from taper.distributed.fsdp._fully_shard import MixedPrecisionPolicy, _State, managed
from taper.distributed.fsdp.api import (
    FullStateDictConfig,
    ShardingStrategy,
    StateDictSettings,
    StateDictType,
)
from taper.distributed.fsdp.groups import FlatGroup
from taper.distributed.fsdp.states import OptimizerStates
from taper.distributed.fsdp.wrap import wrap_below
from taper.distributed.groups import ProcessGroup, default_group, get_rank
from taper.distributed.reduce_ops import RedOpType
from taper.distributed.tensor import DeviceMesh, Shard
from taper.distributed.tensor.api import DTensor, distribute_tensor
from taper.nn.modules.module import Module
from taper.ops.creation.filled import zeros
from taper.tensor import Tensor

__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]

_INNER = "_fsdp_wrapped_module"


class OptimStateKeyType(enum.Enum):
    """By what an optimizer's state is keyed."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


class FullyShardedDataParallel(OptimizerStates, Module):
    """Divide parameters, gradients and states over processes; gather them per wrapped module.

    Args:
        module: the module, kept as `_fsdp_wrapped_module`; also `module`.
        process_group: the processes; a pair (dividing, repeating) for the hybrid strategies.
        sharding_strategy: FULL_SHARD divides parameters after each pass, SHARD_GRAD_OP only after
            the backward pass, NO_SHARD never.
        auto_wrap_policy: says which modules below are wrapped by themselves.
        mixed_precision: in which dtypes the module computes.
        ignored_modules, ignored_states: modules, or parameters, that stay as they are.
        param_init_fn: called with the module before it is divided.
        sync_module_states: take parameters and buffers from rank 0 first.
        use_orig_params: let the optimizer see pieces of parameters under their names.
        device_mesh: the processes, instead of `process_group`.
        cpu_offload, backward_prefetch, device_id, forward_prefetch, limit_all_gathers: accepted.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.fsdp import FullyShardedDataParallel as FSDP
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = FSDP(taper.nn.Linear(2, 1))
    >>> [(name, each.shape) for name, each in net.named_parameters()]
    [('_fsdp_wrapped_module._flat_param', torch.Size([3]))]
    >>> list(net.state_dict())
    ['weight', 'bias']
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = None,
        mixed_precision: Any = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Any = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        self.sharding_strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        shards, replicas = _groups_of(process_group, device_mesh, self.sharding_strategy)
        self.process_group: Any = shards if shards is not None else replicas
        states = list(ignored_states or ())
        skipped = {each for each in [*(ignored_modules or ()), *states] if isinstance(each, Module)}
        frozen = {each for each in states if isinstance(each, Tensor)}
        for each in skipped:
            frozen.update(each.parameters())
        if param_init_fn is not None:
            param_init_fn(module)
        if sync_module_states:
            self._synchronize(module)
        if auto_wrap_policy is not None:
            self._wrap_below(module, auto_wrap_policy, skipped, mixed_precision, locals())
        self._settings = StateDictSettings()
        self._modules[_INNER] = module
        self._divide(module, frozen, shards, replicas, use_orig_params, mixed_precision)

    def _wrap_below(
        self, module: Module, policy: Any, skipped: set[Module], mixed: Any, given: dict[str, Any]
    ) -> None:
        names = ("process_group", "use_orig_params", "ignored_states", "device_mesh")
        shared = {name: given[name] for name in names}
        shared |= {"sharding_strategy": self.sharding_strategy, "mixed_precision": mixed}

        def make(child: Module, **options: Any) -> Module:
            return FullyShardedDataParallel(child, **{**shared, **options})

        wrap_below(module, policy, skipped, make)

    def _synchronize(self, module: Module) -> None:
        with no_grad():
            for each in [*module.parameters(), *module.buffers()]:
                collectives.broadcast(each.detach(), group=self.process_group, group_src=0)

    def _divide(
        self, module: Module, frozen: Any, shards: Any, replicas: Any, names: bool, mixed: Any
    ) -> None:
        entries = managed(module, frozen)
        params = [each.part for each in entries]
        low = mixed if mixed is not None else MixedPrecisionPolicy()
        self._group: FlatGroup | None = None
        if entries:
            dtypes = {"param_dtype": low.param_dtype, "reduce_dtype": low.reduce_dtype}
            self._group = FlatGroup(module, entries, params, shards, replicas, names, **dtypes)
        later = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)
        reshards = None if self.sharding_strategy not in later else False
        casts = bool(getattr(low, "cast_root_forward_inputs", False) or low.cast_forward_inputs)
        policy = MixedPrecisionPolicy(low.param_dtype, None, None, casts)
        state = self._fsdp_state = _State(self, self._group, reshards, policy)  # type: ignore[arg-type]
        self.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
        self.register_forward_hook(state.after)
        self.register_load_state_dict_pre_hook(_renamed)

    @property
    def module(self) -> Module:
        """The module inside."""
        found: Module = self._modules[_INNER]
        return found

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _INNER:
                raise
            return getattr(self.module, name)

    def __getitem__(self, key: Any) -> Any:
        inner: Any = self.module
        return inner[key]

    # --- which modules -------------------------------------------------------------------------

    def check_is_root(self) -> bool:
        """Return whether no other wrapper is around this one; known after the first call."""
        common = self._fsdp_state.common
        return common is None or common.states[0] is self._fsdp_state

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the wrappers in a module."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        return [each for each in found if each.check_is_root()] if root_only else found

    def _groups(self) -> list[FlatGroup]:
        wrappers = FullyShardedDataParallel.fsdp_modules(self)
        return [each._group for each in wrappers if each._group is not None]

    # --- whole parameters ----------------------------------------------------------------------

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Make the parameters whole inside the block, under their names.

        Args:
            module: a module with wrappers.
            recurse: whether those of wrappers below are made whole, too.
            writeback: whether what the block writes into them is kept.
            rank0_only, offload_to_cpu: accepted: every process has them in its memory.
            with_grads: refused.
        """
        if with_grads:
            raise NotImplementedError("summon_full_params: gradients stay divided")
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        groups = [each._group for each in wrappers if each._group is not None and each._group]
        groups = groups if recurse else groups[:1]
        for each in groups:
            each.gather()
            each.show_names()
        try:
            yield
        finally:
            for each in groups:
                if writeback:
                    each.write_back()
                each.is_whole = True
                each.divide()

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Return names and parameters; those of the modules while parameters are whole."""
        group = self._group
        for name, each in super().named_parameters(*args, **kwargs):
            is_named = "_flat_param" not in name and group is not None
            whole = is_named and not (group is not None and group.keeps_names)
            yield (name.replace(f"{_INNER}.", "") if whole else name), each

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Keep the gradients of this process for itself inside the block."""
        before = [(each, each.syncs) for each in self._groups()]
        for each, _ in before:
            each.syncs = False
        try:
            yield
        finally:
            for each, was in before:
                each.syncs = was

    @no_grad()
    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients to a norm of at most `max_norm`; return the norm before.

        Args:
            max_norm: the largest norm.
            norm_type: the order of the norm.
        """
        order = float(norm_type)
        divided: list[Tensor] = []
        whole: list[Tensor] = []
        for group in self._groups():
            params = [e.part for e in group.entries] if group.keeps_names else [group.flat]
            grads = [each.grad for each in params if each.grad is not None]
            (divided if group.shards is not None else whole).extend(grads)
        total = _power(divided, order)
        if self.process_group is not None and divided:
            kind = RedOpType.MAX if math.isinf(order) else RedOpType.SUM
            collectives.all_reduce(total, kind, self.process_group)
        alone = _power(whole, order)
        if math.isinf(order):
            norm = total.maximum(alone)
        else:
            norm = (total + alone) ** (1 / order)
        factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
        for each in [*divided, *whole]:
            each.mul_(factor)
        return norm

    # --- state dicts ---------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> StateDictSettings:
        """Say what `state_dict` of a module with wrappers returns; return what it was."""
        default = StateDictSettings()
        settings = StateDictSettings(
            state_dict_type,
            state_dict_config or default.state_dict_config,
            optim_state_dict_config or default.optim_state_dict_config,
        )
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = settings
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Return what `state_dict` of a module with wrappers returns."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else StateDictSettings()

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: Any = None,
        optim_state_dict_config: Any = None,
    ) -> Iterator[None]:
        """Choose what `state_dict` returns inside the block."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the state as the settings say: whole parameters, DTensors, or pieces."""
        group, settings = self._group, self._settings
        prefix = kwargs.get("prefix", args[1] if len(args) > 1 else "")
        if group is None or settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            return self.module.state_dict(*args, **kwargs)
        group.gather()
        group.show_names()
        try:
            found = self.module.state_dict(*args, **kwargs)
            for each in group.entries:
                for key in self._keys(each, prefix):
                    if key in found:
                        found[key] = self._saved(found[key])
        finally:
            group.divide()
        config = settings.state_dict_config
        if isinstance(config, FullStateDictConfig) and config.rank0_only and get_rank():
            found.clear()
        return found

    @staticmethod
    def _keys(entry: Any, prefix: str) -> list[str]:
        return [prefix + entry.name.replace(f"{_INNER}.", "")]

    def _saved(self, whole: Tensor) -> Any:
        if self._settings.state_dict_type is not StateDictType.SHARDED_STATE_DICT:
            return whole.detach().clone()
        if self.sharding_strategy is ShardingStrategy.NO_SHARD:
            return whole.detach().clone()
        mesh = DeviceMesh.from_group(self.process_group, "cpu")
        return distribute_tensor(whole.detach(), mesh, [Shard(0)], src_data_rank=None)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take over whole parameters, or DTensors, of any number of processes.

        Args:
            state_dict: what `state_dict` returned.
            strict: whether keys must fit.
            assign: accepted; values are copied.
        """
        if self._settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
            return super().load_state_dict(state_dict, strict)
        whole = {
            key: value.full_tensor() if isinstance(value, DTensor) else value
            for key, value in state_dict.items()
        }
        with FullyShardedDataParallel.summon_full_params(self):
            return super().load_state_dict(whole, strict)


def _groups_of(
    given: Any, mesh: DeviceMesh | None, strategy: ShardingStrategy
) -> tuple[ProcessGroup | None, ProcessGroup | None]:
    """Return the processes that divide, and those that repeat."""
    if mesh is not None:
        shards = mesh.get_group(mesh.ndim - 1)
        replicas = mesh.get_group(0) if mesh.ndim > 1 else None
    elif isinstance(given, tuple):
        shards, replicas = given
    else:
        shards, replicas = given if given is not None else default_group(), None
    if strategy is ShardingStrategy.NO_SHARD:
        return None, shards
    return shards, replicas


def _renamed(module: Any, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Give the keys of a state dict the name of the wrapper."""
    for key in [each for each in state_dict if each.startswith(prefix)]:
        rest = key[len(prefix) :]
        if not rest.startswith(_INNER):
            state_dict[f"{prefix}{_INNER}.{rest}"] = state_dict.pop(key)


def _power(tensors: list[Tensor], order: float) -> Tensor:
    """Return the largest element, or the sum of powers."""
    norms = [each.norm(order) for each in tensors if each.numel()]
    total = zeros(())
    for each in norms:
        total = total.maximum(each) if math.isinf(order) else total + each**order
    return total
