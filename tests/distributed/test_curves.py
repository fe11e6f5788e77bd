"""Two and four processes learn what one learns from the whole batch, and what PyTorch's learn."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from process_runs import HAS_MPI, by_hand, launched

HERE = Path(__file__).resolve().parent
CURVES = HERE / "curves.py"
# PyTorch's: one process without DDP, and two and four with DDP on gloo, where it has no
# SyncBatchNorm; tests/parity/test_processes_parity.py makes them again.
PYTORCH = json.loads((HERE / "curves.json").read_text())
NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="mpi4py is not installed (the mpi extra)")


@cache
def curves(count: int, transport: str = "host") -> dict[str, list[float]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "curves.json")
        if transport == "mpi":
            line = ("--nproc-per-node", str(count), str(CURVES), "taper", str(path))
            result = launched(*line, transport="mpi")
            assert result.returncode == 0, result.stderr
        else:
            words = ("taper", str(path), *(["whole"] if count == 1 else []))
            results = by_hand(CURVES, count, *words)
            assert all(code == 0 for code, _ in results), results
        return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("count", "transport"),
    [(2, "host"), (4, "host"), pytest.param(2, "mpi", marks=NEEDS_MPI)],
)
@pytest.mark.parametrize("model", ["mlp", "cnn", "gpt"])
def test_processes_learn_together_what_one_learns(model, count, transport):
    together = curves(count, transport)[model]
    assert together == pytest.approx(curves(1)[model], abs=1e-5)
    theirs = PYTORCH[str(count)].get(model, PYTORCH["whole"][model])
    assert together == pytest.approx(theirs, abs=1e-4)
