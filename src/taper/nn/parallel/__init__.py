"""`nn.parallel`: data parallelism over processes, and over devices, of which there is only the CPU.

`DistributedDataParallel` averages the gradients of several processes.  `DataParallel` is its
module, called directly on the same thread (§R11), as in PyTorch without an accelerator; what needs
devices says that there are none.
"""

from taper.first_use import on_first_use
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


# Process groups are a package of their own, and few programs use them.
_HOLDERS = {"DistributedDataParallel": "distributed"}
__getattr__, __dir__ = on_first_use(globals(), ("distributed",), _HOLDERS)
