"""Programs that are written to a folder and run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from taper import compat
from taper.compat.aliases import ALIASES

SOURCE = Path(__file__).parents[2] / "src"


class Program:
    """A folder with files, and the `taper` command to run them there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def python(self, *line: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
        return subprocess.run(
            [sys.executable, *line],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def taper(self, *line: str) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "taper", *line)

    def run(self, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call `taper run` on a program of this text."""
        self.write("program.py", text)
        return self.taper("run", "program.py", *arguments)

    def output(self, text: str, *arguments: str) -> list[str]:
        """Return the lines that a program of this text prints."""
        done = self.run(text, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


@pytest.fixture(autouse=True)
def without_pytorch():
    """Put torch aside if the parity suite runs in the same process."""
    aside = {n: sys.modules.pop(n) for n in list(sys.modules) if n.partition(".")[0] in ALIASES}
    yield
    compat.uninstall()
    sys.modules.update(aside)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)
