"""Large arrays are added up right by both transports, which both use memory that they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from process_runs import HAS_MPI, launched

PROGRAM = Path(__file__).resolve().parent / "large_sums.py"
NEEDS_MPI = pytest.mark.skipif(not HAS_MPI, reason="mpi4py is not installed (the mpi extra)")


@pytest.mark.parametrize("transport", ["host", pytest.param("mpi", marks=NEEDS_MPI)])
def test_two_processes_find_the_same_sums(transport):
    result = launched("--nproc-per-node", "2", str(PROGRAM), transport=transport)
    assert result.returncode == 0, result.stderr
