"""LSTM layers of programs: loops in which each thread has what it needs in memory of its own.

Owns: which layers; the loops are in `native/program_lstm.c`.  The rows of gradients are in another
order than eager mode's, so that sums over them may round otherwise.
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
_FEW_ROWS = 48  # of a batch: those of four tasks in native/program_lstm.c


def fast_recurrence(instruction: Instruction) -> Callable[..., Any] | None:
    """Return what runs the layer of an LSTM, or its gradients; None for all others."""
    if native is None or not native.has_kernel("attention"):  # these loops, too, want AVX-512
        return None
    if any(each.dtype != _FLOAT for each in instruction.operands()):
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
    made = gates, cells, output
    if not native.lstm_layer(input, of_input, of_state, both, state, cell, *made, reverse):
        return mkldnn_rnn_layer.op.forward(input, *arguments)
    return output, state, cell, workspace


def _gradients(input: Any, *arguments: Any) -> Any:
    """The gradients of input, weights, biases, first state and first cells."""
    _, of_state, _, _, hx, cx, _, _, _, workspace, reverse, *_ = arguments
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
    targets = _targets(size, width, needs) if batch <= _FEW_ROWS else [None] * 3
    given = (of_state, to_state, cell, workspace[: 4 * count], workspace[4 * count :], hx, cx, grad)
    made = (change, before, rows)
    if needs[0] or not native.lstm_layer_back(input, *given, *made, reverse, *targets):
        return mkldnn_rnn_layer_all(input, *arguments)
    if batch > _FEW_ROWS:
        targets = [np.matmul(change.T, rows), np.matmul(change.T, before)]
        targets.append(add_blocks(change, (0,), False, change.dtype))
    other = None if targets[2] is None else targets[2].copy()
    found = [None, *targets, other, to_state, cell]
    return [each if needed else None for each, needed in zip(found, needs, strict=True)]


def _targets(size: int, width: int, needs: Any) -> list[Any]:
    """Memory for the gradients of both weights and of the biases that are wanted."""
    wanted = needs[1], needs[2], needs[3] or needs[4]
    shapes = (4 * size, width), (4 * size, size), (4 * size,)
    pairs = zip(wanted, shapes, strict=True)
    return [np.empty(shape, np.float32) if each else None for each, shape in pairs]
