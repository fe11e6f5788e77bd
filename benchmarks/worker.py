"""One library in one process: measures a workload each time the parent asks for it.

    python benchmarks/worker.py LIBRARY TABLE

Reads one JSON request from each line of standard input, `{"workload": 3, "seconds": 0.05}`, and
answers with a line: `{"seconds": 1.2e-06}`, or `{"error": "..."}` if the library cannot run it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from tables import TABLES


class Bench:
    """The workloads of one library, each built and calibrated on first use."""

    def __init__(self, library: str, table: str) -> None:
        self.torch = importlib.import_module(library)
        self.workloads = TABLES[table]()
        self.ready: dict[int, tuple[Callable[[int], float], int]] = {}

    def measure(self, index: int, seconds: float) -> float:
        """Return the seconds of one execution, averaged over a block of about `seconds`."""
        if index not in self.ready:
            self.ready[index] = self._calibrate(index, seconds)
        run, repetitions = self.ready[index]
        # The other library ran last: warm up caches, clock and thread pools first.
        run(max(1, repetitions // 3))
        return run(repetitions)

    def _calibrate(self, index: int, seconds: float) -> tuple[Callable[[int], float], int]:
        run = self.workloads[index].build(self.torch)
        run(3)  # the first executions build and allocate
        repetitions, elapsed = 1, 0.0
        while elapsed < seconds / 4:
            repetitions *= 2
            start = time.perf_counter()
            run(repetitions)
            elapsed = time.perf_counter() - start
        return run, max(1, round(repetitions * seconds / elapsed))


def main(library: str, table: str) -> None:
    bench = Bench(library, table)
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"seconds": bench.measure(request["workload"], request["seconds"])}
        except Exception as error:  # a failing row must not end the whole table
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
