"""Modules copied to devices, inputs spread over them, results put together: there are none.

Programs import these and call them if there is an accelerator; without one they raise, as in
PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from taper.nn.modules.module import Module

__all__ = ["gather", "parallel_apply", "replicate", "scatter"]


def _refuse_cpu(devices: Sequence[Any]) -> None:
    if any(str(each).startswith("cpu") for each in devices):
        raise ValueError("Expected a non cpu device, but got: cpu")


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Copy a module to each device: to none without devices.

    Example:
        >>> from taper import nn
        >>> nn.parallel.replicate(nn.Linear(2, 1), [])
        []
    """
    _refuse_cpu(devices)
    if devices:
        raise AssertionError("Broadcast function not implemented for CPU tensors")
    return []


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> NoReturn:
    """Refused: there are no devices to spread inputs over."""
    _refuse_cpu(target_gpus)
    raise RuntimeError("scatter: there are no devices to spread tensors over; use `chunk`")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Refused: there are no devices with results to put together."""
    raise AssertionError("Gather function not implemented for CPU tensors")


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> NoReturn:
    """Refused: there are no devices that could run modules at the same time."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    for each in devices or ():
        raise ValueError(f"Expected a cuda device, but got: {each}")
    raise RuntimeError("Cannot access accelerator device when none is available.")
