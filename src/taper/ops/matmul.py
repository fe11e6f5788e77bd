"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper.opdef import Array, composite, op, derivative, MULTILINEAR


@op(tangent=MULTILINEAR, out=True)
def mm(self: Array, mat2: Array) -> Array:
    """Product of two matrices."""
    try:
        return self.dot(mat2)
    except ValueError:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and "
            f"{mat2.shape[0]}x{mat2.shape[1]})"
        ) from None


@derivative(mm, wrt="self")
def mm_self(grad, mat2):
    return mm(grad, mat2.T)


@derivative(mm, wrt="mat2")
def mm_mat2(grad, self):
    return mm(self.T, grad)


@op(out=True)
def addmm(self: Array, mat1: Array, mat2: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """`beta * self + alpha * (mat1 @ mat2)`."""
    product = mat1.dot(mat2)
    if alpha != 1:
        product *= alpha
    product += self if beta == 1 else beta * self
    return product


@derivative(addmm, wrt="self")
def addmm_self(grad, beta):
    return grad if beta == 1 else grad * beta


@derivative(addmm, wrt="mat1")
def addmm_mat1(grad, mat2, alpha):
    return mm(grad, mat2.T) * alpha if alpha != 1 else mm(grad, mat2.T)


@derivative(addmm, wrt="mat2")
def addmm_mat2(grad, mat1, alpha):
    return mm(mat1.T, grad) * alpha if alpha != 1 else mm(mat1.T, grad)


@op(name="_matmul_nd", public=False, method=False, tangent=MULTILINEAR)
def _matmul_nd(self: Array, other: Array) -> Array:
    return np.matmul(self, other)


@composite()
def matmul(input, other, *, out=None):
    """Product of two matrices, vectors or batches of them."""
    if input.ndim == 2 and other.ndim == 2:
        return mm(input, other)
    return _matmul_nd(input, other)


@composite(name="__matmul__", public=False)
def _matmul_operator(self, other):
    return matmul(self, other)
