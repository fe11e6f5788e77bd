"""The workers of one pass as processes: starting, talking to them, noticing deaths, ending them.

I1  This process never waits for a worker that may be waiting for it: unanswered messages fit into
    the pipe, or are a single message that the worker is about to read.
I2  A worker that dies is noticed at once, whichever one is waited for.
I3  After `stop` no process is left, and nothing of a worker is left in the system.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import os
import pickle
import queue
import select
import time
import weakref
from multiprocessing import connection as connections
from typing import Any, NoReturn

from taper.userwarning import warn_user
from taper.utils.data._utils.errors import description_of_exit
from taper.utils.data._utils.transport import Channel, Parcel
from taper.utils.data._utils.worker import MP_STATUS_CHECK_INTERVAL, Job, _worker_loop

# A pipe holds 208 KB on Linux; each message takes some room beside its bytes.
_MOST_UNANSWERED = 100_000
_ROOM_OF_A_MESSAGE = 1024


class _Worker:
    """A process, the line to it, and what it has not answered yet."""

    def __init__(self, process: Any, channel: Channel) -> None:
        self.process = process
        self.channel = channel
        self.unanswered: collections.deque[int] = collections.deque()  # sizes of messages
        self.waiting: collections.deque[Parcel] = collections.deque()

    def give(self, task: int, index: Any) -> None:
        """Hand over a task, now or as soon as earlier ones are answered."""
        self.waiting.append(self.channel.packed((task, index, self.channel.returned())))
        self._send_waiting()

    def _send_waiting(self) -> None:
        while self.waiting:
            size = len(self.waiting[0].message) + _ROOM_OF_A_MESSAGE
            if self.unanswered and sum(self.unanswered) + size > _MOST_UNANSWERED:
                break  # I1
            self.channel.send_parcel(self.waiting.popleft())
            self.unanswered.append(size)

    def take(self) -> tuple[int, Any]:
        """Wait for the next answer and return it."""
        task, answer = self.channel.receive()
        if self.unanswered:
            self.unanswered.popleft()
        self._send_waiting()
        return task, answer


class Crew:
    """The worker processes of a pass."""

    def __init__(self, jobs: list[Job], context: Any) -> None:
        self._owner = os.getpid()
        self._workers: list[_Worker] = []
        self._active: set[int] = set(range(len(jobs)))
        self._waits: dict[int | None, Any] = {}
        self._stopped = False
        _crews.add(self)
        try:
            for job in jobs:
                self._workers.append(_started(job, context))
        except BaseException:
            self.stop()
            raise

    @property
    def processes(self) -> list[Any]:
        """The processes, in the order of their numbers."""
        return [each.process for each in self._workers]

    def give(self, number: int, task: int, index: Any) -> None:
        """Hand a task to a worker."""
        try:
            self._workers[number].give(task, index)
        except ConnectionError:
            self._workers[number].process.join(MP_STATUS_CHECK_INTERVAL)
            self._refuse_dead()

    def take(self, number: int | None, timeout: float = 0) -> tuple[int, int, Any]:
        """Return the next answer of one worker, or of any: the worker, the task and the data."""
        answering = self._next_ready(number, timeout)
        if answering is None:
            self._refuse_dead()
        try:
            return (answering, *self._workers[answering].take())
        except (EOFError, ConnectionError):
            self._workers[answering].process.join(MP_STATUS_CHECK_INTERVAL)
            self._refuse_dead()

    def _next_ready(self, number: int | None, timeout: float) -> int | None:
        """Return a worker that has answered, of those asked for; None if a worker has died."""
        wanted = self._active if number is None else {number}
        lines = {self._workers[each].channel.fileno(): each for each in wanted}
        ready = self._wait(number, list(lines), timeout)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        return next((lines[each] for each in ready if each in lines), None)

    def _wait(self, number: int | None, lines: list[int], timeout: float) -> list[int]:
        """Return which lines have something, or which processes have ended."""
        if not hasattr(select, "poll"):
            objects = [*lines, *(self._workers[each].process.sentinel for each in self._active)]
            return connections.wait(objects, timeout or None)  # type: ignore[return-value]
        poll = self._waits.get(number)
        if poll is None:  # kept from call to call: connections.wait takes 20 us, this 1 us
            poll = self._waits[number] = select.poll()
            for each in [*lines, *(self._workers[each].process.sentinel for each in self._active)]:
                poll.register(each, select.POLLIN)
        return [each for each, _ in poll.poll(timeout * 1000 if timeout else None)]

    def dismiss(self, number: int) -> None:
        """Let a worker end that is no longer needed."""
        self.leave(number)
        self._workers[number].channel.close()

    def leave(self, number: int) -> None:
        """Expect nothing of a worker for the rest of the pass."""
        self._active.discard(number)
        self._waits.clear()

    def resume(self) -> None:
        """Expect answers of all workers again, to their future tasks."""
        self._active = set(range(len(self._workers)))
        self._waits.clear()
        for each in self._workers:
            each.waiting.clear()
            each.unanswered.clear()

    def _refuse_dead(self) -> NoReturn:
        active = [self._workers[each].process for each in sorted(self._active)]
        for each in connections.wait([process.sentinel for process in active], 0):
            # A sentinel reports the end a moment before the system knows the exit code.
            next(one for one in active if one.sentinel == each).join(MP_STATUS_CHECK_INTERVAL)
        dead = [each for each in active if not each.is_alive()]
        cause: Exception = queue.Empty()
        for each in dead:
            if each.exitcode:
                cause = RuntimeError(description_of_exit(each.pid, each.exitcode))
                break
        pids = ", ".join(str(each.pid) for each in dead)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause

    def stop(self) -> None:
        """End all workers: by asking, after five seconds by force."""
        if self._stopped or os.getpid() != self._owner:
            return  # a forked process has a copy of this object, but not the workers
        self._stopped = True
        for each in self._workers:
            with contextlib.suppress(OSError):
                each.channel.close()
        end = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for each in self._workers:
            each.process.join(max(0, end - time.monotonic()))
        for each in self._workers:
            if each.process.is_alive():
                each.process.terminate()
        for each in self._workers:
            each.process.join(1)
            if each.process.is_alive():
                each.process.kill()
                each.process.join()

    def __del__(self) -> None:
        self.stop()


_crews: weakref.WeakSet[Crew] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """End workers while the interpreter is still intact; later they would be killed."""
    for crew in list(_crews):
        crew.stop()


def _started(job: Job, context: Any) -> _Worker:
    ours, theirs = context.Pipe(duplex=True)
    process = context.Process(target=_worker_loop, args=(job, theirs), daemon=True)
    try:
        process.start()
    except BaseException as error:
        ours.close()
        if isinstance(error, pickle.PicklingError) or (
            isinstance(error, (AttributeError, TypeError))
            and ("pickle" in str(error) or "local object" in str(error))  # since Python 3.13
        ):
            warn_user(
                "Got pickle error when attempting to start a worker Process. This might be because "
                "the worker Process arguments are not picklable. Python 3.14+ changed the "
                "multiprocessing start method in non-Mac POSIX platforms to 'forkserver', which "
                "requires the worker Process arguments to be picklable. You can also try "
                "multiprocessing.set_start_method('fork')."
            )
        raise
    finally:
        theirs.close()
    return _Worker(process, Channel(ours))
