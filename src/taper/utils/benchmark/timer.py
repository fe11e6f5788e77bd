"""`Timer`: how long a statement takes, measured reliably."""

from __future__ import annotations

import contextlib
import enum
import sys
import textwrap
import timeit
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from taper.settings import get_num_threads, set_num_threads
from taper.utils.benchmark.measurement import Measurement, TaskSpec

timer = timeit.default_timer

_SMALLEST_OVERHEAD = 1e-4
_MOST_RUNS = 1 << 31


class Language(enum.Enum):
    """The language of a statement; only Python can be timed."""

    PYTHON = 0
    CPP = 1


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Let operators use `n` threads in the block."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


class Timer:
    """Times a statement.

    Args:
        stmt: the statement.
        setup: a statement that runs once before it.
        global_setup, language: for C++, which is refused.
        timer: a function that returns the time in seconds.
        globals: the names that both may use, besides `torch`.
        label, sub_label, description, env: names for tables.
        num_threads: the threads of matrix products.

    >>> import taper
    >>> from taper.utils.benchmark import Timer
    >>> measured = Timer("x.sum()", globals={"x": taper.ones(3)}).timeit(10)
    >>> measured.number_per_run, measured.median > 0
    (10, True)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("Timer: only statements of Python can be timed")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply "
                "be moved to `setup`."
            )
        names = {"torch": sys.modules["taper"], **(globals or {})}
        stmt, setup = (textwrap.dedent(each).strip("\n").rstrip() for each in (stmt, setup))
        self._clock = timer
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _time(self, number: int) -> float:
        # Zero would give an infinite speed.
        return max(self._timer.timeit(number), 1e-9)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement `number` times, after some runs that are not counted."""
        with set_torch_threads(self._task_spec.num_threads):
            self._time(max(number // 100, 2))
            return self._measured(number, [self._time(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Refused: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], NoReturn] | None = None) -> NoReturn:
        """Refused: see `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """Return a number of runs for which reading the clock does not matter."""
        overhead = min(self._empty_time() for _ in range(5))
        number = 1
        while True:
            taken = self._time(number)
            enough = overhead / taken <= _SMALLEST_OVERHEAD and taken >= min_run_time / 1000
            if enough or taken > min_run_time or number >= _MOST_RUNS:
                return number
            number *= 10

    def _empty_time(self) -> float:
        return timeit.Timer("pass", timer=self._clock).timeit(0)

    def blocked_autorange(
        self,
        callback: Callable[[int, float], NoReturn] | None = None,
        min_run_time: float = 0.2,
    ) -> Measurement:
        """Run blocks until they have taken `min_run_time` seconds together."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], NoReturn] | None = None,
    ) -> Measurement:
        """Run blocks until their times agree; see `Measurement.meets_confidence`."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(0.05)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
                measured = self._measured(number, times)
                agree = len(times) > 3 and measured.meets_confidence(threshold)
                if agree and sum(times) >= min_run_time:
                    break
            return measured

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: instructions are not counted."""
        raise NotImplementedError("Timer.collect_callgrind: use `blocked_autorange`")
