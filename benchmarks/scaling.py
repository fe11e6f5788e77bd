"""How a step grows with batch, width and threads; each name ends in the number that grows."""

from __future__ import annotations

from models import chain, image_classifier, language_model
from rows import cores
from workloads import Workload, perceptron

BATCHES = (16, 32, 64, 128, 256, 512)
WIDTHS = (64, 128, 256, 512, 1024)
THREADED = {"GPT": language_model, "MNIST CNN": image_classifier, "chain": chain}


def thread_counts(available: int) -> list[int]:
    """1, 2, 4, ... and as many as there are."""
    powers = [2**power for power in range(available.bit_length())]
    return sorted({*powers, available})


def scaling_workloads() -> list[Workload]:
    """Return a row for each size; the smallest and the largest are the quick ones."""
    rows = [
        Workload(
            f"784-512-512-10, batch {batch}",
            perceptron((784, 512, 512, 10), batch),
            "step()",
            quick=batch in (BATCHES[0], BATCHES[-1]),
        )
        for batch in BATCHES
    ]
    rows += [
        Workload(
            f"784-w-w-10, batch 128, w {width}",
            perceptron((784, width, width, 10), 128),
            "step()",
            quick=width in (WIDTHS[0], WIDTHS[-1]),
        )
        for width in WIDTHS
    ]
    rows += [
        Workload(f"{name}, threads {count}", make, "step()", threads=count)
        for name, make in THREADED.items()
        for count in thread_counts(cores())
    ]
    return rows
