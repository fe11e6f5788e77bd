"""The example of fine-tuning runs as a user runs it, at a tiny size."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "finetune_resnet18.py"


def run(folder, *options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = os.pathsep.join(each for each in sys.path if each)
    line = [sys.executable, "-m", "taper", "run", str(EXAMPLE), *options]
    return subprocess.run(
        line,
        cwd=folder,
        env={**environment, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_example_writes_a_checkpoint_and_trains_the_last_layer_only(tmp_path):
    tiny = ("--size", "32", "--train", "16", "--test", "8", "--batch", "8", "--epochs", "2")
    output = run(tmp_path, *tiny)
    assert (tmp_path / "resnet18-random.pth").exists()
    assert "2052 of 11178564 weights are trained" in output
    assert "frozen without gradient: True" in output
    losses = [float(each) for each in re.findall(r"loss (\d+\.\d+)", output)]
    assert len(losses) == 2 and losses[1] < losses[0]
    # Now the checkpoint exists.
    assert "no checkpoint found" not in run(tmp_path, *tiny[:-1], "1")
