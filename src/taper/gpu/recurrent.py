"""LSTMs on the device: one launch through all steps, while the weight fits in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.arrays import recurrent
from taper.gpu import state
from taper.gpu.array import CudaArray, empty
from taper.gpu.texts import TYPES
from taper.gpu.world import meanings, on_device

_ROOM = 220 * 1024  # bytes of shared memory of a block
_FLOATS = (np.dtype("f4"), np.dtype("f8"))


def _shared(size: int, dtype: np.dtype) -> int:
    """The bytes that the kernels keep: the weight, and a dozen vectors."""
    return ((4 * size + 1) * size + 12 * size) * dtype.itemsize


def _fits(arrays: Any, size: int, steps: Any) -> bool:
    """Whether the arrays are for the kernels, and all steps have the same number of rows."""
    dtype = arrays[0].dtype
    if state.runtime.kernels is None or dtype not in _FLOATS or not steps:
        return False
    for each in arrays:
        if each is not None and (
            each.__class__ is not CudaArray or each.dtype is not dtype or not each.size
        ):
            return False
    counts = {count for _, count in steps}
    return len(counts) == 1 and 4 * size <= 1024 and _shared(size, dtype) <= _ROOM


def _dense(array: Any) -> Any:
    return array if array.flags.c_contiguous else array.copy()


def _run(name: str, steps: Any, arrays: tuple[Any, ...], size: int, given: bool) -> None:
    kernels = state.runtime.kernels
    dtype = arrays[0].dtype
    stored, computed = TYPES[dtype]
    function = kernels.named("recurrent", name, T=stored, C=computed)
    first = steps[0][0].start
    stride = steps[1][0].start - first if len(steps) > 1 else 0
    numbers = (size, len(steps), first, stride, int(given))
    threads = max(32, (4 * size + 31) // 32 * 32)
    kernels.launch(function, steps[0][1], threads, (*arrays, *numbers), _shared(size, dtype))


def _lstm(rows: Any, weights: Any, hx: Any, cx: Any, steps: Any) -> Any:
    size = hx.shape[1]
    if not _fits((rows, *weights, hx, cx), size, steps):
        return on_device(recurrent._lstm)(rows, weights, hx, cx, steps)
    workspace = empty((len(rows) * size * 5,), rows.dtype)
    gates, cells = recurrent._parts(workspace, size, 4, 1)
    state.runtime.product(rows[None], weights[0].T[None], gates[None])
    bias = None if weights[2] is None else np.add(weights[2], weights[3])
    output, hidden, cell = empty(cells.shape, rows.dtype), hx.copy(), cx.copy()
    weight = _dense(weights[1])
    given = weight if bias is None else bias
    arrays = (hidden, cell, gates, cells, output, weight, given)
    _run("lstm", steps, arrays, size, bias is not None)
    return output, hidden, cell, workspace


def _lstm_back(
    grad: Any, weight: Any, cx: Any, workspace: Any, steps: Any, to_state: Any, to_cell: Any
) -> Any:
    size = cx.shape[1]
    if not _fits((workspace, weight, cx, grad, to_state, to_cell), size, steps):
        plain = on_device(recurrent._lstm_back)
        return plain(grad, weight, cx, workspace, steps, to_state, to_cell)
    gates, cells = recurrent._parts(workspace, size, 4, 1)
    flat, output = empty(gates.shape, gates.dtype), empty(cells.shape, cells.dtype)
    weight, cx = _dense(weight), _dense(cx)
    outer = cells if grad is None else _dense(grad)
    arrays = (to_state, to_cell, gates, cells, cx, weight, outer, flat, output)
    _run("lstm_back", steps, arrays, size, grad is not None)
    return output, flat


meanings[recurrent._lstm] = _lstm
meanings[recurrent._lstm_back] = _lstm_back
