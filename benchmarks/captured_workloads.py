"""The steps of the eight models captured (`taper.capture`), and the same steps as they are written.

PyTorch, which has no `capture`, runs them as they are written in both tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models import MODELS, model_workloads
from workloads import Workload

OF_PYTORCH, OF_EAGER = 0.9, 0.8  # bars: parts of the time of PyTorch, and of taper without capture
WARM = 25  # calls after which a program runs as it will: loops are compiled after 20


def captured(make: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Return the same step recorded once and replayed, where the library can."""

    def build(torch: Any) -> dict[str, Any]:
        step = getattr(torch, "capture", lambda function: function)(make(torch)["step"])
        for _ in range(WARM):
            step()
        return {"step": step}

    return build


def captured_workloads() -> list[Workload]:
    """Return the steps captured, to be compared with PyTorch."""
    models = model_workloads()[:MODELS]
    return [Workload(each.name, captured(each.make), "step()", bar=OF_PYTORCH) for each in models]


def uncaptured_workloads() -> list[Workload]:
    """Return the same steps as they are written, in the same order."""
    models = model_workloads()[:MODELS]
    return [Workload(each.name, each.make, "step()", bar=OF_EAGER) for each in models]
