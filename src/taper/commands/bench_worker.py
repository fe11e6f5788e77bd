"""One library in one process: measures a workload each time `taper bench` asks for it.

    python -m taper.commands.bench_worker LIBRARY SECONDS

Reads the name of a workload from each line, and answers with a line of JSON: `{"seconds":
1.2e-06}`, or `{"error": "..."}` if the library cannot run it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

from taper.commands.workloads import WORKLOADS, Work


def main(library: str, seconds: float) -> None:
    """Answer until the input ends."""
    # late: the library that is to be measured is an argument
    torch = importlib.import_module(library)
    ready: dict[str, tuple[Work, int]] = {}
    for line in sys.stdin:
        name = line.strip()
        answer: dict[str, Any]
        try:
            if name not in ready:
                torch.manual_seed(0)
                work = WORKLOADS[name](torch)
                ready[name] = work, repetitions(work, seconds)
            answer = {"seconds": measure(*ready[name])}
        except Exception as error:  # a failing row must not end the whole table
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def measure(work: Work, times: int) -> float:
    """Return the seconds of one execution, averaged over `times`."""
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


def repetitions(work: Work, seconds: float) -> int:
    """Return how often the work fits into `seconds`."""
    work()  # the first execution builds and allocates
    once = max(measure(work, 1), 1e-9)
    times = max(1, round(seconds / 10 / once))
    return max(1, round(seconds / measure(work, times)))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
