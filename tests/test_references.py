"""References in prose lead somewhere: `taper.x.y` resolves, and `room/file.py` exists."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "taper"
SOURCES = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "native").glob("*.[ch]")])
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"]
FOLDERS = "src native tests docs tools benchmarks examples".split()
FILES = [
    f"/{path.relative_to(ROOT).as_posix()}"
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*.*")
]

NAMES = re.compile(r"`(taper(?:\.\w+)+)(?:\([^`]*\))?`")
PATHS = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|pyi|c|h|md|txt))`")
# PyTorch's own files, and a name that stands for many.
ELSEWHERE = {"torch/optim/optimizer.py"}
MANY = re.compile(r"taper\._foreach_$")


def prose(path: Path) -> str:
    """What a reader reads of a file: docstrings and comments of a module, else all of it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    comments = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [each for each in ast.walk(ast.parse(text)) if isinstance(each, documented)]
    return "\n".join([*comments, *(ast.get_docstring(each) or "" for each in nodes)])


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one or of a class in it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            target = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(target, part):
                return False
            target = getattr(target, part)
        return True
    return False


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.filterwarnings("ignore")  # some names warn when they are asked for
@pytest.mark.parametrize("path", [*SOURCES, *DOCUMENTS], ids=name_of)
def test_names_and_paths_lead_somewhere(path):
    text = prose(path)
    names = {each for each in NAMES.findall(text) if not MANY.match(each)}
    assert sorted(each for each in names if not resolves(each)) == []
    paths = set(PATHS.findall(text)) - ELSEWHERE
    assert [path for path in paths if not any(each.endswith(f"/{path}") for each in FILES)] == []


def test_a_reference_that_leads_nowhere_is_seen():
    assert resolves("taper.Tensor.backward") and resolves("taper.cuda.nvtx.mark")
    assert not resolves("taper.opnodes.make") and not resolves("taper.cuda.absent")
    assert NAMES.findall("see `taper.old.name(x)` and `src/taper/old.py`") == ["taper.old.name"]
    assert PATHS.findall("`src/taper/old.py`, `old.py`") == ["src/taper/old.py"]
