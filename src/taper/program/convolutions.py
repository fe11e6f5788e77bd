"""Convolutions of programs that may round otherwise: after Winograd, where that is faster.

Owns: which convolutions; the arithmetic is in `native/winograd.c`.  Sums are formed in another
order than in eager mode, with errors of the same size: against float64, 0.4 to 2.5 times those of
eager mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from taper.arrays.native import native
from taper.ops.conv.convolution import convolution, convolution_all, convolution_backward
from taper.program.form import Instruction
from taper.program.graph import is_row_major

_TO_OUTPUT, _TO_INPUT, _TO_WEIGHT = range(3)
_FLOAT = np.dtype(np.float32)


def fast_convolution(instruction: Instruction) -> Callable[..., Any] | None:
    """Return what runs a convolution, or its gradients, after Winograd; None for all others."""
    if native is None:
        return None
    of, arguments = instruction.of, instruction.arguments
    run: Callable[..., Any]
    if instruction.kind == "op" and of is convolution.op:
        weight, settings, run = arguments[1], arguments[3:], _convolve
    elif instruction.kind == "formula" and of.function is convolution_all:
        weight, settings, run = arguments[2], arguments[4:10], _gradients
    else:
        return None
    stride, _, dilation, transposed, _, groups = settings
    is_plain = all(
        each.dtype == _FLOAT and is_row_major(each.shape, each.strides, 4)
        for each in instruction.operands()
    )
    if not is_plain or transposed or groups != 1 or weight.shape[2:] != (3, 3):
        return None
    return run if tuple(stride) == tuple(dilation) == (1, 1) else None


def _convolve(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, *rest: Any) -> Any:
    found = _output(input, weight, bias, tuple(padding))
    if found is not None:
        return found
    return convolution.op.forward(input, weight, bias, stride, padding, *rest)


def _gradients(
    grad: Any, input: Any, weight: Any, bias_shape: Any, stride: Any, padding: Any, *rest: Any
) -> list[Any]:
    *settings, needs = rest
    padding = tuple(padding)
    found: list[Any] = [None, None, None]
    if needs[1]:  # first: it needs more scratch memory
        found[1] = _weight_gradient(grad, input, weight, padding)
    if needs[0]:
        found[0] = _input_gradient(grad, input, weight, padding)
    left = tuple([needed and each is None for needed, each in zip(needs, found, strict=True)])
    if any(left):
        others = convolution_backward.op.forward(
            *(grad, input, weight, bias_shape, stride, padding), *settings, left
        )
        found = [
            other if wanted else each
            for other, wanted, each in zip(others, left, found, strict=True)
        ]
    return found


def _output(input: Any, weight: Any, bias: Any, padding: Any) -> Any:
    sizes = [length + 2 * each - 2 for length, each in zip(input.shape[2:], padding, strict=True)]
    out = np.empty((len(input), len(weight), *sizes), np.float32)
    return out if native.winograd(_TO_OUTPUT, input, weight, out, padding, bias) else None


def _input_gradient(grad: Any, input: Any, weight: Any, padding: Any) -> Any:
    out = np.empty(input.shape, np.float32)
    return out if native.winograd(_TO_INPUT, out, weight, grad, padding, None) else None


def _weight_gradient(grad: Any, input: Any, weight: Any, padding: Any) -> Any:
    out = np.empty(weight.shape, np.float32)
    return out if native.winograd(_TO_WEIGHT, input, out, grad, padding, None) else None
