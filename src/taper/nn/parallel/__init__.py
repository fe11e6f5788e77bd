"""`nn.parallel`: data parallelism over devices, of which taper has none but the CPU.

So `DataParallel` is its module, called directly on the same thread (§R11), as in PyTorch without an
accelerator; so is `DistributedDataParallel` in a group of one process; what needs devices says that
there are none.
"""

import importlib
from typing import Any

from taper.nn.parallel.data_parallel import DataParallel, data_parallel
from taper.nn.parallel.devices import gather, parallel_apply, replicate, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name: str) -> Any:
    # On demand: process groups are a package of their own, and few programs use them.
    if name in ("DistributedDataParallel", "distributed"):
        module = importlib.import_module("taper.nn.parallel.distributed")
        return module if name == "distributed" else module.DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
