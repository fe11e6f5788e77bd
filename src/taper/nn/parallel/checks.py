"""What `DistributedDataParallel` checks: its arguments, and that all processes have one module."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from taper.distributed.buckets import GradBucket
from taper.distributed.groups import ProcessGroup, default_group
from taper.futures import Future
from taper.nn.modules.module import Module
from taper.nn.parameter import UninitializedTensorMixin
from taper.tensor import Tensor
from taper.userwarning import warn_user


def refuse(value: Any, name: str, instead: str = "leave it out") -> None:
    """Raise if an argument is given that taper does not have."""
    if value is not None:
        raise NotImplementedError(f"DistributedDataParallel: taper does not have {name}; {instead}")


def group_of(group: ProcessGroup | None, mesh: Any) -> ProcessGroup:
    """Return the group that is meant."""
    if group is not None and mesh is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh is None:
        return group or default_group()
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    found: ProcessGroup = mesh.get_group(mesh_dim=0)
    return found


def check_module(module: Module, device_ids: Any, output_device: Any) -> None:
    """Raise if a module cannot be trained, or not where it is asked for."""
    ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
    parameters = [each for name, each in module.named_parameters() if name not in ignored]
    if any(isinstance(each, UninitializedTensorMixin) for each in parameters):
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )
    if not any(each.requires_grad for each in parameters):
        raise RuntimeError(
            "DistributedDataParallel is not needed when a module doesn't have any parameter that "
            "requires a gradient."
        )
    if device_ids or output_device is not None:
        devices = {each.device for each in parameters}
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
            f"{device_ids}, output_device {output_device}, and module parameters {devices}."
        )


def syncs_buffers(broadcast_buffers: bool | None, forward_sync_buffers: bool | None) -> bool:
    """Return whether buffers are given to all at each forward pass."""
    if broadcast_buffers is not None:
        warn_user(
            "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: "
            "unlike `broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at "
            "init. If you rely on buffers NOT being synced at init (e.g. rank-local buffers), keep "
            "using `broadcast_buffers=False` until `init_sync_buffers` is available.",
            FutureWarning,
        )
        if forward_sync_buffers is None:
            return broadcast_buffers
    return forward_sync_buffers is None or forward_sync_buffers


def check_hook(hook: Any) -> None:
    """Raise if a function cannot be a communication hook."""
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    signature = inspect.signature(hook)
    given = signature.parameters["bucket"].annotation
    if given is not inspect.Parameter.empty and given not in (GradBucket, "GradBucket"):
        if given != "dist.GradBucket":
            raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")
    returned = signature.return_annotation
    if returned is inspect.Signature.empty or isinstance(returned, str):
        return
    if returned not in (Future[Tensor], Future[Any]):
        raise ValueError(
            "Communication hook: return annotation should be torch.futures.Future[torch.Tensor]."
        )


def verify_alike(group: ProcessGroup, parameters: list[Tensor]) -> None:
    """Raise, in all processes, if their modules have other parameters."""
    if group.size() < 2:
        return
    counts = _gathered(group, np.array([len(parameters)]))[:, 0]
    rank = group.rank()
    for other, count in enumerate(counts.tolist()):
        if count != len(parameters):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank {rank} has {len(parameters)} "
                f"params, while rank {other} has inconsistent {count} params."
            )
    widest = max(each.dim() for each in parameters)
    widest = int(_gathered(group, np.array([widest])).max())
    own = np.array([_description(each, widest) for each in parameters])
    tables = _gathered(group, own.reshape(-1)).reshape(group.size(), *own.shape)
    for place, each in enumerate(parameters):
        if not np.array_equal(own[place], tables[0, place]):
            _raise_different(rank, place, each, 0, own[place], tables[0, place])
    for other in range(1, group.size()):  # those that agree with rank 0 must not go on alone
        for place, each in enumerate(parameters):
            if not np.array_equal(own[place], tables[other, place]):
                _raise_different(rank, place, each, other, own[place], tables[other, place])


def _description(parameter: Tensor, widest: int) -> list[int]:
    """Return dtype, number of dimensions, lengths and strides of a parameter as numbers."""
    blank = [0] * (widest - parameter.dim())
    kind = sum(ord(each) << (8 * place) for place, each in enumerate(str(parameter.dtype)[6:13]))
    return [parameter.dim(), *parameter.shape, *blank, *parameter.stride(), *blank, kind]


def _raise_different(
    rank: int, place: int, parameter: Tensor, other: int, own: Any, its: Any
) -> NoReturn:
    what, value = "strides", list(parameter.stride())
    if own[-1] != its[-1]:
        what, value = "dtype", str(parameter.dtype)  # type: ignore[assignment]
    length = (len(own) - 2) // 2
    if not np.array_equal(own[: 1 + length], its[: 1 + length]):
        what, value = "sizes", list(parameter.shape)
    raise RuntimeError(
        f"[{rank}]: params[{place}] in this process with {what} {value} appears not to match "
        f"{what} of the same param in process {other}."
    )


def _gathered(group: ProcessGroup, own: np.ndarray) -> np.ndarray:
    """Return the numbers of all processes, a row for each."""
    own = own.astype(np.int64)
    table = np.empty((group.size(), len(own)), np.int64)
    group._queue.run(lambda: group._transport.all_gather(list(table), own))
    return table


def tensors_in(output: Any) -> Iterator[Tensor]:
    """Return the tensors in what a module returned, also in attributes of its objects."""
    if isinstance(output, Tensor):
        yield output
    elif isinstance(output, (list, tuple)):
        for each in output:
            yield from tensors_in(each)
    elif isinstance(output, dict):
        for each in output.values():
            yield from tensors_in(each)
    elif hasattr(output, "__dataclass_fields__"):
        for name in output.__dataclass_fields__:
            yield from tensors_in(getattr(output, name))
