"""The scripts of `examples/` train on a GPU with the losses of the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import taper
from example_runs import ARGUMENTS, EXAMPLES, _environment, curve

RUNNER = Path(__file__).resolve().parent / "example_run.py"
DEVICE = "cuda" if taper.cuda.is_available() else "fake"
STEPS = 20 if DEVICE == "cuda" else 2
# What processes do together has tests of its own.  The fake device is slow: two examples do.
SCRIPTS = (
    sorted(set(ARGUMENTS) - {"ddp.py"})
    if DEVICE == "cuda"
    else ["mnist_cnn.py", "physics_informed.py"]
)


def losses(device: str, script: str, folder: Path) -> list[dict[str, float]]:
    """What the script logs with its tensors on a device."""
    options = [*ARGUMENTS[script].split(), "--steps", str(STEPS), "--log-every", "1"]
    temporary = folder / device
    temporary.mkdir()
    path = os.pathsep.join([str(EXAMPLES.parent / "src"), str(EXAMPLES.parent / "tests")])
    environment = {**_environment(temporary), "PYTHONPATH": path}
    if device == "cpu":  # a script takes a GPU if there is one
        environment["TAPER_CUDA"] = "0"
    done = subprocess.run(
        [sys.executable, str(RUNNER), device, str(EXAMPLES / script), *options],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return curve(done.stdout)


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_trains_with_the_curve_of_the_cpu(script: str, tmp_path: Path) -> None:
    here, there = (losses(device, script, tmp_path) for device in ("cpu", DEVICE))
    assert len(here) == len(there) > 0
    for one, other in zip(here, there, strict=True):
        assert other == pytest.approx(one, rel=1e-3)
