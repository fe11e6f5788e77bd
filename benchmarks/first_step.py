"""How long a user waits for the first training step, in fresh processes that take turns.

Shown for every model: from starting the interpreter to the end of the first step, and from
building the model to it, when the library is imported already.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from models import steps_by_name
from options import parser
from rows import Row, finish, pair

LIBRARIES = ("taper", "torch")


def trained(library: str, model: str) -> float:
    """Return seconds from building the model to the end of its first step, in this process."""
    torch: Any = importlib.import_module(library)
    start = time.perf_counter()
    steps_by_name()[model](torch)["step"]()
    return time.perf_counter() - start


def measured(library: str, model: str) -> tuple[float, float]:
    """Return seconds of a fresh process: all of it, and from building the model on."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--only", library, "--model", model]
    built = json.loads(subprocess.check_output(command))
    return time.perf_counter() - start, built


def measure(models: Sequence[str], runs: int) -> list[Row]:
    """Return two rows for each model, the medians of `runs` turns."""
    rows = []
    for model in models:
        print(model, file=sys.stderr)
        turns = [[measured(library, model) for library in LIBRARIES] for _ in range(runs)]
        for which, label in enumerate(("from start", "from building")):
            times = [statistics.median(turn[side][which] for turn in turns) for side in (0, 1)]
            rows.append(pair(f"{model}, {label}", *times, unit="ms"))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("Time to the first training step, against PyTorch's.")
    options.add_argument("--only", metavar="LIBRARY", help="measure one here, print its seconds")
    options.add_argument("--model", choices=list(steps_by_name()), help="only this model")
    options.add_argument("--runs", type=int, help="turns (default: 3)")
    chosen = options.parse_args(argv)
    models = [chosen.model] if chosen.model else list(steps_by_name())
    if chosen.only:
        print(json.dumps(trained(chosen.only, models[0])))
        return 0
    rows = measure(models, chosen.runs or (1 if chosen.quick else 3))
    return finish(rows, "first step", chosen.save, chosen.check)


if __name__ == "__main__":
    sys.exit(main())
