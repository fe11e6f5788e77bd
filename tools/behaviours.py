"""Writes `docs/behaviours.md`: which test shows which behaviour of autograd.

The behaviours have ids such as E16; a test carries the id in its name, as in `test_e16_...`.
What has an id and no test must be named in LATER below, with a word about what it is.

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
    "G17": "the node that is running (`_current_autograd_node`), dispatch modes",
    "E27": "questions about the running pass: its id, its order, whether a node will run",
    "E28": "`_calculate_shape`",
    "E29": "a log record for each node that runs",
    "R11": "`nn.DataParallel` without devices",
    "R12": "streams, device threads: there are none",
    "S12": "`_make_saved_tensor`",
    "S20": "`allow_mutation_on_saved_tensors`",
    "F22": "subclasses with `__torch_function__`",
    "H12": "full backward hooks of modules: tested with the modules",
    "V13": "views taken in inference mode: see I6",
    "V14": "views made by custom functions: see F12",
    "V21": "`_view_func`",
    "D4": "tangents of every operator: tested with the operators",
    "D6": "writes to duals and their views",
    "D8": "printing of duals: tested with printing",
    "D9": "layout of tangents",
    "D10": "lifetime of tangents",
    "D11": "duals in inference mode",
    "D13": "`jvp` of custom functions",
    "D14": "checks on `jvp` of custom functions",
    "D15": "vectorised tangents",
    "K5": "outputs that change when inputs are perturbed",
    "K15": "sparse inputs: there are none",
    "T1": "jacobian, hessian, vjp, jvp, vhp, hvp",
    "T2": "checks on vectors",
    "T3": "checks on outputs of the hessian family",
    "T4": "grad modes and create_graph",
    "T5": "strict",
    "T6": "vectorize",
    "T7": "standard bases",
    "P1": "checkpoint, checkpoint_sequential",
    "P2": "checkpointed results and gradients",
    "P3": "the reentrant kind",
    "P4": "the non-reentrant kind",
    "P5": "random state",
    "P6": "recomputation when a value is unpacked",
    "P7": "early stop",
    "P8": "determinism checks",
    "P9": "nesting",
    "P10": "context_fn",
    "P11": "GraphExecGroup",
    "P12": "selective checkpointing",
    "P13": "device memory: there is none",
    "Q1": "profile",
    "Q2": "record_function",
    "Q3": "events of a backward pass",
    "Q4": "tables",
    "Q5": "event objects",
    "Q6": "tracers of others",
    "X5": "a wrong gradient of PyTorch's that it has pinned",
    "Z6": "`torch.tensor(tensor)` warns: tested with creation",
    "Z7": "wrapper subclasses",
    "W11": "device memory: there is none",
    "B10": "derivatives that are not implemented: tested with the operators",
    "B13": "lobpcg",
    "B14": "sparse gradients: there are none",
}

_TEST = re.compile(r"test_([a-z])(\d+)_(\w+)")


def covered() -> dict[str, list[tuple[str, str]]]:
    """For each id: the tests that carry it, as (path, name)."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((ROOT / "tests" / "autograd").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match = _TEST.fullmatch(node.name) if isinstance(node, ast.FunctionDef) else None
            if match is not None:
                name = f"{match[1].upper()}{int(match[2])}"
                found.setdefault(name, []).append((path.relative_to(ROOT).as_posix(), node.name))
    return found


def all_ids() -> list[str]:
    """Every behaviour, in order."""
    return [f"{letter}{number}" for letter, _, count in SECTIONS for number in range(1, count + 1)]


def render() -> str:
    """The page."""
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
