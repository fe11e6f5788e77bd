"""Speed of taper against PyTorch: one table of ratios.

Both libraries run the workloads of a table (`tables.py`), each in a process of its own with its
default settings.  The two processes take turns, block by block (A B A B ...), so that whatever
else the machine does hits both; a round starts both processes afresh, so that the luck of memory
layout is drawn again.  A ratio is the median over the pairs of neighbouring blocks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from options import parser
from rows import Row, environment, store, table
from tables import OWN, TABLES
from workloads import Workload

WORKER = Path(__file__).with_name("worker.py")
Answer = dict[str, Any]  # {"seconds": 1.2e-6}, or {"error": "..."}


class Worker:
    """A process that measures one library on request."""

    def __init__(self, library: str, table: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), library, table],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, index: int, seconds: float) -> Answer:
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
        self.process.communicate()  # the end of its requests ends it


def alternate(
    sides: Sequence[tuple[str, str]],
    indices: Sequence[int],
    rounds: int,
    blocks: int,
    seconds: float,
) -> dict[int, list[tuple[Answer, ...]]]:
    """Measure the workloads on every side, a library and its table, in turn, block by block."""
    answers: dict[int, list[tuple[Answer, ...]]] = {index: [] for index in indices}
    for nr in range(rounds):
        print(f"round {nr + 1} of {rounds}", file=sys.stderr)
        workers = [Worker(*side) for side in sides]
        try:
            for index in indices:
                for _ in range(blocks):
                    answers[index].append(tuple(each.measure(index, seconds) for each in workers))
        finally:
            for worker in workers:
                worker.stop()
    return answers


def compare(
    libraries: tuple[str, str],
    name: str,
    workloads: dict[int, Workload],
    rounds: int,
    blocks: int,
    seconds: float,
) -> list[Row]:
    """Measure every workload on both libraries and sum each up in a row.

    A table that has another one of its own (`tables.OWN`) has a second row for each workload.
    """
    sides = [(library, name) for library in libraries]
    if name in OWN:
        sides.append((libraries[0], OWN[name]))
    answers = alternate(sides, list(workloads), rounds, blocks, seconds)
    rows = []
    for index, workload in workloads.items():
        rows.append(summary(workload, [each[:2] for each in answers[index]]))
        if name in OWN:
            rows.append(summary(TABLES[OWN[name]]()[index], [each[::2] for each in answers[index]]))
            rows[-1].name += f" / {libraries[0]} itself"
    return rows


def summary(workload: Workload, pairs: Sequence[tuple[Answer, ...]]) -> Row:
    """Return the row of one workload from its pairs of neighbouring answers."""

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


def chosen(name: str, quick: bool, only: str | None = None) -> dict[int, Workload]:
    """Return the workloads of a table by their place in it: all, the quick ones, those named."""
    return {
        index: workload
        for index, workload in enumerate(TABLES[name]())
        if (not quick or workload.quick) and (only is None or only in workload.name)
    }


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    options = parser("Speed of taper against PyTorch: a table of ratios (below 1: taper wins).")
    options.add_argument(
        "--table",
        choices=sorted(TABLES),
        default="models",
        help="models: training steps; captured: the same, captured; overhead: the cost of an "
        "operation; operators: the hundred most used; scaling: over batch, width and threads "
        "(default: models)",
    )
    options.add_argument("--candidate", default="taper", help="library to judge (default: taper)")
    options.add_argument("--reference", default="torch", help="what to divide by (default: torch)")
    options.add_argument("--only", metavar="TEXT", help="only workloads whose name contains TEXT")
    options.add_argument("--rounds", type=int, help="rounds of fresh processes (default: 5)")
    options.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return options.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    rows = compare(
        (options.candidate, options.reference),
        options.table,
        chosen(options.table, options.quick, options.only),
        options.rounds or (1 if options.quick else 5),
        blocks=3,
        seconds=0.02 if options.quick else 0.05,
    )
    facts = environment()
    if options.json:
        verdicts = [{**asdict(row), "verdict": row.verdict} for row in rows]
        print(json.dumps({"environment": facts, "rows": verdicts}, indent=1))
    else:
        print(", ".join(f"{name}: {value}" for name, value in facts.items()))
        print(table(rows, (options.candidate, options.reference)))
    if options.save:
        store(options.save, options.table, rows)
    return int(options.check and any(row.verdict == "FAIL" for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
