"""MultivariateNormal: vectors of dependent normal numbers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.distributions.utils import _standard_normal, lazy_property
from taper.ops.creation.filled import eye
from taper.ops.linalg.cholesky import cholesky_inverse
from taper.ops.linalg.cholesky import linalg_cholesky as cholesky
from taper.ops.linalg.matmul import matmul
from taper.ops.linalg.triangular import linalg_solve_triangular as solve_triangular
from taper.ops.shape.flip import flip
from taper.ops.shape.reshape import broadcast_shapes
from taper.ops.shape.transpose import transpose
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Return products of matrices and vectors; their batch dimensions broadcast."""
    return matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """Return the squared lengths of `inv(L) @ x` for lower triangles and vectors, both batched.

    A triangle serves many vectors: those are gathered as columns, so that each triangle is used in
    one solution with many right sides.  The batch of `bx` ends with multiples of that of `bL`.
    """
    size, batch = bx.size(-1), bx.shape[:-1]
    triangles = bL.shape[:-2]
    outer = len(batch) - len(triangles)
    split = list(bx.shape[:outer])
    for own, given in zip(triangles, bx.shape[outer:-1], strict=False):
        split += [given // own, own]
    # The repetitions in front of the triangles' own dimensions.
    ndim = len(split)
    order = [*range(outer), *range(outer, ndim, 2), *range(outer + 1, ndim, 2)]
    gathered = bx.reshape((*split, size)).permute((*order, ndim))
    flat_L = bL.reshape(-1, size, size)
    columns = gathered.reshape(-1, flat_L.size(0), size).permute(1, 2, 0)
    lengths = solve_triangular(flat_L, columns, upper=False).pow(2).sum(-2).t()
    back = list(range(outer))
    for dim in range(len(triangles)):
        back += [outer + dim, len(batch) + dim]
    return lengths.reshape(gathered.shape[:-1]).permute(back).reshape(batch)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse: the transposed factor's inverse, reversed."""
    backwards = flip(cholesky(flip(P, (-2, -1))), (-2, -1))
    identity = eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return solve_triangular(transpose(backwards, -2, -1), identity, upper=False)


_MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")


def given_matrix(**matrices: Tensor | None) -> tuple[str, Any] | None:
    """Return the name and value of the one given matrix; None unless there is exactly one."""
    given = [(name, value) for name, value in matrices.items() if value is not None]
    return given[0] if len(given) == 1 else None


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """Return the Cholesky factor of the covariance that a matrix of this name describes."""
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """Normal vectors with dependent elements.

    Give one of the three matrices.

    Args:
        loc: the mean.
        covariance_matrix: the covariance.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor, a lower triangle with a positive diagonal.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> covariance = taper.tensor([[2.0, 1.0], [1.0, 1.0]])
    >>> plane = taper.distributions.MultivariateNormal(taper.zeros(2), covariance)
    >>> plane.log_prob(taper.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = given_matrix(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if given is None:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril "
                "may be specified."
            )
        name, matrix = given
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        vectors = Size(batch_shape) + self.event_shape
        parameters = {
            name: self.__dict__[name].expand(vectors + self.event_shape)
            for name in _MATRICES
            if name in self.__dict__
        }
        parameters["loc"] = self.loc.expand(vectors)
        parameters["_unbroadcasted_scale_tril"] = self._unbroadcasted_scale_tril
        event_shape = self.event_shape
        return expanded(self, MultivariateNormal, _instance, batch_shape, event_shape, **parameters)

    def _for_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._for_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._for_batch(matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._for_batch(cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normal)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + self._half_log_det()
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy
