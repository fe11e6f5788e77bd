"""The scripts of `examples/`, with their modules captured, end with the bits of eager mode."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from example_runs import ARGUMENTS, EXAMPLES, _environment

RUNNER = Path(__file__).resolve().parents[1] / "captured_run.py"

# Second derivatives of a captured module come from calling it again, and are added in that order.
ROUNDED = {"physics_informed.py"}
WITHOUT_MODULES = {"gaussian_process.py", "ddp.py"}  # what processes do together is eager


def both(script: str, folder: Path) -> list[dict[str, Any]]:
    """What the script did eagerly, and captured."""
    arguments = [*ARGUMENTS[script].split(), "--steps", "5", "--log-every", "1"]
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(EXAMPLES / script), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=_environment(folder),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def numbers(end: dict[str, Any]) -> list[float]:
    """The numbers that a script printed."""
    return [float(each) for each in re.findall(r"-?\d+\.\d+", " ".join(end["printed"]))]


@pytest.mark.parametrize("script", sorted(set(ARGUMENTS) - WITHOUT_MODULES))
def test_a_captured_example_ends_as_the_eager_one(script: str, tmp_path: Path) -> None:
    eager, captured = both(script, tmp_path)
    assert len(eager["printed"]) >= 5
    if script in ROUNDED:
        assert numbers(captured) == pytest.approx(numbers(eager), rel=1e-5)
    else:
        assert captured["printed"] == eager["printed"]
        assert captured["bits"] == eager["bits"]
    assert captured["replayed"] >= 2, captured["refused"]
