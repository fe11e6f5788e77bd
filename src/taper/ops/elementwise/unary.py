"""Functions of one tensor, element by element: signs, roots, exponentials, logarithms, sigmoid.

Owns: unary arithmetic.  Trigonometry is in `trigonometry`, rounding in `rounding`, erf and gamma in
`special`, activations in `activation`.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import (
    LOW_PRECISION,
    ONE,
    in_float32,
    is_low,
    lasting_zeros,
    logistic,
    masked,
)
from taper.arrays.layouts import ELEMENTWISE, ROW_MAJOR, settled
from taper.arrays.native import curve
from taper.arrays.special_functions import complex_log1p
from taper.arrays.strides import in_rows
from taper.autograd.state import local
from taper.autograd.views import check_inplace
from taper.opdef import (
    FLOAT,
    FUNCTION,
    LINEAR,
    POINTWISE,
    SAME,
    Array,
    alias,
    composite,
    derivative,
    inplace_function,
    op,
    tangent_of,
)
from taper.opdef.dtype_checks import (
    BOOL,
    COMPLEX,
    WIDE,
    all_of,
    no_negation,
    not_implemented,
    refuse,
)
from taper.ops.elementwise.complexes import conj, sgn_complex, zeros_like
from taper.ops.elementwise.number import scaled
from taper.tensor import Tensor, array_of, wrap

_LN2 = math.log(2)
_LN10 = math.log(10)


# --- signs -----------------------------------------------------------------------------------


@op(
    promote=SAME,
    tangent=LINEAR,
    inplace=FUNCTION,
    out=True,
    ufunc=np.negative,
    check=all_of(no_negation, not_implemented("neg_cpu", *WIDE)),
)
def neg(self: Array) -> Array:
    """Change the sign of every element.

    result = -input

    Args:
        input: a tensor; bool is refused.
        out: tensor that receives the result.

    Shape: the result has the shape and dtype of `input`.

    Example:
        >>> import taper
        >>> taper.neg(taper.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
    """
    return np.negative(self)


@derivative(neg, wrt="self", real=settled(np.negative, ELEMENTWISE))
def neg_self(grad):
    return -grad


alias("negative", neg)


@composite()
def positive(input: Any) -> Any:
    """Return the tensor itself; bool is refused.

    >>> import taper
    >>> taper.positive(taper.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    if input._array.dtype == np.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@op(promote=SAME, out=True, ufunc=np.abs, check=not_implemented("abs_cpu", *BOOL, *WIDE))
def abs(self: Array) -> Array:
    """Take the absolute value of every element.

    result = |input|; of a complex element its distance from zero, a real number.

    Args:
        input: a tensor.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.abs(taper.tensor([1.0, -2.0]))
        tensor([1., 2.])
    """
    return np.abs(self)


_multiply = settled(np.multiply, ELEMENTWISE)
_native_abs_backward = curve("abs_backward")


@derivative(abs, wrt="self")
def abs_self(grad, self):
    if grad.__class__ is ndarray and self.dtype.kind == "c":
        # Converted first, a gradient that is repeated has a layout of its own.
        return _multiply(grad.astype(self.dtype), sgn(self))
    if self.__class__ is ndarray and (found := _native_abs_backward(self, grad)) is not None:
        return found
    return grad * sgn(self)


@tangent_of(abs)
def abs_tangent(self_t, self):
    if self.dtype.is_complex:
        return (self_t * conj(sgn(self))).real
    return self_t * sgn(self)


_abs_in_place = inplace_function(abs)


@composite(name="abs_")
def abs_in_place(input: Any) -> Any:
    """In-place version of `abs`."""
    if input.dtype.is_complex:
        check_inplace(input, False, local.state)
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return _abs_in_place(input)


alias("absolute", abs, inplace_function=False)


_natively_sign = curve("sign")


def _sign(values: ndarray) -> Any:
    """Return -1, 0 or 1; nan counts as zero, as in PyTorch."""
    kind = values.dtype.kind
    if kind == "b":
        return values.copy()
    if kind in "iu":
        return np.sign(values)
    if (found := _natively_sign(values)) is not None:
        return found
    zero = values.dtype.type(0)
    return np.subtract(values > zero, values < zero, dtype=np.float32).astype(
        values.dtype, copy=False
    )


@op(
    promote=SAME,
    tangent=POINTWISE,
    inplace=True,
    out=True,
    check=all_of(
        refuse(
            NotImplementedError,
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead.",
            *COMPLEX,
        ),
        not_implemented("sign_cpu", *WIDE),
    ),
)
def sign(self: Array) -> Array:
    """Return the sign of every element: -1, 0 or 1.

    >>> import taper
    >>> taper.sign(taper.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    return _sign(self)


@derivative(sign, wrt="self")
def sign_self(grad):
    return zeros_like(grad)


@op(
    promote=SAME,
    inplace=True,
    out=True,
    check=not_implemented("sign_cpu", *WIDE),
    layout=ELEMENTWISE,
)
def sgn(self: Array) -> Array:
    """Return the sign of real elements; divide complex ones by their absolute value, zero at zero.

    >>> import taper
    >>> taper.sgn(taper.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """
    return sgn_complex(self) if self.dtype.kind == "c" else _sign(self)


@derivative(sgn, wrt="self")
def sgn_self(grad, self, result):
    return _turning(grad, self, result)


@tangent_of(sgn)
def sgn_tangent(self_t, self, result):
    return _turning(self_t, self, result)


def _turning(change: Any, value: Any, result: Any) -> Any:
    """Keep of a change what leaves the absolute value as it is: nothing for real numbers."""
    array = array_of(value)
    if array.dtype.kind != "c":
        # In rows, whatever the layout of the change is.
        if isinstance(change, Tensor):
            return wrap(np.zeros(array.shape, array.dtype))
        return lasting_zeros(array.shape, array.dtype)
    size = abs(value)
    there = size != 0
    along = (change * conj(result)).real * result
    return (change - along) / (size + ~there) * there


# --- roots and quotients ---------------------------------------------------------------------


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def reciprocal(self: Array) -> Array:
    """Compute 1 / x of every element.

    >>> import taper
    >>> taper.reciprocal(taper.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """
    return inverted(self)


@derivative(reciprocal, wrt="self")
def reciprocal_self(grad, result):
    return -grad * conj(result * result)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.sqrt)
def sqrt(self: Array) -> Array:
    """Take the square root of every element.

    result = √x for each x of `input`; nan below 0.

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sqrt(taper.tensor([4.0, 9.0]))
        tensor([2., 3.])
    """
    return np.sqrt(self)


@derivative(sqrt, wrt="self")
def sqrt_self(grad, result):
    return grad / conj(result + result)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def rsqrt(self: Array) -> Array:
    """Take one over the square root of every element.

    result = 1 / √x for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.rsqrt(taper.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
    """
    return _low_inverse_root(self) if self.dtype in LOW_PRECISION else inverse_root(self)


_native_root = curve("rsqrt")
_VECTOR = 32  # halves in a register of 64 bytes


def _low_inverse_root(array: ndarray) -> Any:
    """Compute 1 / sqrt(x) in half precision: rounded once, as PyTorch does vector by vector.

    It rounds the root of what fills no vector, too; of strided arrays that is all.
    """
    root = np.asarray(np.sqrt(array.astype(np.float32)))
    result = np.asarray(1 / root.astype(array.dtype).astype(np.float32)).astype(array.dtype)
    whole = array.size - array.size % _VECTOR
    if whole and array.flags.forc:
        once, flat = root.ravel("K"), result.ravel("K")
        flat[:whole] = 1 / once[:whole]
        result = flat.reshape(array.shape, order="C" if array.flags.c_contiguous else "F")
    return result


def inverse_root(array: Any) -> Any:
    """Compute 1 / sqrt(x), natively where it can be."""
    found = _native_root(array)
    return inverted(np.sqrt(array)) if found is None else found


_natively_reciprocal = curve("reciprocal")


def inverted(array: Any) -> Any:
    """Compute 1 / x; complex zero gives infinity, where NumPy's reciprocal is NaN."""
    if (found := _natively_reciprocal(array)) is not None:
        return found
    return np.reciprocal(array) if array.dtype.kind != "c" else array.dtype.type(1) / array


@derivative(rsqrt, wrt="self")
def rsqrt_self(grad, result):
    return scaled(grad, -0.5) * conj(_cube(result))


def _cube(values: Any) -> Any:
    """Raise to the third power in formulas; bfloat16 is rounded twice, float16 once."""
    if is_low(values) and values.dtype == np.float16:
        wide = values.astype(np.float32)
        return (wide * wide * wide).astype(values.dtype)
    return values * values * values


# --- exponentials and logarithms -------------------------------------------------------------


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.exp)
def exp(self: Array) -> Array:
    """Raise e to the power of every element.

    result = eˣ for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.exp(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
    """
    return np.exp(self)


@derivative(exp, wrt="self")
def exp_self(grad, result):
    return grad * conj(result)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def exp2(self: Array) -> Array:
    """Raise 2 to the power of every element.

    >>> import taper
    >>> taper.exp2(taper.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
    if self.dtype.kind != "c":
        return np.exp2(self)
    scaled = np.array(self)  # part by part: a complex product of infinity is nan
    scaled.real *= _LN2
    scaled.imag *= _LN2
    return np.exp(scaled)


@derivative(exp2, wrt="self")
def exp2_self(grad, result):
    return scaled(grad * conj(result), _LN2)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.expm1)
def expm1(self: Array) -> Array:
    """Compute exp(x) - 1 of every element, accurately near zero.

    >>> import taper
    >>> taper.expm1(taper.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """
    return np.expm1(self)


@derivative(expm1, wrt="self")
def expm1_self(grad, result):
    return grad * (conj(result) + 1)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.log)
def log(self: Array) -> Array:
    """Take the natural logarithm of every element.

    result = ln x for each x of `input`; -inf at 0 and nan below it.

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
    """
    return np.log(self)


@derivative(log, wrt="self")
def log_self(grad, self):
    return grad / conj(self)


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True, ufunc=np.log2)
def log2(self: Array) -> Array:
    """Take the logarithm of every element to the base 2.

    >>> import taper
    >>> taper.log2(taper.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """
    return np.log2(self)


@derivative(log2, wrt="self")
def log2_self(grad, self):
    return grad / conj(scaled(self, _LN2))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def log10(self: Array) -> Array:
    """Take the logarithm of every element to the base 10.

    >>> import taper
    >>> taper.log10(taper.tensor([1.0, 100.0]))
    tensor([0., 2.])
    """
    if self.dtype == np.float32:  # NumPy's log10 of a power of ten is no whole number
        return np.log10(self, dtype=np.float64).astype(np.float32)
    return np.log10(self)


@derivative(log10, wrt="self")
def log10_self(grad, self):
    return grad / conj(scaled(self, _LN10))


@op(promote=FLOAT, tangent=POINTWISE, inplace=FUNCTION, out=True)
def log1p(self: Array) -> Array:
    """Take the logarithm of 1 + x for every element, accurately near zero.

    result = ln(1 + x) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.log1p(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
    """
    return np.log1p(self) if self.dtype.kind != "c" else complex_log1p(self)


@derivative(log1p, wrt="self")
def log1p_self(grad, self):
    return grad / conj(self + 1)


# --- sigmoid and its inverse -----------------------------------------------------------------


@op(promote=FLOAT, upcast=True, tangent=POINTWISE, inplace=FUNCTION, out=True)
def sigmoid(self: Array) -> Array:
    """Apply the logistic function to every element.

    result = 1 / (1 + e⁻ˣ) for each x of `input`

    Args:
        input: a tensor; integers give the default floating dtype.
        out: tensor that receives the result.

    Shape: the result has the shape of `input`.

    Example:
        >>> import taper
        >>> taper.sigmoid(taper.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
    """
    return logistic(self)


_sigmoid_backward = curve("logistic_backward")


@op(
    node="SigmoidBackwardBackward0",
    tangent=POINTWISE,
    public=False,
    method=False,
    layout=None,  # often called, and right for operands of one layout
)
def sigmoid_backward(grad_output: Array, output: Array) -> Array:
    """Compute the gradient of sigmoid."""
    if (found := _sigmoid_backward(output, grad_output)) is not None:
        return found
    if output.dtype in LOW_PRECISION:
        if grad_output.dtype is not output.dtype:  # a tangent of another dtype
            return sigmoid_backward(grad_output, *in_float32(output))
        if output.dtype == np.float16:  # rounded after every step, as in PyTorch
            return grad_output * (output.dtype.type(1) - output) * output
        return sigmoid_backward(*in_float32(grad_output, output)).astype(output.dtype)
    slope = np.subtract(ONE, output)
    slope *= output
    if slope.dtype.kind == "c":
        slope = np.conjugate(slope)
    if slope.dtype is not grad_output.dtype:  # a tangent has the dtype that its maker gave it
        return slope * grad_output
    slope *= grad_output
    return slope


@derivative(sigmoid, wrt="self")
def sigmoid_self(grad, result):
    return sigmoid_backward(grad, result)


@derivative(sigmoid_backward, wrt="grad_output")
def sigmoid_backward_grad_output(grad, output):
    return sigmoid_backward(grad, conj(output))


@derivative(sigmoid_backward, wrt="output")
def sigmoid_backward_output(grad, grad_output, output):
    return conj(grad) * grad_output * conj(1 - output * 2)


@op(
    promote=FLOAT,
    tangent=POINTWISE,
    inplace=FUNCTION,
    out=True,
    check=not_implemented("logit_cpu", *COMPLEX),
)
def logit(self: Array, eps: float | None = None) -> Array:
    """Compute log(x / (1 - x)), with x first moved into [eps, 1 - eps] if `eps` is given.

    >>> import taper
    >>> taper.logit(taper.tensor([0.5, 0.75]))
    tensor([0.0000, 1.0986])
    """
    if eps is not None:
        if not isinstance(eps, (float, int)):
            raise TypeError(
                f"logit(): argument 'eps' (position 2) must be float, not {type(eps).__name__}"
            )
        low, high = _bounds(self.dtype, eps)
        self = np.minimum(np.maximum(self, low), high)
    # Half precision is rounded after every step, as in PyTorch.
    one = self.dtype.type(1) if self.dtype in LOW_PRECISION else ONE
    return np.asarray(np.log(self / (one - self)), self.dtype)


def _bounds(dtype: np.dtype, eps: float) -> tuple[Any, Any]:
    """Return `eps` and 1 - `eps`, both rounded to a dtype: half ones may be 0 and 1."""
    low = dtype.type(eps)
    return low, dtype.type(1) - low


@derivative(logit, wrt="self")
def logit_self(grad, self, eps):
    slope = grad / (self * (1 - self))
    if eps is not None:
        low, high = map(float, _bounds(array_of(self).dtype, eps))
        return inside(slope, ~((self < low) | (self > high)))  # nan stays nan
    # Beyond 0 and 1 the function is nan, and so is its gradient.
    return _replaced(slope, (self < 0) | (self > 1), math.nan)


def _replaced(values: Any, mask: Any, number: float) -> Any:
    if isinstance(values, Tensor):
        return values.where(~mask, number)
    return np.where(mask, values.dtype.type(number), values)


def inside(values: Any, mask: Any) -> Any:
    """Keep values where a mask holds, else zero; arrays and Tensors."""
    if isinstance(values, Tensor):
        return values.where(mask, 0)
    found = masked(values, mask)
    return found if in_rows(mask) else ELEMENTWISE(found, (mask, values))


def outside(values: Any, mask: Any) -> Any:
    """Put zero where a mask holds, as `masked_fill`: row-major; arrays and Tensors."""
    if isinstance(values, Tensor):
        return values.masked_fill(mask, 0)
    return ROW_MAJOR(np.asarray(masked(values, ~mask)), ())
