"""Kernels of the native module that stand for calls in a program (`native/program_kernels.c`).

Owns: which instructions have one.  Their outputs have places in the memory plan as those of fused
steps do.  What a kernel finds unusual at run time is left to the call.
"""

from __future__ import annotations

import numpy as np

from taper.program.form import Instruction, Value
from taper.program.graph import FLOATS, is_row_major

_INT64 = np.dtype(np.int64)


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
    return _picks(*instruction.arguments)


def _nll_loss_backward(instruction: Instruction) -> bool:
    grad, matrix, target, weight, total, reduction, ignored = instruction.arguments
    return (
        isinstance(grad, Value)
        and isinstance(total, Value)
        and _picks(matrix, target, weight, reduction, ignored)
    )


_KERNELS = {
    ("op", "nll_loss"): ("nll_loss", _nll_loss),
    ("formula", "NllLossBackward0"): ("nll_loss_backward", _nll_loss_backward),
}


def kernel_of(instruction: Instruction) -> str | None:
    """Return the name of the kernel that computes an instruction; None if there is none."""
    name, suits = _KERNELS.get((instruction.kind, instruction.name), (None, None))
    if suits is None or not suits(instruction):
        return None
    given = [*instruction.operands(), *[each for each in instruction.outputs if each is not None]]
    lie_well = all(is_row_major(each.shape, each.strides, each.dtype.itemsize) for each in given)
    return name if lie_well else None
