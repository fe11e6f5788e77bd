"""The pages of the site: every block of code runs, exercises are the same in both languages.

The `>>>` examples and the links are tested by test_project.py, with those of all documents; what
needs the built site is in tests/documents/.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WRITTEN = sorted([*(DOCS / "howto").glob("*.md"), *(DOCS / "start").glob("*.md")])
FENCE = re.compile(
    r"^(?:<!-- (?P<note>.+) -->\n)?```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)^```$", re.M | re.S
)
COMMANDS = {"run", "graph", "step", "new", "demo", "bench", "info"}


def blocks(path: Path, kind: str) -> list[tuple[str, str]]:
    """Return (note, code) of the blocks of a kind."""
    found = FENCE.finditer(path.read_text(encoding="utf-8"))
    return [(each["note"] or "", each["code"]) for each in found if each["kind"] == kind]


WITH_PROGRAMS = [path for path in [*WRITTEN, DOCS / "capture.md"] if blocks(path, "python")]


@pytest.mark.parametrize("path", WITH_PROGRAMS, ids=lambda path: path.stem)
def test_programs_on_a_page_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    for note, code in blocks(path, "python"):
        if note.startswith("not run: "):
            compile(code, path.name, "exec")
        elif note == "run by two processes":
            run_twice(code, tmp_path)
        else:
            exec(compile(code, path.name, "exec"), names)


def run_twice(code: str, folder: Path) -> None:
    script = folder / "train.py"
    script.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "taper", "run", "--nproc-per-node", "2", str(script)]
    settings = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "MASTER_PORT": "0"}
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **settings}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loss of 2 processes: ")


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_commands_on_a_page_exist(path):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    for _, code in blocks(path, "sh"):
        for line in code.splitlines():
            command, _, rest = line.partition(" ")
            assert command in ("taper", "pip", "make"), line
            if command == "taper":
                assert rest.split()[0] in COMMANDS, line
            if command == "make":
                assert rest.split()[0] in targets, line


def test_a_page_is_short_and_says_what_it_answers():
    for path in WRITTEN:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), path.name
        assert len(text.splitlines()) < 100, path.name


def test_every_how_to_is_listed():
    index = (DOCS / "howto" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (DOCS / "howto").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages


def test_exercises_are_the_same_in_both_languages():
    english, chinese = (
        (DOCS / "learn" / name).read_text(encoding="utf-8")
        for name in ("exercises.md", "exercises.zh.md")
    )
    assert re.findall(r"^## (\d+)\.", english, re.M) == [str(number) for number in range(1, 13)]
    assert re.findall(r"^## (\d+)\.", english, re.M) == re.findall(r"^## (\d+)\.", chinese, re.M)
    codes = [[each["code"] for each in FENCE.finditer(text)] for text in (english, chinese)]
    assert codes[0] == codes[1] and len(codes[0]) >= 12


def test_the_walk_through_the_engine_names_what_exists():
    text = (DOCS / "engine.md").read_text(encoding="utf-8")
    named = re.findall(r"^```source (\S+) ([\w.]+)$", text, re.M)
    assert len(named) > 8
    for path, name in named:
        source = (ROOT / "src" / "taper" / path).read_text(encoding="utf-8")
        assert re.search(rf"^(?:def|class) {name}\b", source, re.M), name


def test_the_numbers_of_readme_are_those_that_were_measured():
    path = ROOT / "tools" / "readme_numbers.py"
    specification = importlib.util.spec_from_file_location("readme_numbers", path)
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert tool.filled(readme, page) == readme, "run: make pages"
    assert tool.rows(page).count("\n") >= 5
