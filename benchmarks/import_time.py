"""What `import taper` costs on top of `import numpy`, in fresh interpreters that take turns.

A start of the bare interpreter is measured too and subtracted, so the numbers are the imports.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

BAR = 60  # milliseconds that taper may add to NumPy

# With compiled modules, as on a user's machine: the first turn writes them.
_ENVIRONMENT = {**os.environ}
_ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)


def start_time(statement: str) -> float:
    """Return the milliseconds of an interpreter that runs `statement`, from start to end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=_ENVIRONMENT)
    return (time.perf_counter() - start) * 1e3


def measure(statements: Sequence[str], runs: int) -> list[float]:
    """Return each statement's median time; they take turns, and the first turn does not count."""
    times: list[list[float]] = [[] for _ in statements]
    for turn in range(runs + 1):
        for statement, values in zip(statements, times, strict=True):
            elapsed = start_time(statement)
            if turn:  # the first turn reads the files from disk
                values.append(elapsed)
    return [statistics.median(values) for values in times]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Import time of a library against NumPy's.",
        epilog="exit code: 0, or with --check 1 if the bar is missed",
    )
    parser.add_argument("library", nargs="?", default="taper", help="default: taper")
    parser.add_argument("--runs", type=int, default=15, help="turns that count (default: 15)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the bar is missed")
    options = parser.parse_args(argv)
    statements = ("pass", "import numpy", f"import {options.library}")
    bare, numpy, library = measure(statements, options.runs)
    difference = library - numpy
    if options.json:
        print(json.dumps({"numpy": numpy - bare, options.library: library - bare, "bar": BAR}))
    else:
        print(f"import numpy  {numpy - bare:7.1f} ms")
        print(f"import {options.library:<6} {library - bare:7.1f} ms")
        verdict = "pass" if difference <= BAR else "FAIL"
        print(f"difference    {difference:7.1f} ms   bar: <= {BAR} ms   {verdict}")
    return 1 if options.check and difference > BAR else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
