"""Training beside busy processes: how many times its own idle time a step takes.

Twice as many single-threaded processes as there are cores do nothing but count (four on two
cores: a fair share would be three times the idle time).  A library whose threads wait for each
other takes far longer, since one of them is always descheduled.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence

from models import model_workloads, steps_by_name
from options import parser
from rows import Row, cores, finish, pair
from run import Answer, Worker

BAR = 5.0  # times the own idle time
LIBRARIES = ("taper", "torch")


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` processes counting."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def blocks(workers: Sequence[Worker], index: int, count: int, seconds: float) -> list[list[Answer]]:
    """Return the answers of each worker to `count` requests; the workers take turns."""
    turns = [[each.measure(index, seconds) for each in workers] for _ in range(count)]
    return [list(side) for side in zip(*turns, strict=True)]


def factor(idle: Sequence[Answer], loaded: Sequence[Answer]) -> float:
    """Return the median beside busy processes divided by the median alone."""
    alone, beside = (
        statistics.median(answer["seconds"] for answer in answers) for answers in (idle, loaded)
    )
    return beside / alone


def measure(indices: Sequence[int], processes: int, count: int, seconds: float) -> list[Row]:
    """Return a row for each model: taper's factor, PyTorch's, and the one divided by the other."""
    names = list(steps_by_name())
    workers = [Worker(library, "models") for library in LIBRARIES]
    rows = []
    try:
        for index in indices:
            print(names[index], file=sys.stderr)
            idle = blocks(workers, index, count, seconds)
            with busy(processes):
                loaded = blocks(workers, index, count, seconds)
            factors = map(factor, idle, loaded)
            rows.append(pair(names[index], *factors, limit=BAR, unit="times"))
    finally:
        for worker in workers:
            worker.stop()
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("A training step beside busy processes, in multiples of its idle time.")
    options.add_argument(
        "--processes", type=int, default=2 * cores(), help="default: twice the cores"
    )
    options.add_argument("--only", metavar="TEXT", help="only models whose name contains TEXT")
    chosen = options.parse_args(argv)
    indices = [
        index
        for index, each in enumerate(model_workloads())
        if index < len(steps_by_name()) and (chosen.only is None or chosen.only in each.name)
    ]
    count, seconds = (1, 0.1) if chosen.quick else (5, 0.3)
    rows = measure(indices, chosen.processes, count, seconds)
    return finish(rows, "busy", chosen.save, chosen.check)


if __name__ == "__main__":
    sys.exit(main())
