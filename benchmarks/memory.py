"""Peak memory of training, as the resident set of a process, for each of the eight models.

Each measurement is a process of its own that imports one library, builds the model and trains some
steps.  The table shows the whole resident set at its peak, which is what a machine must have, and
how much of it came after the import, which is what the model and its graph took.
"""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from models import steps_by_name
from options import parser
from rows import Row, finish, pair

BAR = 1.0  # of PyTorch's peak
STEPS = 10


def megabytes() -> float:
    """Return the largest resident set of this process so far."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def trained(library: str, model: str) -> dict[str, float]:
    """Peak memory of this process, and how much of it came after the import."""
    torch: Any = importlib.import_module(library)
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]))  # loads lazy modules
    imported = megabytes()
    step = steps_by_name()[model](torch)["step"]
    for _ in range(STEPS):
        step()
    return {"peak": megabytes(), "growth": megabytes() - imported}


def measured(library: str, model: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--only", library, "--model", model]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


def measure(models: Sequence[str]) -> list[Row]:
    """Return two rows for each model: the peak, which has the bar, and its later part."""
    rows = []
    for model in models:
        taper, torch = measured("taper", model), measured("torch", model)
        rows.append(pair(model, taper["peak"], torch["peak"], bar=BAR, unit="MB"))
        growth = taper["growth"], max(torch["growth"], 0.1)  # a page may have been there before
        rows.append(pair(f"{model}, after the import", *growth, unit="MB"))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("Peak resident memory of training, against PyTorch's.")
    options.add_argument("--only", metavar="LIBRARY", help="measure one here, print it as JSON")
    options.add_argument("--model", choices=list(steps_by_name()), help="only this model")
    chosen = options.parse_args(argv)
    models = [chosen.model] if chosen.model else list(steps_by_name())
    if chosen.only:
        print(json.dumps(trained(chosen.only, models[0])))
        return 0
    rows = measure(models[:3] if chosen.quick else models)
    return finish(rows, "memory", chosen.save, chosen.check)


if __name__ == "__main__":
    sys.exit(main())
