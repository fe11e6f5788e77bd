"""Processes whose tensors are on a device: gloo and MPI copy them, as PyTorch's gloo does."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "processes_program.py")


@pytest.mark.parametrize("transport", ["host", "mpi"])
def test_processes_on_a_device_find_what_they_find_on_the_processor(transport):
    if transport == "mpi":
        pytest.importorskip("mpi4py", reason="the mpi extra is not installed")
    command = [sys.executable, "-m", "taper.distributed.run", "--nproc-per-node=2", PROGRAM]
    environment = {**os.environ, "TAPER_TRANSPORT": transport, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert not ended.returncode, ended.stdout + ended.stderr
    for rank in range(2):
        own = [line for line in ended.stdout.splitlines() if line.startswith(f"rank {rank} ")]
        assert [line.endswith(": ok") for line in own] == [True] * 4 + [False], ended.stdout
        assert own[4].endswith("for a model on a GPU")
