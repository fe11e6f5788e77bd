"""taper beside JAX, tinygrad, MLX and `torch.compile`: four steps, each peer's fast way.

Every peer has a process of its own; all take turns, block by block, as in `run.py`.  A ratio is
taper's time divided by the peer's.  A peer that cannot run here shows its reason.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import taper
from options import parser
from peer_workloads import PEER_TABLES
from rows import Row, finish
from run import alternate, summary

# What to import and which table it runs, by the name that is shown; taper is the candidate.
PEERS = {
    "taper": ("taper", "peer-eager"),
    "taper.capture": ("taper", "peer-captured"),
    "PyTorch eager": ("torch", "peer-eager"),
    "torch.compile": ("torch", "peer-compiled"),
    "JAX": ("jax", "peer-jax"),
    "tinygrad": ("tinygrad", "peer-tinygrad"),
    "MLX": ("mlx.core", "peer-mlx"),
}


def measure(peers: Sequence[str], rounds: int, blocks: int, seconds: float) -> list[Row]:
    """Return a row for each step and peer, named `step / peer`."""
    steps = PEER_TABLES["peer-eager"]()
    sides = [PEERS[name] for name in ("taper", *peers)]
    answers = alternate(sides, range(len(steps)), rounds, blocks, seconds)
    rows = []
    for index, step in enumerate(steps):
        for place, peer in enumerate(peers, 1):
            row = summary(step, [(each[0], each[place]) for each in answers[index]])
            row.name = f"{step.name} / {peer}"
            rows.append(row)
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    options = parser("taper beside JAX, tinygrad, MLX and torch.compile.")
    others = [name for name in PEERS if name != "taper"]
    default = [name for name in others if name != "taper.capture" or hasattr(taper, "capture")]
    options.add_argument(
        "--only",
        choices=others,
        nargs="+",
        default=default,
        metavar="PEER",
        help=f"some of: {', '.join(others)}",
    )
    options.add_argument("--rounds", type=int, help="rounds of fresh processes (default: 3)")
    chosen = options.parse_args(argv)
    rounds = chosen.rounds or (1 if chosen.quick else 3)
    rows = measure(chosen.only, rounds, blocks=3, seconds=0.02 if chosen.quick else 0.1)
    return finish(rows, "peers", chosen.save, chosen.check, ("taper", "peer"))


if __name__ == "__main__":
    sys.exit(main())
