"""A weight as direction and length: `_weight_norm`, `norm_except_dim`.

Owns: the fused operator for the first and the last dimension, and the norm of all elements under
PyTorch's old node name.  `nn.utils` knows which parameters these are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.elements import FLOAT32, FLOAT64, LOW_PRECISION
from taper.arrays.reduction import no_norm, scalar_type, sum_array
from taper.dtypes import no_kernel
from taper.factory import refuse
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.elementwise.unary import sqrt
from taper.ops.reduction.along import in_dtype_of
from taper.ops.reduction.sums import sum_dim
from taper.ops.reduction.vector_norm import norm_dim, norm_gradient
from taper.ops.shape.ones import reshape
from taper.tensor import Tensor

# --- the norm of all elements ----------------------------------------------------------------


@op(name="norm_whole", label="norm", node="NormBackward0", public=False, method=False)
def norm_whole(self: Array, p: float) -> Array:
    """Compute the norm of all elements, as `norm_except_dim` takes it."""
    return norm_dim.op.kernel(self, p, None, False)


@derivative(norm_whole, wrt="self")
def norm_whole_self(grad, self, result, p):
    return norm_gradient(grad, self, result, p, None, False)


@tangent_of(norm_whole)
def norm_whole_tangent(self, self_t, result, p):
    gradient = norm_gradient(result.new_ones(result.shape), self, result, p, None, False)
    return result.detach() * 0 if gradient is None else (gradient * self_t).sum()


@composite(method=False, numpy_names=True)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """Compute the norms over all dimensions but one, which stays; over all if `dim` is -1.

    >>> import taper
    >>> taper.norm_except_dim(taper.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[5.],
            [2.]])
    """
    if not isinstance(v, Tensor):
        refuse("norm_except_dim", "v", 1, "Tensor", v)
    if not isinstance(pow, int) or isinstance(pow, bool):
        refuse("norm_except_dim", "pow", 2, "int", pow)
    if not (v.dtype.is_floating_point or v.dtype.is_complex):
        raise no_norm(v.dtype.numpy)
    ndim = v.dim()
    if dim == -1:
        return norm_whole(v, pow)
    if dim == 0:
        rows = v.contiguous().view(v.size(0), -1)
        return norm_dim(rows, pow, (1,)).view(-1, *[1] * (ndim - 1))
    if dim == ndim - 1:
        columns = v.contiguous().view(-1, v.size(dim))
        return norm_dim(columns, pow, (0,)).view(*[1] * (ndim - 1), -1)
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


# --- the fused operator ----------------------------------------------------------------------


def _split(shape: tuple[int, ...], dim: int) -> tuple[tuple[int, int], int, tuple[int, int]]:
    """View the weight as a matrix; also return the dimension to sum, and the norms beside it."""
    if dim == 0:
        return (shape[0], math.prod(shape[1:])), 1, (shape[0], 1)
    return (math.prod(shape[:-1]), shape[-1]), 0, (1, shape[-1])


def _check(v: ndarray, g: ndarray, dim: int) -> None:
    if v.dtype not in (FLOAT32, FLOAT64) and v.dtype not in LOW_PRECISION:
        raise no_kernel("weight_norm_kernel", v.dtype)
    if v.dtype != g.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type(v.dtype)} but found {scalar_type(g.dtype)}"
        )
    if v.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if dim not in (0, v.ndim - 1):
        raise RuntimeError("fused kernels can only be applied for first or last dim")
    if g.size != v.shape[dim]:
        raise RuntimeError(
            f"_weight_norm: expected {v.shape[dim]} lengths in 'g' for a weight of size "
            f"{list(v.shape)} and dim={dim}, got a tensor of size {list(g.shape)}"
        )


@op(
    name="_weight_norm_interface",
    node="WeightNormInterfaceBackward0",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    method=False,
)
def weight_norm_interface(v: Array, g: Array, dim: int = 0) -> tuple[Array, Array]:
    """Scale the direction `v` to lengths `g`; also return the norms of `v`.

    >>> import taper
    >>> taper._weight_norm_interface(taper.tensor([[3.0, 4.0]]), taper.tensor([[10.0]]))[0]
    tensor([[6., 8.]])
    """
    _check(v, g, dim)
    matrix, added, beside = _split(v.shape, dim)
    wide = FLOAT32 if v.dtype in LOW_PRECISION else v.dtype
    values = v.reshape(matrix).astype(wide, copy=False)
    norms = np.sqrt(sum_array(values * values, (added,), True, None))
    factors = g.reshape(beside).astype(wide, copy=False) / norms
    result = np.multiply(values, factors, order="C")
    return result.reshape(v.shape).astype(v.dtype, copy=False), norms.reshape(g.shape)


@derivative(weight_norm_interface, wrt=("v", "g"))
def weight_norm_interface_all(grad_result0, v, g, result1, dim, needs):
    matrix, added, beside = _split(tuple(v.shape), dim)
    grad = reshape(in_dtype_of(grad_result0, result1), matrix)
    values = reshape(in_dtype_of(v, result1), matrix)
    norms = reshape(result1, beside)
    if isinstance(v, Tensor):  # recorded: the norms are functions of `v`, too
        norms = sqrt(sum_dim(values * values, (added,), True))
    along = sum_dim(grad * values, (added,), True)
    for_v = for_g = None
    if needs[0]:
        lengths = reshape(in_dtype_of(g, result1), beside)
        for_v = (lengths / norms) * (grad - values * (along / (norms * norms)))
        for_v = reshape(for_v, tuple(v.shape))
    if needs[1]:
        for_g = reshape(along / norms, tuple(g.shape))
    return for_v, for_g


@tangent_of(weight_norm_interface)
def weight_norm_interface_tangent(v, g, result1, dim, v_t, g_t):
    matrix, added, beside = _split(tuple(v.shape), dim)
    values = reshape(v, matrix)
    norms = sqrt(sum_dim(values * values, (added,), True))
    moved = None
    if v_t is not None:
        turned = reshape(v_t, matrix)
        along = sum_dim(values * turned, (added,), True)
        moved = (reshape(g, beside) / norms) * (turned - values * (along / (norms * norms)))
    if g_t is not None:
        stretched = values * (reshape(g_t, beside) / norms)
        moved = stretched if moved is None else moved + stretched
    return reshape(moved, tuple(v.shape)), None


@composite(name="_weight_norm", method=False, numpy_names=True)
def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Any:
    """Scale the direction `v` to lengths `g` along `dim`; to one length if `dim` is -1.

    >>> import taper
    >>> taper._weight_norm(taper.tensor([[3.0, 4.0]]), taper.tensor([[10.0]]))
    tensor([[6., 8.]])
    """
    for position, (name, value) in enumerate((("v", v), ("g", g)), 1):
        if not isinstance(value, Tensor):
            refuse("_weight_norm", name, position, "Tensor", value)
    v, g = v.contiguous(), g.contiguous()
    if dim == 0 or dim == v.dim() - 1:
        return weight_norm_interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))
