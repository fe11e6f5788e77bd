"""Runs programs over libraries made for PyTorch under taper and under PyTorch, and compares them.

    python tools/libraries.py [NAME ...] [--keep-page]

Owns: `docs/libraries.md`.  The programs are in `tests/libraries/programs`, written for `import
torch`.  Two environments hold the same libraries (`tests/libraries/requirements.txt`, installed
without their dependencies, so that none brings PyTorch): `.venv-libraries` has taper in PyTorch's
place, `.venv-libraries-oracle` has PyTorch.  What a program prints must agree: the words as they
stand, the numbers to `TOLERANCE`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "libraries"
PAGE = ROOT / "docs" / "libraries.md"
TAPER, ORACLE = ROOT / ".venv-libraries", ROOT / ".venv-libraries-oracle"
TOLERANCE = 1e-4
NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)\b")
SECONDS = 900
# What the programs avoid because it differs or is missing: a page of agreements must say so.
AVOIDED = """
## What the programs avoid

- timm: the steps run in float64. In float32 the gradient norm or the output after a step of
  resnet10t, densenet121 and levit_128s differed by 3e-4 to 1.5e-3, with batches of two.
- torchcde: fixed steps (rk4). With dopri5 at its usual tolerance results differed by 5e-3 (8e-6 at
  rtol=1e-7), in float32.
- torchvision: quantized models, which are not in taper.vision. Detectors run in float64: with few
  pixels for batch normalisation, gradients in float32 differ by 1e-3.
- vit-pytorch: MAE, which stops with the same error of shapes on PyTorch.
- pytorch_optimizer: soap looks for the eigenvectors of matrices that have the eigenvalue 0 more
  than once; LAPACKs choose different ones, and the steps differ by 2e-3.
- lightning: a bias before batch normalisation under Adam. Its gradient is rounding
  error, which Adam makes a step of; training agrees, evaluation differs by 4e-4.
- gpytorch: a variational process with 12 inducing points in float32: Adam makes 1e-16 in float64
  2e-7 after 40 steps, and in the same way 1e-7 in float32 2e-3. nflows: batch normalisation in
  evaluation, for the reason above: after 40 steps 4e-3 in float32, 2e-11 in float64.
- gpytorch: samples of a posterior at the places of its data, whose covariance is nearly singular
  in float32, differ by 2e-4.
"""


@dataclass
class Outcome:
    """What came of one program."""

    name: str
    libraries: list[str]
    said: str
    result: str
    numbers: int

    @property
    def agrees(self) -> bool:
        """Whether everything printed is PyTorch's."""
        return self.result == "agrees"


def make_environment(folder: Path, *own: str) -> None:
    """Make a virtual environment with the libraries and `own`, unless it is there."""
    wanted = (FOLDER / "requirements.txt").read_text() + "\n".join(own)
    stamp = folder / ".made"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--no-deps", "-r", str(FOLDER / "requirements.txt")], check=True)
    subprocess.run([*install, *own], check=True)
    stamp.write_text(wanted)


def run(python: Path, program: Path, *before: str) -> tuple[str, str]:
    """Return what a program printed, and the last line of its error, if it ended with one."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0"}
    line = [str(python), "-W", "ignore", *before, str(program)]
    environment = {**os.environ, **threads, **quiet}
    try:
        done = subprocess.run(
            line, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "", f"takes more than {SECONDS} seconds"
    lines = done.stderr.strip().splitlines()
    return done.stdout, (lines[-1] if lines else "failed") if done.returncode else ""


def difference(ours: str, theirs: str) -> str:
    """Return the first line that differs, in words; nothing if all agree."""
    for nr, (our, their) in enumerate(zip(ours.splitlines(), theirs.splitlines(), strict=False), 1):
        if NUMBER.sub("#", our) != NUMBER.sub("#", their):
            return f"line {nr}: {our[:90]!r}, PyTorch {their[:90]!r}"
        for a, b in zip(NUMBER.findall(our), NUMBER.findall(their), strict=True):
            if a != b and not abs(float(a) - float(b)) <= TOLERANCE * max(1.0, abs(float(b))):
                return f"line {nr} ({our.split()[0]}): {a}, PyTorch {b}"
    if len(ours.splitlines()) != len(theirs.splitlines()):
        return f"{len(ours.splitlines())} lines, PyTorch {len(theirs.splitlines())}"
    return ""


def compare(program: Path) -> Outcome:
    """Run one program in both environments."""
    text = program.read_text()
    title = text.split('"""')[1].strip().rstrip(".")
    libraries, _, said = title.partition(": ")
    theirs, broken = run(ORACLE / "bin" / "python", program, str(FOLDER / "oracle.py"))
    if broken:
        result = f"PyTorch itself: {broken}"
    else:
        ours, failed = run(TAPER / "bin" / "python", program, "-m", "taper", "run")
        result = failed or difference(ours, theirs) or "agrees"
    numbers = len(NUMBER.findall(theirs))
    return Outcome(
        program.stem, re.split(r", | and ", libraries), said.replace("\n", " "), result, numbers
    )


def versions() -> dict[str, str]:
    """Return which version of each distribution is installed."""
    paths = [str(next((TAPER / "lib").glob("python*")) / "site-packages")]
    found = importlib.metadata.distributions(path=paths)
    return {each.metadata["Name"].lower().replace("_", "-"): each.version for each in found}


def write_page(outcomes: Sequence[Outcome]) -> None:
    """Write the table of `docs/libraries.md`."""
    installed = versions()
    rows = []
    for each in outcomes:
        named = ", ".join(
            f"{name} {installed.get(name.lower().replace('_', '-'), '')}".strip()
            for name in each.libraries
        )
        result = f"{each.numbers} numbers agree" if each.agrees else each.result
        rows.append(f"| {named} | {each.said} | {result} |")
    agreeing = sum(each.agrees for each in outcomes)
    PAGE.write_text(
        "# Libraries made for PyTorch\n\n"
        "<!-- written by `make test-libraries`; do not edit -->\n\n"
        "Libraries run on taper as they come from PyPI, without PyTorch: `taper run program.py`,\n"
        "or `taper.compat.install()` before `import torch`. Each program below\n"
        "(`tests/libraries/programs`) was run on taper and on PyTorch 2.13; what it prints must\n"
        "agree, numbers to 1e-4. "
        f"{agreeing} of {len(outcomes)} programs agree.\n\n"
        "| library | what was run | result |\n| --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
        + AVOIDED
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the programs named, or all; write the page after all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--keep-page", action="store_true")
    chosen = parser.parse_args(arguments)
    make_environment(TAPER, "-e", str(ROOT))
    make_environment(ORACLE, "torch==2.13.0", "torchvision==0.28.0", "--no-deps")
    programs = sorted((FOLDER / "programs").glob("*.py"))
    if chosen.names:
        programs = [each for each in programs if each.stem in chosen.names]
    outcomes = []
    for program in programs:
        outcomes.append(compare(program))
        print(f"{program.stem:28} {outcomes[-1].result}", flush=True)
    if not chosen.names and not chosen.keep_page:
        write_page(outcomes)
    return 0 if all(each.agrees for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
