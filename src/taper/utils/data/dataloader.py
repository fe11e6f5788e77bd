"""`DataLoader`: passes over a data set in batches, in this process or with workers.

Owns the options and their rules, and which sample is asked for when.  `_utils.processes` has the
processes of workers, `_utils.transport` the line to them.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.context import BaseContext
from typing import Any, Generic, TypeVar

from taper.autograd.state import local
from taper.userwarning import warn_user
from taper.utils.data import _utils
from taper.utils.data._utils.collate import default_collate, default_convert
from taper.utils.data._utils.errors import ExceptionWrapper
from taper.utils.data._utils.fetch import (
    _BaseDatasetFetcher,
    _IterableDatasetFetcher,
    _MapDatasetFetcher,
)
from taper.utils.data._utils.processes import Crew
from taper.utils.data._utils.worker import Exhausted, Job, Resume, get_worker_info
from taper.utils.data.dataset import Dataset, IterableDataset
from taper.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    drawn_seed,
)

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert", "_utils"]

_T_co = TypeVar("_T_co", covariant=True)
# PyTorch's names of types, which libraries import.
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


class _DatasetKind:
    """The two kinds of data sets: samples by number, or one after the other."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> _BaseDatasetFetcher:
        """Return what takes samples of a data set of this kind."""
        fetcher = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of iterable data sets, which have no indices: None again and again."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """Make batches of a data set; each `for` over the loader is a new pass.

    The order of samples and the workers' random numbers are PyTorch's.

    Args:
        dataset: a `Dataset`, an `IterableDataset`, or any sequence.
        batch_size: samples in a batch; None gives single samples.
        shuffle: draw the samples in a random order, another one in each pass.
        sampler: an iterable of indices, instead of `shuffle`.
        batch_sampler: an iterable of lists of indices, instead of all options about batches.
        num_workers: how many processes read the data set; 0 reads it in this process.
        collate_fn: makes a batch of a list of samples; the default is `default_collate`.
        pin_memory: accepted; there is no device to pin memory for.
        drop_last: drop the last batch if it is shorter.
        timeout: seconds to wait for a batch of a worker; 0 waits without limit.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: how workers are started: a name or a context.
        generator: where the random order and the workers' seeds come from.
        prefetch_factor: how many batches each worker prepares ahead; 2 by default.
        persistent_workers: keep the workers for the next pass.
        pin_memory_device: accepted without effect.
        in_order: return batches in order even if later ones are ready earlier.

    Differs: a worker's result that cannot be pickled raises in the loader, where PyTorch waits for
    ever.

    >>> import taper
    >>> from taper.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(taper.arange(5), taper.arange(5) ** 2)
    >>> for numbers, squares in DataLoader(data, batch_size=2):
    ...     print(numbers, squares)
    tensor([0, 1]) tensor([0, 1])
    tensor([2, 3]) tensor([4, 9])
    tensor([4]) tensor([16])
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Any
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None = None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co] | Sequence[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset  # type: ignore[assignment]
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        if iterable:
            shuffle = _check_iterable_options(shuffle, sampler, batch_sampler)
        _check_sampling_options(batch_size, bool(shuffle), sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle), generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle: bool, generator: Any) -> Sampler[Any]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=generator)  # type: ignore[arg-type]
        return SequentialSampler(self.dataset)  # type: ignore[arg-type]

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> Any:
        """What starts the workers; None is the default of `multiprocessing`."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading "
                    f"(num_workers > 0), but got num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                valid = multiprocessing.get_all_start_methods()
                if context not in valid:
                    raise ValueError(
                        "multiprocessing_context option should specify a valid start method in "
                        f"{valid!r}, but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string "
                    f"specifying the start method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset")
        if self.__initialized and attr in (*fixed, "persistent_workers"):
            raise ValueError(
                f"{attr} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Remembered, to warn if a pass gives more samples than the data set's length.
        length = self._IterableDataset_len_called = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        if self.drop_last:
            return length // self.batch_size
        return -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors that this process may use."""
        if not self.num_workers:
            return
        note = ""
        if hasattr(os, "sched_getaffinity"):
            suggested = len(os.sched_getaffinity(0))
        else:
            suggested = os.cpu_count() or 1
            note = " (`cpuset` is not taken into account)"
        if self.num_workers > suggested:
            warn_user(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {suggested}{note}, which is "
                "smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, "
                "lower the worker number to avoid potential slowness/freeze if necessary."
            )


# --- the rules of the options ----------------------------------------------------------------


def _check_worker_options(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable_options(shuffle: Any, sampler: Any, batch_sampler: Any) -> bool:
    refused = {"sampler": sampler, "batch_sampler": batch_sampler}
    if shuffle not in (False, None):
        refused = {"shuffle": shuffle}
    for name, value in refused.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, "
                f"but got {name}={value}"
            )
    return False


def _check_sampling_options(
    batch_size: Any, shuffle: bool, sampler: Any, batch_sampler: Any, drop_last: Any
) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                "and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


# --- passes ----------------------------------------------------------------------------------


class _BaseDataLoaderIter:
    """One pass over the data set of a loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = False
        if loader.pin_memory:
            _warn_of_pinning(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = drawn_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        recorder = local.state.recorder
        if recorder is None:
            data = self._next_data()
        else:
            record = recorder.begin(self._profile_name, [])
            try:
                data = self._next_data()
            finally:
                record.end = time.perf_counter_ns()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if (
            promised is not None
            and self._dataset_kind == _DatasetKind.Iterable
            and self._num_yielded > promised
        ):
            _warn_of_length(self._dataset, promised, self._num_yielded, self._num_workers)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


def _warn_of_pinning(loader: DataLoader[Any]) -> None:
    if loader.pin_memory_device:
        warn_user(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'."
        )
    warn_user(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
        "memory won't be used."
    )


def _warn_of_length(dataset: Any, promised: int, fetched: int, num_workers: int) -> None:
    message = (
        f"Length of IterableDataset {dataset} was reported to be {promised}"
        f"(when accessing len(dataloader)), but {fetched} samples have been fetched. "
    )
    if num_workers > 0:
        message += (
            "For multiprocessing data-loading, this could be caused by not properly configuring "
            "the IterableDataset replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset "
            "for examples."
        )
    warn_user(message)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass in the process of the loader."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass with workers: tasks are dealt out in turn, and answers returned in that order."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._worker_init_fn = loader.worker_init_fn
        if self._num_workers <= 0:
            raise AssertionError("num_workers must be greater than 0")
        if not self._prefetch_factor:
            raise AssertionError(
                "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter"
            )
        context = loader.multiprocessing_context or multiprocessing
        self._shutdown = False
        jobs = [self._job(number) for number in range(self._num_workers)]
        self._crew = Crew(jobs, context)
        self._workers = self._crew.processes
        self._reset(loader, first_iter=True)

    def _job(self, number: int) -> Job:
        return Job(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            self._worker_init_fn,
            number,
            self._num_workers,
            most_free=(self._prefetch_factor or 0) + 4,
        )

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if not first_iter:
            self._resume_workers()
        self._send_idx = 0
        # Tasks by number whose answers have not been returned yet, in order.
        self._task_info: dict[int, int] = {}
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._worker_queue_idx_cycle = itertools.cycle(range(self._num_workers))
        for _ in range((self._prefetch_factor or 0) * self._num_workers):
            self._try_put_index()

    def _resume_workers(self) -> None:
        """Let every worker begin anew, and forget its answers about the last pass."""
        self._crew.resume()
        for number in range(self._num_workers):
            self._crew.give(number, -1, Resume())
        for number in range(self._num_workers):
            while not isinstance(self._crew.take(number, self._timeout)[2], Resume):
                pass

    def _try_put_index(self) -> None:
        """Deal out the next task, if there is one and a worker for it."""
        active = sum(self._workers_status)
        most = (self._prefetch_factor or 0) * self._num_workers // max(active, 1)
        for _ in range(self._num_workers):
            number = next(self._worker_queue_idx_cycle)
            if self._workers_status[number] and (
                self._in_order or self._workers_num_tasks[number] < most
            ):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._crew.give(number, self._send_idx, index)
        self._task_info[self._send_idx] = number
        self._workers_num_tasks[number] += 1
        self._send_idx += 1

    def _next_data(self) -> Any:
        while True:
            awaited = self._awaited_worker()
            if awaited is None:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number, task, data = self._crew.take(awaited if self._in_order else None, self._timeout)
            del self._task_info[task]
            self._workers_num_tasks[number] -= 1
            if isinstance(data, Exhausted):
                self._mark_worker_as_unavailable(number)
                self._try_put_index()
                continue
            self._try_put_index()
            if isinstance(data, ExceptionWrapper):
                data.reraise()
            return data

    def _awaited_worker(self) -> int | None:
        """Return the worker of the first task that will be answered; None if there is none."""
        if self._shutdown:
            return None
        for task, number in list(self._task_info.items()):
            if self._workers_status[number]:
                return number
            del self._task_info[task]
        return None

    def _mark_worker_as_unavailable(self, worker_id: int) -> None:
        self._workers_status[worker_id] = False
        if self._persistent_workers:
            self._crew.leave(worker_id)
        else:
            self._crew.dismiss(worker_id)

    def _shutdown_workers(self) -> None:
        """End the workers; the pass has no more data."""
        self._shutdown = True
        self._crew.stop()
