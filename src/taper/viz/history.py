"""`taper.viz.History`: losses and metrics of training, collected and drawn.

Owns the numbers and their files.  What a plot looks like is in `plot`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

from taper.files.atomic import replacing
from taper.utils._progress import notebook_display
from taper.viz.plot import Curve, Panel, picture_png, picture_svg
from taper.viz.summaries import number, plain

__all__ = ["History"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_SETS = ("train", "training", "val", "valid", "validation", "test", "eval", "dev")
_SPARK = 40

Series = tuple[list[float], list[float]]  # steps and values


class History:
    """Collect losses and metrics, and draw them.

    `print(history)` shows a line for each metric with its course; a notebook shows the plots.  The
    numbers are plain floats, so a history keeps no graph alive.

    Args:
        title: stands above the plots.
        live: draw again while values come in: in a notebook the plots under the cell, on a terminal
            one line.
        every: seconds between two drawings at least.

    >>> from taper.viz import History
    >>> history = History()
    >>> for step in range(8):
    ...     history.add(loss=1 / (step + 1), val_loss=1.2 / (step + 1))
    >>> history["loss"][:2]
    [1.0, 0.5]
    >>> print(history)
    loss      █▄▂▂▁▁▁▁  last 0.125, least 0.125 at 7, greatest 1 at 0
    val_loss  █▄▂▂▁▁▁▁  last 0.15, least 0.15 at 7, greatest 1.2 at 0
    >>> history.svg(log=True).startswith("<svg")
    True
    """

    def __init__(self, title: str = "", *, live: bool = False, every: float = 0.5) -> None:
        self.title = title
        self._series: dict[str, dict[str, Series]] = {}
        self._next: dict[str, float] = {}  # the step that follows, by run
        self._live = live
        self._every = every
        self._drawn = -math.inf
        self._handle: Any = None

    # --- collecting -----------------------------------------------------------------------------

    def add(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        step: float | None = None,
        run: str = "",
        **named: Any,
    ) -> None:
        """Record the values of one step.

        Args:
            values, named: numbers, or tensors and arrays of one element, by name.
            step: where they stand on the axis; by default the one after the run's last.
            run: which of several runs they belong to.

        >>> import taper
        >>> history = taper.viz.History()
        >>> history.add(loss=taper.tensor(0.5, requires_grad=True), step=10)
        >>> history.add({"accuracy/top 5": 0.9})
        >>> history.series("accuracy/top 5")
        ([11], [0.9])
        """
        found = {name: _number(name, each) for name, each in {**(values or {}), **named}.items()}
        if not found:
            return
        if step is None:
            step = self._next.get(run, 0)
        elif not isinstance(step, int | float) or not math.isfinite(step):
            raise ValueError(f"History: the step must be a finite number, got {step!r}")
        self._next[run] = step + 1
        metrics = self._series.setdefault(run, {})
        for name, value in found.items():
            steps, course = metrics.setdefault(name, ([], []))
            steps.append(step)
            course.append(value)
        if self._live and perf_counter() - self._drawn >= self._every:
            self.show()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _handle=None)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handle": None, "_drawn": -math.inf}

    # --- reading --------------------------------------------------------------------------------

    @property
    def runs(self) -> list[str]:
        """The names of the runs, in the order of their first values."""
        return list(self._series)

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in the order of their first values."""
        return list(dict.fromkeys(name for run in self._series.values() for name in run))

    def __getitem__(self, metric: str) -> list[float]:
        return self.series(metric)[1]

    def __contains__(self, metric: object) -> bool:
        return metric in self.metrics

    def __len__(self) -> int:
        return sum(len(each[0]) for run in self._series.values() for each in run.values())

    def series(self, metric: str, run: str | None = None) -> Series:
        """Return the steps and the values of a metric; of a run, if there are several.

        >>> import taper
        >>> history = taper.viz.History()
        >>> for value in (3.0, 2.0):
        ...     history.add(loss=value, run="small")
        >>> history.series("loss", "small")
        ([0, 1], [3.0, 2.0])
        """
        having = [name for name, each in self._series.items() if metric in each]
        if run is None and len(having) == 1:
            run = having[0]
        elif run is None and len(having) > 1:
            raise KeyError(f"{metric!r} was recorded in several runs: {', '.join(having)}")
        if run not in having:
            known = ", ".join(self.metrics) or "nothing"
            raise KeyError(f"there is no {metric!r} in the history; there is {known}")
        steps, values = self._series[run][metric]
        return list(steps), list(values)

    # --- drawing --------------------------------------------------------------------------------

    def svg(
        self,
        metrics: Iterable[str] | str | None = None,
        *,
        runs: Iterable[str] | None = None,
        smooth: float = 0.0,
        log: bool = False,
    ) -> str:
        """Return plots of metrics as the text of an SVG file; it is dark where the reader is.

        Metrics that differ in `train_` and `val_` only share a plot, as do runs.  A NaN or an
        infinite number is a gap.

        Args:
            metrics: which ones; by default all.
            runs: which ones; by default all.
            smooth: from 0.0 to below 1.0: how much of the mean so far each point keeps; the values
                themselves are drawn faintly then.
            log: a logarithmic axis; values that are not positive are gaps.
        """
        return picture_svg(self.title, self._panels(metrics, runs, smooth, log))

    def png(
        self,
        metrics: Iterable[str] | str | None = None,
        *,
        runs: Iterable[str] | None = None,
        smooth: float = 0.0,
        log: bool = False,
        dark: bool = False,
        scale: int = 2,
    ) -> bytes:
        """Return the same plots as the bytes of a PNG file.

        Args:
            metrics, runs, smooth, log: as for `svg`.
            dark: light lines on dark paper.
            scale: pixels for each unit of the SVG.

        >>> from taper.viz import History
        >>> history = History()
        >>> history.add(loss=1.0)
        >>> history.png()[1:4]
        b'PNG'
        """
        if not isinstance(scale, int) or not 1 <= scale <= 8:
            raise ValueError(f"History: scale must be a whole number from 1 to 8, got {scale!r}")
        return picture_png(self.title, self._panels(metrics, runs, smooth, log), dark, scale)

    def _panels(
        self,
        metrics: Iterable[str] | str | None,
        runs: Iterable[str] | None,
        smooth: float,
        log: bool,
    ) -> list[Panel]:
        if not 0.0 <= smooth < 1.0:
            raise ValueError(f"History: smooth must be at least 0 and below 1, got {smooth!r}")
        names = [metrics] if isinstance(metrics, str) else list(metrics or self.metrics)
        for name in names:
            if name not in self:
                raise KeyError(f"there is no {name!r}; there is {', '.join(self.metrics)}")
        chosen = self.runs if runs is None else [runs] if isinstance(runs, str) else list(runs)
        for run in chosen:
            if run not in self._series:
                raise KeyError(f"there is no run {run!r}; there are {', '.join(self.runs)}")
        groups: dict[str, list[Curve]] = {}
        for name in names:
            for run in chosen:
                if name in self._series[run]:
                    steps, values = self._series[run][name]
                    mean = list(zip(steps, smoothed(values, smooth), strict=True))
                    label = f"{name} {run}".rstrip() if len(self.runs) > 1 else name
                    points = list(zip(steps, values, strict=True))
                    curve = Curve(label, points, mean if smooth else None)
                    groups.setdefault(_subject(name), []).append(curve)
        return [Panel(name, curves, log) for name, curves in groups.items()]

    def sparkline(self, metric: str, run: str | None = None, width: int = _SPARK) -> str:
        """Return the course of a metric as a line of blocks; a gap is a space.

        >>> from taper.viz import History
        >>> history = History()
        >>> for value in (1.0, 2.0, float("nan"), 4.0):
        ...     history.add(loss=value)
        >>> history.sparkline("loss")
        '▁▃ █'
        """
        return sparkline(self.series(metric, run)[1], width)

    def __str__(self) -> str:
        rows = []
        for run, metrics in self._series.items():
            for name, (steps, values) in metrics.items():
                label = f"{run}: {name}" if len(self.runs) > 1 or run else name
                rows.append((label, sparkline(values, _SPARK), _course(steps, values)))
        if not rows:
            return "an empty history: nothing was recorded"
        widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
        lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows]
        return "\n".join([self.title, *lines] if self.title else lines)

    def __repr__(self) -> str:
        names = ", ".join(self.metrics)
        return f"<History of {len(self)} values: {names}>" if names else "<History of 0 values>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def show(self) -> None:
        """Draw now: in a notebook the plots, updated from then on; elsewhere print the lines."""
        self._drawn = perf_counter()
        display = notebook_display()
        if display is not None:
            data = {"text/plain": str(self), "image/svg+xml": self.svg()}
            if self._handle is None:
                self._handle = display(data, raw=True, display_id=True)
            else:
                self._handle.update(data, raw=True)
        elif not self._live:
            print(self)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2K{self._status()}")
            sys.stderr.flush()

    def _status(self) -> str:
        """Return the last values of the last run, in a line."""
        metrics = self._series[next(reversed(self._series))]
        parts = [
            f"{name} {sparkline(values, 12)} {number(values[-1])}"
            for name, (_, values) in metrics.items()
        ]
        return "  ".join(parts)

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write a file: `.svg` and `.png` are plots, `.csv` and `.json` the numbers.

        Args:
            path: its ending says what is written.
            options: those of `svg` or `png`.

        >>> from taper.viz import History
        >>> History().save("loss.gif")
        Traceback (most recent call last):
            ...
        ValueError: History: cannot write loss.gif: the name must end in .svg, .png, .csv or .json
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in (".svg", ".png", ".csv", ".json"):
            raise ValueError(
                f"History: cannot write {path}: the name must end in .svg, .png, .csv or .json"
            )
        if options and kind in (".csv", ".json"):
            raise TypeError(f"History: a {kind} file has no option {next(iter(options))!r}")
        if kind == ".png":
            content = self.png(**options)
        else:
            texts = {".svg": self.svg, ".csv": self.csv, ".json": self.json}
            content = texts[kind](**options).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
        return path

    def csv(self) -> str:
        """Return a table: a row for each run and step, a column for each metric.

        >>> from taper.viz import History
        >>> history = History()
        >>> history.add(loss=0.5)
        >>> print(history.csv(), end="")
        run,step,loss
        ,0,0.5
        """
        rows: dict[tuple[str, float, int], dict[str, float]] = {}
        for run, metrics in self._series.items():
            for name, series in metrics.items():
                seen: dict[float, int] = {}
                for step, value in zip(*series, strict=True):
                    seen[step] = seen.get(step, -1) + 1
                    rows.setdefault((run, step, seen[step]), {})[name] = value
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["run", "step", *self.metrics])
        order = {run: place for place, run in enumerate(self.runs)}
        for key in sorted(rows, key=lambda key: (order[key[0]], key[1], key[2])):
            cells = [rows[key].get(name, "") for name in self.metrics]
            writer.writerow([key[0], key[1], *cells])
        return out.getvalue()

    def to_json(self) -> dict[str, Any]:
        """Return everything as dicts, lists, texts and numbers; NaN is the text "nan"."""
        runs = {
            run: {
                name: {"steps": list(steps), "values": plain(list(values))}
                for name, (steps, values) in metrics.items()
            }
            for run, metrics in self._series.items()
        }
        return {"title": self.title, "runs": runs}

    def json(self) -> str:
        """Return the text of `to_json()`."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> History:
        """Read a `.json` or `.csv` file that `save` wrote.

        >>> from taper.viz import History
        >>> history = History()
        >>> history.add(loss=0.5)
        >>> path = history.save("numbers.json")
        >>> History.load(path)["loss"]
        [0.5]
        """
        text = Path(path).read_text(encoding="utf-8")
        if Path(path).suffix.lower() == ".json":
            data = json.loads(text)
            history = cls(data["title"])
            for run, metrics in data["runs"].items():
                for name, each in metrics.items():
                    for step, value in zip(each["steps"], each["values"], strict=True):
                        history.add({name: float(value)}, step=step, run=run)
            return history
        history = cls()
        for row in csv.DictReader(io.StringIO(text)):
            run, step = row.pop("run"), float(row.pop("step"))
            values = {name: float(value) for name, value in row.items() if value != ""}
            history.add(values, step=int(step) if step.is_integer() else step, run=run)
        return history


def _number(name: str, value: Any) -> float:
    """Return a value as a float; what is no single number is refused."""
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        shape = getattr(value, "shape", None)
        what = type(value).__name__ + ("" if shape is None else f" of shape {tuple(shape)}")
        raise TypeError(f"History: expected a number for {name!r}, got {what}") from None


def _subject(name: str) -> str:
    """Return what a metric measures, without the data that it was measured on."""
    for separator in ("/", "_", " ", "."):
        first, found, rest = name.partition(separator)
        if found and rest and first.lower() in _SETS:
            return rest
    return name


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """Return the mean of the values so far, which forgets; gaps stay and are left out of it.

    >>> from taper.viz.history import smoothed
    >>> smoothed([1.0, 3.0], 0.5)
    [1.0, 2.3333333333333335]
    """
    mean, total, means = 0.0, 0.0, []
    for value in values:
        if not math.isfinite(value):
            means.append(math.nan)
            continue
        mean = weight * mean + (1 - weight) * value
        total = weight * total + (1 - weight)
        means.append(mean / total)
    return means


def sparkline(values: Sequence[float], width: int) -> str:
    """Return values as blocks, of many the mean of as many as share a block."""
    groups: list[Sequence[float]]
    if len(values) > width:
        edges = [len(values) * place // width for place in range(width + 1)]
        groups = [values[a:b] for a, b in pairwise(edges)]
    else:
        groups = [[value] for value in values]
    finite = [[each for each in group if math.isfinite(each)] for group in groups]
    means = [math.fsum(group) / len(group) if group else math.nan for group in finite]
    known = [each for each in means if math.isfinite(each)]
    low, high = min(known, default=0.0), max(known, default=0.0)

    def block(value: float) -> str:
        if not math.isfinite(value):
            return " "
        share = (value - low) / (high - low) if high > low else 0.0
        return _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]

    return "".join(map(block, means))


def _course(steps: Sequence[float], values: Sequence[float]) -> str:
    known = [(value, step) for step, value in zip(steps, values, strict=True) if value == value]
    text = f"last {number(values[-1])}"
    if known:
        low, high = min(known, key=lambda each: each[0]), max(known, key=lambda each: each[0])
        text += f", least {number(low[0])} at {low[1]:g}, greatest {number(high[0])} at {high[1]:g}"
    missing = len(values) - len(known)
    return f"{text}, {missing} NaN" if missing else text
