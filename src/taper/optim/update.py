"""Running an update rule over the arrays, or the Tensors, of one parameter.

A rule is one function `rule(ops, numbers, spare, param, grad, *state)`, written with the functions
of `ops` in the manner `multiply(left, right, out)`, that returns the new param and state.  With
`ops = numpy` it works in place on arrays: nothing is recorded, so nothing needs to be switched
off.  With `ops = recorded` it works on Tensors, ignores every `out`, and can be differentiated
through.  `numbers` holds the coefficients in the form that the mode wants; `spare` are three
arrays to work in, or None: the first is for the gradient with weight decay, and stays.

Owns: the block-wise run (a large parameter is updated in pieces that stay in the cache),
dtypes that are computed in another one, and counting the writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

import ml_dtypes
import numpy as np

from taper import dtypes
from taper.arrays.foreign import ForeignArray
from taper.arrays.strides import is_dense, refuse_overlap
from taper.autograd.conjugate import write_through
from taper.autograd.meta import INFERENCE_COUNTER, VersionCounter
from taper.autograd.views import version_counter
from taper.opdef.out_rules import shared_memory
from taper.ops.elementwise.blend import where
from taper.ops.elementwise.clamping import maximum
from taper.tensor import Tensor, element_strides, wrap

Rule = Callable[..., tuple[Any, ...]]
Place = tuple[CodeType, int]

# Elements of a piece: five float32 arrays of it are 640 kB, about a second-level cache.
BLOCK = 32768
Spare = tuple[Any, Any, Any]
NO_SPARE: Spare = (None, None, None)

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
    def negative(value: Any, out: Any = None) -> Any:
        return -value

    @staticmethod
    def sqrt(value: Any, out: Any = None) -> Any:
        return value.sqrt()

    @staticmethod
    def absolute(value: Any, out: Any = None) -> Any:
        return value.abs()

    @staticmethod
    def maximum(left: Any, right: Any, out: Any = None) -> Any:
        return maximum(left, right) if isinstance(right, Tensor) else left.clamp(min=right)

    @staticmethod
    def minimum(left: Any, right: Any, out: Any = None) -> Any:
        return left.clamp(max=right)

    @staticmethod
    def greater(left: Any, right: Any, out: Any = None) -> Any:
        return left > right

    @staticmethod
    def less(left: Any, right: Any, out: Any = None) -> Any:
        return left < right

    @staticmethod
    def where(condition: Any, left: Any, right: Any) -> Any:
        return where(condition, left, right)


recorded = Recorded()


# --- coefficients ----------------------------------------------------------------------------


def computed_in(dtype: np.dtype) -> np.dtype:
    """Return the dtype that a rule works in for parameters of `dtype`."""
    found: np.dtype = _COMPUTED_IN.get(dtype, dtype)
    if found.kind != "f":
        name = dtypes.FROM_NUMPY[dtype].scalar_type
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")
    return found


class Numbers:
    """Hold the coefficients of a step; a subclass for each rule adds its own, None if not in use.

    `scalars` are the numbers among the parameter's state. Coefficients are made for arrays of
    `dtype`, or, without one, for Tensors: then a hyperparameter that is a Tensor and requires grad
    stays one.
    """

    def __init__(
        self, group: dict[str, Any], scalars: tuple[float, ...], dtype: np.dtype | None
    ) -> None:
        self.dtype = dtype
        self.after = scalars  # what the scalars are after the step
        self.writes = 1  # how often PyTorch writes the parameter, as `_version` shows
        self.negative = group["maximize"]  # the gradient counts with the opposite sign
        self.decay: Any = None  # what the parameter is multiplied with, if decay is decoupled
        self.weight_decay: Any = None
        self.first = False  # the states were made just now
        self.direct = False  # PyTorch writes the parameter with the gradient that it was given

    @property
    def takes_grad(self) -> bool:
        """Tell whether the gradient itself changes the parameter, and nothing made of it."""
        return self.direct and self.weight_decay is None and not self.negative

    def number(self, value: Any) -> Any:
        """Return a coefficient in the form that the rule wants.

        For arrays that is a 0-d array: a ufunc takes 0.3 us longer for a Python number.
        """
        if value.__class__ is not float and isinstance(value, ForeignArray):
            on_device: Any = value
            return on_device.astype(self.dtype)
        return value if self.dtype is None else np.array(value, self.dtype)

    def option(self, value: Any) -> Any:
        """Return a hyperparameter to compute coefficients with."""
        return differentiable_number(value) if self.dtype is None else plain(value)

    def set_decay(self, group: dict[str, Any], lr: Any = None) -> None:
        """Set weight decay through the gradient, or of the parameter itself if `lr` is given."""
        weight_decay = self.option(group["weight_decay"])
        if not weight_decay:
            return
        if lr is None:
            self.weight_decay = self.number(weight_decay)
        else:
            self.decay = self.number(1 - lr * weight_decay)
            self.writes += 1


def differentiable_number(value: Any) -> Any:
    """Return a hyperparameter for Tensors: a number, or a Tensor that requires grad."""
    return value if isinstance(value, Tensor) and value.requires_grad else plain(value)


def plain(value: Any) -> Any:
    """Return a hyperparameter as a Python number, even if it is given as a Tensor."""
    return value.item() if isinstance(value, Tensor) else value


# --- parts of rules --------------------------------------------------------------------------


def with_decay(ops: Any, numbers: Any, spare: Spare, param: Any, grad: Any) -> tuple[Any, Any]:
    """Return the parameter and the gradient to descend along, after decay and `maximize`."""
    if numbers.decay is not None:
        param = ops.multiply(param, numbers.decay, param)
    if numbers.weight_decay is not None:
        decayed = ops.multiply(param, numbers.weight_decay, spare[0])
        combine = ops.subtract if numbers.negative else ops.add
        return param, combine(decayed, grad, spare[0])
    if numbers.negative:
        grad = ops.negative(grad, spare[0])
    return param, grad


class Part:
    """Say how far a running mean goes towards the new value, computed from the nearer end."""

    __slots__ = ("mostly_new", "weight")

    def __init__(self, numbers: Numbers, keep: Any) -> None:
        self.mostly_new = bool(keep <= 0.5)
        self.weight = numbers.number(keep if self.mostly_new else 1 - keep)


def moved(ops: Any, part: Part, spare: Any, mean: Any, value: Any) -> Any:
    """Return the running mean after it took in `value`."""
    change = ops.multiply(ops.subtract(value, mean, spare), part.weight, spare)
    if part.mostly_new:
        return ops.subtract(value, change, mean)
    return ops.add(mean, change, mean)


def moved_square(ops: Any, keep: Any, new: Any, spare: Any, mean: Any, value: Any) -> Any:
    """Return the running mean of squares with `value` in it: `keep * mean + new * value**2`."""
    square = ops.multiply(ops.multiply(value, value, spare), new, spare)
    return ops.add(ops.multiply(mean, keep, mean), square, mean)


# --- running ---------------------------------------------------------------------------------


class _Scratch(threading.local):
    """Hold arrays of BLOCK elements to work in, made once for each dtype of a thread."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[np.dtype, int], np.ndarray] = {}

    def array(self, dtype: np.dtype, number: int) -> np.ndarray:
        found = self.arrays.get((dtype, number))
        if found is None or found.size != BLOCK:
            # Large arrays start at page boundaries, so equal places in them would share cache
            # lines, and a rule would take twice as long: each array is shifted.
            shift = 144 * (number + 1)
            found = self.arrays[dtype, number] = np.empty(BLOCK + shift, dtype)[shift:]
        return found

    def spare(self, dtype: np.dtype, length: int) -> Spare:
        """Return the first three, as a rule wants them."""
        first, second, third = self.array(dtype, 0), self.array(dtype, 1), self.array(dtype, 2)
        return first[:length], second[:length], third[:length]


scratch = _Scratch()


def run_rule(rule: Rule, numbers: Any, *arrays: np.ndarray | None) -> None:
    """Update the arrays (param, grad, state...) in place; None stands for a state not in use."""
    param = arrays[0]
    if param is None:
        raise TypeError("run_rule needs a parameter")
    refuse_overlap(param)
    shared = in_same_memory(numbers, param, arrays[1])
    if param.dtype in _COMPUTED_IN:
        _run_converted(rule, numbers, param, arrays)
    elif (
        param.size <= BLOCK or shared or type(param) is not np.ndarray
    ):  # NumPy handles overlaps, but not those of blocks
        if not param.ndim:
            arrays = tuple(None if each is None else each.reshape(1) for each in arrays)
        rule(np, numbers, NO_SPARE, *arrays)
    else:
        _run_blocks(rule, numbers, param, arrays)


def in_same_memory(numbers: Any, param: np.ndarray, grad: np.ndarray | None) -> bool:
    """Tell whether parameter and gradient overlap in part, which some rules must refuse."""
    if param.base is None or grad is None or grad.base is None or not param.size:
        return False  # only views can
    if not np.may_share_memory(param, grad) or param.ctypes.data == grad.ctypes.data:
        return False
    if numbers.takes_grad and all(
        is_dense(each.shape, element_strides(each)) for each in (param, grad)
    ):
        raise shared_memory()
    return True


def _run_blocks(
    rule: Rule, numbers: Any, param: np.ndarray, arrays: Sequence[np.ndarray | None]
) -> None:
    flat = _flattened(arrays)
    if flat is None:
        rule(np, numbers, NO_SPARE, *arrays)
        return
    for start in range(0, param.size, BLOCK):
        piece = slice(start, start + BLOCK)
        spare = scratch.spare(param.dtype, min(BLOCK, param.size - start))
        rule(np, numbers, spare, *[None if each is None else each[piece] for each in flat])


def _flattened(arrays: Sequence[np.ndarray | None]) -> list[np.ndarray | None] | None:
    """Return the arrays as vectors on the same memory, None if their layouts do not allow it."""
    if all(each is None or each.flags.c_contiguous for each in arrays):
        return [None if each is None else each.reshape(-1) for each in arrays]
    if all(each is None or each.flags.f_contiguous for each in arrays):
        return [None if each is None else each.T.reshape(-1) for each in arrays]
    return None


def _run_converted(
    rule: Rule, numbers: Any, param: np.ndarray, arrays: Sequence[np.ndarray | None]
) -> None:
    """Run a rule on complex numbers as pairs of real ones, and on half precision in float32.

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


def run_whole(rule: Callable[..., None], param: Tensor, *arrays: np.ndarray) -> None:
    """Call a rule that is not element-wise, `rule(param, grad, *state)`, which works in place.

    The call is in the dtype that parameters of this dtype are computed in.
    """
    write_through(param, lambda array: _run_wide(rule, array, *arrays))


def _run_wide(rule: Callable[..., None], *arrays: np.ndarray) -> None:
    dtype = arrays[0].dtype
    wide = computed_in(dtype)
    refuse_overlap(arrays[0])
    if wide is dtype:
        rule(*arrays)
        return
    copies = [each.astype(wide) for each in arrays]
    rule(*copies)
    for position, (array, copy) in enumerate(zip(arrays, copies, strict=True)):
        if position != 1:
            np.copyto(array, copy, casting="unsafe")


def run_recorded(rule: Rule, numbers: Any, *tensors: Any) -> None:
    """Update Tensors, recorded if grad mode is on: the way of `differentiable=True`."""
    # Copies, since what the rule saves of them for the backward pass must not be overwritten.
    given = [None if each is None else each.clone() for each in tensors]
    results = rule(recorded, numbers, NO_SPARE, *given)
    targets = (tensors[0], *tensors[2:])
    for target, result in zip(targets, results, strict=True):
        if target is not None:
            target.copy_(result)


# --- versions --------------------------------------------------------------------------------


def count_writes(place: Place, tensors: Iterable[Tensor], writes: int = 1) -> None:
    """Count writes of each tensor at the user's line `place`."""
    for tensor in tensors:
        counter = tensor._counter
        if counter is None:
            counter = version_counter(tensor)
        if counter is not INFERENCE_COUNTER:
            counter.value += writes
            counter.code, counter.offset = place


def new_state(array: np.ndarray) -> Tensor:
    """Make a tensor for the optimizer's state, whose writes are counted from the start."""
    tensor = wrap(array)
    tensor._counter = VersionCounter()
    return tensor
