"""Data sets: samples by number or one after the other, and ways to combine them."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from taper.ops.random.draws import randperm
from taper.random import default_generator
from taper.sampling.generator import Generator
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = [
    "Dataset",
    "IterableDataset",
    "TensorDataset",
    "StackDataset",
    "ConcatDataset",
    "ChainDataset",
    "Subset",
    "random_split",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """Samples by number: subclasses implement `__getitem__`, and for most uses `__len__`.

    `__getitems__`, if there is one, returns a list of samples for a list of indices.

    >>> from taper.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> (Squares() + Squares())[7]
    9
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> ConcatDataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """Samples one after the other: subclasses implement `__iter__`.

    Each worker of a loader has a copy; `get_worker_info` tells it which part is its own.

    >>> from taper.utils.data import DataLoader, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(5))
    >>> list(DataLoader(Count(), batch_size=3))
    [tensor([0, 1, 2]), tensor([3, 4])]
    """

    def __add__(self, other: Dataset[_T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors of equal length; a sample is a tuple with a row of each.

    Args:
        tensors: tensors with the same first size.

    >>> import taper
    >>> from taper.utils.data import TensorDataset
    >>> TensorDataset(taper.arange(6).reshape(3, 2), taper.tensor([5, 6, 7]))[1]
    (tensor([2, 3]), tensor(6))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != each.size(0) for each in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([each[index] for each in self.tensors])

    def __len__(self) -> int:
        length: int = self.tensors[0].size(0)
        return length


class StackDataset(Dataset[Any]):
    """Data sets of equal length side by side: a sample has one of each.

    Args:
        args: data sets; samples are tuples.
        kwargs: data sets by name; samples are dicts.

    >>> from taper.utils.data import StackDataset
    >>> StackDataset([1, 2], "ab")[1]
    (2, 'b')
    >>> StackDataset(number=[1, 2], letter="ab")[0]
    {'number': 1, 'letter': 'a'}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        parts = args or tuple(kwargs.values())
        self._length = len(parts[0])
        if any(len(each) != self._length for each in parts):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple([each[index] for each in self.datasets])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """Return a sample for each index; parts that can are asked for all of theirs at once."""
        if isinstance(self.datasets, dict):
            columns = [_samples(each, indices) for each in self.datasets.values()]
            return [
                dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)
            ]
        columns = [_samples(each, indices) for each in self.datasets]
        return list(zip(*columns, strict=True))

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: list[Any]) -> list[Any]:
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[each] for each in indices]
    samples: list[Any] = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}"
        )
    return samples


class ConcatDataset(Dataset[_T_co]):
    """Data sets one after the other; `a + b` makes one, too.

    Args:
        datasets: data sets with samples by number.

    >>> from taper.utils.data import ConcatDataset
    >>> both = ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2]
    (3, 3)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return where each data set ends."""
        return list(itertools.accumulate(len(each) for each in sequence))

    def __init__(self, datasets: Iterable[Dataset[_T_co] | Sequence[_T_co]]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx = len(self) + idx
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[which - 1] if which else 0
        found: _T_co = self.datasets[which][idx - before]
        return found

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old name of `cumulative_sizes`."""
        warn_user("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one after the other; `a + b` makes one, too.

    Args:
        datasets: iterable data sets.

    >>> from taper.utils.data import ChainDataset, IterableDataset
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            yield from _checked(each)

    def __len__(self) -> int:
        return sum(len(_checked(each)) for each in self.datasets)


def _checked(dataset: Any) -> Any:
    if not isinstance(dataset, IterableDataset):
        raise AssertionError("ChainDataset only supports IterableDataset")
    return dataset


class Subset(Dataset[_T_co]):
    """Some samples of a data set, in the order of their indices.

    Args:
        dataset: the data set.
        indices: which samples.

    >>> from taper.utils.data import Subset
    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co] | Sequence[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset  # type: ignore[assignment]
        self.indices = indices

    def __getitem__(self, idx: Any) -> _T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[each] for each in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        """Return the samples for a list of indices, asked for at once if the data set can."""
        places = [self.indices[each] for each in indices]
        at_once = getattr(self.dataset, "__getitems__", None)
        if callable(at_once):
            found: list[_T_co] = at_once(places)
            return found
        return [self.dataset[each] for each in places]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[_T] | Sequence[_T],
    lengths: Sequence[int | float],
    generator: Generator | None = default_generator,
) -> list[Subset[_T]]:
    """Split a data set into parts that are drawn at random.

    Args:
        dataset: the data set.
        lengths: the sizes of the parts, or fractions that sum to 1; samples that fractions leave
            over go to the first parts, one each.
        generator: where the random order comes from.

    Returns: a list with a `Subset` for each length.

    >>> import taper
    >>> from taper.utils.data import random_split
    >>> generator = taper.Generator().manual_seed(42)
    >>> [list(part) for part in random_split(range(10), [0.3, 0.7], generator)]
    [[2, 6, 1], [8, 4, 5, 0, 9, 3, 7]]
    """
    count: int = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(count, lengths)
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    indices = randperm(sum(lengths), generator=generator).tolist()
    ends: Any = itertools.accumulate(lengths)
    return [
        Subset(dataset, indices[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def _lengths_of_fractions(count: int, fractions: Sequence[float]) -> list[int]:
    lengths = []
    for number, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        lengths.append(math.floor(count * fraction))
    for number in range(count - sum(lengths)):
        lengths[number % len(lengths)] += 1
    for number, length in enumerate(lengths):
        if not length:
            warn_user(
                f"Length of split at index {number} is 0. This might result in an empty dataset."
            )
    return lengths
