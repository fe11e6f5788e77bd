"""A program in which rank 1 fails in a chosen way; the others print what they were told.

`python faulty.py WAY SECONDS`, with taper as torch or not.
"""

from __future__ import annotations

import datetime
import os
import signal
import sys
import threading
import time

import taper
from taper import distributed as dist
from taper import nn


def say(line: str) -> None:
    """Print a line in one piece: several ranks write to the same place."""
    os.write(1, f"{line}\n".encode())


def end(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def train(way: str, rank: int) -> None:
    """A step of data parallel training by hand; rank 1 is killed in its forward or backward."""
    net = nn.Linear(4, 3)
    if rank == 1 and way == "forward":
        net.register_forward_hook(end)
    if rank == 1 and way == "backward":
        net.weight.register_hook(end)
    net(taper.ones(2, 4)).sum().backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)


def train_together(way: str, rank: int) -> None:
    """Steps of DistributedDataParallel; rank 1 is killed, raises or hangs in the second."""
    net = nn.Sequential(nn.Linear(4, 300_000), nn.Linear(300_000, 2))
    parallel = nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1)
    for step in range(2):
        if rank == 1 and step == 1:
            if way == "ddp forward":
                net[1].register_forward_pre_hook(end)
            elif way == "ddp backward":
                net[0].weight.register_hook(end)
            elif way == "ddp all_reduce":
                # A bucket is on its way, and the thread that sends it has begun.
                net[0].bias.register_post_accumulate_grad_hook(
                    lambda _: threading.Timer(0.002, end).start()
                )
            elif way == "ddp raise":
                net[1].register_forward_pre_hook(lambda *_: int("no number"))
            elif way == "ddp hang":
                net[1].register_forward_pre_hook(lambda *_: time.sleep(6))
        parallel(taper.ones(2, 4)).sum().backward()


def fail(way: str, rank: int) -> None:
    if way.startswith("ddp"):
        train_together(way, rank)
    elif way in ("forward", "backward"):
        train(way, rank)
    elif way == "shapes":
        dist.all_reduce(taper.ones(2 + rank))
    elif way == "dtypes":
        dist.all_reduce(taper.ones(2, dtype=taper.float64 if rank == 1 else taper.float32))
    elif way == "operations":
        dist.barrier() if rank == 1 else dist.broadcast(taper.ones(2), 0)
    elif way == "all_reduce":
        if rank == 1:
            # In the middle of it: the others have begun, and wait.
            timer = threading.Timer(0.3, end)
            timer.start()
            while True:
                dist.all_reduce(taper.ones(2_000_000))
        while True:
            dist.all_reduce(taper.ones(2_000_000))
    elif way == "work":
        if rank == 1:
            end()
        dist.all_reduce(taper.ones(2), async_op=True).wait()
    elif way == "recv":
        end() if rank == 1 else dist.recv(taper.ones(2), 1)
    elif rank == 1:
        {"barrier": end, "raise": int, "exit": sys.exit, "hang": time.sleep}[way](
            *{"barrier": (), "raise": ("no number",), "exit": (5,), "hang": (6,)}[way]
        )
    else:
        dist.barrier()


def main() -> None:
    way, seconds = sys.argv[1], float(sys.argv[2])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=seconds))
    dist.barrier()
    begun = time.monotonic()
    try:
        fail(way, dist.get_rank())
    except dist.DistBackendError as error:
        took = time.monotonic() - begun
        say(f"rank {dist.get_rank()} was told after {took:.1f} s: {error}")
        if way in ("shapes", "dtypes", "operations"):
            value = taper.ones(1)
            dist.all_reduce(value)  # nobody is lost: the group goes on
            say(f"and then {value.item()}")
            dist.destroy_process_group()
            return
        sys.exit(3)


main()
