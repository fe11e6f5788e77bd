"""`gradcheck` in fast mode: a Jacobian is compared along random directions only (§K4).

With a random vector u for each input and v for each output, backward gives v* J at once and a
difference gives J u; both are compared as the number v* J u.  Forward mode compares J u itself.
The vectors come from a generator with its first seed, as in PyTorch, so that a check is the same
each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.jacobians import (
    Choice,
    Function,
    as_tuple,
    differences,
    differentiable_outputs,
    pushed,
)
from taper.random import Generator
from taper.tensor import Tensor, wrap

# Along the real axis, and for a complex input also along the imaginary one.
Directions = tuple[np.ndarray, ...]


def direction(tensor: Tensor, generator: Any) -> np.ndarray:
    """Return a random vector of length one, in the shape of the tensor and real."""
    real = tensor._array.real.dtype
    empty = wrap(np.empty(tensor.numel(), np.float32))
    drawn: np.ndarray = empty.uniform_(0, 1, generator=generator)._array.astype(real)
    if drawn.size:
        drawn = drawn / np.linalg.norm(drawn.astype(np.float64)).astype(real)
    return drawn.reshape(tensor._array.shape)


def random_directions(
    sources: Sequence[Tensor], outputs: Sequence[Tensor]
) -> tuple[list[Directions], list[np.ndarray]]:
    """Return the directions of each input, then one direction for each output."""
    generator = Generator()
    along = [
        tuple(direction(each, generator) for _ in range(2 if each.is_complex() else 1))
        for each in sources
    ]
    return along, [direction(each, generator) for each in outputs]


def numerical_slopes(
    func: Function,
    inputs: Sequence[Any],
    position: int,
    along: Directions,
    eps: float,
    choose: Choice = differentiable_outputs,
) -> list[list[Tensor]]:
    """Return J u for each output by differences, for each direction of one input."""
    dtype = inputs[position]._array.dtype
    by_direction = [
        differences(func, inputs, position, (each * step).astype(dtype), eps, choose)
        for each, step in zip(along, (1, 1j), strict=False)
    ]
    return [list(each) for each in zip(*by_direction, strict=True)]


def project(slopes: Sequence[Tensor], across: np.ndarray) -> Tensor:
    """Return v* J u: a real number, or a complex one for a complex input."""
    parts = [(wrap(across.reshape(-1)) * slope.reshape(-1)).sum() for slope in slopes]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1] * 1j


def analytical_projection(
    output: Tensor, sources: Sequence[Tensor], across: np.ndarray, along: Sequence[Directions]
) -> list[Tensor]:
    """Return v* J u for each input by one backward pass."""
    given = wrap(across.astype(output._array.dtype))
    grads = autograd_grad(output, sources, given, retain_graph=True, allow_unused=True)
    return [
        _dotted(source.new_zeros(source.shape) if grad is None else grad.detach(), directions)
        for grad, source, directions in zip(grads, sources, along, strict=True)
    ]


def _dotted(grad: Tensor, along: Directions) -> Tensor:
    if not grad.is_complex():
        return (grad * wrap(along[0])).sum()
    real, imaginary = (wrap(each) for each in along)
    total: Tensor = (grad.real * real).sum() + (grad.imag * imaginary).sum() * 1j
    return total


def forward_slopes(
    func: Function, inputs: Sequence[Any], position: int, func_out: Any, along: Directions
) -> list[Tensor]:
    """Return J u for each differentiable output by forward mode."""
    chosen = [nr for nr, each in enumerate(as_tuple(func_out)) if each.requires_grad]
    return pushed(func, inputs, position, chosen, along[0].astype(inputs[position]._array.dtype))


def tolerance(atol: float, along: Directions, across: np.ndarray | None) -> float:
    """Return the absolute tolerance of a projection: that of an entry, times what is summed up."""
    factor = float(sum(each.sum() for each in along))
    return atol * factor * (1.0 if across is None else float(across.sum()))
