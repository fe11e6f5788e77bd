"""Inputs spread over devices and results put together, under PyTorch's name of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from taper.nn.parallel.devices import gather, scatter
from taper.utils._pytree import is_namedtuple_instance as is_namedtuple

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]

_is_namedtuple = is_namedtuple


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[Any],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Spread positional and named arguments over devices: refused, as there are none."""
    return scatter(inputs, target_gpus, dim), scatter(kwargs or {}, target_gpus, dim)
