"""What a type checker knows of taper: the stub is fresh, accepts right programs, finds mistakes."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import taper

ROOT = Path(__file__).parents[1]
STUB = ROOT / "src" / "taper" / "__init__.pyi"
PROGRAMS = ROOT / "tests" / "typing"


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **variables},
    )


def test_the_stub_is_fresh():
    # In a process of its own: other tests may have put things on Tensor.
    written = run("tools/stubs.py", PYTHONPATH=str(ROOT / "src"))
    assert written.stderr == ""
    assert STUB.read_text() == written.stdout, "run: make docs"


def test_the_stub_has_every_public_name():
    text = STUB.read_text()
    told = set(re.findall(r"^(?:def |from .* as )?(\w+)(?=[(:\n])", text, flags=re.MULTILINE))
    names = [name for name in dir(taper) if not name.startswith("_")]
    public = {name for name in names if not inspect.ismodule(getattr(taper, name))}
    assert sorted(public - told - {"annotations"}) == []
    assert {"nn", "optim", "linalg", "autograd", "cuda"} <= told


def test_the_package_says_that_it_is_typed():
    assert (STUB.parent / "py.typed").exists()


def checked(program: Path) -> list[tuple[int, str]]:
    """(line, kind of error) that mypy finds in a program of somebody who uses taper."""
    pytest.importorskip("mypy", reason="mypy comes with the dev extra")
    options = ["--strict", "--config-file=", "--follow-imports=silent"]
    # A cache for each: two checkers at once do not get along in one.
    options.append(f"--cache-dir=.mypy_cache/{program.stem}")
    checker = run("-m", "mypy", *options, str(program), MYPYPATH=str(ROOT / "src"))
    found = re.findall(r":(\d+): error: .*\[([\w-]+)\]$", checker.stdout, flags=re.MULTILINE)
    assert bool(found) == checker.returncode, checker.stdout + checker.stderr
    return [(int(line), kind) for line, kind in found]


@pytest.mark.slow
def test_a_right_program_is_accepted_and_runs():
    assert checked(PROGRAMS / "right.py") == []
    assert runpy.run_path(str(PROGRAMS / "right.py"), run_name="__main__")["training"]


@pytest.mark.slow
def test_every_mistake_is_found():
    lines = enumerate((PROGRAMS / "wrong.py").read_text().splitlines(), 1)
    marked = [(nr, line.rpartition("  # ")[2]) for nr, line in lines if "  # " in line]
    assert len(marked) > 20
    assert checked(PROGRAMS / "wrong.py") == marked
