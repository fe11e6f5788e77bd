"""Wishart: random covariance matrices."""

from __future__ import annotations

import math
from math import nan
from typing import Any

from taper.distributions import constraints
from taper.distributions.chi2 import Chi2
from taper.distributions.distribution import NO_SHAPE, Shape
from taper.distributions.exp_family import ExponentialFamily
from taper.distributions.multivariate_normal import _MATRICES, given_matrix, scale_tril_of
from taper.distributions.parameters import Number, expanded
from taper.distributions.utils import lazy_property
from taper.dtypes import finfo
from taper.ops.creation.data import tensor
from taper.ops.creation.filled import eye
from taper.ops.creation.ranges import arange
from taper.ops.linalg.cholesky import cholesky_solve
from taper.ops.linalg.det import linalg_slogdet as slogdet
from taper.ops.linalg.einsum import einsum
from taper.ops.linalg.matmul import matmul
from taper.ops.random.draws import randn
from taper.ops.shape.reshape import broadcast_shapes
from taper.ops.shape.triangle import tril_indices
from taper.ops.special.basic import digamma
from taper.ops.special.gamma import mvlgamma
from taper.size import Size
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """Return the derivative of the logarithm of the gamma function of dimension `p`."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    steps = arange(p, dtype=x.dtype, device=x.device).div(2).expand((*x.shape, -1))
    return digamma(x.unsqueeze(-1) - steps).sum(-1)


def _clamp_above_eps(x: Tensor) -> Tensor:
    """Keep numbers above the precision of the dtype: smaller ones make a matrix singular."""
    return x.clamp(min=finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """The distribution of `X @ X.T` for `df` normal columns of a covariance.

    PyTorch 2.13 takes the first draw for singular when it is not, draws again and warns of it.  So
    does this class, since the numbers that follow depend on it.  Give one of the three matrices.

    Differs: `rsample` with a sample shape can be differentiated; PyTorch overwrites a mask that its
    backward pass needs.

    Args:
        df: the degrees of freedom, above the size of the matrices minus one.
        covariance_matrix: the covariance of a column.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> wishart = taper.distributions.Wishart(taper.tensor(3.0), taper.eye(2))
    >>> wishart.mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints; that of `df` depends on the size of the matrices."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | Number,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = given_matrix(
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if given is None:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril "
                "may be specified."
            )
        name, matrix = given
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        self._set_df(df, matrix)
        setattr(self, name, matrix.expand((*self.df.shape, -1, -1)))
        super().__init__(self.df.shape, matrix.shape[-2:], validate_args=validate_args)
        self._batch_dims = [-(dim + 1) for dim in range(len(self._batch_shape))]
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)
        self._dist_chi2 = self._squares()

    def _set_df(self, df: Tensor | Number, matrix: Tensor) -> None:
        if isinstance(df, Number):
            self.df = tensor(df, dtype=matrix.dtype, device=matrix.device)
            self.df = self.df.expand(matrix.shape[:-2])
        else:
            self.df = df.expand(broadcast_shapes(matrix.shape[:-2], df.shape))
        size = matrix.shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if self.df.lt(size).any():
            warn_user(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim."
            )

    def _squares(self) -> Chi2:
        """Return the squared diagonal of Bartlett's triangle: one degree of freedom less each."""
        matrix = self._unbroadcasted_scale_tril
        steps = arange(self._event_shape[-1], dtype=matrix.dtype, device=matrix.device)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*self._batch_shape, -1)))

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        matrices = shape + self.event_shape
        parameters: dict[str, Any] = {
            name: self.__dict__[name].expand(matrices)
            for name in ("_unbroadcasted_scale_tril", *_MATRICES)
            if name in self.__dict__
        }
        parameters["df"] = self.df.expand(shape)
        parameters["_batch_dims"] = [-(dim + 1) for dim in range(len(shape))]
        new = expanded(self, Wishart, _instance, shape, self.event_shape, **parameters)
        new._dist_chi2 = new._squares()
        return new

    def _for_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._for_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        return self._for_batch(matmul(factor, factor.transpose(-2, -1)))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        identity = eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._for_batch(cholesky_solve(identity, factor))

    def _per_matrix(self, numbers: Tensor) -> Tensor:
        return numbers.view((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor[factor <= 0] = nan
        return self._per_matrix(factor) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = einsum("...i,...j->...ij", diagonal, diagonal)
        return self._per_matrix(self.df) * (covariance.pow(2) + products)

    def _bartlett_sampling(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        """Draw by Bartlett's decomposition: a triangle of chi and normal numbers, squared."""
        size = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt())
        noise = noise.diag_embed(dim1=-2, dim2=-1)
        rows, columns = tril_indices(size, size, offset=-1)
        noise[..., rows, columns] = randn(
            Size(sample_shape) + self._batch_shape + Size((size * (size - 1) // 2,)),
            dtype=noise.dtype,
            device=noise.device,
        )
        factor = matmul(self._unbroadcasted_scale_tril, noise)
        return matmul(factor, factor.transpose(-2, -1))

    def rsample(
        self, sample_shape: Shape = NO_SHAPE, max_try_correction: int | None = None
    ) -> Tensor:
        if max_try_correction is None:
            max_try_correction = 10
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        # True where the draw is good: see the docstring of the class.
        is_singular = self._any_of_batch(self.support.check(sample))
        if is_singular.any():
            warn_user("Singular sample detected.")
            for _ in range(max_try_correction):
                mask = is_singular.clone()  # what the backward pass needs is not overwritten
                again = self._bartlett_sampling(mask[mask].shape)
                sample[mask] = again
                is_singular[mask] = self._any_of_batch(~self.support.check(again))
                if not is_singular.any():
                    break
        return sample

    def _any_of_batch(self, found: Tensor) -> Tensor:
        """Return whether any of a batch is singular: whole batches are drawn again."""
        return found.amax(self._batch_dims) if self._batch_shape else found

    def _log_scale(self) -> Tensor:
        factor = self._unbroadcasted_scale_tril
        logarithms = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return self._event_shape[-1] * _log_2 / 2 + logarithms

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        solution = cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -nu * self._log_scale()
            - mvlgamma(nu / 2, p=size)
            + (nu - size - 1) / 2 * slogdet(value).logabsdet
            - solution.diagonal(dim1=-2, dim2=-1).sum(dim=-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * self._log_scale()
            + mvlgamma(nu / 2, p=size)
            - (nu - size - 1) / 2 * _mvdigamma(nu / 2, p=size)
            + nu * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        size = self._event_shape[-1]
        logarithm = -slogdet(-2 * x).logabsdet + _log_2 * size
        return (y + (size + 1) / 2) * logarithm + mvlgamma(y + (size + 1) / 2, p=size)
