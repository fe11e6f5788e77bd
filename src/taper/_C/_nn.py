"""`torch._C._nn`: the private names that programs use."""

from __future__ import annotations

from typing import Any

from taper.device import device as Device
from taper.nn import functional as F
from taper.nn.modules import module
from taper.tensor import Tensor

__all__ = ["_parse_to"]


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the arguments of `to`.

    >>> import taper
    >>> taper._C._nn._parse_to("cpu", taper.float64)
    (device(type='cpu'), torch.float64, False, None)
    """
    if args and isinstance(args[0], Tensor):
        args, kwargs = args[1:], {**kwargs, "tensor": args[0]}
    where, dtype, non_blocking, memory_format = module._parse_to(*args, **kwargs)
    return None if where is None else Device(where), dtype, non_blocking, memory_format


def __getattr__(name: str) -> Any:
    known = {"log_sigmoid": "logsigmoid"}.get(name, name)
    if not name.startswith("_") and hasattr(F, known):
        return getattr(F, known)
    raise AttributeError(f"module 'torch._C._nn' has no attribute {name!r}")
