"""What anomaly mode costs: the notes' 5x5 step with and without it, in both libraries.

Each library runs in processes of its own, which take turns; within a process the two ways of
running the step alternate.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from workloads import variance_fit

BAR = 2.0  # times a normal step
STEPS = 300


def seconds(step: Callable[[], None]) -> float:
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS


def ratio_of(name: str, rounds: int) -> dict[str, float]:
    """Return the times of a step of the library `name`, and their ratio; medians of the rounds."""
    torch: Any = importlib.import_module(name)
    step = variance_fit(torch)["step"]
    normal, anomaly = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mode warns that it costs time
        seconds(step)
        for _ in range(rounds):
            normal.append(seconds(step))
            with torch.autograd.detect_anomaly():
                anomaly.append(seconds(step))
    ratio = statistics.median([b / a for a, b in zip(normal, anomaly, strict=True)])
    return {
        "normal": statistics.median(normal),
        "anomaly": statistics.median(anomaly),
        "ratio": ratio,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Cost of anomaly mode in a training step, against PyTorch's.",
        epilog="exit code: 0, or with --check 1 if the bar is missed",
    )
    parser.add_argument("--rounds", type=int, default=15, help="default: 15")
    parser.add_argument("--only", metavar="LIBRARY", help="print the times of one as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the bar is missed")
    options = parser.parse_args(argv)
    if options.only:
        print(json.dumps(ratio_of(options.only, options.rounds)))
        return 0
    verdict = "pass"
    for name in ("taper", "torch"):
        command = [sys.executable, __file__, "--only", name, "--rounds", str(options.rounds)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(run.stdout)
        line = (
            f"anomaly mode, {name}: {found['normal'] * 1e6:.1f} -> {found['anomaly'] * 1e6:.1f} us"
        )
        if name == "taper":
            verdict = "pass" if found["ratio"] <= BAR else "FAIL"
            print(f"{line} a step, {found['ratio']:.2f} times   bar: <= {BAR:g}   {verdict}")
        else:
            print(f"{line} a step, {found['ratio']:.2f} times")
    return 1 if options.check and verdict == "FAIL" else 0


if __name__ == "__main__":
    sys.exit(main())
