"""What `taper new` writes, run by another Python process: for its tests, here and in parity."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"

LOSSES = """
import json
from train import HERE, read_config, train
print(json.dumps(train(read_config(HERE / "config.toml"), 12, report=lambda line: None)[0]))
"""


def run(folder: Path, *line: str) -> str:
    """Run a Python with taper in a folder; return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *line]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def new_project(folder: Path, template: str) -> Path:
    """Write a project; return its folder."""
    run(folder, "-m", "taper", "new", "fresh", "--template", template)
    return folder / "fresh"


def losses(project: Path, *before: str) -> list[float]:
    """Return the losses of the first steps; `before` stands in front of the script."""
    (project / "losses.py").write_text(LOSSES)
    return json.loads(run(project, *before, "losses.py"))
