"""All-reduce between processes: taper on MPI, taper's host transport and PyTorch's gloo, in turn.

    python benchmarks/collectives.py [--processes 2] [--rounds 3]

Each round starts each of them once, so that what else the machine does meets all alike; the table
shows the median over rounds of the time of one call.  A way that is not installed is left out.
Time alone on the machine is what counts: processes that wait need the cores of those that work.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIZES = [4, 1 << 10, 1 << 16, 1 << 20, 25_000_000]  # bytes
WAYS = {"taper mpi": "taper", "taper host": "taper", "torch gloo": "torch"}
ROOT = Path(__file__).resolve().parent.parent


def member(package: str) -> None:
    """Measure, as one of the processes; rank 0 prints."""
    p = importlib.import_module(package)
    dist = importlib.import_module(f"{package}.distributed")
    p.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    found = {}
    for size in SIZES:
        x = p.ones(size // 4)
        calls = max(5, min(300, 20_000_000 // size))
        times = []
        for _ in range(5):
            x.fill_(1)
            dist.barrier()
            begun = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(x, dist.ReduceOp.MAX if size > 4 else dist.ReduceOp.SUM)
            times.append((time.perf_counter() - begun) / calls)
        found[size] = min(times)
    if dist.get_rank() == 0:
        print("TIMES " + json.dumps(found), flush=True)
    dist.destroy_process_group()


def measure(way: str, processes: int) -> dict[int, float]:
    """Start the processes of one way; return seconds by size."""
    base = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    own = [__file__, "--member", WAYS[way]]
    if way == "torch gloo":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        base |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        base |= {"WORLD_SIZE": str(processes)}
        started = [
            subprocess.Popen(
                [sys.executable, *own],
                env={**base, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in range(processes)
        ]
        output = "".join(each.communicate()[0] for each in started)
    else:
        base["TAPER_TRANSPORT"] = way.split()[1]
        line = [sys.executable, "-m", "taper.distributed.run", f"--nproc-per-node={processes}"]
        output = subprocess.run(
            [*line, *own], env=base, capture_output=True, text=True, check=True
        ).stdout
    (text,) = [line for line in output.splitlines() if "TIMES " in line]
    return {int(size): each for size, each in json.loads(text.partition("TIMES ")[2]).items()}


def ways() -> list[str]:
    """Return what is installed."""
    missing = {"taper mpi": "mpi4py", "torch gloo": "torch"}
    return [
        each
        for each in WAYS
        if each not in missing or importlib.util.find_spec(missing[each]) is not None
    ]


def main() -> None:
    """Measure all ways and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--member", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        member(options.member)
        return
    names = ways()
    times: dict[str, list[dict[int, float]]] = {name: [] for name in names}
    for _ in range(options.rounds):
        for name in names:
            times[name].append(measure(name, options.processes))
    print(f"all_reduce of float32 between {options.processes} processes, microseconds a call")
    print("| bytes | " + " | ".join(names) + " |")
    print("| ---: |" + " ---: |" * len(names))
    for size in SIZES:
        row = [statistics.median(each[size] for each in times[name]) * 1e6 for name in names]
        print(f"| {size:,} | " + " | ".join(f"{each:,.1f}" for each in row) + " |")


if __name__ == "__main__":
    main()
