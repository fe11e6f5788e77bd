"""`torch._C._nn`: the private names that programs use."""

from __future__ import annotations

from typing import Any

from taper.device import device as Device
from taper.nn.modules import module

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the arguments of `to`.

    >>> import taper
    >>> taper._C._nn._parse_to("cpu", taper.float64)
    (device(type='cpu'), torch.float64, False, None)
    """
    where, dtype, non_blocking, memory_format = module._parse_to(*args, **kwargs)
    return None if where is None else Device(where), dtype, non_blocking, memory_format
