"""Writes `docs/behaviours.md`: which test shows which behaviour of autograd.

The behaviours have ids such as E16; a test carries the id in its name, as in `test_e16_...`.  A
behaviour without a test must be named in LATER below, with a word about what it is.

    python tools/behaviours.py > docs/behaviours.md
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Sections: letter, title, number of behaviours.
SECTIONS = [
    ("G", "Graph: nodes, names, edges", 17),
    ("E", "Engine: calling it, order, sums, accumulation, edges", 29),
    ("R", "Passes inside passes, threads, callbacks", 12),
    ("N", "Anomaly mode", 7),
    ("S", "Saved tensors", 20),
    ("F", "Custom functions", 23),
    ("H", "Hooks", 14),
    ("M", "Grad modes", 7),
    ("I", "Inference mode", 7),
    ("V", "Views and writing in place", 21),
    ("L", "Leaves, requires_grad, .grad, detach, .data", 12),
    ("D", "Forward mode", 15),
    ("K", "gradcheck and gradgradcheck", 15),
    ("T", "autograd.functional", 7),
    ("P", "Checkpointing", 13),
    ("Q", "Profiler", 6),
    ("X", "Complex numbers", 5),
    ("Z", "Printing, pickling, Python's protocols", 7),
    ("W", "Lifetime: no cycles, no leaks", 11),
    ("B", "Values: broadcasting, dtypes, indexing, ties", 14),
]

# Behaviours without a test of that name, and why.
LATER = {
    "R12": "streams, device threads: there are none",
    "D15": "vectorised tangents",
    "K15": "sparse inputs are tested in tests/sparse; MKLDNN tensors: there are none",
    "P13": "device memory: there is none",
    "X5": "a wrong gradient of PyTorch's that it has pinned",
    "W11": "device memory: there is none",
    "B14": "sparse gradients are tested in tests/sparse; CUDA in tests/cuda",
}

_TEST = re.compile(r"test_([a-z])(\d+)_(\w+)")


def covered() -> dict[str, list[tuple[str, str]]]:
    """Return for each id the tests that carry it, as (path, name)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((ROOT / "tests" / "autograd").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match = _TEST.fullmatch(node.name) if isinstance(node, ast.FunctionDef) else None
            if match is not None:
                name = f"{match[1].upper()}{int(match[2])}"
                found.setdefault(name, []).append((path.relative_to(ROOT).as_posix(), node.name))
    return found


def all_ids() -> list[str]:
    """Return every behaviour, in order."""
    return [f"{letter}{number}" for letter, _, count in SECTIONS for number in range(1, count + 1)]


def render() -> str:
    """Return the page."""
    tests = covered()
    lines = [
        "# Behaviours of autograd and their tests",
        "",
        "Written by `python tools/behaviours.py > docs/behaviours.md`. Every test in",
        "`tests/autograd` runs on taper, and in the parity suite on PyTorch 2.13 as well.",
    ]
    for letter, title, count in SECTIONS:
        rows = []
        for number in range(1, count + 1):
            name = f"{letter}{number}"
            for path, test in tests.get(name, []):
                sentence = _TEST.fullmatch(test)[3].replace("_", " ")  # type: ignore[index]
                rows.append(f"| {name} | {sentence} | [{Path(path).name}](../{path}) |")
        if rows:
            lines += ["", f"## {letter}. {title}", "", "| id | behaviour | test |"]
            lines += ["| --- | --- | --- |", *rows]
    lines += ["", "## Later", "", "Not yet there, or tested elsewhere under another name.", ""]
    lines += [f"- {name}: {text}" for name, text in LATER.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render(), end="")
