"""SyncBatchNorm: batch normalisation over the batches of all processes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from taper.nn.modules.batchnorm import _BatchNorm
from taper.nn.modules.module import Module
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class SyncBatchNorm(_BatchNorm):
    """Normalise each channel over the batches of all processes.

        y = (x - mean) / √(variance + eps) · weight + bias

    Args:
        num_features, eps, momentum, affine, track_running_stats: as for `BatchNorm1d`.
        process_group: the processes; all of the default group without it.
        device, dtype, bias: as for `BatchNorm1d`.

    While training in a group of several processes, all of them must call the module: mean and
    variance are those of all batches together, also on the CPU. Otherwise this is `BatchNorm1d`.

    Shape: (N, C, *) → the same.
    Initialisation: weight (C,) = 1, bias (C,) = 0, running_mean (C,) = 0, running_var (C,) = 1.

    Example:
        >>> import taper
        >>> taper.nn.SyncBatchNorm(3)(taper.rand(4, 3, 5)).shape
        torch.Size([4, 3, 5])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            device=device,
            dtype=dtype,
            bias=bias,
        )
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        group = self._group() if self.training else None
        if group is None:
            return super().forward(input)
        factor = 0.0 if self.momentum is None else self.momentum
        mean, variance, weight, bias = self._tensors()
        if not self.track_running_stats:
            mean = variance = None
        elif self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        # late: process groups are for few programs
        from taper.nn.modules import _functions

        result: Tensor = _functions.SyncBatchNorm.apply(
            input, weight, bias, mean, variance, self.eps, factor, group, group.size()
        )
        return result

    def _group(self) -> Any:
        """Return the group, if it has several processes."""
        groups = sys.modules.get("taper.distributed.groups")
        if groups is None or not groups.is_initialized():
            return None
        group = self.process_group or groups.default_group()
        return group if group.size() > 1 else None

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace every BatchNorm in a module; parameters and buffers are shared.

        >>> from taper import nn
        >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2)))
        Sequential(
          (0): SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, \
track_running_stats=True)
        )
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
            )
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
