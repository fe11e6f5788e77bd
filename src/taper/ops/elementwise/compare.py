"""Comparisons, logic and questions about elements; nothing here is differentiable.

Owns: the operators that answer with bool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.foreign import as_array, refuse_without_elements
from taper.arrays.layouts import ELEMENTWISE
from taper.arrays.strides import broadcast_clash, not_viewable, view_strides
from taper.autograd.state import DUAL, NO_GRAD, local
from taper.device import CPU
from taper.dtypes import C_NAMES
from taper.factory import allocate, finish
from taper.opdef import (
    SAME,
    Array,
    Operand,
    alias,
    composite,
    derivative,
    inplace_function,
    op,
)
from taper.opdef.dtype_checks import COMPLEX, WIDE, not_implemented, refuse
from taper.opdef.in_place import recorded_in_place, twin_in_place
from taper.opdef.operands import invalid_combination, python_number
from taper.opdef.writes import compute_into
from taper.ops.elementwise.complexes import zeros_like
from taper.tensor import Tensor, element_strides

_OVERLOADS = (
    "(Tensor input, Tensor other, *, Tensor out = None)",
    "(Tensor input, Number other, *, Tensor out = None)",
)


# --- comparisons -----------------------------------------------------------------------------


def _comparison(ufunc: np.ufunc, *refused: str) -> Callable[[Callable[..., Any]], Any]:
    def declare(kernel: Callable[..., Any]) -> Any:
        return op(
            promote=SAME,
            inplace=True,
            out=True,
            ufunc=ufunc,
            check=not_implemented(f"{kernel.__name__}_cpu", *refused) if refused else None,
            signatures=_OVERLOADS,
        )(kernel)

    return declare


@_comparison(np.equal)
def eq(self: Array, other: Operand) -> Array:
    """Compare two tensors for equality, element by element.

    result = (input == other)

    Args:
        input: first tensor.
        other: a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
        shape.

    Example:
        >>> import taper
        >>> taper.eq(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
    """
    return np.equal(self, other)


@_comparison(np.not_equal)
def ne(self: Array, other: Operand) -> Array:
    """Tell where two tensors differ.

    >>> import taper
    >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
    return np.not_equal(self, other)


@_comparison(np.less, *COMPLEX, *WIDE)
def lt(self: Array, other: Operand) -> Array:
    """Tell where the first tensor is smaller than the second.

    >>> import taper
    >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
    tensor([ True, False])
    """
    return np.less(self, other)


@_comparison(np.less_equal, *COMPLEX, *WIDE)
def le(self: Array, other: Operand) -> Array:
    """Tell where the first tensor is less than or equal to the second.

    result = (input ≤ other)

    Args:
        input: first tensor.
        other: a tensor or a number.
        out: tensor that receives the result.

    Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
        shape.

    Example:
        >>> import taper
        >>> taper.le(taper.tensor([1.0, 2.0]), 1)
        tensor([ True, False])
    """
    return np.less_equal(self, other)


@_comparison(np.greater, *COMPLEX, *WIDE)
def gt(self: Array, other: Operand) -> Array:
    """Tell where the first tensor is larger than the second.

    >>> import taper
    >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
    tensor([False,  True])
    """
    return np.greater(self, other)


@_comparison(np.greater_equal, *COMPLEX, *WIDE)
def ge(self: Array, other: Operand) -> Array:
    """Tell where the first tensor is larger than or equal to the second.

    >>> import taper
    >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
    tensor([False,  True])
    """
    return np.greater_equal(self, other)


def _recorded_comparison(function: Any) -> None:
    """Record comparisons that are written in place, with gradients of zero, as PyTorch does."""
    entry = function.op

    def of_number(self: Array, other: Operand) -> Array:
        """Write a comparison with a number in place."""
        return entry.ufunc(self, other)

    def of_tensor(self: Array, other: Array) -> Array:
        """Write a comparison with a tensor in place."""
        return entry.ufunc(self, other)

    node = f"{entry.name.capitalize()}Backward"
    number = twin_in_place(function, f"_{entry.name}_number", f"{node}0", of_number)
    tensor = twin_in_place(function, f"_{entry.name}_tensor", f"{node}1", of_tensor)
    derivative(number, wrt="self")(_no_slope)
    derivative(tensor, wrt="self")(_no_slope)
    derivative(tensor, wrt="other")(_no_slope)

    @recorded_in_place(function)
    def choose(self: Any, other: Any) -> Any:
        return tensor if isinstance(other, Tensor) else number


def _no_slope(grad: Any) -> Any:
    return zeros_like(grad)


for _each in (eq, ne, lt, le, gt, ge):
    _recorded_comparison(_each)

alias("not_equal", ne)
alias("less", lt)
alias("less_equal", le)
alias("greater", gt)
alias("greater_equal", ge)


@composite(arrays=True)
def isclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Tell where two tensors differ by at most `atol + rtol * abs(other)`.

    >>> import taper
    >>> taper.isclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    for position, (name, each) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"isclose(): argument '{name}' (position {position}) must be Tensor, not "
                f"{type(each).__name__}"
            )
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.scalar_type} did not match {other.dtype.scalar_type}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance < 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {tolerance:g}"
            )
    first, second = input._array, other._array
    clash = broadcast_clash([first.shape, second.shape])
    if clash is not None:
        raise clash
    close = np.equal(first, second)
    if equal_nan and first.dtype.kind not in "biu":
        close = close | (np.isnan(first) & np.isnan(second))
    if rtol == 0 and atol == 0:
        return finish(ELEMENTWISE(as_array(close), (first, second)))
    if first.dtype.kind in "bu":
        first, second = first.astype(np.int64), second.astype(np.int64)
    allowed = np.abs(second) * rtol + atol
    error = np.abs(first - second)
    close = close | (np.isfinite(error) & (error <= allowed))
    return finish(ELEMENTWISE(as_array(close), (input._array, other._array)))


@composite(arrays=True)
def allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Tell whether all elements of two tensors are close to each other.

    Close means |input - other| ≤ atol + rtol · |other|.

    Args:
        input: first tensor.
        other: second tensor, of the same dtype; it broadcasts with the first.
        rtol: relative tolerance.
        atol: absolute tolerance.
        equal_nan: whether nan counts as close to nan.

    Returns: True or False.

    Example:
        >>> import taper
        >>> taper.allclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.0]))
        True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all().item())


@composite(arrays=True)
def equal(input: Any, other: Any) -> bool:
    """Tell whether two tensors have the same shape and elements.

    >>> import taper
    >>> taper.equal(taper.tensor([1, 2]), taper.tensor([1, 2]))
    True
    """
    for position, (name, each) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"equal(): argument '{name}' (position {position}) must be Tensor, not "
                f"{type(each).__name__}"
            )
    first, second = input._array, other._array
    refuse_without_elements(first, "equal")
    return first.shape == second.shape and bool(np.equal(first, second).all())


_ISIN = tuple(
    f"({pair}, *, bool assume_unique = False, bool invert = False, Tensor out = None)"
    for pair in (
        "Tensor elements, Tensor test_elements",
        "Number element, Tensor test_elements",
        "Tensor elements, Number test_element",
    )
)


@composite(method=False, arrays=True)
def isin(
    elements: Any = None,
    test_elements: Any = None,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
    element: Any = None,
    test_element: Any = None,
) -> Any:
    """Tell which of `elements` are among `test_elements`.

    >>> import taper
    >>> taper.isin(taper.tensor([1, 2, 3]), taper.tensor([2, 5]))
    tensor([False,  True, False])
    """
    arrays = []
    first_given = elements if element is None else element
    second_given = test_elements if test_element is None else test_element
    given = (first_given, second_given)
    fits = [isinstance(each, (Tensor, bool, int, float, complex, np.generic)) for each in given]
    if not all(fits) or not any(isinstance(each, Tensor) for each in given):
        raise invalid_combination("isin", given, _ISIN)
    for each in given:
        if isinstance(each, int) and not -(2**63) <= each < 2**64:
            raise OverflowError("int too big to convert")
        array = each._array if isinstance(each, Tensor) else np.array(python_number(each))
        kind = dtypes.FROM_NUMPY[array.dtype]
        if kind is dtypes.bool_ or kind.is_complex:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind.scalar_type}")
        arrays.append(array)
    common = dtypes.result_type(arrays)
    not_implemented("isin_default_cpu", *WIDE)(common, ())
    _refuse_gaps(*arrays)
    first, second = (array.astype(common.numpy, copy=False) for array in arrays)
    foreign = next((each.device for each in given if isinstance(each, Tensor)), CPU)
    if foreign.type == "meta":
        return finish(allocate(first.shape, np.dtype(bool), None, foreign))
    if common is dtypes.bfloat16:
        first, second = first.astype(np.float32), second.astype(np.float32)
    found = finish(np.asarray(np.isin(first, second, invert=invert)))
    return found if out is None else compute_into(None, lambda: found, (), out, _expect_bool)


def _refuse_gaps(elements: ndarray, tests: ndarray) -> None:
    """Raise for the few test elements that PyTorch looks at one by one, as a flat view of them."""
    few = elements.size and tests.size < int(10 * elements.size**0.145)
    if few and view_strides(tests.shape, element_strides(tests), (tests.size,)) is None:
        raise not_viewable()


def _expect_bool(out: ndarray, result: ndarray) -> None:
    if out.dtype != np.bool_:
        got = C_NAMES[dtypes.FROM_NUMPY[out.dtype]]
        raise RuntimeError(f"Expected out tensor to have dtype bool, but got {got} instead")


# --- questions about one element -------------------------------------------------------------


def _never(self: ndarray) -> ndarray:
    return np.zeros_like(self, np.bool_, order="C", subok=False)


@op(layout=ELEMENTWISE)
def isnan(self: Array) -> Array:
    """Tell which elements are nan.

    Args:
        input: a tensor; a complex element is nan if either of its parts is.

    Shape: the result is a bool tensor with the shape of `input`.

    Example:
        >>> import taper
        >>> taper.isnan(taper.tensor([1.0, float("nan")]))
        tensor([False,  True])
    """
    return _never(self) if self.dtype.kind in "biu" else np.isnan(self)


@op(layout=ELEMENTWISE)
def isinf(self: Array) -> Array:
    """Tell which elements are infinite.

    >>> import taper
    >>> taper.isinf(taper.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
    return _never(self) if self.dtype.kind in "biu" else np.isinf(self)


@op(layout=ELEMENTWISE)
def isfinite(self: Array) -> Array:
    """Tell which elements are neither infinite nor nan.

    >>> import taper
    >>> taper.isfinite(taper.tensor([1.0, float("inf")]))
    tensor([ True, False])
    """
    return ~_never(self) if self.dtype.kind in "biu" else np.isfinite(self)


def _only_bool(name: str) -> Callable[[ndarray, ndarray], None]:
    def check(out: ndarray, result: ndarray) -> None:
        if out.dtype != np.bool_:
            raise RuntimeError(f"{name} does not support non-boolean outputs.")

    return check


@op(
    promote=SAME,
    out=_only_bool("isposinf"),
    check=refuse(RuntimeError, "isposinf does not support complex inputs.", *COMPLEX),
    layout=ELEMENTWISE,
)
def isposinf(self: Array) -> Array:
    """Tell which elements are +inf.

    >>> import taper
    >>> taper.isposinf(taper.tensor([float("inf"), -float("inf")]))
    tensor([ True, False])
    """
    return _never(self) if self.dtype.kind in "biu" else np.equal(self, np.inf)


@op(
    promote=SAME,
    out=_only_bool("isneginf"),
    check=refuse(RuntimeError, "isneginf does not support complex inputs.", *COMPLEX),
    layout=ELEMENTWISE,
)
def isneginf(self: Array) -> Array:
    """Tell which elements are -inf.

    >>> import taper
    >>> taper.isneginf(taper.tensor([float("inf"), -float("inf")]))
    tensor([False,  True])
    """
    return _never(self) if self.dtype.kind in "biu" else np.equal(self, -np.inf)


@op(layout=ELEMENTWISE)
def isreal(self: Array) -> Array:
    """Tell which elements have the imaginary part zero.

    >>> import taper
    >>> taper.isreal(taper.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """
    return np.equal(self.imag, 0) if self.dtype.kind == "c" else ~_never(self)


@op(
    promote=SAME,
    out=True,
    check=refuse(NotImplementedError, "signbit is not implemented for complex tensors.", *COMPLEX),
    layout=ELEMENTWISE,
)
def signbit(self: Array) -> Array:
    """Tell which elements have a minus sign; -0.0 has one.

    >>> import taper
    >>> taper.signbit(taper.tensor([-0.0, 1.0]))
    tensor([ True, False])
    """
    return np.less(self, 0) if self.dtype.kind in "iu" else np.signbit(self)


# --- logic -----------------------------------------------------------------------------------


@op(
    promote=SAME,
    out=True,
    ufunc=np.logical_and,
    check=not_implemented("logical_and_cpu", *WIDE),
)
def logical_and(self: Array, other: Array) -> Array:
    """Tell where both tensors are not zero.

    >>> import taper
    >>> taper.logical_and(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
    tensor([ True, False])
    """
    return np.logical_and(self, other)


@op(
    promote=SAME,
    out=True,
    ufunc=np.logical_or,
    check=not_implemented("logical_or_cpu", *WIDE),
)
def logical_or(self: Array, other: Array) -> Array:
    """Tell where at least one of two tensors is not zero.

    >>> import taper
    >>> taper.logical_or(taper.tensor([1.0, 0.0]), taper.tensor([False, False]))
    tensor([ True, False])
    """
    return np.logical_or(self, other)


@op(
    promote=SAME,
    out=True,
    ufunc=np.logical_xor,
    check=not_implemented("logical_xor_cpu", *WIDE),
)
def logical_xor(self: Array, other: Array) -> Array:
    """Tell where exactly one of two tensors is not zero.

    >>> import taper
    >>> taper.logical_xor(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
    tensor([False,  True])
    """
    return np.logical_xor(self, other)


@op(
    promote=SAME,
    out=True,
    ufunc=np.logical_not,
    check=not_implemented("logical_not_cpu", *WIDE),
)
def logical_not(self: Array) -> Array:
    """Tell which elements are zero.

    >>> import taper
    >>> taper.logical_not(taper.tensor([1.0, 0.0]))
    tensor([False,  True])
    """
    return np.logical_not(self)


def _beside_autograd(function: Any) -> Any:
    """Make the in-place form, which autograd does not see: the target keeps node and tangent."""
    in_place = inplace_function(function)

    def write(self: Tensor, *others: Tensor) -> Tensor:
        state = local.state
        mode = state.mode
        state.mode = mode & ~DUAL | NO_GRAD
        try:
            written: Tensor = in_place(self, *others)
        finally:
            state.mode = mode
        return written

    return write


def _recordless(function: Any) -> Any:
    write = _beside_autograd(function)

    def write_both(self: Tensor, other: Tensor) -> Tensor:
        written: Tensor = write(self, other)
        return written

    write_both.__doc__ = f"In-place version of `{function.op.name}`, unrecorded."
    return composite(name=f"{function.op.name}_", public=False)(write_both)


logical_and_in_place = _recordless(logical_and)
logical_or_in_place = _recordless(logical_or)
logical_xor_in_place = _recordless(logical_xor)
_inverted_in_place = _beside_autograd(logical_not)


@composite(name="logical_not_", public=False)
def logical_not_in_place(self: Tensor) -> Tensor:
    """In-place version of `logical_not`, unrecorded."""
    written: Tensor = _inverted_in_place(self)
    return written
