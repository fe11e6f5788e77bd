"""What type checkers and editors know of taper: right programs pass, mistakes are found."""

from __future__ import annotations

import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import taper

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taper"
PROGRAMS = ROOT / "tests" / "typing"


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **variables},
    )


def texts(directory: Path) -> dict[str, str]:
    """Return the stubs in a directory by their path."""
    stubs = sorted(directory.rglob("*.pyi"))
    return {str(path.relative_to(directory)): path.read_text() for path in stubs}


def test_the_stubs_are_fresh(tmp_path):
    # In a process of its own: other tests may have put things on Tensor.
    written = run("tools/stubs.py", str(tmp_path), PYTHONPATH=str(ROOT / "src"))
    assert written.stderr == ""
    found, wanted = texts(PACKAGE), texts(tmp_path)
    assert sorted(found) == sorted(wanted)
    stale = [path for path in found if found[path] != wanted[path]]
    assert stale == [], "run: make docs"


def test_the_stub_has_every_public_name():
    text = (PACKAGE / "__init__.pyi").read_text()
    told = set(re.findall(r"^(?:def |from .* as )?(\w+)(?=[(:\n])", text, flags=re.MULTILINE))
    names = [name for name in dir(taper) if not name.startswith("_")]
    public = {name for name in names if not inspect.ismodule(getattr(taper, name))}
    assert sorted(public - told - {"annotations"}) == [], "run: make docs"
    assert {"nn", "optim", "linalg", "autograd", "cuda"} <= told


def test_no_function_gives_a_type_that_says_nothing():
    everything = "".join(texts(PACKAGE).values())
    results = set(re.findall(r"^ *def (\w+)\(.*\) -> Any:", everything, flags=re.MULTILINE))
    # A pool returns indices or not depending on a bool, which need not be a literal.
    assert {name for name in results if name[0] != "_" and "pool" not in name} == {"named_tuple"}


def test_every_function_is_documented_where_editors_look():
    stub = (PACKAGE / "__init__.pyi").read_text()
    assert re.findall(r"^def .*\.\.\.$", stub, flags=re.MULTILINE) == []
    methods = (PACKAGE / "tensor_methods.pyi").read_text()
    assert re.findall(r"^    def [a-z]\w*\(.*(?<!value: None\) -> None: )\.\.\.$", methods) == []


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


def by_mypy(program: Path) -> list[tuple[int, str]]:
    """Return (line, kind of error) that mypy finds in a user's program."""
    pytest.importorskip("mypy", reason="mypy comes with the dev extra")
    options = ["--strict", "--config-file=", "--follow-imports=silent"]
    # A cache for each: two checkers at once disturb each other in one.
    options.append(f"--cache-dir=.mypy_cache/{program.stem}")
    checker = run("-m", "mypy", *options, str(program), MYPYPATH=str(ROOT / "src"))
    found = re.findall(r":(\d+): error: .*\[([\w-]+)\]$", checker.stdout, flags=re.MULTILINE)
    assert bool(found) == checker.returncode, checker.stdout + checker.stderr
    return [(int(line), kind) for line, kind in found]


def by_pyright(program: Path) -> list[tuple[int, str]]:
    """Return (line, message) of the errors that pyright finds; pyproject.toml has its settings."""
    pytest.importorskip("pyright", reason="pyright comes with the dev extra")
    checker = run("-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(program))
    found = json.loads(checker.stdout)
    assert found["summary"]["filesAnalyzed"] == 1, checker.stdout + checker.stderr
    errors = [each for each in found["generalDiagnostics"] if each["severity"] == "error"]
    return [(each["range"]["start"]["line"] + 1, each["message"]) for each in errors]


@pytest.mark.slow
def test_a_right_program_is_accepted_and_runs():
    assert by_mypy(PROGRAMS / "right.py") == []
    if np.lib.NumpyVersion(np.__version__) >= "2.2.0":  # before, pyright cannot know a bare ndarray
        assert by_pyright(PROGRAMS / "right.py") == []
    assert runpy.run_path(str(PROGRAMS / "right.py"), run_name="__main__")["training"]


@pytest.mark.slow
def test_every_mistake_is_found():
    lines = enumerate((PROGRAMS / "wrong.py").read_text().splitlines(), 1)
    marked = [(nr, line.rpartition("  # ")[2]) for nr, line in lines if "  # " in line]
    assert len(marked) > 40
    assert by_mypy(PROGRAMS / "wrong.py") == marked
    by_line = dict(by_pyright(PROGRAMS / "wrong.py"))  # one mistake may have two messages
    assert list(by_line) == [nr for nr, _ in marked]


def test_an_editor_completes_and_documents_the_methods_of_a_tensor():
    jedi = pytest.importorskip("jedi", reason="jedi comes with the dev extra")
    project = jedi.Project(ROOT, added_sys_path=[str(ROOT / "src")], load_unsafe_extensions=False)
    program = jedi.Script("import taper\nx = taper.ones(3)\nx.softmax", project=project)
    names = [each.name for each in program.complete(3, 2)]
    assert len(names) > 600
    assert {"relu", "add_", "grad_fn", "backward", "shape", "T", "max"} <= set(names)
    (found,) = program.help(3, 5)
    assert found.docstring(raw=True).startswith("Turn numbers into probabilities")
    (kind,) = jedi.Script("import taper\nx = taper.ones(3).exp()\nx", project=project).infer(3, 0)
    assert kind.name == "Tensor"
