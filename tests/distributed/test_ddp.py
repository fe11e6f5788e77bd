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


# In PyTorch only the ranks that differ from rank 0 raise; rank 0 waits for them until its timeout.
DIFFERENT = """
import os, taper
from taper import distributed as dist, nn
dist.init_process_group("gloo")
rank = dist.get_rank()
for module in (nn.Linear(3 + rank, 4), nn.Linear(3, 4).to([taper.float32, taper.float64][rank])):
    try:
        nn.parallel.DistributedDataParallel(module)
    except RuntimeError as error:
        os.write(1, f"{error}\\n".encode())
"""


def test_modules_that_differ_are_refused_by_all(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DIFFERENT)
    (_, first), (_, second) = by_hand(program, 2)
    text = "[{}]: params[0] in this process with {} {} appears not to match {} of the same param in"
    for output, rank, shape, dtype in ((first, 0, 3, 32), (second, 1, 4, 64)):
        sizes = text.format(rank, "sizes", [4, shape], "sizes")
        kinds = text.format(rank, "dtype", f"torch.float{dtype}", "dtype")
        assert output == f"{sizes} process {1 - rank}.\n{kinds} process {1 - rank}.\n"
