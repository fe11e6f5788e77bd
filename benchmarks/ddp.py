"""Two processes with DistributedDataParallel against one on the whole batch, one thread each.

    python benchmarks/ddp.py [--processes 2] [--rounds 5] [--library taper] [--check]

| column | meaning |
| --- | --- |
| one ms | a step of one process on the whole batch, without DDP |
| part ms | a step of one process on the part of a batch that one of the processes gets |
| together ms | a step of the processes together, each on its part |
| ratio | together / one; 1 / processes would be perfect, and the bar is 0.55 for two |
| per sample | together / (processes x part): what sending costs, the optimizer's step left out |
| exposed ms | how much longer a step takes than beside the others, but in a group of one |
| sent ms | the time of an all-reduce as long alone; `exposed` is less where sending overlaps |
| own % | processor time that DDP itself, in a group of one, adds to a step |

Each round starts one process, then the processes of each transport, so that what else the machine
does meets all alike.  Only an idle machine tells: processes that wait need the cores of the others.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models import gpt_block

ROOT = Path(__file__).resolve().parent.parent
BAR = 0.55
MODELS = {"GPT": 12, "MLP": 1024}  # samples for each process


def build(p: Any, name: str, batch: int, wrap: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return a model, wrapped, and a function that does one step with it."""
    p.manual_seed(0)
    nn = p.nn
    if name == "GPT":
        model, inputs, targets = language_model(p, batch)
    else:
        sizes = (784, 512, 512, 10)
        layers = [nn.Linear(*sizes[:2]), nn.ReLU(), nn.Linear(*sizes[1:3]), nn.ReLU()]
        model = nn.Sequential(*layers, nn.Linear(*sizes[2:]))
        inputs, targets = p.randn(batch, 784), p.randint(0, 10, (batch,))
    model = wrap(model)
    optimizer = p.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        guesses = model(inputs)
        loss = nn.functional.cross_entropy(guesses.flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()

    return model, step


def language_model(p: Any, batch: int, width: int = 128, length: int = 64) -> tuple[Any, Any, Any]:
    """Return the GPT of `models.py` as a module, with a batch of text."""
    nn, alphabet = p.nn, 65

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(alphabet, width), nn.Embedding(length, width)
            self.body = nn.Sequential(*[gpt_block(p, width) for _ in range(4)], nn.LayerNorm(width))
            self.head = nn.Linear(width, alphabet, bias=False)

        def forward(self, text: Any) -> Any:
            return self.head(self.body(self.tokens(text) + self.places(p.arange(length))))

    text = p.randint(0, alphabet, (batch, length + 1))
    return GPT(), text[:, :-1], text[:, 1:]


def timed(step: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> float:
    """Return the median time of a step, over as many as fit."""
    for _ in range(5):
        step()
    times, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until or len(times) < 5:
        begun = clock()
        step()
        times.append(clock() - begun)
    return statistics.median(times)


def alone(p: Any, processes: int, seconds: float) -> dict[str, dict[str, float]]:
    """Measure one process: on the whole batch, and on a part of it."""
    found = {}
    for name, batch in MODELS.items():
        whole = build(p, name, batch * processes, lambda model: model)[1]
        part = build(p, name, batch, lambda model: model)[1]
        found[name] = {
            "one": timed(whole, seconds, time.perf_counter),
            "part": timed(part, seconds, time.perf_counter),
        }
    return found


def together(p: Any, package: str, seconds: float) -> dict[str, dict[str, float]]:
    """Measure as one of several processes; all do as many steps."""
    dist = importlib.import_module(f"{package}.distributed")
    ddp = p.nn.parallel.DistributedDataParallel
    dist.init_process_group("gloo")

    def counted(step: Callable[[], Any], clock: Callable[[], float]) -> float:
        """Return the median time of a step; rank 0 says when to stop."""
        for _ in range(5):
            step()
        dist.barrier()
        times, until = [], time.perf_counter() + seconds
        goes_on = p.ones(1)
        while goes_on.item():
            for _ in range(5):
                begun = clock()
                step()
                times.append(clock() - begun)
            goes_on.fill_(float(time.perf_counter() < until))
            dist.broadcast(goes_on, 0)
        return statistics.median(times)

    lonely, _ = dist.new_subgroups(1)
    found = {}
    for name, batch in MODELS.items():
        model, sending = build(p, name, batch, ddp)
        _, quiet = build(p, name, batch, lambda model: ddp(model, process_group=lonely))
        _, plain = build(p, name, batch, lambda model: model)
        length = sum(each.numel() for each in model.parameters())
        flat = p.zeros(length)
        found[name] = {
            "together": counted(sending, time.perf_counter),
            "quiet": counted(quiet, time.perf_counter),
            "sent": counted(lambda x=flat: dist.all_reduce(x), time.perf_counter),
            "own": counted(quiet, time.process_time) / counted(plain, time.process_time) - 1,
        }
    is_first = dist.get_rank() == 0
    dist.barrier()
    dist.destroy_process_group()
    return found if is_first else {}


def start(options: argparse.Namespace, way: str) -> dict[str, dict[str, float]]:
    """Start one process, or those of a transport; return what they found."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    own = [__file__, "--member", way, "--library", options.library]
    own += ["--processes", str(options.processes), "--seconds", str(options.seconds)]
    if way == "alone":
        line = [[sys.executable, *own]]
    elif options.library == "taper":
        environment["TAPER_TRANSPORT"] = way
        launcher = ["-m", "taper.distributed.run", f"--nproc-per-node={options.processes}"]
        line = [[sys.executable, *launcher, *own]]
    else:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            environment["MASTER_PORT"] = str(probe.getsockname()[1])
        environment |= {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(options.processes)}
        line = [[sys.executable, *own]] * options.processes
    started = [
        subprocess.Popen(
            each, env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True
        )
        for rank, each in enumerate(line)
    ]
    output = "".join(each.communicate()[0] for each in started)
    (text,) = [line for line in output.splitlines() if "FOUND {" in line and "FOUND {}" not in line]
    found: dict[str, dict[str, float]] = json.loads(text.partition("FOUND ")[2])
    return found


def ways(library: str) -> list[str]:
    """Return the transports that are installed."""
    if library != "taper":
        return ["gloo"]
    return ["host", *(["mpi"] if importlib.util.find_spec("mpi4py") is not None else [])]


def table(options: argparse.Namespace, rounds: list[dict[str, Any]]) -> bool:
    """Print the medians; return whether a bar is missed."""
    print(f"{options.library}: {options.processes} processes with one thread each")
    names = "model transport one_ms part_ms together_ms ratio per_sample exposed_ms sent_ms own_%"
    print("| " + names.replace(" ", " | ").replace("_", " ") + " |")
    is_missed = False
    for name in MODELS:
        for way in ways(options.library):

            def median(key: str, way: str = way, name: str = name) -> float:
                return statistics.median(each[way][name][key] for each in rounds)

            one, part = median("one", "alone"), median("part", "alone")
            shared = median("together")
            ratio = shared / one
            is_missed |= options.processes == 2 and ratio > BAR
            numbers = [f"{each * 1e3:.2f}" for each in (one, part, shared)]
            numbers += [f"{ratio:.3f}", f"{shared / part / options.processes:.3f}"]
            numbers += [f"{(shared - median('quiet')) * 1e3:.2f}", f"{median('sent') * 1e3:.2f}"]
            print(f"| {name} | {way} | {' | '.join(numbers)} | {median('own') * 100:.1f} |")
    return is_missed


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--library", choices=["taper", "torch"], default="taper")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a ratio is over 0.55")
    parser.add_argument("--member", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.member:
        p = importlib.import_module(options.library)
        p.set_num_threads(1)
        if options.member == "alone":
            found = alone(p, options.processes, options.seconds)
        else:
            found = together(p, options.library, options.seconds)
        os.write(1, f"FOUND {json.dumps(found)}\n".encode())
        return 0
    every = ["alone", *ways(options.library)]
    rounds = [{way: start(options, way) for way in every} for _ in range(options.rounds)]
    is_missed = table(options, rounds)
    return 1 if options.check and is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
