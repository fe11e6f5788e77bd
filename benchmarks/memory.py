"""Peak memory of training, as the resident set of a process: an MLP and a small GPT.

Each measurement is a process of its own that imports one library, builds the model and trains some
steps.  The table shows the whole resident set at its peak, which is what a machine must have, and
how much of it came after the import, which is what the model and its graph took.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from workloads import language_model, perceptron

MODELS = {"MLP 784-512-512-10, 128": perceptron((784, 512, 512, 10), 128), "GPT": language_model}
BAR = 1.0  # of PyTorch's peak
STEPS = 20


def megabytes() -> float:
    """Return the largest resident set of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def trained(library: str, model: str) -> dict[str, float]:
    """Return the peak memory of this process, and how much of it came after the import."""
    torch: Any = importlib.import_module(library)
    torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]))  # loads lazy modules
    imported = megabytes()
    step = MODELS[model](torch)["step"]
    for _ in range(STEPS):
        step()
    return {"peak": megabytes(), "growth": megabytes() - imported}


def measured(library: str, model: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--only", library, "--model", model]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Peak resident memory of training, against PyTorch's.",
        epilog="exit code: 0, or with --check 1 if the bar is missed",
    )
    parser.add_argument("--only", metavar="LIBRARY", help="measure one here, print it as JSON")
    parser.add_argument("--model", choices=sorted(MODELS), default="GPT", help="for --only")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the bar is missed")
    arguments = parser.parse_args(argv)
    if arguments.only:
        print(json.dumps(trained(arguments.only, arguments.model)))
        return 0
    missed = False
    print("peak resident memory of training (MB; in brackets what came after the import)")
    for model in MODELS:
        taper, torch = measured("taper", model), measured("torch", model)
        ratio = taper["peak"] / torch["peak"]
        missed |= ratio > BAR
        print(
            f"{model:26} taper {taper['peak']:4.0f} ({taper['growth']:3.0f})   "
            f"torch {torch['peak']:4.0f} ({torch['growth']:3.0f})   ratio {ratio:.2f}  "
            f"<= {BAR}  {'FAIL' if ratio > BAR else 'pass'}"
        )
    return int(missed and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
