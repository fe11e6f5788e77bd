"""The recurrences of RNN, LSTM and GRU in half precision, rounded where PyTorch rounds.

Owns: which intermediate values of a step are rounded.  They all are, as PyTorch computes a cell
with one operator after the other, but for LSTM in bfloat16, which it computes in float32.  Arrays
are float32 and hold numbers of half precision; `arrays/recurrent.py` has the same recurrences
without rounding, and says what the workspace is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.recurrent import GATES, GRU, LSTM, RELU


class Rounded:
    """What a cell is made of, each result rounded to the half precision `low`.

    A cell that is `fused` rounds its biases and its state alone.  A sequence that does not lie
    `flat` in memory is multiplied first, and its biases are added to what was rounded.
    """

    def __init__(self, low: np.dtype[Any], flat: bool, fused: bool) -> None:
        self.low, self.flat, self.fused = low, flat, fused

    def __call__(self, values: Any) -> ndarray:
        return np.asarray(values).astype(self.low).astype(np.float32)

    def linear(self, rows: ndarray, weight: ndarray, bias: Any, flat: bool = True) -> ndarray:
        product = rows @ weight.T
        if bias is None:
            return self(product)
        return self((product if flat else self(product)) + bias)

    def logistic(self, values: ndarray) -> ndarray:
        return self(1 / (1 + np.exp(-values)))

    def tanh(self, values: ndarray) -> ndarray:
        return self(np.tanh(values))


class Exact(Rounded):
    """The same without rounding."""

    def __call__(self, values: Any) -> ndarray:
        return np.asarray(values)


def forward(
    rows: ndarray, weights: Any, hx: ndarray, cx: Any, steps: Any, mode: int, rounded: Rounded
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return the outputs of all steps, the last state and cells, and the workspace."""
    if mode == LSTM:
        return _lstm(rows, weights, hx, cx, steps, rounded)
    if mode == GRU:
        output, state, workspace = _gru(rows, weights, hx, steps, rounded)
    else:
        output, state, workspace = _rnn(rows, weights, hx, steps, mode == RELU, rounded)
    return output, state, np.empty(0, rows.dtype), workspace


def _rnn(
    rows: ndarray, weights: Any, hx: ndarray, steps: Any, relu: bool, rounded: Rounded
) -> tuple[ndarray, ndarray, ndarray]:
    output, state = rounded.linear(rows, weights[0], weights[2], rounded.flat), hx.copy()
    for place, count in steps:
        now = rounded(rounded.linear(state[:count], weights[1], weights[3]) + output[place])
        output[place] = state[:count] = np.maximum(now, 0) if relu else rounded.tanh(now)
    return output, state, output.reshape(-1).copy()


def _lstm(
    rows: ndarray, weights: Any, hx: ndarray, cx: Any, steps: Any, rounded: Rounded
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    last = rounded
    if rounded.fused:
        rounded = Exact(rounded.low, True, True)
        if weights[2] is not None:
            weights = (*weights[:2], last(weights[2] + weights[3]), None)
    gates, state, cell = (
        rounded.linear(rows, weights[0], weights[2], rounded.flat),
        hx.copy(),
        cx.copy(),
    )
    cells, output = (np.empty((len(rows), hx.shape[1]), np.float32) for _ in range(2))
    for place, count in steps:
        moved = rounded.linear(state[:count], weights[1], weights[3])
        inner, kept, fresh, leaving = np.split(rounded(moved + gates[place]), GATES[LSTM], 1)
        inner, kept, leaving = map(rounded.logistic, (inner, kept, leaving))
        fresh = rounded.tanh(fresh)
        gates[place] = np.concatenate((inner, kept, fresh, leaving), 1)
        now = rounded(rounded(kept * cell[:count]) + rounded(inner * fresh))
        cells[place] = cell[:count] = now
        output[place] = state[:count] = last(leaving * rounded.tanh(now))
    return output, state, cell, np.concatenate((gates.reshape(-1), cells.reshape(-1)))


def _gru(
    rows: ndarray, weights: Any, hx: ndarray, steps: Any, rounded: Rounded
) -> tuple[ndarray, ndarray, ndarray]:
    gates, state = rounded.linear(rows, weights[0], weights[2], rounded.flat), hx.copy()
    hidden, output = (np.empty((len(rows), hx.shape[1]), np.float32) for _ in range(2))
    for place, count in steps:
        before = state[:count]
        moved = rounded.linear(before, weights[1], weights[3])
        given, added = (np.split(each, GATES[GRU], 1) for each in (gates[place], moved))
        reset, change = (rounded.logistic(rounded(added[each] + given[each])) for each in range(2))
        hidden[place] = added[2]
        candidate = rounded.tanh(rounded(given[2] + rounded(added[2] * reset)))
        gates[place] = np.concatenate((reset, change, candidate), 1)
        now = rounded(rounded(rounded(before - candidate) * change) + candidate)
        output[place] = before[...] = now
    return output, state, np.concatenate([each.reshape(-1) for each in (gates, hidden, output)])
