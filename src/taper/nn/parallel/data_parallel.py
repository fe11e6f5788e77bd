"""`DataParallel` without devices: the module itself, called on the same thread (§R11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Split the work of a module over devices; without devices, just call the module.

    Args:
        module: the module, kept as the attribute `module`.
        device_ids, output_device, dim: accepted; there are no devices.

    Example:
        >>> from taper import nn
        >>> list(nn.DataParallel(nn.Linear(2, 3)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Any,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Run a module on several devices, of which there are none: always an error, as in PyTorch."""
    raise RuntimeError("device type could not be determined")
