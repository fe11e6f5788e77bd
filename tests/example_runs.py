"""The scripts of `examples/`: the arguments with which the tests run them, and how.

A new example is one row of ARGUMENTS.  Sizes are chosen so that 50 steps take a second or two and
that the loss is no chaotic function of rounding: small networks, modest learning rates.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"

ARGUMENTS = {
    "actor_critic.py": "--hidden 64",
    "char_gpt.py": "--layers 2 --width 32 --block-size 32 --batch-size 8 --lr 3e-3 --dropout 0.1 "
    "--generate 20",
    # An activation whose sign flips by rounding moves the curve by lr: hence the small one.
    "dcgan.py": "--width 8 --batch-size 8 --train-size 400 --lr 2e-5",
    "ddp.py": "--points 512 --width 32 --batch-size 32",
    "gaussian_process.py": "",
    "lstm_language_model.py": "--words 8000 --width 32 --lr 2",
    "mnist_cnn.py": "--width 4 --batch-size 16 --train-size 800 --test-size 50 --lr 0.3",
    "neural_style.py": "--size 48",
    "physics_informed.py": "--points 128",
    # Likewise: at 1e-3 one flips in step 18, which moves the loss of step 29 by 2e-4 of it.
    "super_resolution.py": "--pictures 64 --size 16 --lr 5e-4",
    "time_series_lstm.py": "--waves 6 --length 40 --hidden 12",
    "transformer_language_model.py": "--width 32 --hidden 64 --vocabulary 500",
    "vae.py": "--hidden 64 --batch-size 32 --train-size 1000 --test-size 50",
}

# These have a test file of their own, and other arguments.
TESTED_ELSEWHERE = {"finetune_resnet18.py"}  # tests/vision/test_finetune_example.py

TAPER = ["-m", "taper", "run"]
PYTORCH: list[str] = []


def run(library: list[str], script: str, arguments: list[str], folder: Path) -> str:
    """Return what a script prints; it must succeed, and write only into the temporary folder."""
    work, temporary = folder / "work", folder / "temporary"
    work.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, *library, str(EXAMPLES / script), *arguments],
        capture_output=True,
        text=True,
        cwd=work,
        env=_environment(temporary),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert list(work.iterdir()) == []
    return done.stdout


def _environment(temporary: Path) -> dict[str, str]:
    one_thread = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
    return {**os.environ, **one_thread, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(temporary)}


def curve(output: str) -> list[dict[str, float]]:
    """Return the logged steps: each line `step 1  loss 2.3` as {"step": 1.0, "loss": 2.3}."""
    lines = [line for line in output.splitlines() if line.startswith("step ")]
    return [{name: float(value) for name, value in re.findall(r"(\w+) (\S+)", x)} for x in lines]
