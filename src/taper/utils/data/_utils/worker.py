"""A worker process: it fetches what it is told to and sends it back, until the line is closed.

A worker ends when the loader closes the line, and at the latest when the loader's process is gone.
It runs with one thread, and with random numbers of its own.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import random
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from taper.sampling.generator import manual_seed
from taper.settings import set_num_threads
from taper.utils.data._utils.errors import ExceptionWrapper
from taper.utils.data._utils.fetch import (
    _BaseDatasetFetcher,
    _IterableDatasetFetcher,
    _MapDatasetFetcher,
)
from taper.utils.data._utils.transport import Channel, Pool, enter_worker

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which a process checks whether the others still exist."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker knows about itself; see `get_worker_info`."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Return a worker's number, seed and copy of the data set; None in any other process.

    An iterable data set asks in `__iter__` which part of the data is this worker's.

    >>> from taper.utils.data import get_worker_info
    >>> print(get_worker_info())
    None
    """
    return _worker_info


# What a worker is told, and what it answers besides data.


class Resume(NamedTuple):
    """Begin a new pass over the data set, with random numbers continuing; also the answer to it."""


class Exhausted(NamedTuple):
    """The worker's iterable data set has no more elements."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker is started with."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    worker_id: int
    num_workers: int
    most_free: int

    def new_fetcher(self) -> _BaseDatasetFetcher:
        """Return a new pass over the data set."""
        kind = _MapDatasetFetcher if self.dataset_kind == 0 else _IterableDatasetFetcher
        return kind(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)

    def wrapped_error(self) -> ExceptionWrapper:
        """Return the error that is being handled, ready to be sent."""
        return ExceptionWrapper(where=f"in DataLoader worker process {self.worker_id}")


def _seed(base_seed: int, worker_id: int) -> None:
    """Give Python, taper and NumPy the random numbers that PyTorch gives its workers."""
    random.seed(base_seed + worker_id)
    manual_seed(base_seed + worker_id)
    np.random.seed(_generate_state(base_seed, worker_id))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Return the four numbers that seed NumPy in a worker."""
    words = (worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0)
    return [int(word) for word in np.random.SeedSequence(words).generate_state(4)]


def _end_with_parent(started_by: int) -> None:
    """Wait until the process that started this one is gone; then end this one at once."""
    parent = multiprocessing.parent_process()
    while parent is not None:
        parent.join(MP_STATUS_CHECK_INTERVAL)
        if not parent.is_alive() or os.getppid() != started_by:
            os._exit(1)


def _worker_loop(job: Job, connection: Any) -> None:
    """Run a worker process."""
    global _worker_info
    try:
        watch = threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True)
        watch.start()
        set_num_threads(1)
        _seed(job.base_seed, job.worker_id)
        seed = job.base_seed + job.worker_id
        _worker_info = WorkerInfo(job.worker_id, job.num_workers, seed, job.dataset)
        pool = Pool(job.most_free)
        with contextlib.closing(Channel(connection, pool)) as channel:
            enter_worker(channel.pool)
            _serve(job, channel, pool)
    except (KeyboardInterrupt, EOFError, ConnectionError):
        pass  # the loader reports the first itself, and is gone in the other cases


def _serve(job: Job, channel: Channel, pool: Pool) -> None:
    """Answer one task after the other."""
    fetcher: _BaseDatasetFetcher | None = None
    failure: ExceptionWrapper | None = None
    exhausted = False
    try:
        if job.init_fn is not None:
            job.init_fn(job.worker_id)
        fetcher = job.new_fetcher()
    except Exception:
        failure = job.wrapped_error()
    while True:
        task, index, returned = channel.receive()
        pool.take_back(returned)
        answer: Any = failure
        if isinstance(index, Resume):
            answer, failure, exhausted = index, None, False
            try:
                fetcher = job.new_fetcher()
            except Exception:
                failure = job.wrapped_error()
        elif exhausted:
            continue
        elif failure is None and fetcher is not None:
            try:
                answer = fetcher.fetch(index)
            except Exception as error:
                exhausted = isinstance(error, StopIteration) and job.dataset_kind == 1
                answer = Exhausted() if exhausted else job.wrapped_error()
        _send(job, channel, task, answer)
        del answer  # its memory must not be held while waiting for the next task


def _send(job: Job, channel: Channel, task: int, answer: Any) -> None:
    """Send an answer, or why it cannot be sent."""
    try:
        channel.send((task, answer))
    except ConnectionError:
        raise
    except Exception:
        wrapper = answer if isinstance(answer, ExceptionWrapper) else job.wrapped_error()
        try:
            pickle.dumps(wrapper.exc_type)
        except Exception:
            wrapper.exc_type = RuntimeError  # only the worker knows the class
        channel.send((task, wrapper))
