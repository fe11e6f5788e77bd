"""Speed of taper against PyTorch: one table of ratios.

Both libraries run the workloads of `workloads.py`, each in a process of its own with its default
settings.  The two processes take turns, block by block (A B A B ...), so that other load on the
machine affects both.  A round starts both processes afresh, so that the luck of memory layout is
drawn again.  A ratio is the median over the pairs of neighbouring blocks.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tables import TABLES
from workloads import Workload

WORKER = Path(__file__).with_name("worker.py")


@dataclass
class Row:
    """The result of one workload; seconds and ratio are None if there is nothing to show."""

    name: str
    candidate: float | None
    reference: float | None
    ratio: float | None
    bar: float | None
    limit: float | None
    error: str | None

    @property
    def verdict(self) -> str:
        """Return pass or FAIL against the bar; empty without a bar."""
        if self.bar is not None:
            return "pass" if self.ratio is not None and self.ratio <= self.bar else "FAIL"
        if self.limit is not None:
            return "pass" if self.candidate is not None and self.candidate <= self.limit else "FAIL"
        return ""


class Worker:
    """A process that measures one library on request."""

    def __init__(self, library: str, table: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), library, table],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, index: int, seconds: float) -> dict[str, Any]:
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the worker was started without pipes")
        try:
            print(
                json.dumps({"workload": index, "seconds": seconds}),
                file=self.process.stdin,
                flush=True,
            )
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": "the process ended (its message is above)"}

    def stop(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()


def compare(
    libraries: tuple[str, str],
    name: str,
    workloads: dict[int, Workload],
    rounds: int,
    blocks: int,
    seconds: float,
) -> list[Row]:
    """Measure every workload on both libraries and summarise each in a row."""
    pairs: dict[int, list[tuple[dict[str, Any], dict[str, Any]]]] = {i: [] for i in workloads}
    for nr in range(rounds):
        print(f"round {nr + 1} of {rounds}", file=sys.stderr)
        workers = [Worker(library, name) for library in libraries]
        try:
            for index in workloads:
                for _ in range(blocks):
                    candidate, reference = (each.measure(index, seconds) for each in workers)
                    pairs[index].append((candidate, reference))
        finally:
            for worker in workers:
                worker.stop()
    return [summary(workload, pairs[index]) for index, workload in workloads.items()]


def summary(workload: Workload, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Row:
    def median(which: int) -> float | None:
        values = [pair[which]["seconds"] for pair in pairs if "seconds" in pair[which]]
        return statistics.median(values) if values else None

    ratios = [a["seconds"] / b["seconds"] for a, b in pairs if "seconds" in a and "seconds" in b]
    sides = (0,) if workload.limit is not None else (0, 1)
    errors = [pair[side]["error"] for pair in pairs for side in sides if "error" in pair[side]]
    return Row(
        workload.name,
        candidate=median(0),
        reference=median(1),
        ratio=statistics.median(ratios) if ratios else None,
        bar=workload.bar,
        limit=workload.limit,
        error=errors[0] if errors else None,
    )


def table(rows: Sequence[Row], libraries: tuple[str, str]) -> str:
    """Return the rows as aligned text, times in microseconds."""

    def microseconds(seconds: float | None) -> str:
        return "-" if seconds is None else f"{seconds * 1e6:.2f}"

    candidate, reference = libraries
    head = ("workload", f"{candidate} us", f"{reference} us", "ratio", "bar", "")
    body = []
    for row in rows:
        bar = f"<= {row.bar}" if row.bar else f"<= {row.limit * 1e6:g} us" if row.limit else ""
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        times = microseconds(row.candidate), microseconds(row.reference)
        body.append((row.name, *times, ratio, bar, row.verdict))
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = []
    for line in [head, *body]:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    failures = [f"{row.name}: {row.error}" for row in rows if row.error]
    return "\n".join(lines + (["", *failures] if failures else []))


def environment(libraries: tuple[str, str]) -> dict[str, Any]:
    return {
        "libraries": libraries,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Speed of taper against PyTorch: a table of ratios (below 1: taper wins).",
        epilog="exit code: 0, or with --check 1 if a bar is missed",
    )
    parser.add_argument(
        "--table",
        choices=sorted(TABLES),
        default="steps",
        help="steps: whole steps and the cost of an operation; operators: the hundred most used",
    )
    parser.add_argument("--candidate", default="taper", help="library to judge (default: taper)")
    parser.add_argument("--reference", default="torch", help="what to divide by (default: torch)")
    parser.add_argument("--only", metavar="TEXT", help="only workloads whose name contains TEXT")
    parser.add_argument("--quick", action="store_true", help="one round, small sizes only")
    parser.add_argument("--rounds", type=int, help="rounds of fresh processes (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    chosen = {
        index: workload
        for index, workload in enumerate(TABLES[options.table]())
        if (not options.quick or workload.quick)
        and (options.only is None or options.only in workload.name)
    }
    rounds = options.rounds or (1 if options.quick else 5)
    libraries = (options.candidate, options.reference)
    seconds = 0.02 if options.quick else 0.05
    rows = compare(libraries, options.table, chosen, rounds, blocks=3, seconds=seconds)
    facts = environment(libraries)
    if options.json:
        verdicts = [{**asdict(row), "verdict": row.verdict} for row in rows]
        print(json.dumps({"environment": facts, "rows": verdicts}, indent=1))
    else:
        print(", ".join(f"{name}: {value}" for name, value in facts.items() if name != "libraries"))
        print(table(rows, libraries))
    missed = any(row.verdict == "FAIL" for row in rows)
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
