"""The four steps that the peers run, and the table that holds each peer's version of them.

A step ends when its result is there, as in a loop that reads its loss: what a peer would still do
in the background is waited for.  Nothing here imports a peer: a table gets it when it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models import chain
from peer_compiled import COMPILED
from peer_jax import JAX
from peer_mlx import MLX
from peer_tinygrad import TINYGRAD
from workloads import Workload, perceptron, variance_fit

Makers = Mapping[str, Callable[[Any], dict[str, Any]]]

EAGER: Makers = {
    "5x5 variance fit, SGD": variance_fit,
    "32-64-64-10, Adam, 32": perceptron((32, 64, 64, 10), 32),
    "784-512-512-10, Adam, 128": perceptron((784, 512, 512, 10), 128),
    "chain of 12 over 10^6": chain,
}


def captured(make: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Return the same step recorded once and replayed, where the library can (`capture`)."""
    return lambda torch: {"step": torch.capture(make(torch)["step"])}


CAPTURED: Makers = {name: captured(make) for name, make in EAGER.items()}


def workloads(makers: Makers) -> Callable[[], list[Workload]]:
    """Return a table of these steps; every peer has the same names in the same order."""
    if list(makers) != list(EAGER):
        raise ValueError(f"a peer must run {list(EAGER)}, not {list(makers)}")
    return lambda: [Workload(name, make, "step()") for name, make in makers.items()]


PEER_TABLES = {
    "peer-eager": workloads(EAGER),
    "peer-captured": workloads(CAPTURED),
    "peer-compiled": workloads(COMPILED),
    "peer-jax": workloads(JAX),
    "peer-tinygrad": workloads(TINYGRAD),
    "peer-mlx": workloads(MLX),
}
