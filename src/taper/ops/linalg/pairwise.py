"""Distances between the rows of one matrix: `pdist`, the upper triangle of `cdist` with itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper.dtypes import no_kernel
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.linalg.checks import check_tensors, missing_tangent, no_formula
from taper.ops.linalg.distance import distances, distances_gradient
from taper.tensor import Tensor


@op(name="_pdist_forward", label="pdist", node="PdistBackward0", public=False, method=False)
def pair_distances(self: Array, p: float) -> Array:
    """Compute the distance of order `p` of each row to each later one."""
    if len(self) < 2:
        return np.empty(0, self.dtype)
    if self.size and self.dtype.char not in "fd":
        raise no_kernel("pdist", self.dtype)
    return distances(self, self, p)[np.triu_indices(len(self), 1)]


def _as_matrix(values: ndarray, rows: int) -> ndarray:
    """Make the symmetric matrix of which `values` are the upper triangle."""
    matrix = np.zeros((rows, rows), values.dtype)
    matrix[np.triu_indices(rows, 1)] = values
    return matrix + matrix.T


@op(name="_pdist_backward", public=False, method=False)
def pair_distances_gradient(grad: Array, self: Array, p: float, pdist: Array) -> Array:
    """Compute the gradient of the distances with respect to the rows."""
    rows = len(self)
    return distances_gradient(_as_matrix(grad, rows), self, self, p, _as_matrix(pdist, rows))


@derivative(pair_distances_gradient, wrt=("grad", "self", "pdist"))
def pair_distances_gradient_all(needs):
    raise no_formula("_pdist_backward")


@tangent_of(pair_distances_gradient)
def pair_distances_gradient_tangent(grad_t):
    raise missing_tangent("_pdist_backward")


@derivative(pair_distances, wrt="self")
def pair_distances_self(grad: Any, self: Any, p: float, result: Any) -> Any:
    return pair_distances_gradient(grad, self, p, result)


@tangent_of(pair_distances)
def pair_distances_tangent(self_t):
    raise missing_tangent("_pdist_forward")


@composite(method=False)
def pdist(input: Tensor, p: float = 2) -> Any:
    """Compute the distances between all pairs of rows.

    result = ‖input[i] - input[j]‖ₚ for all i < j

    Args:
        input: a matrix (N, M).
        p: order of the norm.

    Shape: (N · (N - 1) / 2,)

    Example:
        >>> import taper
        >>> taper.pdist(taper.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    check_tensors("pdist", input=input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return pair_distances(input.contiguous(), float(p))
