"""Saving and loading a large state dict: seconds against PyTorch's, and saves killed half way.

Each library runs in a process of its own; they take turns and read and write the same folder.  The
last part kills processes with SIGKILL at random moments of a save over an existing file, and loads
that file after each kill: it must hold the old values or the new ones, whole.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SPEED_BAR = 0.8  # of PyTorch's bytes per second
MMAP_BAR = 0.05  # seconds
BARS = ("save", "load", "mmap")
NO_BAR = {"durable": "with PyTorch's file flushed too", "reload": "right after a save"}
KILL_SIZE = 40  # megabytes


def state_dict(torch: Any, megabytes: int, value: float) -> dict[str, Any]:
    """Return tensors of 4 MB, as a model of that size has them."""
    return {f"layers.{nr}.weight": torch.full((1024, 1024), value) for nr in range(megabytes // 4)}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def flush(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def timed(library: str, megabytes: int, folder: Path) -> dict[str, float]:
    """Return how long one save, load and mapped load take in this process."""
    torch: Any = importlib.import_module(library)
    path = folder / f"{library}.pt"
    state = state_dict(torch, megabytes, 1.0)
    torch.save({"weight": torch.ones(2)}, path)  # loads lazy modules
    torch.load(path)
    path.unlink()
    found = {"save": seconds(lambda: torch.save(state, path))}
    # taper's save has sent the file to the disk, PyTorch's has not.
    found["durable"] = found["save"] + seconds(lambda: flush(path))
    # The system still has PyTorch's file in memory; taper's, sent directly, must come from the
    # disk.
    found["reload"] = seconds(lambda: torch.load(path, weights_only=True))
    found["load"] = seconds(lambda: torch.load(path, weights_only=True))  # with the file in memory
    found["mmap"] = seconds(lambda: torch.load(path, weights_only=True, mmap=True))
    path.unlink()
    return found


def save_for_ever(library: str, path: Path) -> None:
    """Save ones and twos in turn until killed."""
    torch: Any = importlib.import_module(library)
    states = [state_dict(torch, KILL_SIZE, value) for value in (1.0, 2.0)]
    print("ready", flush=True)
    while True:
        for state in states:
            torch.save(state, path)


def survived(path: Path) -> bool:
    """Return whether the file holds one of the two states, whole."""
    torch: Any = importlib.import_module("taper")
    found = torch.load(path)
    value = found["layers.0.weight"][0, 0].item()
    return value in (1.0, 2.0) and all(bool((each == value).all()) for each in found.values())


def kills(count: int, folder: Path) -> int:
    """Return how many of the files were whole after a kill."""
    path = folder / "killed.pt"
    torch: Any = importlib.import_module("taper")
    torch.save(state_dict(torch, KILL_SIZE, 1.0), path)
    whole = 0
    for _ in range(count):
        command = [sys.executable, __file__, "--save-for-ever", str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        if process.stdout is None or not process.stdout.readline():
            raise RuntimeError("the saving process did not start")
        time.sleep(random.random() * 0.3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        whole += survived(path)
        for left in folder.glob("*"):  # files that a killed process could not remove
            if left != path:
                left.unlink()
    return whole


def compare(megabytes: int, rounds: int, folder: Path) -> bool:
    """Print the table; return True if a bar was missed."""
    found: dict[str, list[dict[str, float]]] = {"taper": [], "torch": []}
    for _ in range(rounds):
        for library, times in found.items():
            command = [sys.executable, __file__, "--only", library, "--folder", str(folder)]
            output = subprocess.check_output([*command, "--megabytes", str(megabytes)])
            times.append(json.loads(output))
    missed = False
    print(f"a state dict of {megabytes} MB; speed is PyTorch's time divided by taper's")
    for what in ("save", "durable", "load", "reload", "mmap"):
        taper = statistics.median([each[what] for each in found["taper"]])
        torch = statistics.median([each[what] for each in found["torch"]])
        bad = taper > MMAP_BAR if what == "mmap" else torch / taper < SPEED_BAR
        bar = f"<= {MMAP_BAR * 1e3:.0f} ms" if what == "mmap" else f"speed >= {SPEED_BAR}"
        verdict = f"{bar}  {'FAIL' if bad else 'pass'}" if what in BARS else NO_BAR[what]
        missed |= bad and what in BARS
        print(
            f"{what:8} taper {taper * 1e3:7.1f} ms   torch {torch * 1e3:7.1f} ms   "
            f"speed {torch / taper:.2f}   {verdict}"
        )
    return missed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Speed of save and load against PyTorch's; saves killed half way.",
        epilog="exit code: 0, or with --check 1 if a bar is missed",
    )
    parser.add_argument("--megabytes", type=int, default=400, help="default: 400")
    parser.add_argument("--rounds", type=int, default=3, help="default: 3")
    parser.add_argument("--kills", type=int, default=10, help="saves to kill; default: 10")
    parser.add_argument("--only", metavar="LIBRARY", help="time one here, print it as JSON")
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    parser.add_argument("--save-for-ever", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args(argv)
    if options.save_for_ever:
        save_for_ever("taper", options.save_for_ever)
    if options.only:
        print(json.dumps(timed(options.only, options.megabytes, options.folder or Path())))
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        missed = compare(options.megabytes, options.rounds, Path(name))
        whole = kills(options.kills, Path(name))
    print(f"killed while saving: {whole} of {options.kills} files whole")
    return int(options.check and (missed or whole != options.kills))


if __name__ == "__main__":
    sys.exit(main())
