"""LowRankMultivariateNormal: a covariance that is a diagonal and a few factors."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from taper.distributions.parameters import expanded
from taper.distributions.utils import _standard_normal, lazy_property
from taper.ops.linalg.cholesky import linalg_cholesky as cholesky
from taper.ops.linalg.matmul import matmul
from taper.ops.linalg.triangular import linalg_solve_triangular as solve_triangular
from taper.ops.shape.reshape import broadcast_tensors
from taper.ops.shape.triangle import diag_embed
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["LowRankMultivariateNormal"]


def _with_identity(K: Tensor) -> Tensor:
    """Add the identity to square matrices, in place."""
    size = K.shape[-1]
    K = K.contiguous()
    K.view(-1, size * size)[:, :: size + 1] += 1
    return K


def _batch_capacitance_tril(W: Tensor, D: Tensor) -> Tensor:
    """Return the Cholesky factor of `I + W.T @ inv(D) @ W` (Woodbury's capacitance matrix)."""
    return cholesky(_with_identity(matmul(W.mT / D.unsqueeze(-2), W)))


def _batch_lowrank_logdet(W: Tensor, D: Tensor, capacitance_tril: Tensor) -> Tensor:
    """Return the logarithm of the determinant of `W @ W.T + D`, by the determinant lemma."""
    logarithms = capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return 2 * logarithms + D.log().sum(-1)


def _batch_lowrank_mahalanobis(
    W: Tensor,
    D: Tensor,
    x: Tensor,
    capacitance_tril: Tensor,
) -> Tensor:
    """Return `x.T @ inv(W @ W.T + D) @ x`, by Woodbury's formula."""
    projected = _batch_mv(W.mT / D.unsqueeze(-2), x)
    along_diagonal = (x.pow(2) / D).sum(-1)
    return along_diagonal - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance `cov_factor @ cov_factor.T + diag(cov_diag)`.

    No matrix of the size of the vectors is ever factored for a draw or a density.

    Args:
        loc: the mean.
        cov_factor: a matrix with few columns.
        cov_diag: the diagonal; positive.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> factor, diagonal = taper.tensor([[1.0], [2.0]]), taper.ones(2)
    >>> normal = taper.distributions.LowRankMultivariateNormal(taper.zeros(2), factor, diagonal)
    >>> normal.covariance_matrix
    tensor([[2., 2.],
            [2., 5.]])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        _check_shapes(event_shape, cov_factor, cov_diag)
        try:
            columns = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.cov_factor = columns[1]
        self.loc, self.cov_diag = columns[0][..., 0], columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        event_shape = self.event_shape
        vectors = Size(batch_shape) + event_shape
        parameters = {
            "loc": self.loc.expand(vectors),
            "cov_diag": self.cov_diag.expand(vectors),
            "cov_factor": self.cov_factor.expand(vectors + self.cov_factor.shape[-1:]),
            "_unbroadcasted_cov_factor": self._unbroadcasted_cov_factor,
            "_unbroadcasted_cov_diag": self._unbroadcasted_cov_diag,
            "_capacitance_tril": self._capacitance_tril,
        }
        own = LowRankMultivariateNormal
        return expanded(self, own, _instance, batch_shape, event_shape, **parameters)

    def _for_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        # The factor of a matrix scaled by the diagonal one, which is better conditioned.
        deviations = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / deviations
        return self._for_batch(deviations * cholesky(_with_identity(matmul(scaled, scaled.mT))))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_cov_factor
        diagonal = diag_embed(self._unbroadcasted_cov_diag)
        return self._for_batch(matmul(factor, factor.mT) + diagonal)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        scaled = factor.mT / diagonal.unsqueeze(-2)
        solution = solve_triangular(self._capacitance_tril, scaled, upper=False)
        inverse = diag_embed(diagonal.reciprocal()) - matmul(solution.mT, solution)
        return self._for_batch(inverse)

    def rsample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        of_factors = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        of_diagonal = _standard_normal(shape, **options)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, of_factors)
            + self._unbroadcasted_cov_diag.sqrt() * of_diagonal
        )

    def _log_det(self) -> Tensor:
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self) -> Tensor:
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = 0.5 * (constant + self._log_det())
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


def _check_shapes(event_shape: Size, cov_factor: Tensor, cov_diag: Tensor) -> None:
    if cov_factor.dim() < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    if cov_factor.shape[-2:-1] != event_shape:
        raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
    if cov_diag.shape[-1:] != event_shape:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
