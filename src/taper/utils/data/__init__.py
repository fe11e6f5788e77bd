"""`taper.utils.data`: data sets, samplers, and the loader that makes batches of them.

PyTorch's data pipes are missing: PyTorch has moved them to a package of their own.
"""

from __future__ import annotations

from taper.utils.data._utils.collate import default_collate, default_convert
from taper.utils.data._utils.worker import get_worker_info
from taper.utils.data.dataloader import DataLoader, _DatasetKind
from taper.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from taper.utils.data.distributed import DistributedSampler
from taper.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
