"""Kernels of the native module that stand for calls in a program (`native/program_kernels.c`).

Owns: which instructions have one.  Their outputs have places in the memory plan as those of fused
steps do.  What a kernel finds unusual at run time is left to the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.program.calls import follow_call
from taper.program.form import Instruction, Value
from taper.program.graph import FLOATS, is_row_major

_INT64 = np.dtype(np.int64)
_FLOAT = np.dtype(np.float32)
_MOST_SCORES = 16384  # of a head of attention, as in native/program_attention.c
_LONGEST_ROW, _MOST_JOINED = 4096, 8  # as in native/program_rows.c
_LARGE = 65536  # bytes of a result below which a copy costs less than to look


def _lie_well(instruction: Instruction) -> bool:
    """Whether all arrays lie row by row."""
    given = [*instruction.operands(), *[each for each in instruction.outputs if each is not None]]
    return all(is_row_major(each.shape, each.strides, each.dtype.itemsize) for each in given)


def _picks(matrix: object, target: object, weight: object, reduction: object, ignored: int) -> bool:
    """Whether each row of a matrix has the number of one of its columns, without weights."""
    if not isinstance(matrix, Value) or not isinstance(target, Value) or weight is not None:
        return False
    return (
        len(matrix.shape) == 2
        and matrix.dtype in FLOATS
        and target.shape == matrix.shape[:1]
        and target.dtype == _INT64
        and 0 not in matrix.shape
        and not 0 <= ignored < matrix.shape[1]
        and reduction in (1, 2)
    )


def _nll_loss(instruction: Instruction) -> bool:
    return _picks(*instruction.arguments) and _lie_well(instruction)


def _nll_loss_backward(instruction: Instruction) -> bool:
    grad, matrix, target, weight, total, reduction, ignored = instruction.arguments
    return (
        isinstance(grad, Value)
        and isinstance(total, Value)
        and _picks(matrix, target, weight, reduction, ignored)
        and _lie_well(instruction)
    )


def _running_values(instruction: Instruction) -> bool:
    """Whether a BatchNorm moves its running values, all of one dtype that needs no conversion."""
    mean, _, _, _, momentum, _ = instruction.arguments
    *vectors, _ = instruction.operands()
    return (
        instruction.run is follow_call
        and momentum.__class__ is float
        and mean.dtype in FLOATS
        and all(each.dtype == mean.dtype for each in vectors)
        and all(is_row_major(each.shape, each.strides, each.dtype.itemsize) for each in vectors)
    )


def _is_short(query: Any, key: Any, mask: object, instruction: Instruction) -> bool:
    """Whether the scores of a head are few, and all arrays are floats."""
    return (
        mask is None
        and len(query.shape) == 4
        and 0 < query.shape[2] * key.shape[2] <= _MOST_SCORES
        and query.shape[:2] == key.shape[:2]
        and all(each.dtype == _FLOAT for each in instruction.operands())
    )


def _attention(instruction: Instruction) -> bool:
    query, key, _, _, _, mask, _ = instruction.arguments
    return _is_short(query, key, mask, instruction)


def _attention_backward(instruction: Instruction) -> bool:
    _, query, key, _, _, _, _, _, mask, _ = instruction.arguments
    return None not in instruction.outputs and _is_short(query, key, mask, instruction)


def _are_floats_in_rows(instruction: Instruction) -> bool:
    return _lie_well(instruction) and all(each.dtype == _FLOAT for each in instruction.operands())


def _layer_norm(instruction: Instruction) -> bool:
    _, shape, weight, bias, _ = instruction.arguments
    is_whole = isinstance(weight, Value) and isinstance(bias, Value)
    return is_whole and 0 < math.prod(shape) <= _LONGEST_ROW and _are_floats_in_rows(instruction)


def _layer_norm_backward(instruction: Instruction) -> bool:
    _, _, shape, weight, _, _, _, needs = instruction.arguments
    is_whole = isinstance(weight, Value) and all(needs)
    return is_whole and 0 < math.prod(shape) <= _LONGEST_ROW and _are_floats_in_rows(instruction)


def _join(instruction: Instruction) -> bool:
    """Whether gradients of parts are put side by side along the last dimension."""
    parts = list(instruction.operands())
    (made,) = instruction.outputs
    return (
        made is not None
        and 1 < len(parts) <= _MOST_JOINED
        and len(made.shape) > 1
        and is_row_major(made.shape, made.strides, made.dtype.itemsize)
        and all(each.dtype == _FLOAT and each.shape[:-1] == made.shape[:-1] for each in parts)
        and all(each.strides[-1] == _FLOAT.itemsize for each in parts)
        and sum(each.shape[-1] for each in parts) == made.shape[-1]
        and made.nbytes >= _LARGE
    )


def _select_backward(instruction: Instruction) -> bool:
    (made,) = instruction.outputs
    return made is not None and made.nbytes >= _LARGE and _are_floats_in_rows(instruction)


_KERNELS: dict[tuple[str, str], tuple[str, Callable[[Instruction], bool]]] = {
    ("op", "nll_loss"): ("nll_loss", _nll_loss),
    ("formula", "NllLossBackward0"): ("nll_loss_backward", _nll_loss_backward),
    ("write", "batch_norm"): ("running_values", _running_values),
    ("op", "_scaled_dot_product_flash_attention_for_cpu"): ("attention", _attention),
    ("formula", "ScaledDotProductFlashAttentionForCpuBackward0"): (
        "attention_backward",
        _attention_backward,
    ),
    ("op", "native_layer_norm"): ("layer_norm", _layer_norm),
    ("formula", "NativeLayerNormBackward0"): ("layer_norm_backward", _layer_norm_backward),
    ("formula", "SplitBackward0"): ("join", _join),
    ("formula", "SplitWithSizesBackward0"): ("join", _join),
    ("formula", "SelectBackward0"): ("select_backward", _select_backward),
}


def kernel_of(instruction: Instruction) -> str | None:
    """Return the name of the kernel that computes an instruction; None if there is none."""
    found = _KERNELS.get((instruction.kind, instruction.name))
    if found is None or not found[1](instruction) or not native.has_kernel(found[0]):
        return None
    return found[0]
