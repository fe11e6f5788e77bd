"""All-reduce between processes: taper on MPI, taper's host transport and PyTorch's gloo, in turn.

    python benchmarks/collectives.py [--processes 2] [--rounds 3] [--seconds 1] [--json FILE]

Each round starts each of them once, so that what else the machine does meets all alike; the table
shows the median over rounds of the time of one call, and the bars that must hold.  A way that is
not installed is left out; one that does not end in its time is shown as failed, and the rest goes
on.  Time alone on the machine is what counts: processes that wait need the cores of those that
work.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIZES = [4, 1 << 10, 1 << 16, 1 << 20, 25_000_000]  # bytes
WAYS = {"taper mpi": "taper", "taper host": "taper", "torch gloo": "torch"}
ROOT = Path(__file__).resolve().parent.parent
# Of PyTorch's gloo, at most: by way and bytes.
BARS = {
    ("taper mpi", 25_000_000): 0.5,
    ("taper mpi", 4): 0.1,
    ("taper host", 25_000_000): 1.0,
    ("taper host", 4): 1.0,
}
MOST_CALLS = 300


def member(package: str, seconds: float) -> None:
    """Measure, as one of the processes; rank 0 prints."""
    p = importlib.import_module(package)
    dist = importlib.import_module(f"{package}.distributed")
    p.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    found = {}
    for size in SIZES:
        x = p.ones(size // 4)
        calls = agreed_calls(p, dist, x, seconds)
        times = []
        for _ in range(5):
            dist.barrier()
            begun = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(x, dist.ReduceOp.MAX if size > 4 else dist.ReduceOp.SUM)
            times.append((time.perf_counter() - begun) / calls)
            x.fill_(1)
        found[size] = min(times)
    if dist.get_rank() == 0:
        os.write(1, f"TIMES {json.dumps(found)}\n".encode())
    dist.destroy_process_group()


def agreed_calls(p: Any, dist: Any, x: Any, seconds: float) -> int:
    """Return how many calls fit into a fifth of the time: what rank 0 found, for all."""
    begun = time.perf_counter()
    for _ in range(2):
        dist.all_reduce(x, dist.ReduceOp.MAX)
    each = (time.perf_counter() - begun) / 2
    calls = p.tensor([max(2, min(MOST_CALLS, int(seconds / 5 / each)))])
    dist.broadcast(calls, 0)
    return int(calls.item())


def environment(**added: str) -> dict[str, str]:
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    base = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    return {**base, **added}


def run(line: list[str], env: dict[str, str], limit: float) -> str:
    """Run a command with all that it starts, for at most so many seconds; return its output."""
    process = subprocess.Popen(
        line,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise RuntimeError(f"not done after {limit:.0f} s") from None
    if process.returncode:
        raise RuntimeError((errors.strip().splitlines() or ["no output"])[-1])
    return output


def measure(way: str, processes: int, seconds: float) -> dict[int, float]:
    """Start the processes of one way; return seconds by size."""
    own = [__file__, "--member", WAYS[way], "--seconds", str(seconds)]
    limit = 60 + 10 * seconds * len(SIZES)
    if way == "torch gloo":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        env = environment(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(processes))
        line = [sys.executable, *own, "--spawn", str(processes)]
    else:
        env = environment(TAPER_TRANSPORT=way.split()[1])
        module = "taper.distributed.run"
        line = [sys.executable, "-m", module, f"--nproc-per-node={processes}", *own]
    output = run(line, env, limit)
    (text,) = [line for line in output.splitlines() if "TIMES " in line]
    return {int(size): each for size, each in json.loads(text.partition("TIMES ")[2]).items()}


def spawn(processes: int) -> None:
    """Start this program once for each rank and wait for all."""
    line = [each for each in sys.argv if each not in ("--spawn", str(processes))]
    started = [
        subprocess.Popen([sys.executable, *line], env={**os.environ, "RANK": str(rank)})
        for rank in range(processes)
    ]
    sys.exit(max(each.wait() for each in started))


def ways() -> list[str]:
    """Return what is installed."""
    missing = {"taper mpi": "mpi4py", "torch gloo": "torch"}
    return [
        each
        for each in WAYS
        if each not in missing or importlib.util.find_spec(missing[each]) is not None
    ]


def collect(names: list[str], processes: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure all ways in turn; return the median seconds by way and size."""
    times: dict[str, list[dict[int, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            try:
                times[name].append(measure(name, processes, seconds))
            except (RuntimeError, ValueError) as error:
                print(f"{name}: {error}", file=sys.stderr)
    return {
        name: {size: statistics.median(one[size] for one in each) for size in SIZES}
        for name, each in times.items()
        if each
    }


def table(found: dict[str, Any], processes: int) -> str:
    """Return the times as a table, in microseconds."""
    lines = [
        f"all_reduce of float32 between {processes} processes, microseconds a call",
        "",
        "| bytes | " + " | ".join(found) + " |",
        "| ---: |" + " ---: |" * len(found),
    ]
    for size in SIZES:
        row = " | ".join(f"{each[size] * 1e6:,.1f}" for each in found.values())
        lines.append(f"| {size:,} | {row} |")
    return "\n".join(lines)


def bars(found: dict[str, Any]) -> list[str]:
    """Return what became of each bar."""
    if "torch gloo" not in found:
        return []
    lines = []
    for (way, size), bar in BARS.items():
        if way in found:
            share = found[way][size] / found["torch gloo"][size]
            verdict = "holds" if share <= bar else "MISSED"
            lines.append(f"{way}, {size:,} bytes: {share:.2f} of gloo, at most {bar}: {verdict}")
    return lines


def main() -> None:
    """Measure all ways and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size of each way")
    parser.add_argument("--json", type=Path, help="also write the times here")
    parser.add_argument("--member", help=argparse.SUPPRESS)
    parser.add_argument("--spawn", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.spawn:
        spawn(options.spawn)
    if options.member:
        member(options.member, options.seconds)
        return
    found = collect(ways(), options.processes, options.rounds, options.seconds)
    print(table(found, options.processes))
    for line in bars(found):
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"processes": options.processes, "seconds": found}))


if __name__ == "__main__":
    main()
