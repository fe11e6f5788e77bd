"""What was measured: the task, its times, their statistics, and how they are printed."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

_SMALLEST_ERROR = 25e-9
"""Seconds; clocks are not trusted below that."""

_MOST_FIGURES = 4
_WARNING_SHARE, _STRONG_WARNING_SHARE = 0.1, 0.25
_UNITS = (("ns", 1e-9, "nanosecond"), ("us", 1e-6, "microsecond"), ("ms", 1e-3, "millisecond"))


def select_unit(t: float) -> tuple[str, float]:
    """Return the unit in which a time in seconds is printed, and its length.

    >>> from taper.utils.benchmark import select_unit
    >>> select_unit(2e-5)
    ('us', 1e-06)
    """
    for name, length, _ in reversed(_UNITS):
        if t >= 1:
            return "s", 1.0
        if t >= length:
            return name, length
    return "ns", 1e-9


def unit_to_english(u: str) -> str:
    """Return the name of a unit.

    >>> from taper.utils.benchmark import unit_to_english
    >>> unit_to_english("us")
    'microsecond'
    """
    return {"s": "second", **{name: english for name, _, english in _UNITS}}[u]


def trim_sigfig(x: float, n: int) -> float:
    """Return a number rounded to `n` figures.

    >>> from taper.utils.benchmark import trim_sigfig
    >>> trim_sigfig(123456.0, 3)
    123000.0
    """
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Return the elements without repetitions, in the order in which they came.

    >>> from taper.utils.benchmark import ordered_unique
    >>> ordered_unique([3, 1, 3])
    [3, 1]
    """
    return list(dict.fromkeys(elements))


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was run, and its names in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The line above the times."""
        named = self.label or (self.stmt if "\n" not in self.stmt else None)
        if named is None:
            return "stmt:\n" + textwrap.indent(self.stmt, "  ")
        return named + (f": {self.sub_label}" if self.sub_label else "")

    def setup_str(self) -> str:
        """Return the preparation; empty if there is none."""
        if not self.setup or self.setup == "pass":
            return ""
        if "\n" in self.setup:
            return "setup:\n" + textwrap.indent(self.setup, "  ")
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and preparation."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "".join(f"{each}\n\n" if "\n" in each else f"{each}\n" for each in parts if each)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times of one task, each of `number_per_run` runs.

    >>> from taper.utils.benchmark import Measurement, TaskSpec
    >>> measured = Measurement(10, [1e-5, 1.2e-5, 1.4e-5], TaskSpec("f(x)", "pass"))
    >>> print(measured.summary())
    f(x)
      Median: 1.20 us
      3 measurements, 10 runs per measurement, 1 thread
      WARNING: Interquartile range is 16.7% of the median measurement.
               This could indicate system fluctuation.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        """The time of one run, for each measurement."""
        return [each / self.number_per_run for each in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The length of the middle half of the times."""
        return float(np.subtract(*np.percentile(self.times, [75, 25])))

    @property
    def significant_figures(self) -> int:
        """How many figures of the median are significant, by the error of the middle half."""
        times = sorted(self.times)
        middle = times[len(times) // 4 : max(math.ceil(3 * len(times) / 4), 1)]
        error = 1.645 * float(np.std(middle)) / math.sqrt(len(middle))
        figures = math.floor(-math.log10(max(error, _SMALLEST_ERROR) / self.median))
        return min(max(figures, 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times vary much."""
        return self.iqr / self.median > _WARNING_SHARE

    def meets_confidence(self, threshold: float = _WARNING_SHARE) -> bool:
        """Return whether the middle half of the times spans less than that share of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The line above the times."""
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        """The name of the environment of the measurement, or nothing."""
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of the row of a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str) -> Any:
        # A Measurement also has the attributes of its TaskSpec: `label`, `num_threads`, ...
        if not name.startswith("_") and name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    def summary(self) -> str:
        """Return the task and its times, as they are printed."""
        unit, length = select_unit(self.median)
        count = len(self.raw_times)
        figure = f"{self.median / length:.2f} {unit}"
        lines = [figure if count == 1 else f"Median: {figure}"]
        if count >= 4:
            low, high = (f"{each / length:.2f}" for each in np.percentile(self.times, [25, 75]))
            lines.append(f"IQR:    {self.iqr / length:.2f} {unit} ({low} to {high})")
        threads = self.task_spec.num_threads
        lines.append(
            f"{count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement' if count > 1 else ''}, {threads} thread{'s' * (threads > 1)}"
        )
        share = self.iqr / self.median
        if share > _WARNING_SHARE:
            strong = share > _STRONG_WARNING_SHARE
            lines += [
                f"WARNING: Interquartile range is {share * 100:.1f}% of the median measurement.",
                "         This "
                + ("suggests significant environmental influence." if strong else "")
                + ("" if strong else "could indicate system fluctuation."),
            ]
        return self.task_spec.summarize() + "\n".join(f"  {each}" for each in lines)

    def __repr__(self) -> str:
        return f"{object.__repr__(self)}\n{self.summary()}"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merge all times of each task into one measurement."""
        grouped: dict[TaskSpec, list[Measurement]] = {}
        for each in measurements:
            grouped.setdefault(each.task_spec, []).append(each)
        return [
            Measurement(1, [time for one in group for time in one.times], task)
            for task, group in grouped.items()
        ]
