"""LSTM layers of programs that may round otherwise: the products of input and state in one loop.

Owns: which layers; the loops are in `native/program_lstm.c`.  Eager mode has the products of the
input, for all steps at once, before the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.arrays.recurrent import LSTM
from taper.arrays.reduction import add_blocks
from taper.ops.recurrent.layers import mkldnn_rnn_layer, mkldnn_rnn_layer_all
from taper.program.form import Instruction

_FLOAT = np.dtype(np.float32)


def fast_recurrence(instruction: Instruction) -> Callable[..., Any] | None:
    """Return what runs the layer of an LSTM, or its gradients; None for all others."""
    if native is None or any(each.dtype != _FLOAT for each in instruction.operands()):
        return None
    of, arguments = instruction.of, instruction.arguments
    if instruction.kind == "op" and of is mkldnn_rnn_layer.op:
        _, batch_sizes, mode = arguments[7:10]
        run: Callable[..., Any] = _layer
    elif instruction.kind == "formula" and of.function is mkldnn_rnn_layer_all:
        _, batch_sizes, mode = arguments[11:14]
        run = _gradients
    else:
        return None
    return run if mode == LSTM and not batch_sizes else None


def _layer(input: Any, *arguments: Any) -> Any:
    of_input, of_state, bias, other, hx, cx, reverse, *_ = arguments
    steps, batch, _ = input.shape
    size = hx.shape[1]
    workspace = np.empty(5 * steps * batch * size, np.float32)
    gates, cells = workspace[: 4 * steps * batch * size], workspace[4 * steps * batch * size :]
    both = np.zeros(4 * size, np.float32) if bias is None else bias + other
    output, state, cell = np.empty((steps, batch, size), np.float32), hx.copy(), cx.copy()
    given = (input, of_input, of_state, both, state, cell, gates, cells, output, reverse)
    if native.lstm_layer(*given) is None:
        return mkldnn_rnn_layer.op.forward(input, *arguments)
    return output, state, cell, workspace


def _gradients(input: Any, *arguments: Any) -> Any:
    """The gradients of input, weights, biases, first state and first cells."""
    of_input, of_state, _, _, hx, cx, _, _, _, workspace, reverse, *_ = arguments
    needs, grad, to_last, to_cell = arguments[19:23]
    steps, batch, width = input.shape
    size = hx.shape[1]
    count = steps * batch * size
    to_state = np.zeros_like(hx) if to_last is None else to_last.copy()
    cell = np.zeros_like(cx) if to_cell is None else to_cell.copy()
    # In one order of their own, which sums over all rows do not see.
    change, before, rows = (
        np.empty((steps * batch, wide), np.float32) for wide in (4 * size, size, width)
    )
    grad = None if grad is None else np.ascontiguousarray(grad)
    given = (of_state, to_state, cell, workspace[: 4 * count], workspace[4 * count :], hx, cx, grad)
    if needs[0] or not native.lstm_layer_back(input, *given, change, before, rows, reverse):
        return mkldnn_rnn_layer_all(input, *arguments)
    found: list[Any] = [None] * 5 + [to_state, cell]
    if needs[1]:
        found[1] = np.matmul(change.T, rows)
    if needs[2]:
        found[2] = np.matmul(change.T, before)
    if needs[3] or needs[4]:
        found[3] = add_blocks(change, (0,), False, change.dtype)
        found[4] = found[3].copy()
    return [each if needed else None for each, needed in zip(found, needs, strict=True)]
