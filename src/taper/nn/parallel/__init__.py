"""`nn.parallel`: data parallelism over devices, of which taper has none but the CPU.

So `DataParallel` is its module, called directly on the same thread (R11), as in PyTorch without an
accelerator, and what needs devices or processes says that there are none.
"""

from taper.nn.parallel.data_parallel import DataParallel, data_parallel
from taper.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
