"""A chain of a million operations: built, differentiated and freed, with the collector off.

Shows two invariants of the engine at work: nothing recurses over the depth of the graph (I5), and a
dropped graph is freed by reference counting alone (I7).  The chain is made twice: once to
differentiate it, once to drop it unused.  Then memory must have fallen back; otherwise the exit
code is 1.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

KEPT = 0.1  # share of the growth that may remain: allocators keep some pages


def resident() -> float:
    """Return the megabytes that this process holds now, after giving back what it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 2**20
    return peak()


def peak() -> float:
    """Return the megabytes that this process held at most."""
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def build(x: Any, b: Any, length: int) -> Any:
    y = x
    for _ in range(length):
        y = y * b
    return y


def run(torch: Any, length: int) -> dict[str, Any]:
    """Make both chains; return seconds by phase, megabytes, and whether all was right."""
    x = torch.ones(1, requires_grad=True)
    b = torch.ones(1, requires_grad=True)
    build(x, b, 10).backward()  # allocates what the first use of anything needs
    x.grad = b.grad = None
    before = resident()
    clock = [time.perf_counter()]
    y = build(x, b, length)
    clock.append(time.perf_counter())
    y.backward()
    clock.append(time.perf_counter())
    right = float(x.grad) == 1.0 and float(b.grad) == length
    y = build(x, b, length)
    held = resident()
    clock.append(time.perf_counter())
    del y
    clock.append(time.perf_counter())
    after = resident()
    phases = {"build": clock[1] - clock[0], "backward": clock[2] - clock[1]}
    return {
        "seconds": {**phases, "free": clock[4] - clock[3]},
        "before": before,
        "peak": peak(),
        "held": held,
        "after": after,
        "gradients": right,
        "freed": after - before <= max(KEPT * (held - before), 4),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Build, differentiate and free a very deep graph with the collector off.",
        epilog="exit code: 0, or 1 if a gradient is wrong or the memory is not given back",
    )
    parser.add_argument("library", nargs="?", default="taper", help="default: taper")
    parser.add_argument("--length", type=int, default=1_000_000, help="default: 1000000")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    torch = importlib.import_module(options.library)
    gc.disable()
    facts = run(torch, options.length)
    if options.json:
        print(json.dumps(facts))
    else:
        print(f"chain of {options.length} operations, {options.library}, garbage collector off")
        for name, seconds in facts["seconds"].items():
            print(f"  {name:<10}{seconds:8.2f} s  {seconds / options.length * 1e6:6.2f} us each")
        print(f"  memory before {facts['before']:.0f} MB, peak {facts['peak']:.0f} MB")
        print(f"  with a graph {facts['held']:.0f} MB, after dropping it {facts['after']:.0f} MB")
        print(f"  gradients {'right' if facts['gradients'] else 'WRONG'}")
        print(f"  memory {'given back' if facts['freed'] else 'NOT given back'}")
    return 0 if facts["gradients"] and facts["freed"] else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
