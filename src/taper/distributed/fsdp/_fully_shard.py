"""`fully_shard`: parameters, gradients and states divided over processes, gathered per module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from taper.autograd.variable import Variable
from taper.distributed.device_mesh import DeviceMesh, init_device_mesh
from taper.distributed.fsdp.groups import Entry, RowGroup
from taper.distributed.groups import get_world_size
from taper.nn.modules.container import ModuleDict, ModuleList
from taper.nn.modules.module import Module
from taper.tensor import Tensor
from taper.utils._pytree import tree_flatten, tree_map

__all__ = [
    "CPUOffloadPolicy",
    "DataParallelMeshDims",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
    "share_comm_ctx",
]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a module computes.

    Args:
        param_dtype: of the whole parameters, and of floating point inputs.
        reduce_dtype: in which gradients are averaged; `param_dtype` without it.
        output_dtype: of floating point outputs.
        cast_forward_inputs: whether inputs are converted to `param_dtype`.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parts stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts lie in the processor's memory, where they are anyway."""

    pin_memory: bool = True


@dataclass(frozen=True)
class DataParallelMeshDims:
    """Which dimensions of a mesh divide parameters and which repeat them, by name."""

    shard: Any = None
    replicate: Any = None


class UnshardHandle:
    """What `unshard(async_op=True)` returns."""

    def wait(self) -> None:
        """Return: the parameters are whole."""


class _Pass:
    """What the modules under one root share: whether the end of a backward pass is awaited."""

    def __init__(self, states: list[_State]) -> None:
        self.states = states
        self.is_queued = False

    def await_end(self) -> None:
        """Have the last gradients reduced when the backward pass ends."""
        if not self.is_queued:
            self.is_queued = True
            Variable._execution_engine.queue_callback(self._end)

    def _end(self) -> None:
        self.is_queued = False
        for each in self.states:
            group = each.group
            if group is not None:
                if group.is_in_backward:
                    group.end_backward()
                group.finish()


class _State:
    """What `fully_shard` knows about one module."""

    def __init__(self, module: Module, group: RowGroup | None, reshards: Any, policy: Any) -> None:
        self.module, self.group = module, group
        self.reshards, self.policy = reshards, policy
        self.common: _Pass | None = None

    def _found_root(self) -> None:
        """Take the module that is called first for the root of all below."""
        states = [each._fsdp_state for each in self.module.modules() if _state_of(each) is not None]
        common = _Pass(states)
        for each in states:
            each.common = common
            if each.reshards is None:
                each.reshards = each is not self  # the root is needed first in the backward pass

    def before(self, module: Module, args: Any, kwargs: Any) -> Any:
        """Make the parameters whole, and convert inputs."""
        if self.common is None:
            self._found_root()
        if self.group is not None:
            self.group.gather()
        policy = self.policy
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            args, kwargs = tree_map(lambda each: _cast(each, policy.param_dtype), (args, kwargs))
        return args, kwargs

    def after(self, module: Module, args: Any, output: Any) -> Any:
        """Divide the parameters again, until the gradient of the output comes."""
        if self.policy.output_dtype is not None:
            output = tree_map(lambda each: _cast(each, self.policy.output_dtype), output)
        group = self.group
        if group is None:
            return output
        for each in tree_flatten(output)[0]:
            if isinstance(each, Tensor) and each.requires_grad:
                each.register_hook(self._before_backward)
        if self.reshards and not group.is_in_backward:
            group.divide()
        return output

    def _before_backward(self, grad: Tensor) -> None:
        if self.group is not None and self.common is not None:
            self.common.await_end()
            self.group.begin_backward()


def _cast(value: Any, dtype: Any) -> Any:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value.to(dtype) if is_float else value


def _state_of(module: Any) -> Any:
    return module.__dict__.get("_fsdp_state")


class FSDPModule:
    """What a module becomes by `fully_shard`, beside its own class."""

    _orig_cls_mro_index = 2

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a module of the class before: copies of a module's constructor are plain."""
        original: Any = cls.__mro__[cls._orig_cls_mro_index]
        made = original.__new__(original, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> Any:
        return _state_of(self)

    def _group(self) -> Any:
        return _state_of(self).group

    def _groups(self, recurse: bool = True) -> list[Any]:
        own: Any = self
        modules = own.modules() if recurse else [own]
        states = [_state_of(each) for each in modules]
        return [each.group for each in states if each is not None and each.group is not None]

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Make the parameters whole; not those of modules below that have been sharded.

        Args:
            async_op: return a handle whose `wait()` ends the work.
        """
        if self._group() is not None:
            self._group().gather()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Keep only the part of this process."""
        if self._group() is not None:
            self._group().divide()

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Say whether gradients are averaged: without it they gather whole in each process."""
        for each in self._groups(recurse):
            each.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Say whether gradients are averaged over repeated parts, too."""
        for each in self._groups(recurse):
            each.all_reduces = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Say whether parameters are divided after the forward pass."""
        own: Any = self
        for each in own.modules() if recurse else [own]:
            if _state_of(each) is not None:
                _state_of(each).reshards = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Say whether parameters are divided after the backward pass."""
        for each in self._groups(recurse):
            each.divides_after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide the sum of gradients by this number instead of averaging."""
        if self._group() is not None:
            self._group().divide_factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    # What follows arranges communication on devices and changes no result.

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: every backward pass is finished when it returns."""

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Do nothing: parameters are gathered when they are needed."""

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Do nothing: parameters are gathered when they are needed."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Do nothing: what the backward pass needs is gathered."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Do nothing: there is one way to average."""

    def set_post_optim_event(self, event: Any) -> None:
        """Do nothing: there are no streams."""

    def reset_iter_state(self) -> None:
        """Forget a pass that did not end."""
        for each in self._groups():
            each.is_in_backward = False
            each.finish()

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        for each in self._groups():
            each.divide()
        own: Any = super()
        return own._apply(*args, **kwargs)


def _refuse_copy(self: Any, memo: Any) -> Any:
    raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")


_CLASSES: dict[type, type] = {}


def _sharded_class(kind: type) -> type:
    if kind not in _CLASSES:
        members = {"__deepcopy__": _refuse_copy, "__module__": __name__}
        _CLASSES[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), members)
    return _CLASSES[kind]


def managed(module: Module, ignored: Any = None) -> list[Entry]:
    """Return the parameters of a module that no module below has for itself."""
    found: dict[Tensor, Entry] = {}
    skipped = set(ignored or ())

    def visit(each: Module, prefix: str) -> None:
        if each is not module and _state_of(each) is not None:
            return
        for name, param in each._parameters.items():
            if param is None or param in skipped:
                continue
            if not param.dim():
                raise ValueError(
                    f"fully_shard doesn't support scalar parameters. Change {prefix}{name} to a 1D "
                    "tensor with numel equal to 1."
                )
            if param in found:
                found[param].holders.append((each, name))
            else:
                found[param] = Entry(param, [(each, name)], f"{prefix}{name}")
        for name, child in each._modules.items():
            if child is not None:
                visit(child, f"{prefix}{name}.")

    visit(module, "")
    for param, entry in found.items():
        entry.part = param
    return list(found.values())


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),  # noqa: B008
    offload_policy: OffloadPolicy = OffloadPolicy(),  # noqa: B008
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: DataParallelMeshDims | None = None,
) -> Any:
    """Divide the parameters of a module over processes, in place; return the module.

    Parameters become DTensors, divided along their first dimension, and so do their gradients and
    the states that optimizers make.  They are gathered when the module is called and when its
    gradients are computed.  Call it on the layers first, then on the whole model.

    Args:
        module: the module, or a list of modules; parameters that a module below has already
            divided are left out.
        mesh: the processes; with two dimensions the first repeats and the second divides.
        reshard_after_forward: whether parameters are divided again after the forward pass; by
            default not those of the root.
        shard_placement_fn: refused unless it says `Shard(0)`.
        mp_policy: in which dtypes the module computes.
        offload_policy: accepted: parts lie in the processor's memory.
        ignored_params: parameters that stay as they are.
        dp_mesh_dims: accepted.

    >>> import taper
    >>> from taper import distributed as dist
    >>> from taper.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = fully_shard(taper.nn.Linear(2, 1))
    >>> type(net.weight).__name__, net.weight.placements
    ('DTensor', (Shard(dim=0),))
    >>> net(taper.ones(1, 2)).sum().backward()
    >>> net.weight.grad.full_tensor()
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """
    if isinstance(module, list | tuple):
        for each in module:
            fully_shard(
                each,
                mesh=mesh,
                reshard_after_forward=reshard_after_forward,
                mp_policy=mp_policy,
                ignored_params=ignored_params,
            )
        return module
    _check(module)
    grid = init_device_mesh("cpu", (get_world_size(),)) if mesh is None else mesh
    if grid.ndim > 2:
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {grid}")
    entries = managed(module, ignored_params)
    params = [each.part for each in entries]
    for each in params if shard_placement_fn is not None else ():
        placement = shard_placement_fn(each) if shard_placement_fn is not None else None
        if placement is not None and placement.dim != 0:
            raise NotImplementedError("fully_shard: parameters are divided along dimension 0 only")
    group = None
    if entries:
        dtypes = {"param_dtype": mp_policy.param_dtype, "reduce_dtype": mp_policy.reduce_dtype}
        group = RowGroup(entries, params, grid, **dtypes)
    state = _State(module, group, reshard_after_forward, mp_policy)
    module.__dict__["_fsdp_state"] = state
    module.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
    module.register_forward_hook(state.after)
    if group is not None:
        module.register_state_dict_pre_hook(lambda *_: group.divide())
        module.register_load_state_dict_pre_hook(lambda *_: group.divide())
    module.__class__ = _sharded_class(type(module))
    return module


def _check(module: Module) -> None:
    if isinstance(module, ModuleList | ModuleDict):
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )
    if _state_of(module) is not None:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. "
            f"fully_shard has already been applied to the following module:\n{module}"
        )


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Gather the parameters of a sharded module around another method than `forward`, too.

    Args:
        module: a module; nothing happens if it is not sharded.
        method_name: the method.
    """
    state = _state_of(module)
    if state is None:
        return
    method = getattr(module, method_name)

    def around(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        return state.after(module, args, method(*args, **kwargs))

    module.__dict__[method_name] = around


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Do nothing: there are no streams to share."""
