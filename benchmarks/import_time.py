"""What imports cost on top of `import numpy`, in fresh interpreters that take turns.

A start of the bare interpreter is measured too and subtracted, so the numbers are the imports.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from options import parser
from rows import Row, finish, pair

BAR = 0.06  # seconds that taper may add to NumPy

# With compiled modules, as on a user's machine: the first turn writes them.
_ENVIRONMENT = {**os.environ}
_ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)


def start_time(statement: str) -> float:
    """Return seconds from starting an interpreter to its end, running `statement`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=_ENVIRONMENT)
    return time.perf_counter() - start


def measure(statements: Sequence[str], runs: int) -> list[float]:
    """Return each statement's median time; they take turns, and the first turn does not count."""
    times: list[list[float]] = [[] for _ in statements]
    for turn in range(runs + 1):
        for statement, values in zip(statements, times, strict=True):
            elapsed = start_time(statement)
            if turn:  # the first turn reads the files from disk
                values.append(elapsed)
    return [statistics.median(values) for values in times]


def rows(libraries: Sequence[str], runs: int) -> list[Row]:
    """Return what each library takes beyond NumPy's import, against PyTorch's; and NumPy's own."""
    statements = ("pass", "import numpy", *(f"import {library}" for library in libraries))
    bare, numpy, *imports = measure(statements, runs)
    beyond = [each - numpy for each in imports]
    return [
        pair("import, beyond NumPy's", *beyond, limit=BAR, unit="ms"),
        pair("import numpy alone", numpy - bare, numpy - bare, unit="ms"),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("Import time of taper and PyTorch, beyond NumPy's.")
    options.add_argument("--candidate", default="taper", help="library to judge (default: taper)")
    options.add_argument("--reference", default="torch", help="what to divide by (default: torch)")
    options.add_argument("--runs", type=int, help="turns that count (default: 9)")
    chosen = options.parse_args(argv)
    runs = chosen.runs or (3 if chosen.quick else 9)
    found = rows((chosen.candidate, chosen.reference), runs)
    return finish(found, "import", chosen.save, chosen.check)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
