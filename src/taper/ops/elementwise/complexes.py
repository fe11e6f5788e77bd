"""Complex numbers: conjugates, parts, angles, and the views between pairs and complex numbers.

Owns: the operators that only make sense for complex tensors. `conj` of a tensor is a view (see
`autograd.conjugate`); of an array it is computed. All families use `conj` in their formulas.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, Conjugated
from taper.arrays.layouts import ELEMENTWISE, PRESERVED
from taper.autograd.conjugate import BOTH, CONJUGATE, NEGATIVE
from taper.autograd.duals import follow
from taper.autograd.meta import Creation
from taper.autograd.state import DUAL, INFERENCE, NO_GRAD, local
from taper.autograd.views import conjugate_view
from taper.dtypes import no_kernel
from taper.opdef import (
    FLOAT,
    LINEAR,
    Array,
    composite,
    derivative,
    inplace_function,
    methods,
    op,
    tangent_of,
)
from taper.tensor import Tensor, element_strides, storage_offset, wrap

_REAL = {
    np.dtype(np.complex64): np.dtype(np.float32),
    np.dtype(np.complex128): np.dtype(np.float64),
}
_COMPLEX = {real: pair for pair, real in _REAL.items()}


def zeros_like(value: Any) -> Any:
    """Make zeros like an array or Tensor: the gradient of what is constant in pieces."""
    if isinstance(value, Tensor):
        return wrap(np.zeros_like(value._array))
    return np.zeros_like(value)


@op(name="_conj", node="ConjBackward0", tangent=LINEAR, public=False, method=False)
def _conj(self: Array) -> Array:
    """Conjugate a complex tensor."""
    return np.conjugate(self)


@derivative(_conj, wrt="self")
def _conj_self(grad):
    found = conj(grad)
    if type(grad) is ndarray and found is not grad:
        return found.view(Conjugated)
    return found


@composite()
def conj(input: Any) -> Any:
    """Conjugate a complex tensor, as a view; return a real one as it is.

    >>> import taper
    >>> taper.conj(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if type(input) is ndarray:
        if input.dtype is FLOAT32:  # by far the most frequent: `kind` takes 40 ns longer
            return input
        return np.conjugate(input) if input.dtype.kind == "c" else input
    if isinstance(input, Tensor):
        return _lazy_view(input, _conj, conj, CONJUGATE) if input.dtype.is_complex else input
    if isinstance(input, Conjugated):
        return np.conjugate(input)
    return input.conjugate() if isinstance(input, (complex, np.complexfloating)) else input


def _lazy_view(input: Tensor, compute: Any, function: Any, change: Any) -> Tensor:
    """Show the conjugate (negative) as a view, with the history of computing it."""
    computed: Tensor = compute(input)
    if local.state.transforms:  # a batched tensor has no memory of its own to view
        return computed
    mode = local.state.mode
    creation = Creation.PLAIN
    if mode & INFERENCE:
        creation = Creation.INFERENCE
    elif mode & NO_GRAD:
        creation = Creation.NO_GRAD
    view = conjugate_view(input, (function, ()), creation, change)
    view._grad_fn, view._output_nr = computed._grad_fn, computed._output_nr
    if mode & DUAL:
        follow(input, view, function)
    return view


@op(
    name="_conj_physical",
    label="conj_physical",
    node="ConjPhysicalBackward0",
    tangent=LINEAR,
    public=False,
    method=False,
    out=True,
    layout=PRESERVED,
)
def _conj_physical(self: Array) -> Array:
    """Conjugate a complex tensor, under PyTorch's name for computing it."""
    return np.conjugate(self) if self.dtype.kind == "c" else self.copy()


@op(
    name="_conj_physical_in_place",
    label="conj_physical_",
    node="ConjPhysicalBackward1",
    tangent=LINEAR,
    public=False,
    method=False,
)
def _conjugated_in_place(self: Array) -> Array:
    """Conjugate as the operator that PyTorch records in place, which takes real tensors, too."""
    return np.conjugate(self) if self.dtype.kind == "c" else self.copy()


@derivative(_conj_physical, wrt="self")
@derivative(_conjugated_in_place, wrt="self")
def _conj_physical_self(grad):
    return conj(grad)


_conj_physical_in_place = inplace_function(_conjugated_in_place)


@composite()
def conj_physical(input: Any, *, out: Any = None) -> Any:
    """Conjugate a complex tensor into new memory; return a real one as it is.

    >>> import taper
    >>> taper.conj_physical(taper.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if out is None and not input.dtype.is_complex:
        return input
    return _conj_physical(input, out=out)


@composite(name="conj_physical_")
def conj_physical_in_place(input: Any) -> Any:
    """In-place version of `conj_physical`."""
    return _conj_physical_in_place(input)


@op(name="_neg_view", node="NegViewBackward0", tangent=LINEAR, public=False, method=False)
def _negative(self: Array) -> Array:
    """Negate, as a view shows it."""
    if self.dtype.kind == "b":
        raise no_kernel("neg_cpu", self.dtype)
    return np.negative(self)


@derivative(_negative, wrt="self")
def _negative_self(grad):
    return -grad


@composite(name="_neg_view")
def neg_view(input: Any) -> Any:
    """Show the negative as a view: a write to either shows in both.

    >>> import taper
    >>> x = taper.ones(2)
    >>> taper._neg_view(x).fill_(3)
    tensor([3., 3.])
    >>> x
    tensor([-3., -3.])
    """
    if type(input) is ndarray:
        return np.negative(input)
    return _lazy_view(input, _negative, neg_view, NEGATIVE)


@composite()
def resolve_conj(input: Any) -> Any:
    """Carry out the conjugation of a conjugate view; return other tensors as they are.

    >>> import taper
    >>> x = taper.tensor([1 + 2j])
    >>> taper.resolve_conj(x) is x
    True
    >>> taper.resolve_conj(x.conj()).is_conj()
    False
    """
    return input.clone() if is_conj(input) else input


@composite()
def resolve_neg(input: Any) -> Any:
    """Carry out the negation of a negative view; return other tensors as they are.

    >>> import taper
    >>> x = taper.tensor([1 + 2j])
    >>> taper.resolve_neg(x) is x
    True
    >>> taper.resolve_neg(x.conj().imag).is_neg()
    False
    """
    return input.clone() if is_neg(input) else input


@composite()
def is_conj(input: Any) -> bool:
    """Tell whether the tensor is a conjugate view, which shows memory conjugated.

    >>> import taper
    >>> taper.is_conj(taper.tensor([1 + 2j]).conj())
    True
    """
    return input._change in (CONJUGATE, BOTH)


@composite()
def is_neg(input: Any) -> bool:
    """Tell whether the tensor is a negative view, which shows memory negated.

    >>> import taper
    >>> taper.is_neg(taper.tensor([1 + 2j]).conj().imag)
    True
    """
    return input._change in (NEGATIVE, BOTH)


# --- views between complex numbers and pairs -------------------------------------------------


@op(view=True, tangent=LINEAR, method=False)
def view_as_real(self: Array) -> Array:
    """View a complex tensor as real and imaginary parts, a last dimension of length 2.

    >>> import taper
    >>> taper.view_as_real(taper.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    real = _REAL.get(self.dtype)
    if real is None:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return self[..., None].view(real)


@derivative(view_as_real, wrt="self")
def view_as_real_self(grad):
    if type(grad) is ndarray:
        grad = np.ascontiguousarray(grad)
        return grad.view(_COMPLEX[grad.dtype])[..., 0]
    return view_as_complex(grad.contiguous())


@op(view=True, tangent=LINEAR, method=False)
def view_as_complex(self: Array) -> Array:
    """View a last dimension of length 2 as the parts of complex numbers.

    >>> import taper
    >>> taper.view_as_complex(taper.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    pair = _COMPLEX.get(self.dtype)
    if pair is None:
        kind = dtypes.FROM_NUMPY[self.dtype]
        if kind is dtypes.float16:
            kind.to_complex()  # raises, as it has no storage
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {kind.scalar_type}"
        )
    if self.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides = element_strides(self)
    if strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    lengths = zip(self.shape[:-1], strides[:-1], strict=True)
    if any(stride % 2 for length, stride in lengths if length > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if storage_offset(self) % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return self.view(pair)[..., 0]


@derivative(view_as_complex, wrt="self")
def view_as_complex_self(grad):
    return view_as_real(grad)


@composite(method=False)
def real(input: Any) -> Any:
    """View the real part of a tensor; return a real tensor as it is.

    >>> import taper
    >>> taper.real(taper.tensor([1 + 2j]))
    tensor([1.])
    """
    if input._array.dtype.kind != "c":
        return input
    if is_conj(input):
        input = conj(input)  # the memory has the same real part
    return view_as_real(input).select(input._array.ndim, 0)


@composite(method=False)
def imag(input: Any) -> Any:
    """View the imaginary part of a complex tensor.

    >>> import taper
    >>> taper.imag(taper.tensor([1 + 2j]))
    tensor([2.])
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if is_conj(input):
        return neg_view(view_as_real(conj(input))).select(input._array.ndim, 1)
    return view_as_real(input).select(input._array.ndim, 1)


def _set_real(self: Any, value: Any) -> None:
    real(self).copy_(value)


def _set_imag(self: Any, value: Any) -> None:
    imag(self).copy_(value)


methods["real"] = property(real, _set_real)  # type: ignore[assignment]
methods["imag"] = property(imag, _set_imag)  # type: ignore[assignment]


# --- angles and construction -----------------------------------------------------------------


@op(promote=FLOAT, out=True)
def angle(self: Array) -> Array:
    """Compute the angle of every element in radians; pi for negative real numbers.

    >>> import taper
    >>> taper.angle(taper.tensor([1j, -1.0]))
    tensor([1.5708, 3.1416])
    """
    if self.dtype.kind == "c":
        return np.ascontiguousarray(np.angle(self)).reshape(self.shape)
    half_turn = np.where(self < 0, self.dtype.type(math.pi), self.dtype.type(0))
    return np.where(np.isnan(self), self, half_turn)


@derivative(angle, wrt="self")
def angle_self(grad, self):
    if self.dtype.kind != "c" if isinstance(self, ndarray) else not self.dtype.is_complex:
        return zeros_like(grad)
    square = _square_of_size(self)
    return grad * (self * 1j / (square + (square == 0)))


@tangent_of(angle)
def angle_tangent(self_t, self):
    if not self.dtype.is_complex:
        return zeros_like(self_t)
    square = _square_of_size(self)
    return real(self_t * conj(self * 1j)) / (square + (square == 0))


def _square_of_size(value: Any) -> Any:
    return value.real * value.real + value.imag * value.imag


def _paired(first: ndarray, second: ndarray) -> np.dtype:
    """Return the complex dtype of two equal real ones; raise PyTorch's errors for others."""
    kinds = [dtypes.FROM_NUMPY[each.dtype] for each in (first, second)]
    if any(each not in (dtypes.float16, dtypes.float32, dtypes.float64) for each in kinds):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{kinds[0].scalar_type} and {kinds[1].scalar_type}"
        )
    if kinds[0] is not kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {kinds[0].scalar_type} but got scalar type "
            f"{kinds[1].scalar_type} for second argument"
        )
    return kinds[0].to_complex().numpy


def _joined(dtype: np.dtype, first: Any, second: Any) -> ndarray:
    result = np.empty(np.broadcast_shapes(first.shape, second.shape), dtype)
    result.real = first
    result.imag = second
    return result


@op(name="complex", tangent=LINEAR, out=True, method=False, layout=ELEMENTWISE)
def complex_(real: Array, imag: Array) -> Array:
    """Make a complex tensor from real and imaginary parts.

    >>> import taper
    >>> taper.complex(taper.tensor([1.0]), taper.tensor([2.0]))
    tensor([1.+2.j])
    """
    return _joined(_paired(real, imag), real, imag)


@derivative(complex_, wrt="real")
def complex_real(grad, real):
    return grad.real


@derivative(complex_, wrt="imag")
def complex_imag(grad, imag):
    return grad.imag


@op(out=True, method=False, layout=ELEMENTWISE)
def polar(abs: Array, angle: Array) -> Array:
    """Make a complex tensor from absolute values and angles.

    >>> import taper
    >>> taper.polar(taper.tensor([2.0]), taper.tensor([0.0]))
    tensor([2.+0.j])
    """
    dtype = _paired(abs, angle)
    return _joined(dtype, np.multiply(abs, np.cos(angle)), np.multiply(abs, np.sin(angle)))


@derivative(polar, wrt=("abs", "angle"))
def polar_all(grad, result, needs):
    turned = conj(grad)
    by_abs = (turned * sgn_complex(result)).real if needs[0] else None
    by_angle = (turned * (result * 1j)).real if needs[1] else None
    return by_abs, by_angle


@tangent_of(polar)
def polar_tangent(abs_t, angle_t, result):
    total = 0
    if abs_t is not None:
        total = abs_t * sgn_complex(result) + total
    if angle_t is not None:
        total = angle_t * (result * 1j) + total
    return total


def sgn_complex(value: Any) -> Any:
    """Divide a complex array or Tensor by its absolute value; zero at zero, NaN at infinity."""
    if not isinstance(value, (ndarray, np.generic)):
        return value.sgn()
    return np.where(np.isinf(value), complex(math.nan, math.nan), np.sign(value)).astype(
        value.dtype
    )
