"""Jacobians of functions of tensors: by differences, by backward, by forward mode.

A Jacobian here is an array with one row for each element of the input and one column for each
element of the output.  For a complex input the entry is the derivative along the real axis plus i
times that along the imaginary axis, which is the gradient that backward gives (X1); outputs are
real, `gradcheck` looks at the parts of complex ones in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taper.autograd import forward_ad
from taper.autograd.backward import grad as autograd_grad
from taper.autograd.grad_mode import enable_grad, no_grad
from taper.autograd.views import requires_grad
from taper.tensor import Tensor, wrap

Function = Callable[..., Any]


def is_differentiable(value: Any) -> bool:
    """Whether a value is a tensor that requires grad."""
    return isinstance(value, Tensor) and requires_grad(value)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Several values as a tuple, one as a tuple of one."""
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def differentiable_outputs(outputs: Any) -> list[Tensor]:
    """The outputs that require grad."""
    return [each for each in as_tuple(outputs) if is_differentiable(each)]


# --- differences -----------------------------------------------------------------------------


def _arrays(func: Function, inputs: Sequence[Any], every: bool) -> list[np.ndarray]:
    """Copies of the outputs' arrays; `every` also takes those that do not require grad."""
    with enable_grad():
        outputs = as_tuple(func(*inputs))
    chosen = [
        each for each in outputs if isinstance(each, Tensor) and (every or requires_grad(each))
    ]
    return [each._array.copy() for each in chosen]


def numerical_jacobian(
    func: Function, inputs: tuple[Any, ...], position: int, eps: float, every: bool = False
) -> list[np.ndarray]:
    """The Jacobians of all outputs with respect to one input, by central differences."""
    array = inputs[position]._array
    base = _arrays(func, inputs, every)
    steps = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    dtypes = [each.dtype for each in base]
    if array.dtype.kind == "c":
        dtypes = [np.result_type(each, array.dtype) for each in dtypes]
    jacobians = [
        np.zeros((array.size, each.size), dtype) for each, dtype in zip(base, dtypes, strict=True)
    ]
    for row, index in enumerate(np.ndindex(array.shape)):
        for step in steps:
            direction = np.zeros(array.shape, array.dtype)
            direction[index] = step
            slopes = differences(func, inputs, position, direction, eps, every)
            _check_same_kind(base, slopes)
            for jacobian, slope in zip(jacobians, slopes, strict=True):
                jacobian[row] += slope.ravel() * step
    return jacobians


def differences(
    func: Function,
    inputs: tuple[Any, ...],
    position: int,
    direction: np.ndarray,
    eps: float,
    every: bool = False,
) -> list[np.ndarray]:
    """(f(x + eps d) - f(x - eps d)) / (2 eps) along the direction d of one input."""
    array = inputs[position]._array
    original = array.copy()
    try:
        array[...] = original + eps * direction
        above = _arrays(func, inputs, every)
        array[...] = original - eps * direction
        below = _arrays(func, inputs, every)
    finally:
        array[...] = original
    _check_same_kind(above, below)
    return [(a - b) / (2 * eps) for a, b in zip(above, below, strict=True)]


def _check_same_kind(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    kinds = [[(each.shape, each.dtype) for each in group] for group in (one, other)]
    if kinds[0] != kinds[1]:
        raise AssertionError(
            "Expected `func` to return outputs with the same shape/dtype when inputs are perturbed"
        )


# --- backward --------------------------------------------------------------------------------


def analytical_jacobian(output: Tensor, sources: Sequence[Tensor]) -> list[np.ndarray]:
    """The Jacobians of one output with respect to several inputs, by backward."""
    jacobians = [
        np.zeros((each._array.size, output._array.size), each._array.dtype) for each in sources
    ]
    for column in range(output._array.size):
        direction = np.zeros(output._array.shape, output._array.dtype)
        direction.flat[column] = 1
        found = autograd_grad(
            output, sources, wrap(direction), retain_graph=True, allow_unused=True
        )
        for jacobian, each in zip(jacobians, found, strict=True):
            if each is not None:
                jacobian[:, column] = each._array.ravel()
    return jacobians


# --- forward mode ----------------------------------------------------------------------------


def forward_jacobian(func: Function, inputs: tuple[Any, ...], position: int) -> list[np.ndarray]:
    """The Jacobians of all outputs with respect to one input, by forward mode."""
    array = inputs[position]._array
    steps = (1.0, 1j) if array.dtype.kind == "c" else (1.0,)
    rows: list[list[Any]] = []
    for index in np.ndindex(array.shape):
        total: list[Any] = []
        for step in steps:
            direction = np.zeros(array.shape, array.dtype)
            direction[index] = step
            found = [each.ravel() * step for each in tangents(func, inputs, position, direction)]
            total = [a + b for a, b in zip(total, found, strict=True)] if total else found
        rows.append(total)
    return [np.array(each) for each in zip(*rows, strict=True)]


def tangents(
    func: Function, inputs: tuple[Any, ...], position: int, direction: np.ndarray
) -> list[np.ndarray]:
    """The tangents of the differentiable outputs for one tangent of an input."""
    keep = [nr for nr, each in enumerate(as_tuple(func(*inputs))) if is_differentiable(each)]
    with forward_ad.dual_level(), no_grad():
        given = [each.detach() if isinstance(each, Tensor) else each for each in inputs]
        given[position] = forward_ad.make_dual(given[position], wrap(direction))
        outputs = as_tuple(func(*given))
        results = []
        for nr in keep:
            found = forward_ad.unpack_dual(outputs[nr]).tangent
            array = outputs[nr]._array
            results.append(np.zeros(array.shape, array.dtype) if found is None else found._array)
        return [each.copy() for each in results]
