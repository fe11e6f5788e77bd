"""`taper bench`: a short benchmark of the installed library on this machine.

Each library runs in a process of its own, and the processes take turns, so that other load on the
machine affects both.  PyTorch is measured if it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from taper.commands.workloads import WORKLOADS
from taper.utils._progress import progress

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Worker:
    """A process that measures one library on request."""

    def __init__(self, library: str, seconds: float) -> None:
        path = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "taper.commands.bench_worker", library, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def measure(self, workload: str) -> dict[str, Any]:
        """Return the answer of the process."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the worker was started without pipes")
        try:
            print(workload, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate()


def main(argv: Sequence[str]) -> int:
    """Measure and print a table; return 1 if a workload failed in taper."""
    options = _parse(argv)
    chosen = [name for name in WORKLOADS if options.only in name]
    if not chosen:
        print(f"taper bench: no workload is called *{options.only}*", file=sys.stderr)
        return 2
    libraries = ["taper"]
    if not options.alone and importlib.util.find_spec("torch") is not None:
        libraries.append("torch")
    answers = _measure(libraries, chosen, options.seconds)
    if options.json:
        rows = {name: dict(zip(libraries, row, strict=True)) for name, row in answers.items()}
        print(json.dumps(rows))
    else:
        print("\n".join(_table(libraries, answers)))
    return int(any("error" in row[0] for row in answers.values()))


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="taper bench",
        description="Measure the speed of the installed library on this machine: overhead, small "
        "training steps, matrix products. Where PyTorch is installed it is measured beside it, and "
        "the ratio is taper's time over PyTorch's: below 1, taper is faster.",
        epilog="exit codes: 0, 1 if something could not be measured, 2 wrong command line, "
        "130 interrupted",
    )
    parser.add_argument(
        "--seconds", type=float, default=0.3, help="for each measurement (default 0.3)"
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="workloads with TEXT in the name"
    )
    parser.add_argument("--alone", action="store_true", help="without PyTorch, even if it is there")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(argv)
    if not options.seconds > 0:
        parser.error("--seconds must be above 0")
    return options


def _measure(
    libraries: Sequence[str], names: Sequence[str], seconds: float, rounds: int = 3
) -> dict[str, list[dict[str, Any]]]:
    """Return for each workload the answers of the libraries, the middle one of three rounds."""
    workers = [Worker(library, seconds / rounds) for library in libraries]
    try:
        found = {}
        for name in progress(names, "measuring", leave=False):
            turns = [[worker.measure(name) for worker in workers] for _ in range(rounds)]
            found[name] = [_middle([turn[i] for turn in turns]) for i in range(len(workers))]
        return found
    finally:
        for worker in workers:
            worker.stop()


def _middle(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    failed = [each for each in answers if "error" in each]
    return failed[0] if failed else {"seconds": statistics.median(a["seconds"] for a in answers)}


def _table(libraries: Sequence[str], answers: dict[str, list[dict[str, Any]]]) -> list[str]:
    width = max(map(len, answers))
    titles = [*(f"{library} us" for library in libraries), *(["ratio"] * (len(libraries) > 1))]
    lines = [f"{'workload':<{width}}" + "".join(f"{title:>14}" for title in titles)]
    lines.append("-" * len(lines[0]))
    for name, row in answers.items():
        times = [each.get("seconds") for each in row]
        cells = ["failed" if time is None else f"{time * 1e6:.1f}" for time in times]
        if len(times) > 1:
            known = all(time is not None for time in times)
            cells.append(f"{row[0]['seconds'] / row[1]['seconds']:.2f}" if known else "-")
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>14}" for cell in cells))
    lines += [
        f"{name}: {each['error']}"
        for name, row in answers.items()
        for each in row
        if "error" in each
    ]
    return lines
