"""DistributedDataParallel in two processes: gradients, buckets, hooks, uneven inputs, errors."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from process_runs import HAS_MPI, by_hand, launched

HERE = Path(__file__).resolve().parent
CHECKS = HERE / "ddp_checks.py"
# What PyTorch with gloo answered; tests/parity/test_processes_parity.py asks it again.
ANSWERS = json.loads((HERE / "ddp_answers.json").read_text())

NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="mpi4py is not installed (the mpi extra)")


@cache
def seen(transport: str) -> list[dict[str, str]]:
    with TemporaryDirectory() as folder:
        if transport == "host":
            results = by_hand(CHECKS, 2, "taper", folder)
            assert [code for code, _ in results] == [0, 0], results
        else:
            line = ("--nproc-per-node", "2", str(CHECKS), "taper", folder)
            result = launched(*line, transport="mpi")
            assert result.returncode == 0, result.stderr
        return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("transport", ["host", pytest.param("mpi", marks=NEEDS_MPI)])
def test_every_check_was_made(transport):
    assert [list(each) for each in seen(transport)] == [list(each) for each in ANSWERS]


@pytest.mark.parametrize("transport", ["host", pytest.param("mpi", marks=NEEDS_MPI)])
@pytest.mark.parametrize("name", list(ANSWERS[0]))
def test_both_ranks_see_what_pytorch_shows(name, transport):
    for rank in range(2):
        assert seen(transport)[rank][name] == ANSWERS[rank][name]
