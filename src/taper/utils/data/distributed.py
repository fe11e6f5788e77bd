"""`DistributedSampler`: the part of the indices that belongs to one of several processes."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any, TypeVar

from taper.ops.random.draws import randperm
from taper.random import Generator
from taper.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th index, from `rank` on, for one of several processes.

    All processes shuffle with the same seed.

    Args:
        dataset: the data set.
        num_replicas: the number of processes; by default that of the process group.
        rank: the number of this process; likewise.
        shuffle: shuffle the indices.
        seed: the seed of the order.
        drop_last: drop indices at the end to make the parts equal, instead of repeating some.

    >>> from taper.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            # late: most who load data have no group
            groups = importlib.import_module("taper.distributed")
            num_replicas = groups.get_world_size() if num_replicas is None else num_replicas
            rank = groups.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % num_replicas:
            count -= num_replicas
        self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[_T_co]:
        indices: list[Any] = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(len(self.dataset), generator=generator).tolist()
        if not self.drop_last and indices:
            # Indices from the beginning fill up, as often as necessary.
            indices = (indices * math.ceil(self.total_size / len(indices)))[: self.total_size]
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(
                f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})"
            )
        return iter(indices[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order for each epoch; otherwise all epochs have the same.

        >>> from taper.utils.data import DistributedSampler
        >>> sampler = DistributedSampler(range(4), num_replicas=2, rank=0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1)
        >>> list(sampler) == first
        False
        """
        self.epoch = epoch
