"""`Compare`: measurements as a table, a column for each description, a row for each sub-label."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable
from typing import Any

from taper.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    unit_to_english,
)

_RESET = "\033[0m"
_BEST = "\033[92m\033[1m"
_GOOD = "\033[34m\033[1m"
_BAD = "\033[2m\033[91m"
_WORST = "\033[31m\033[1m"


class Colorize(enum.Enum):
    """Which times are compared by their colours."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """A table of measurements.

    Args:
        results: the measurements.

    >>> from taper.utils.benchmark import Compare, Measurement, TaskSpec
    >>> spec = TaskSpec("f(x)", "pass", label="speed", sub_label="f", description="new")
    >>> Compare([Measurement(1, [0.002], spec)]).print()
    [--- speed ---]
             |  new
    1 threads: ----
          f  |  2.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._warn = False

    def __str__(self) -> str:
        return "\n".join(
            _Table(group, self).text()
            for group in _grouped(Measurement.merge(self._results), lambda m: m.label).values()
        )

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements to the table."""
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(each)} instead."
                )
            self._results.append(each)

    def trim_significant_figures(self) -> None:
        """Print only the significant figures."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the times by how much longer they are than the best of the column, or row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times that vary much."""
        self._warn = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))


def _grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    return groups


class _Table:
    """The measurements with one label."""

    def __init__(self, results: list[Measurement], options: Compare) -> None:
        self.results = results
        self.options = options
        self.unit, self.length = select_unit(min(each.median for each in results))
        self.columns = ordered_unique(each.description or "" for each in results)
        self.rows = ordered_unique(
            (each.num_threads, each.env, each.as_row_name)
            for each in sorted(results, key=lambda m: (m.num_threads, m.env or ""))
        )
        self.cells = {
            (each.num_threads, each.env, each.as_row_name, each.description or ""): each
            for each in results
        }

    def text(self) -> str:
        names = self._row_names()
        columns = [self._column(column) for column in self.columns]
        width = max(len(each) for each in names)
        heads = [
            column.center(len(texts[0]))
            for column, texts in zip(self.columns, columns, strict=True)
        ]
        head = " " * width + "  |  " + "  |  ".join(heads)
        lines = [self._title(len(head)), head]
        threads = None
        for number, row in enumerate(self.rows):
            if row[0] != threads:
                threads = row[0]
                words = f"{threads} threads: "
                lines.append(words + "-" * (len(head) - len(words)))
            cells = [
                self._coloured(texts[number], row, column)
                for column, texts in zip(self.columns, columns, strict=True)
            ]
            lines.append(names[number].ljust(width) + "  |  " + "  |  ".join(cells))
        english = unit_to_english(self.unit)
        lines += ["", f"Times are in {english}s ({self.unit})."]
        if self.options._warn and any(each.has_warnings for each in self.results):
            lines.append(
                "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."
            )
        return "\n".join([*lines, ""])

    def _title(self, width: int) -> str:
        label = self.results[0].label or ""
        return "[" + f" {label} ".center(width - 2, "-") + "]"

    def _row_names(self) -> list[str]:
        """Return the names of the rows; the first row of each environment also names that."""
        several = len({env for _, env, _ in self.rows}) > 1
        envs = [f"({env})" if several and env else "" for _, env, _ in self.rows]
        width = max(2, *(len(each) for each in envs))
        names, before = [], None
        for env, row in zip(envs, self.rows, strict=True):
            shown = env if row[:2] != before else ""
            names.append(f"  {shown.ljust(width)}  {row[2]}")
            before = row[:2]
        return names

    def _column(self, column: str) -> list[str]:
        """Return the times of a column, with aligned decimal points."""
        found = [self.cells.get((*row, column)) for row in self.rows]
        digits = self._digits([each for each in found if each is not None])
        notes = [
            "" if each is None or not each.has_warnings else f"(! {each.iqr / each.median:.0%})"
            for each in found
        ]
        most = max(len(each) for each in notes) if self.options._warn else 0
        texts = []
        for each, note in zip(found, notes, strict=True):
            text = "" if each is None else f"{each.median / self.length:.{digits}f}"
            if text and most:
                text += f" {note.ljust(most)}" if note else " " * most
            texts.append(text)
        width = max(len(each) for each in texts)
        texts = [each.rjust(width) for each in texts]
        return [each.center(max(width, len(column))) for each in texts]

    def _digits(self, column: list[Measurement]) -> int:
        """Return how many decimals the times of a column have."""
        if not self.options._trim:
            return 1
        return max(
            0,
            min(
                each.significant_figures - math.ceil(math.log10(each.median / self.length))
                for each in column
            ),
        )

    def _coloured(self, text: str, row: tuple[int, str | None, str], column: str) -> str:
        measured = self.cells.get((*row, column))
        kind = self.options._colorize
        if measured is None or kind is Colorize.NONE:
            return text
        rivals = [
            each.median
            for key, each in self.cells.items()
            if (
                key[:3] == row if kind is Colorize.ROWWISE else (key[0], key[3]) == (row[0], column)
            )
        ]
        ratio = measured.median / min(rivals)
        limits = ((1.001, _BEST), (1.101, _GOOD), (2.0, ""), (5.0, _BAD))
        colour = next((code for most, code in limits if ratio < most), _WORST)
        return f"{colour}{text}{_RESET}{_RESET}" if colour else text
