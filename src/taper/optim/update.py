"""Running an update rule over one parameter.

A rule is one function `rule(ops, numbers, spare, param, grad, *state)`, written with the six
functions of `ops` in the manner `multiply(left, right, out)`, that returns the new param and
state.  With `ops = numpy` it works in place on arrays: nothing is recorded, so nothing needs to be
switched off.  With `ops = recorded` it works on Tensors, ignores every `out`, and can be
differentiated through.  `numbers` holds the coefficients in the form that the mode wants;
`spare` is a pair of arrays to work in, or of None.

Owns: the block-wise run (a large parameter is updated in pieces that stay in the cache),
dtypes that are computed in another one, and counting the writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import ml_dtypes
import numpy as np

from taper.autograd.meta import INFERENCE_COUNTER, VersionCounter
from taper.autograd.state import local
from taper.autograd.views import check_inplace, version_counter
from taper.ops.clamping import maximum
from taper.tensor import Tensor, wrap

Rule = Callable[..., tuple[Any, ...]]
Place = tuple[CodeType, int]

# Elements of a piece: five float32 arrays of it are 640 kB, about a second-level cache.
BLOCK = 32768
NO_SPARE = (None, None)

_COMPUTED_IN: dict[Any, Any] = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}


class Recorded:
    """The functions of a rule on Tensors; the place for the result is not used."""

    @staticmethod
    def add(left: Any, right: Any, out: Any = None) -> Any:
        return left + right

    @staticmethod
    def subtract(left: Any, right: Any, out: Any = None) -> Any:
        return left - right

    @staticmethod
    def multiply(left: Any, right: Any, out: Any = None) -> Any:
        return left * right

    @staticmethod
    def divide(left: Any, right: Any, out: Any = None) -> Any:
        return left / right

    @staticmethod
    def sqrt(value: Any, out: Any = None) -> Any:
        return value.sqrt()

    @staticmethod
    def maximum(left: Any, right: Any, out: Any = None) -> Any:
        return maximum(left, right)


recorded = Recorded()


class _Spare(threading.local):
    """Two arrays of BLOCK elements for each dtype, made once in a thread."""

    def __init__(self) -> None:
        self.pairs: dict[np.dtype, tuple[np.ndarray, np.ndarray]] = {}

    def of(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        pair = self.pairs.get(dtype)
        if pair is None or pair[0].size != BLOCK:
            pair = self.pairs[dtype] = (np.empty(BLOCK, dtype), np.empty(BLOCK, dtype))
        return pair


_spare = _Spare()


def computed_in(dtype: np.dtype) -> np.dtype:
    """The dtype that a rule works in for parameters of `dtype`."""
    found: np.dtype = _COMPUTED_IN.get(dtype, dtype)
    return found


def number_maker(dtype: np.dtype | None) -> Callable[[Any], Any]:
    """What turns a coefficient into the form that a rule wants.

    For arrays of `dtype` that is a 0-d array (a ufunc takes 0.3 us longer for a Python number).
    Without a dtype, for Tensors, it is a number, or a Tensor to differentiate with respect to.
    """
    if dtype is None:
        return differentiable_number

    def number(value: float) -> np.ndarray:
        return np.array(value, dtype)

    return number


def differentiable_number(value: Any) -> Any:
    """A hyperparameter to compute with on Tensors: a number, or a Tensor that requires grad."""
    return value if isinstance(value, Tensor) and value.requires_grad else plain(value)


def plain(value: Any) -> Any:
    """A hyperparameter as a Python number, also if it is given as a Tensor."""
    return value.item() if isinstance(value, Tensor) else value


def run_rule(rule: Rule, numbers: Any, *arrays: np.ndarray | None) -> None:
    """Update the arrays (param, grad, state...) in place; None stands for a state not in use."""
    param = arrays[0]
    if param is None:
        raise TypeError("run_rule needs a parameter")
    if param.dtype in _COMPUTED_IN:
        _run_converted(rule, numbers, param, arrays)
    elif param.size <= BLOCK:
        if not param.ndim:
            arrays = tuple(None if each is None else each.reshape(1) for each in arrays)
        rule(np, numbers, NO_SPARE, *arrays)
    else:
        _run_blocks(rule, numbers, param, arrays)


def _run_blocks(
    rule: Rule, numbers: Any, param: np.ndarray, arrays: Sequence[np.ndarray | None]
) -> None:
    flat = _flattened(arrays)
    if flat is None:
        rule(np, numbers, NO_SPARE, *arrays)
        return
    first, second = _spare.of(param.dtype)
    for start in range(0, param.size, BLOCK):
        piece = slice(start, start + BLOCK)
        length = min(BLOCK, param.size - start)
        spare = (first[:length], second[:length])
        rule(np, numbers, spare, *[None if each is None else each[piece] for each in flat])


def _flattened(arrays: Sequence[np.ndarray | None]) -> list[np.ndarray | None] | None:
    """The arrays as vectors on the same memory, None if their layouts do not allow it."""
    if all(each is None or each.flags.c_contiguous for each in arrays):
        return [None if each is None else each.reshape(-1) for each in arrays]
    if all(each is None or each.flags.f_contiguous for each in arrays):
        return [None if each is None else each.T.reshape(-1) for each in arrays]
    return None


def _run_converted(
    rule: Rule, numbers: Any, param: np.ndarray, arrays: Sequence[np.ndarray | None]
) -> None:
    """Complex numbers are pairs of real ones; half precision is computed in float32.

    Differs: PyTorch rounds half precision after each operation, unless `fused`.
    """
    if param.dtype.kind == "c":
        run_rule(rule, numbers, *[None if each is None else each.real for each in arrays])
        run_rule(rule, numbers, *[None if each is None else each.imag for each in arrays])
        return
    wide = [None if each is None else each.astype(np.float32) for each in arrays]
    run_rule(rule, numbers, *wide)
    for position, (target, result) in enumerate(zip(arrays, wide, strict=True)):
        if target is not None and result is not None and position != 1:
            np.copyto(target, result, casting="unsafe")


def run_recorded(rule: Rule, numbers: Any, *tensors: Any) -> None:
    """The same on Tensors, recorded if grad mode is on: the way of `differentiable=True`."""
    # Copies, since what the rule saves of them for the backward pass must not be overwritten.
    given = [None if each is None else each.clone() for each in tensors]
    results = rule(recorded, numbers, NO_SPARE, *given)
    targets = (tensors[0], *tensors[2:])
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            target.copy_(result)


def check_writable(param: Tensor) -> None:
    """Refuse an inference tensor outside of inference mode, before anything is changed."""
    if param._counter is INFERENCE_COUNTER:
        check_inplace(param, False, local.state)


def count_writes(place: Place, *tensors: Tensor) -> None:
    """Count a write of each tensor at the user's line `place`."""
    for tensor in tensors:
        counter = tensor._counter
        if counter is None:
            counter = version_counter(tensor)
        if counter is not INFERENCE_COUNTER:
            counter.value += 1
            counter.code, counter.offset = place


def new_state(array: np.ndarray) -> Tensor:
    """A tensor for the optimizer's state, whose writes are counted from the start."""
    tensor = wrap(array)
    tensor._counter = VersionCounter()
    return tensor
