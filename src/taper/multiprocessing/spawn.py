"""Starting several processes that run one function, and raising what goes wrong in them."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"


class ProcessException(Exception):  # noqa: N818 - as PyTorch
    """A process failed; `error_index` is its number and `error_pid` its process id."""

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    @property
    def error_pid(self) -> int:
        """The process id."""
        return self.pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process failed because its code raised an exception."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process failed because it ended with a signal or an exit code other than 0."""

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)
        return type(self), arguments


def _wrap(fn: Callable[..., Any], i: int, args: tuple[Any, ...], error_file: str) -> None:
    """Run the function in the new process; write an exception to a file."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it too
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that run together.

    >>> import taper
    >>> context = taper.multiprocessing.ProcessContext([], [])
    >>> context.pids(), context.join()
    ([], True)
    """

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: nr for nr, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """Return the process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until a process ends; return True when all have ended well.

        If one fails, the others are ended and its exception is raised here.

        Args:
            timeout: how many seconds to wait at most.
            grace_period: how many seconds the others get to end by themselves, and again after
                SIGTERM; without it they get SIGTERM at once, and 30 seconds.
        """
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout)
        failed = None
        for sentinel in ready:
            nr = self.sentinels.pop(sentinel)
            process = self.processes[nr]
            process.join()
            if process.exitcode != 0:
                failed = nr
                break
        if failed is None:
            return not self.sentinels
        self._end_all(grace_period)
        self._raise(failed)
        return False

    def _end_all(self, grace_period: float | None) -> None:
        if grace_period is not None:
            until = time.monotonic() + grace_period
            for process in self.processes:
                process.join(max(0.0, until - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                _log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        until = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.kill()
            process.join()

    def _raise(self, nr: int) -> None:
        process, path = self.processes[nr], self.error_files[nr]
        pid = process.pid
        if os.path.getsize(path):
            with open(path, "rb") as file:
                text = pickle.load(file)
            message = f"\n\n-- Process {nr} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, nr, pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            message = f"process {nr} terminated with signal {name}"
            raise ProcessExitedException(message, nr, pid, code, name)
        message = f"process {nr} terminated with exit code {code}"
        raise ProcessExitedException(message, nr, pid, code)


class SpawnContext(ProcessContext):
    """Processes that were started by `spawn`.

    >>> import taper
    >>> issubclass(taper.multiprocessing.SpawnContext, taper.multiprocessing.ProcessContext)
    True
    """


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new processes, i from 0 on.

    Args:
        fn: the function, which the processes must be able to import.
        args: its further arguments.
        nprocs: the number of processes.
        join: wait for them; otherwise return them, to be joined later.
        daemon: end the processes when this one ends.
        start_method: "spawn", "fork" or "forkserver".

    >>> import taper
    >>> x = taper.ones(2).share_memory_()
    >>> taper.multiprocessing.start_processes(x.mul_, nprocs=1)  # by 0, the number of the process
    >>> x
    tensor([0., 0.])
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for nr in range(nprocs):
        # A file, not a pipe: a process that dies of a signal cannot break it.
        with tempfile.NamedTemporaryFile(
            prefix="taper-errorfile-", suffix=".pickle", delete=False
        ) as file:
            error_files.append(file.name)
        process = context.Process(target=_wrap, args=(fn, nr, args, error_files[-1]), daemon=daemon)
        process.start()
        processes.append(process)
    made = ProcessContext(processes, error_files)
    if not join:
        return made
    try:
        while not made.join():
            pass
    finally:
        for path in error_files:
            if os.path.exists(path):
                os.unlink(path)
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(i, *args)` in `nprocs` new interpreters, the way that works on every system.

    The arguments are those of `start_processes`.

    >>> import taper
    >>> x = taper.zeros(2).share_memory_()
    >>> taper.multiprocessing.spawn(x.index_fill_, args=(taper.tensor([1]), 5.0), nprocs=1)
    >>> x
    tensor([0., 5.])
    """
    if start_method != "spawn":
        warnings.warn(
            "This method only supports start_method=spawn (got: "
            f"{start_method}).\nTo use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
