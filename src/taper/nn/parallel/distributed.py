"""`DistributedDataParallel` in a group of one process: the module itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn

from taper.distributed.groups import ProcessGroup, default_group
from taper.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Train a module by a group of processes, which has one: gradients are the module's own.

    Example:
        >>> from taper import distributed as dist, nn
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> list(nn.parallel.DistributedDataParallel(nn.Linear(2, 3)).state_dict())
        ['module.weight', 'module.bias']
        >>> dist.destroy_process_group()
    """

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
    ) -> None:
        super().__init__()
        self.process_group = process_group or default_group()
        trained = [each for each in module.parameters() if each.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids or output_device is not None:
            devices = {each.device for each in module.parameters()}
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters {devices}."
            )
        if self.process_group.size() > 1:
            raise NotImplementedError(
                "DistributedDataParallel works in a group of one process; in larger ones average "
                "the gradients yourself after backward(): distributed.all_reduce(p.grad, "
                "ReduceOp.AVG) for every parameter p"
            )
        self.module = module
        self.device_ids = None
        self.output_device = None
        self.dim = dim
        self.device = trained[0].device
        self.device_type = self.device.type
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do not put gradients together inside the block: they never are."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> contextlib.AbstractContextManager[None]:
        """Let processes have different numbers of batches inside the block."""
        return contextlib.nullcontext()

    def register_comm_hook(self, state: object, hook: Any) -> NoReturn:
        """Refused: gradients are not sent."""
        raise NotImplementedError(
            "DistributedDataParallel.register_comm_hook: gradients of one process are not sent; "
            "use `register_post_accumulate_grad_hook` of its parameters."
        )

    def _set_static_graph(self) -> None:
        self.static_graph = True
