"""Predict the time of a data parallel step for 2 to 1,024 processes, and check it against 2 and 4.

    python benchmarks/scaling_model.py            measure, predict, print
    python benchmarks/scaling_model.py --write    ... and write docs/scaling.md

The costs of communication (alpha, beta) are fitted to `benchmarks/collectives.py`; the time of
computing is measured here, in one process with one thread.  Run it alone on the machine, or, for
that minute, before all others (`chrt -f 1`): the page says how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import collectives

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "scaling.md"
COUNTS = [2, 4, 8, 16, 64, 256, 1024]
BUCKET = 25_000_000  # bytes of gradients that are sent together
STEPS = 12


@dataclass(frozen=True)
class Link:
    """What sending costs: `alpha` seconds a message, `beta` seconds a byte."""

    name: str
    alpha: float
    beta: float

    def all_reduce(self, size: float, count: int) -> float:
        """Return the time of an all-reduce: a tree for the start, a ring for the bytes."""
        if count < 2:
            return 0.0
        return (
            2 * math.ceil(math.log2(count)) * self.alpha
            + 2 * (count - 1) / count * size * self.beta
        )


@dataclass(frozen=True)
class Step:
    """What a step of a model costs in one process."""

    name: str
    forward: float
    backward: float
    update: float
    grad_bytes: int


def fitted(times: dict[int, float], count: int, name: str) -> Link:
    """Return alpha and beta from the shortest and the longest all-reduce between some processes."""
    small, large = min(times), max(times)
    alpha = times[small] / (2 * math.ceil(math.log2(count)))
    rest = max(times[large] - times[small], 1e-9)
    return Link(name, alpha, rest / (2 * (count - 1) / count * large))


def predicted(step: Step, link: Link, count: int, cores: int | None, overlap: bool) -> float:
    """Return the time of a step of `count` processes, each with a batch of its own.

    Gradients become ready evenly over the backward pass and are sent bucket by bucket, one after
    the other; without overlap all of them after it.  `cores` is how many the processes share.
    """
    slow = max(1.0, count / cores) if cores else 1.0
    forward, backward, update = (slow * each for each in (step.forward, step.backward, step.update))
    buckets = max(1, math.ceil(step.grad_bytes / BUCKET))
    size, end = step.grad_bytes / buckets, 0.0
    for number in range(1, buckets + 1):
        ready = forward + backward * (number / buckets if overlap else 1.0)
        end = max(end, ready) + link.all_reduce(size, count) * slow
    return max(end, forward + backward) + update


# --- the models -------------------------------------------------------------------------------


def made(name: str) -> tuple[Any, Any]:
    """Return a model and a function that computes its loss."""
    import taper
    from taper import nn
    from taper.nn import functional as F

    taper.manual_seed(0)
    if name == "MLP":
        net = nn.Sequential(
            nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
        )
        x, y = taper.randn(128, 784), taper.randint(0, 10, (128,))
        return net, lambda: F.cross_entropy(net(x), y)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
    net = nn.Sequential(
        nn.Embedding(512, 256), nn.TransformerEncoder(layer, 4), nn.Linear(256, 512)
    )
    words = taper.randint(0, 512, (8, 64))
    return net, lambda: F.cross_entropy(net(words).flatten(0, 1), words.flatten())


MODELS = ["MLP", "transformer"]


def timed(name: str, reduce: Any) -> tuple[list[float], int]:
    """Return medians of forward, backward, exchange and update, and the bytes of gradients."""
    import taper

    net, loss_of = made(name)
    optimizer = taper.optim.SGD(net.parameters(), lr=0.01)
    marks = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        times = [time.perf_counter()]
        loss = loss_of()
        times.append(time.perf_counter())
        loss.backward()
        times.append(time.perf_counter())
        reduce(net)
        times.append(time.perf_counter())
        optimizer.step()
        times.append(time.perf_counter())
        marks.append([b - a for a, b in pairwise(times)])
    grads = sum(each.numel() * 4 for each in net.parameters())
    return [statistics.median(column) for column in zip(*marks[2:], strict=True)], grads


def member(name: str) -> None:
    """Take part in steps of several processes, which exchange gradients after the backward pass."""
    import taper
    from taper import distributed as dist

    taper.set_num_threads(1)
    dist.init_process_group("gloo")

    def reduce(net: Any) -> None:
        together = taper.cat([each.grad.flatten() for each in net.parameters()])
        for part in together.split(BUCKET // 4):
            dist.all_reduce(part, dist.ReduceOp.AVG)

    times, _ = timed(name, reduce)
    if dist.get_rank() == 0:
        os.write(1, f"STEP {json.dumps(times)}\n".encode())
    dist.destroy_process_group()


def measured_together(name: str, count: int) -> float:
    """Return the time of a step of some processes on this machine."""
    own = [__file__, "--member", name]
    line = [sys.executable, "-m", "taper.distributed.run", f"--nproc-per-node={count}", *own]
    output = collectives.run(line, collectives.environment(TAPER_TRANSPORT="host"), 300)
    (text,) = [each for each in output.splitlines() if "STEP " in each]
    return sum(json.loads(text.partition("STEP ")[2]))


def measured_alone(name: str) -> Step:
    """Return what a step costs in one process with one thread."""
    line = [sys.executable, __file__, "--alone", name]
    result = subprocess.run(
        line, env=collectives.environment(), capture_output=True, text=True, check=True, timeout=300
    )
    forward, backward, _, update, grads = json.loads(result.stdout)
    return Step(name, forward, backward, update, int(grads))


# --- the page ---------------------------------------------------------------------------------


def page(links: list[Link], steps: list[Step], checks: list[tuple[Any, ...]], load: str) -> str:
    """Return the page."""
    lines = [
        HEAD.format(load=load),
        "| link | alpha, us | beta, ns a byte |",
        "| --- | ---: | ---: |",
    ]
    lines += [f"| {e.name} | {e.alpha * 1e6:.1f} | {e.beta * 1e9:.3f} |" for e in links]
    lines += ["", "## A step of one process, one thread", ""]
    lines += ["| model | forward, ms | backward, ms | update, ms | gradients, MB |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    for e in steps:
        parts = " | ".join(f"{each * 1e3:.1f}" for each in (e.forward, e.backward, e.update))
        lines.append(f"| {e.name} | {parts} | {e.grad_bytes / 1e6:.1f} |")
    lines += ["", "## Predicted: efficiency, each process on a core of its own", ""]
    lines.append("| model | link | " + " | ".join(f"{n:,}" for n in COUNTS) + " |")
    lines.append("| --- | --- |" + " ---: |" * len(COUNTS))
    for e in steps:
        alone = e.forward + e.backward + e.update
        for link in links:
            row = [alone / predicted(e, link, n, None, True) for n in COUNTS]
            lines.append(
                f"| {e.name} | {link.name} | " + " | ".join(f"{x:.2f}" for x in row) + " |"
            )
    lines += ["", CHECK]
    lines += ["| model | processes | predicted, ms | measured, ms | predicted / measured |"]
    lines += ["| --- | ---: | ---: | ---: | ---: |"]
    for name, count, expected, seen in checks:
        row = f"{expected * 1e3:.1f} | {seen * 1e3:.1f} | {expected / seen:.2f}"
        lines.append(f"| {name} | {count} | {row} |")
    return "\n".join(lines) + "\n"


HEAD = """# Scaling: what a step of many processes costs

This page is written by `python benchmarks/scaling_model.py --write`. It predicts the time of a data
parallel step for 2 to 1,024 processes from two measurements: the collectives
(`benchmarks/collectives.py`) and a step of one process. When it was last written the machine was
{load}.

## The model

An all-reduce of `s` bytes between `n` processes takes `2 ceil(log2 n) alpha + 2 (n - 1)/n s beta`:
the messages of a tree, and the bytes of a ring. `alpha` and `beta` are fitted to the shortest and
the longest all-reduce between two processes. Gradients become ready evenly over the backward pass
and are sent in buckets of 25 MB, one after the other, while it goes on; the step ends when the last
bucket is there and the parameters are updated. Each process has a batch of its own, so an
efficiency of 1 means that `n` processes do `n` times the work in the same time.

The links `10 Gbit/s` and `100 Gbit/s` are assumptions, not measurements: a network with 20 and 5
microseconds a message, of which each process has one end for itself.

## What sending costs here
"""

CHECK = f"""## Checked against 2 and 4 processes

Measured on this machine, whose processes share {os.cpu_count()} cores, with the host transport.
Gradients are sent after the backward pass, without overlap, and so they are in this prediction.
What other programs take of the cores is in the measured time and not in the predicted one: the last
column tells how far to trust the rest.
"""

NETWORKS = [Link("10 Gbit/s", 20e-6, 8e-10), Link("100 Gbit/s", 5e-6, 8e-11)]


def described(busy: float) -> str:
    """Say what the machine did beside the measurements, given its load before them."""
    if busy < 0.5:
        return "idle"
    text = f"shared with {busy:.0f} busy processes"
    if hasattr(os, "SCHED_FIFO") and os.sched_getscheduler(0) == os.SCHED_FIFO:
        return f"{text},\nwhich had to wait (`chrt -f 1`)"
    return f"{text};\nwrite it again on an idle one before you trust the absolute numbers"


def main() -> None:
    """Measure, predict, and print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--member", help=argparse.SUPPRESS)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        member(options.member)
        return
    if options.alone:
        import taper

        taper.set_num_threads(1)
        times, grads = timed(options.alone, lambda net: None)
        print(json.dumps([*times, grads]))
        return
    busy = os.getloadavg()[0]
    names = [each for each in collectives.ways() if each.startswith("taper")]
    found = collectives.collect(names, 2, options.rounds, 0.5)
    links = [fitted(times, 2, name) for name, times in found.items()]
    host = next(each for each in links if each.name == "taper host")
    steps = [measured_alone(name) for name in MODELS]
    checks = []
    for step in steps:
        for count in (2, 4):
            expected = predicted(step, host, count, os.cpu_count(), False)
            checks.append((step.name, count, expected, measured_together(step.name, count)))
    text = page([*links, *NETWORKS], steps, checks, described(busy))
    if options.write:
        PAGE.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
