"""Jacobians of functions of tensors: by differences, by backward, by forward mode.

A Jacobian here is a matrix with one row for each element of the input and one column for each
element of the output.  For a complex input an entry is the derivative along the real axis plus i
times that along the imaginary axis, which is the gradient that backward gives (§X1).  Outputs are
real: `gradcheck` passes the parts of complex ones in turn.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from taper.autograd.backward import grad as autograd_grad
from taper.autograd.conjugate import write_through
from taper.autograd.forward_ad import dual_level, make_dual, unpack_dual
from taper.tensor import Tensor, wrap

Function = Callable[..., Any]
Choice = Callable[[Any], Sequence[Tensor]]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return several values as a tuple, a single one as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_differentiable(value: Any) -> bool:
    """Return whether a value is a tensor that requires grad."""
    return isinstance(value, Tensor) and bool(value.requires_grad)


def is_floating(value: Any) -> bool:
    """Return whether a value is a tensor of real or complex numbers."""
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def differentiable_outputs(outputs: Any) -> list[Tensor]:
    """Return the outputs that require grad."""
    return [each for each in as_tuple(outputs) if each.requires_grad]


def floating_outputs(outputs: Any) -> list[Tensor]:
    """Return the outputs that are real or complex numbers."""
    return [each for each in as_tuple(outputs) if is_floating(each)]


def floating_positions(outputs: Any) -> list[int]:
    """Return the positions of the floating-point tensors among the outputs."""
    return [nr for nr, each in enumerate(as_tuple(outputs)) if is_floating(each)]


def differentiable_positions(inputs: Sequence[Any]) -> list[int]:
    """Return the numbers of the inputs that require grad."""
    return [nr for nr, each in enumerate(inputs) if is_differentiable(each)]


# --- differences -----------------------------------------------------------------------------


def differences(
    func: Function,
    inputs: Sequence[Any],
    position: int,
    direction: np.ndarray,
    eps: float,
    choose: Choice = differentiable_outputs,
    where: str = "",
) -> list[Tensor]:
    """Return (f(x + eps d) - f(x - eps d)) / (2 eps) along the direction d of one input.

    The input is changed in place, so that views of it and closures over it see the change.
    """
    source = inputs[position]
    original = source._array.copy()
    try:
        _set(source, original - eps * direction)
        below = [each.detach().clone() for each in choose(func(*inputs))]
        _set(source, original + eps * direction)
        above = [each.detach().clone() for each in choose(func(*inputs))]
    finally:
        _set(source, original)
    slopes = []
    for low, high in zip(below, above, strict=False):
        _check_same_kind(low, high, f"{where} by {eps}")
        slopes.append((high - low) / (2 * eps))
    return slopes


def _set(tensor: Tensor, value: np.ndarray) -> None:
    write_through(tensor, lambda array: np.copyto(array, value))


def _check_same_kind(low: Tensor, high: Tensor, where: str) -> None:
    expected = "Expected `func` to return outputs with the same {} when inputs are perturbed"
    if low.shape != high.shape:
        raise AssertionError(
            f"{expected.format('shape')}{where}, but got: shapes {low.shape} and {high.shape}."
        )
    if low.dtype != high.dtype:
        raise AssertionError(
            f"{expected.format('dtype')}{where}, but got: dtypes {low.dtype} and {high.dtype}."
        )


def _shown(steps: Iterable[Any], what: str, count: int) -> Iterable[Any]:
    """Return the steps of a loop behind a bar, which appears if the loop takes long."""
    # late: importing taper needs no bars
    progress = importlib.import_module("taper.utils._progress").progress
    shown: Iterable[Any] = progress(steps, what, count, leave=False, delay=2)
    return shown


def numerical_jacobian(
    func: Function,
    inputs: Sequence[Any],
    position: int,
    outputs: Sequence[Tensor],
    eps: float,
    choose: Choice = differentiable_outputs,
) -> list[Tensor]:
    """Return the Jacobians of all outputs with respect to one input, by central differences."""
    source = inputs[position]
    is_complex = source.is_complex()
    jacobians = [
        output.detach().new_zeros(
            (source.numel(), output.numel()), dtype=source.dtype if is_complex else output.dtype
        )
        for output in outputs
    ]
    places = np.ndindex(source._array.shape)
    for row, index in enumerate(_shown(places, "numerical gradient", source.numel())):
        for step in (1, 1j) if is_complex else (1,):
            direction = np.zeros(source._array.shape, source._array.dtype)
            direction[index] = step
            where = f" on index {index}"
            slopes = differences(func, inputs, position, direction, eps, choose, where)
            for jacobian, slope in zip(jacobians, slopes, strict=False):
                flat = slope.reshape(-1)
                if step == 1:
                    jacobian[row] = flat
                else:
                    jacobian[row] += flat * step
    return jacobians


# --- backward --------------------------------------------------------------------------------


def analytical_jacobian(output: Tensor, sources: Sequence[Tensor]) -> list[Tensor]:
    """Return the Jacobians of one output with respect to several inputs, by backward."""
    jacobians = [
        each.detach().new_zeros((each.numel(), output.numel()), dtype=each.dtype)
        for each in sources
    ]
    for column in _shown(range(output.numel()), "analytical gradient", output.numel()):
        direction = np.zeros(output._array.shape, output._array.dtype)
        direction.flat[column] = 1
        found = autograd_grad(
            output, sources, wrap(direction), retain_graph=True, allow_unused=True
        )
        for jacobian, grad in zip(jacobians, found, strict=True):
            if grad is not None:
                jacobian[:, column] = grad.detach().reshape(-1)
    return jacobians


# --- forward mode ----------------------------------------------------------------------------


def tangents_of(outputs: Any, positions: Sequence[int]) -> list[Tensor]:
    """Return the tangents of some outputs, zeros where there is none; call it in the level."""
    several = as_tuple(outputs)
    found = []
    for nr in positions:
        primal, tangent = unpack_dual(several[nr])
        found.append(primal.new_zeros(primal.shape) if tangent is None else tangent.detach())
    return found


def detached(inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs without history: a function checked by forward mode sees no grad."""
    return [each.detach() if is_differentiable(each) else each for each in inputs]


def pushed(
    func: Function,
    inputs: Sequence[Any],
    position: int,
    outputs: Sequence[int],
    direction: np.ndarray,
) -> list[Tensor]:
    """Return the tangents of chosen outputs for a tangent of one input; the others have zero."""
    with dual_level():
        given = detached(inputs)
        for nr in differentiable_positions(inputs):
            array = direction if nr == position else np.zeros_like(given[nr]._array)
            given[nr] = make_dual(given[nr], wrap(array))
        return tangents_of(func(*given), outputs)


def forward_jacobian(
    func: Function, inputs: Sequence[Any], position: int, func_out: Any
) -> list[Tensor]:
    """Return the Jacobians of the differentiable outputs by one input, from forward mode."""
    several = as_tuple(func_out)
    chosen = [nr for nr, each in enumerate(several) if each.requires_grad]
    source = inputs[position]
    jacobians = [
        several[nr].detach().new_zeros((source.numel(), several[nr].numel())) for nr in chosen
    ]
    for row, index in enumerate(np.ndindex(source._array.shape)):
        direction = np.zeros(source._array.shape, source._array.dtype)
        direction[index] = 1
        tangents = pushed(func, inputs, position, chosen, direction)
        for jacobian, tangent in zip(jacobians, tangents, strict=True):
            jacobian[row] = tangent.reshape(-1)
    return jacobians
