"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from taper.distributions import constraints
from taper.distributions.transform_base import (
    PlainTransform,
    Transform,
    clipped_sigmoid,
    require_dims,
)
from taper.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from taper.dtypes import finfo
from taper.ops.activation.functional import logsigmoid
from taper.ops.activation.smooth import softplus
from taper.ops.creation.filled import eye
from taper.ops.elementwise.clamping import clamp
from taper.ops.image.padding import pad
from taper.ops.linalg.cholesky import linalg_cholesky
from taper.tensor import Tensor


class SoftmaxTransform(PlainTransform):
    """Exponentiates and normalizes vectors; not bijective, and so without a change of volume.

    >>> import taper
    >>> taper.distributions.SoftmaxTransform()(taper.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(PlainTransform):
    """Makes a probability vector of a shorter real one: each number breaks a part off the rest.

    >>> import taper
    >>> taper.distributions.StickBreakingTransform()(taper.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x: Any) -> Any:
        fraction = clipped_sigmoid(x - _parts_left(x, x.shape[-1]).log())
        rest = (1 - fraction).cumprod(-1)
        return pad(fraction, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        broken_off = y[..., :-1]
        rest = 1 - broken_off.cumsum(-1)
        rest = clamp(rest, min=finfo(y.dtype).tiny)
        return broken_off.log() - rest.log() + _parts_left(y, broken_off.shape[-1]).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - _parts_left(x, x.shape[-1]).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        end = (shape[-1] + 1,)
        return shape[:-1] + end

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        end = (shape[-1] - 1,)
        return shape[:-1] + end


def _parts_left(like: Tensor, number: int) -> Tensor:
    """Return number, ..., 2, 1: how many equal parts remain, so that zeros give equal parts."""
    return number + 1 - like.new_ones(number).cumsum(-1)


class LowerCholeskyTransform(PlainTransform):
    """Keeps the part below the diagonal of square matrices and exponentiates the diagonal.

    >>> import taper
    >>> taper.distributions.LowerCholeskyTransform()(taper.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(PlainTransform):
    """Makes positive definite matrices of square ones, through a Cholesky factor.

    >>> import taper
    >>> taper.distributions.PositiveDefiniteTransform()(taper.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg_cholesky(y))


class CorrCholeskyTransform(Transform):
    """Makes Cholesky factors of D x D correlation matrices of D * (D - 1) / 2 real numbers.

    The numbers, as hyperbolic tangents, are the partial correlations; each row of the factor is
    broken off a stick of length one, as in `StickBreakingTransform`, with squares.

    >>> import taper
    >>> taper.distributions.CorrCholeskyTransform()(taper.tensor([0.0]))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        eps = finfo(x.dtype).eps
        correlations = x.tanh().clamp(min=-1 + eps, max=1 - eps)
        below = vec_to_tril_matrix(correlations, diag=-1)
        rest = (1 - below**2).sqrt().cumprod(-1)
        below = below + eye(below.shape[-1], dtype=below.dtype, device=below.device)
        return below * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        rest = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        correlations = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (correlations.log1p() - correlations.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        of_rows = 0.5 * rest.log().sum(-1)
        of_tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return of_rows + of_tanh

    def forward_shape(self, shape: Any) -> Any:
        require_dims(shape, 1)
        length = shape[-1]
        size = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        end = (size, size)
        return shape[:-1] + end

    def inverse_shape(self, shape: Any) -> Any:
        require_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        end = (size * (size - 1) // 2,)
        return shape[:-2] + end
