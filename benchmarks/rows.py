"""A row of results: its verdict, its text, and the file in which all programs keep theirs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results.json")
SCALES = {"us": 1e6, "ms": 1e3, "s": 1.0, "MB": 1.0, "times": 1.0}  # of seconds, megabytes, factors


@dataclass
class Row:
    """What one workload came to; numbers and ratio are None where there is nothing to show."""

    name: str
    candidate: float | None
    reference: float | None
    ratio: float | None
    bar: float | None = None  # the largest ratio that passes
    limit: float | None = None  # the largest number of the candidate that passes
    error: str | None = None
    unit: str = "us"  # how it is shown; the numbers are seconds, megabytes or factors

    @property
    def verdict(self) -> str:
        """pass or FAIL against the bar; empty where there is no bar."""
        if self.bar is not None:
            return "pass" if self.ratio is not None and self.ratio <= self.bar else "FAIL"
        if self.limit is not None:
            return "pass" if self.candidate is not None and self.candidate <= self.limit else "FAIL"
        return ""

    def cells(self) -> tuple[str, ...]:
        """Return the columns of a table: name, both numbers, ratio, bar, verdict."""

        def shown(number: float | None) -> str:
            return "-" if number is None else f"{number * SCALES[self.unit]:.2f}"

        bar = f"<= {self.bar}" if self.bar is not None else ""
        if self.limit is not None:
            bar = f"<= {self.limit * SCALES[self.unit]:g} {self.unit}"
        ratio = "-" if self.ratio is None else f"{self.ratio:.2f}"
        return self.name, shown(self.candidate), shown(self.reference), ratio, bar, self.verdict


def pair(name: str, candidate: float, reference: float, **options: Any) -> Row:
    """Return a row of two plain numbers."""
    return Row(name, candidate, reference, candidate / reference, **options)


def header(rows: Sequence[Row], libraries: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the columns; rows of one table share a unit."""
    unit = rows[0].unit if rows else "us"
    return ("workload", f"{libraries[0]} {unit}", f"{libraries[1]} {unit}", "ratio", "bar", "")


def table(rows: Sequence[Row], libraries: Sequence[str] = ("taper", "torch")) -> str:
    """Return the rows as aligned text."""
    cells = [header(rows, libraries), *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *rest in cells:
        right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    failures = [f"{row.name}: {row.error}" for row in rows if row.error]
    return "\n".join(lines + (["", *failures] if failures else []))


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment() -> dict[str, Any]:
    """Return what a reader must know of the machine to compare."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": cores(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def finish(
    rows: Sequence[Row],
    section: str,
    save: Path | None,
    check: bool,
    libraries: Sequence[str] = ("taper", "torch"),
) -> int:
    """Print the rows, keep them under `section` if asked to; returns the exit code."""
    print(table(rows, libraries))
    if save is not None:
        store(save, section, rows)
    return int(check and any(row.verdict == "FAIL" for row in rows))


def store(path: Path, section: str, rows: Sequence[Row]) -> None:
    """Put the rows into the file of results, in place of those that the section had."""
    found = load(path)
    found[section] = {"environment": environment(), "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Any]:
    """Return all sections of a file of results; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def rows_of(section: dict[str, Any]) -> list[Row]:
    """Return the rows of a section, as they were before they were stored."""
    return [Row(**each) for each in section["rows"]]
