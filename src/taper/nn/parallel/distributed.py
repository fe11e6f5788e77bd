"""`DistributedDataParallel`, which says that there is one process."""

from __future__ import annotations

from typing import Any

from taper.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Data parallelism over processes, which taper does not have."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "DistributedDataParallel needs several processes, which taper does not have: train "
            "the module itself."
        )
