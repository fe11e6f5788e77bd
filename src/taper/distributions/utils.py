"""What distributions share: broadcasting of parameters, probabilities and logits, lazy properties.

Knows tensors and operators, no distribution.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from taper.autograd.grad_mode import enable_grad
from taper.device import device as Device
from taper.dtypes import dtype as DType
from taper.dtypes import finfo, get_default_dtype
from taper.ops.activation.softmax import softmax
from taper.ops.creation.data import tensor
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.clamping import clamp
from taper.ops.elementwise.unary import log, log1p, sigmoid
from taper.ops.random.draws import randn
from taper.ops.shape.reshape import broadcast_tensors
from taper.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060  # Euler-Mascheroni


def broadcast_all(*values: Tensor | int | float | bool) -> tuple[Tensor, ...]:
    """Return tensors of one shape; numbers get the dtype of the first tensor, else the default.

    >>> import taper
    >>> taper.distributions.utils.broadcast_all(1, taper.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    known = [isinstance(each, int | float) or _is_tensor_like(each) for each in values]
    if not all(known):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    dtype = next((each.dtype for each in values if isinstance(each, Tensor)), get_default_dtype())
    return tuple(
        broadcast_tensors(
            *(each if _is_tensor_like(each) else tensor(each, dtype=dtype) for each in values)
        )
    )


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def _standard_normal(
    shape: Sequence[int], dtype: DType | None, device: Device | str | None
) -> Tensor:
    """Return standard normal numbers, as each reparametrized draw needs them."""
    return randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Return the sum over the last `dim` dimensions; `value` itself for none."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities from log-odds (binary), or from log probabilities of classes.

    >>> import taper
    >>> taper.distributions.utils.logits_to_probs(taper.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return sigmoid(logits) if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities, kept one rounding error away from 0 and 1.

    >>> import taper
    >>> taper.distributions.utils.clamp_probs(taper.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = finfo(probs.dtype).eps
    return clamp(probs, min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return log-odds of probabilities (binary), or logarithms of the classes' probabilities.

    >>> import taper
    >>> taper.distributions.utils.probs_to_logits(taper.tensor([0.25, 0.75]), is_binary=True)
    tensor([-1.0986,  1.0986])
    """
    clamped = clamp_probs(probs)
    return log(clamped) - log1p(-clamped) if is_binary else log(clamped)


class lazy_property:
    """A property computed on first use, with gradients recorded, and kept as an attribute.

    >>> import taper
    >>> class Square:
    ...     @taper.distributions.utils.lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return 4
    >>> square = Square()
    >>> square.area + square.area
    computed
    8
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property as its class shows it: documentation tools take it for a property."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _below_diagonal(size: int, diag: int) -> Tensor:
    """Return which elements of a square matrix lie on or below a diagonal."""
    places = arange(size)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements on and below a diagonal, row by row; matrices may be batched.

    >>> import taper
    >>> taper.distributions.utils.tril_matrix_to_vec(taper.tensor([[1, 0], [2, 3]]))
    tensor([1, 2, 3])
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return mat[..., _below_diagonal(size, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return the square matrix with `vec` on and below a diagonal, row by row, else 0.

    >>> import taper
    >>> taper.distributions.utils.vec_to_tril_matrix(taper.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    length = vec.shape[-1]
    # The number of elements on and below the diagonal is quadratic in the size: solve for it.
    slope = 1 + 2 * diag
    size = (-slope + (slope**2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(size) - size > finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    side = round(size)
    mat = vec.new_zeros((*vec.shape[:-1], side, side))
    mat[..., _below_diagonal(side, diag)] = vec
    return mat
