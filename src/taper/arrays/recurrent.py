"""A recurrent layer on arrays, forward and backward through time.

Owns: the recurrences of RNN, LSTM and GRU.  A sequence comes as rows, the batch of the first time
step, then that of the second; later steps may have fewer rows (packed sequences), so the state of a
batch is one array whose first rows are the ones that a step changes.  Whatever does not depend on
the state is one product for all steps, before or after the loop.  Knows no Tensor.

The workspace of a forward pass is one flat array with all that the gradient needs besides the
inputs: for LSTM the gates and the cells; for GRU the gates, what the state adds to the candidate,
and a copy of the outputs; for RNN that copy.  So the outputs may be overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import FLOAT32
from taper.arrays.native import native
from taper.arrays.reduction import add_blocks

RELU, TANH, LSTM, GRU = range(4)
GATES = {RELU: 1, TANH: 1, LSTM: 4, GRU: 3}

Weights = Sequence[Any]  # input to gates, state to gates, and their biases or None


class Steps(tuple[tuple[slice, int], ...]):
    """The rows of each step and their number, in the order of the computation."""

    starts: ndarray  # the same for the native module
    counts: ndarray


@lru_cache(8)  # saves 25 us of a training step of 32 steps
def steps_of(batch_sizes: tuple[int, ...], reverse: bool) -> Steps:
    """Return the rows of each step and their number, in the order of the computation."""
    starts = [0, *accumulate(batch_sizes)]
    pairs = [(slice(*ends), ends[1] - ends[0]) for ends in pairwise(starts)]
    steps = Steps(pairs[::-1] if reverse else pairs)
    steps.starts = np.array([place.start for place, _ in steps], np.intp)
    steps.counts = np.array([count for _, count in steps], np.intp)
    return steps


def started_from(values: ndarray, initial: ndarray, steps: Steps) -> ndarray:
    """Return the states that the steps began with, given those that they ended with."""
    size = len(initial)
    if len(values) == size * len(steps):  # no step has fewer rows: all move by one step
        ahead = steps[0][0].start == 0
        return np.concatenate((initial, values[:-size]) if ahead else (values[size:], initial))
    found, state = np.empty_like(values), initial.copy()
    for rows, count in steps:
        found[rows] = state[:count]
        state[:count] = values[rows]
    return found


def _logistic(values: ndarray) -> None:
    """Compute 1 / (1 + exp(-x)) in place."""
    values *= -1  # NumPy 2.4's `negative` is wrong in place on every fourth float
    np.exp(values, values)
    values += 1
    np.reciprocal(values, values)


def _bend(value: ndarray) -> ndarray:
    """Return the slope of tanh, given its value."""
    slope = np.multiply(value, value)
    return np.subtract(1, slope, slope)


def _slope(value: ndarray) -> ndarray:
    """Return the slope of the logistic function, given its value."""
    slope = np.subtract(1, value)
    slope *= value
    return slope


def _natively(name: str, steps: Steps, *arrays: Any) -> bool:
    """Let the native module run a loop over the steps; False, with nothing done, if it cannot."""
    if native is None or arrays[0].dtype != FLOAT32:
        return False
    return getattr(native, name)(steps.starts, steps.counts, *arrays) is not None


# --- forward ---------------------------------------------------------------------------------


def forward(
    rows: ndarray, weights: Weights, hx: ndarray, cx: ndarray | None, steps: Steps, mode: int
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return the outputs of all steps, the last state and cells, and the workspace."""
    if mode == LSTM:
        return _lstm(rows, weights, hx, cx, steps)
    found = _gru(rows, weights, hx, steps) if mode == GRU else _rnn(rows, weights, hx, steps, mode)
    output, state, workspace = found
    return output, state, np.empty(0, rows.dtype), workspace


def _parts(workspace: ndarray, size: int, *widths: int) -> list[ndarray]:
    """Return the parts of a workspace as matrices, with a number of values for each unit."""
    total, start, parts = len(workspace) // (size * sum(widths)), 0, []
    for width in widths:
        end = start + total * size * width
        parts.append(workspace[start:end].reshape(total, size * width))
        start = end
    return parts


def _rnn(
    rows: ndarray, weights: Weights, hx: ndarray, steps: Steps, mode: int
) -> tuple[ndarray, ndarray, ndarray]:
    output = np.matmul(rows, weights[0].T)
    if weights[2] is not None:
        output += weights[2] + weights[3]
    turned = np.ascontiguousarray(weights[1].T)
    state, product = hx.copy(), np.empty_like(hx)
    for place, count in steps:
        now = output[place]
        now += np.matmul(state[:count], turned, product[:count])
        if mode == TANH:
            np.tanh(now, now)
        else:
            np.maximum(now, 0, out=now)
        state[:count] = now
    return output, state, output.reshape(-1).copy()


def _lstm(
    rows: ndarray, weights: Weights, hx: ndarray, cx: Any, steps: Steps
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    size = hx.shape[1]
    workspace = np.empty(len(rows) * size * 5, rows.dtype)
    gates, cells = _parts(workspace, size, 4, 1)
    np.matmul(rows, weights[0].T, gates)
    bias = np.zeros((1, 4 * size), rows.dtype)
    if weights[2] is not None:
        np.add(weights[2], weights[3], bias[0])
    output = np.empty_like(cells)
    state, cell, fresh = hx.copy(), cx.copy(), np.empty_like(cx)
    if _natively("lstm", steps, state, cell, gates, cells, output, weights[1], bias):
        return output, state, cell, workspace
    gates += bias
    product = np.empty((len(hx), 4 * size), rows.dtype)
    for place, count in steps:
        gate, cell_now = gates[place], cells[place]
        gate += np.matmul(state[:count], weights[1].T, product[:count])
        candidate, leaving = gate[:, 2 * size : 3 * size], gate[:, 3 * size :]
        _logistic(gate[:, : 2 * size])
        _logistic(leaving)
        np.tanh(candidate, candidate)
        np.multiply(gate[:, size : 2 * size], cell[:count], cell_now)
        cell_now += np.multiply(gate[:, :size], candidate, fresh[:count])
        cell[:count] = cell_now
        now = np.tanh(cell_now, output[place])
        now *= leaving
        state[:count] = now
    return output, state, cell, workspace


def _gru(
    rows: ndarray, weights: Weights, hx: ndarray, steps: Steps
) -> tuple[ndarray, ndarray, ndarray]:
    size = hx.shape[1]
    workspace = np.empty(len(rows) * size * 5, rows.dtype)
    gates, hidden, kept_output = _parts(workspace, size, 3, 1, 1)
    np.matmul(rows, weights[0].T, gates)
    shift = 0
    if weights[2] is not None:
        bias, shift = weights[2].copy(), weights[3][2 * size :]
        bias[: 2 * size] += weights[3][: 2 * size]
        gates += bias
    output = np.empty_like(hidden)
    state, fresh = hx.copy(), np.empty_like(hx)
    product = np.empty((len(hx), 3 * size), rows.dtype)
    row = None if isinstance(shift, int) else shift[None]
    if _natively("gru", steps, state, gates, hidden, output, weights[1], row, product):
        kept_output[...] = output
        return output, state, workspace
    for place, count in steps:
        gate, before = gates[place], state[:count]
        moved = np.matmul(before, weights[1].T, product[:count])
        kept = np.add(moved[:, 2 * size :], shift, hidden[place])
        both, candidate = gate[:, : 2 * size], gate[:, 2 * size :]
        both += moved[:, : 2 * size]
        _logistic(both)
        candidate += np.multiply(gate[:, :size], kept, fresh[:count])
        np.tanh(candidate, candidate)
        now = np.subtract(before, candidate, output[place])
        now *= gate[:, size : 2 * size]
        now += candidate
        before[...] = now
    kept_output[...] = output
    return output, state, workspace


# --- backward --------------------------------------------------------------------------------


def backward(
    grads: Sequence[Any],
    rows: ndarray,
    weights: Weights,
    hx: ndarray,
    cx: Any,
    workspace: ndarray,
    steps: Steps,
    mode: int,
    needs: Sequence[bool],
) -> list[Any]:
    """Return the gradients of the rows, the four weights, the first state and cells, where needed.

    `grads` are the gradients of the outputs, the last state and the last cells; None is zero.
    """
    to_state = np.zeros_like(hx) if grads[1] is None else grads[1].copy()
    to_cell = None
    if mode == LSTM:
        to_cell = np.zeros_like(cx) if grads[2] is None else grads[2].copy()
        output, at_input = _lstm_back(grads[0], weights[1], cx, workspace, steps, to_state, to_cell)
        before, at_state = started_from(output, hx, steps), at_input
    elif mode == GRU:
        before = started_from(_parts(workspace, hx.shape[1], 3, 1, 1)[2], hx, steps)
        at_input, at_state = _gru_back(grads[0], weights[1], before, workspace, steps, to_state)
    else:
        (output,) = _parts(workspace, hx.shape[1], 1)
        before = started_from(output, hx, steps)
        at_input = at_state = _rnn_back(grads[0], weights[1], output, steps, to_state, mode)
    found: list[Any] = [*[None] * 5, to_state, to_cell]
    if needs[0]:
        found[0] = np.matmul(at_input, weights[0])
    if needs[1]:
        found[1] = np.matmul(at_input.T, rows)
    if needs[2]:
        found[2] = np.matmul(at_state.T, before)
    if needs[3]:
        found[3] = add_blocks(at_input, (0,), False, at_input.dtype)
    if needs[4]:
        again = found[3] is not None and at_state is at_input
        found[4] = found[3].copy() if again else add_blocks(at_state, (0,), False, at_state.dtype)
    return [each if needed else None for each, needed in zip(found, needs, strict=True)]


def _rnn_back(
    grad: Any, weight: ndarray, output: ndarray, steps: Steps, to_state: ndarray, mode: int
) -> ndarray:
    """Return the gradient before the activation; `to_state` ends as that of the first state."""
    change = _bend(output) if mode == TANH else (output > 0).astype(output.dtype)
    for place, count in reversed(steps):
        moving = to_state[:count]
        if grad is not None:
            moving += grad[place]
        part = change[place]
        part *= moving
        np.matmul(part, weight, moving)
    return change


def _lstm_back(
    grad: Any,
    weight: ndarray,
    cx: ndarray,
    workspace: ndarray,
    steps: Steps,
    to_state: ndarray,
    to_cell: ndarray,
) -> tuple[ndarray, ndarray]:
    """Return outputs and gradient of the gates; `to_state`, `to_cell` end as the first ones'.

    The factors of the gradients of cell and state are computed for all steps at once.
    """
    size = cx.shape[1]
    gates, cells = _parts(workspace, size, 4, 1)
    opening, forget, candidate, leaving = (
        gates[:, number * size : (number + 1) * size] for number in range(4)
    )
    change = np.empty((len(gates), 4, size), gates.dtype)
    flat, output = change.reshape(len(gates), 4 * size), np.empty_like(cells)
    given = (to_state, to_cell, gates, cells, cx, weight, grad, flat, output)
    if _natively("lstm_back", steps, *given):
        return output, flat
    bent = np.tanh(cells)
    np.multiply(_slope(opening), candidate, change[:, 0])
    np.multiply(_slope(forget), started_from(cells, cx, steps), change[:, 1])
    np.multiply(_bend(candidate), opening, change[:, 2])
    np.multiply(_slope(leaving), bent, change[:, 3])
    through = _bend(bent)
    through *= leaving
    fresh = np.empty_like(to_cell)
    for place, count in reversed(steps):
        moving, cell, part = to_state[:count], to_cell[:count], change[place]
        if grad is not None:
            moving += grad[place]
        cell += np.multiply(moving, through[place], fresh[:count])
        part[:, :3] *= cell[:, None]
        part[:, 3] *= moving
        cell *= forget[place]
        np.matmul(flat[place], weight, moving)
    bent *= leaving
    return bent, flat


def _gru_back(
    grad: Any,
    weight: ndarray,
    before: ndarray,
    workspace: ndarray,
    steps: Steps,
    to_state: ndarray,
) -> tuple[ndarray, ndarray]:
    """Return the gradients of the gates' input part and state part; their candidates differ."""
    size = before.shape[1]
    gates, hidden, _ = _parts(workspace, size, 3, 1, 1)
    reset, update, candidate = (
        gates[:, number * size : (number + 1) * size] for number in range(3)
    )
    change = np.empty((len(gates), 4, size), gates.dtype)
    flat = change.reshape(len(gates), 4 * size)
    at_state = flat[:, : 3 * size]
    if _natively("gru_back", steps, to_state, gates, hidden, before, weight, grad, flat):
        return np.concatenate((flat[:, : 2 * size], flat[:, 3 * size :]), 1), at_state
    inner = np.multiply(_bend(candidate), np.subtract(1, update), change[:, 3])
    np.multiply(inner, reset, change[:, 2])
    np.multiply(_slope(update), before - candidate, change[:, 1])
    np.multiply(_slope(reset), inner * hidden, change[:, 0])
    fresh = np.empty_like(to_state)
    for place, count in reversed(steps):
        moving, part = to_state[:count], change[place]
        if grad is not None:
            moving += grad[place]
        kept = np.multiply(moving, update[place], fresh[:count])
        part *= moving[:, None]
        np.matmul(at_state[place], weight, moving)
        moving += kept
    at_input = np.concatenate((flat[:, : 2 * size], flat[:, 3 * size :]), 1)
    return at_input, at_state
