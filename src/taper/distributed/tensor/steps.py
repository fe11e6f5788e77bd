"""Optimizers of DTensors: during a step the optimizer sees the parts, which are plain tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from taper.distributed.tensor.api import DTensor
from taper.tensor import Tensor


@contextmanager
def on_parts(optimizer: Any) -> Iterator[None]:
    """Give an optimizer the parts of its DTensors, and what it made of them their spread form."""
    if optimizer.__dict__.get("_is_on_parts"):
        yield
        return
    spread = _swap_in(optimizer)
    optimizer._is_on_parts = True
    try:
        yield
    finally:
        optimizer._is_on_parts = False
        _swap_out(optimizer, spread)


def _swap_in(optimizer: Any) -> dict[Tensor, Any]:
    """Replace DTensors by their parts, in groups and states; return the DTensor of each part."""
    spread: dict[Tensor, Any] = {}

    def part(value: Any) -> Any:
        if not isinstance(value, DTensor):
            return value
        spread[value._local_tensor] = value
        return value._local_tensor

    for group in optimizer.param_groups:
        group["params"] = [part(each) for each in group["params"]]
    for param in [each for each in optimizer.state if isinstance(each, DTensor)]:
        values = optimizer.state.pop(param)
        for name, value in values.items():
            is_whole = isinstance(value, Tensor) and not isinstance(value, DTensor)
            if is_whole and value.dim() and value.shape == param.shape:
                values[name] = part(_divided(value, param))
            else:
                values[name] = part(value)
        optimizer.state[part(param)] = values
    return spread


def _divided(value: Tensor, param: DTensor) -> Any:
    """Return a state that was loaded as a whole, spread as its parameter."""
    replicated = DTensor.from_local(value, param._mesh)
    return replicated.redistribute(placements=param._placements)


def _swap_out(optimizer: Any, spread: dict[Tensor, Any]) -> None:
    for group in optimizer.param_groups:
        group["params"] = [spread.get(each, each) for each in group["params"]]
    for part in [each for each in optimizer.state if each in spread]:
        param, values = spread[part], optimizer.state.pop(part)
        for name, value in values.items():
            if not isinstance(value, Tensor):
                continue
            if value in spread:
                values[name] = spread[value]
            elif value.dim() and value.shape == part.shape:
                values[name] = param._like(value)
        optimizer.state[param] = values


spread_class: Any = DTensor
spread_class._around_step = staticmethod(on_parts)
