"""Runs of a program in several processes, for the tests of `taper.distributed`."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HAS_MPI = importlib.util.find_spec("mpi4py") is not None
TRANSPORTS = ["host", "mpi"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**added: object) -> dict[str, str]:
    """The environment of a process: no rank, one thread, and the package of this tree."""
    dropped = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    base = {name: value for name, value in os.environ.items() if name not in dropped}
    base |= {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return base | {name: str(value) for name, value in added.items()}


def by_hand(program: Path, count: int, *arguments: str, seconds: float = 60) -> list[tuple]:
    """Start processes as a user would by hand, with env://; return (exit code, output) of each."""
    port = free_port()
    processes = [
        subprocess.Popen(
            [sys.executable, str(program), *arguments],
            env=environment(RANK=rank, WORLD_SIZE=count, MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(count)
    ]
    until = time.monotonic() + seconds
    results = []
    for process in processes:
        try:
            output, _ = process.communicate(timeout=max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0] + "\n(killed by the test: too slow)"
        results.append((process.returncode, output))
    return results


def launched(
    *line: str, transport: str = "host", seconds: float = 60, **added: object
) -> subprocess.CompletedProcess:
    """Run a line of the launcher to its end."""
    return subprocess.run(
        [sys.executable, "-m", "taper", "run", *line],
        env=environment(TAPER_TRANSPORT=transport, **added),
        capture_output=True,
        text=True,
        timeout=seconds,
    )
