"""What `async_op=True` returns, and the thread of a group that does such work.

A backend's operations block.  A call without `async_op` runs in the caller's thread, unless work is
queued; then it queues behind it, since all processes must do the same in the same order.  Who waits
for queued work does it, as far as the group's thread has not begun it.
"""

from __future__ import annotations

import datetime
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from taper.futures import Future


class Work:
    """An operation that goes on while the program does something else."""

    def __init__(self, run: Callable[[], Any] | None, result: list[Any], operation: str) -> None:
        self._run = run
        self._result = result
        self._operation = operation
        self._done = threading.Event()
        self._error: Exception | None = None
        self._source: int | None = None
        self._future: Future[Any] | None = None
        self._future_lock = threading.Lock()
        self._queue: Queue | None = None

    def _execute(self) -> None:
        """Do the operation, in whatever thread this is."""
        run, self._run = self._run, None
        try:
            if run is not None:
                run()
        except Exception as error:
            self._complete(error)
        except BaseException:  # Ctrl-C, where the waiting thread does the operation itself
            self._complete(RuntimeError(f"{self._operation}: interrupted"))
            raise
        else:
            self._complete(None)

    def _complete(self, error: Exception | None) -> None:
        with self._future_lock:
            self._error = error
            self._done.set()
            future = self._future
        if future is not None:
            self._settle(future)

    def _settle(self, future: Future[Any]) -> None:
        if self._error is not None:
            future.set_exception(self._error)
        else:
            future.set_result(self._result)

    def wait(self, timeout: datetime.timedelta | None = None) -> bool:
        """Wait until the operation is done; raise the error if it failed.

        Args:
            timeout: how long to wait at most; else as long as an operation of the group may take.
        """
        seconds = timeout.total_seconds() if timeout else None  # no time: no limit, as PyTorch
        if seconds is None and self._queue is not None:
            self._queue.help(self)
        if not self._done.wait(seconds):
            raise RuntimeError(
                f"{self._operation}: not done after waiting {round((seconds or 0) * 1000)}ms"
            )
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Return whether the operation is over."""
        return self._done.is_set()

    def is_success(self) -> bool:
        """Return whether the operation is over and did not fail."""
        return self._done.is_set() and self._error is None

    def exception(self) -> Exception | None:
        """Return the error with which the operation failed."""
        return self._error

    def synchronize(self) -> None:
        """Wait until the operation is done."""
        self.wait()

    def result(self) -> list[Any]:
        """Return the tensors that were written, once the operation is over."""
        if not self._done.is_set():
            raise RuntimeError("Work needs to be completed before calling result().")
        return self._result

    def source_rank(self) -> int:
        """Return the rank from which a receive from anybody took its tensor."""
        if self._source is None:
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv or "
                "recv-from-any call."
            )
        return self._source

    _source_rank = source_rank

    def get_future(self) -> Future[Any]:
        """Return the tensors that are written, as a future."""
        with self._future_lock:
            if self._future is None:
                self._future = Future()
                if self._done.is_set():
                    self._settle(self._future)
            return self._future


class Queue:
    """The operations of one group, one after the other."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: deque[Work] = deque()  # the first of them is being done
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_wanted = False  # whether the thread has to do what is waiting
        self._is_closed = False

    def run(self, job: Callable[[], Any]) -> None:
        """Do an operation and return when it is done."""
        if threading.current_thread() is self._thread:  # a callback of the work that is being done
            job()
            return
        if not self._waiting:
            with self._turn:
                job()
            return
        self.start(Work(job, [], self._name)).wait()

    def start(self, work: Work, lazily: bool = False) -> Work:
        """Let the group's thread do an operation after those before it.

        What a callback of one operation starts comes right after this one, on all processes.

        Args:
            work: the operation.
            lazily: let it be done by whoever waits for it, unless something is started after it.
        """
        if threading.current_thread() is self._thread:
            work._execute()
            return work
        work._queue = self
        with self._changed:
            self._waiting.append(work)
            if lazily:
                return work
            self._is_wanted = True
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, daemon=True, name=f"taper group {self._name}"
                )
                self._thread.start()
            self._changed.notify()
        return work

    def help(self, work: Work) -> None:
        """Do operations here until one is done: waking the group's thread takes longer."""
        while not work._done.is_set() and threading.current_thread() is not self._thread:
            self._do_next()

    def close(self) -> None:
        """End the thread after what is queued."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: (self._is_wanted and self._waiting) or self._is_closed
                )
                if not self._waiting:
                    return
            self._do_next()

    def _do_next(self) -> None:
        """Do the first of the waiting operations, when the one that is being done has ended."""
        with self._turn:
            if not self._waiting:
                return
            try:
                self._waiting[0]._execute()
            finally:
                with self._changed:
                    self._waiting.popleft()
                    self._is_wanted = self._is_wanted and bool(self._waiting)
