"""Divergences of vectors of normal numbers, with full covariances and with those of low rank."""

from __future__ import annotations

from typing import Any

from taper.distributions.kl_registry import register_kl
from taper.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from taper.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from taper.ops.linalg.triangular import linalg_solve_triangular as solve_triangular
from taper.ops.shape.reshape import broadcast_shapes
from taper.ops.shape.triangle import diag_embed
from taper.tensor import Tensor


def _batch_trace_XXT(bmat: Tensor) -> Tensor:
    """Return the traces of `X @ X.T`: the sums of the squares of all elements."""
    rows, columns = bmat.size(-2), bmat.size(-1)
    return bmat.reshape(-1, rows * columns).pow(2).sum(-1).reshape(bmat.shape[:-2])


def _check_events(p: Any, q: Any, kind: str) -> None:
    if p.event_shape != q.event_shape:
        # The gap is PyTorch's: programs may compare the text.
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with"
            + " " * 26
            + "different event shapes cannot be computed"
        )


def _log_det_low_rank(distribution: Any) -> Tensor:
    return _batch_lowrank_logdet(
        distribution._unbroadcasted_cov_factor,
        distribution._unbroadcasted_cov_diag,
        distribution._capacitance_tril,
    )


def _half_log_det(distribution: Any) -> Tensor:
    factor = distribution._unbroadcasted_scale_tril
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _distance_low_rank(p: Any, q: Any) -> Tensor:
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor,
        q._unbroadcasted_cov_diag,
        q.loc - p.loc,
        q._capacitance_tril,
    )


def _whitener(q: Any) -> Tensor:
    """Return, factored, what to subtract from the inverse diagonal to invert a covariance."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return solve_triangular(q._capacitance_tril, scaled, upper=False)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "Low Rank ")
    log_dets = _log_det_low_rank(q) - _log_det_low_rank(p)
    distance = _distance_low_rank(p, q)
    whitener = _whitener(q)
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = (
        (diagonal / q._unbroadcasted_cov_diag).sum(-1)
        + _batch_trace_XXT(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
        - _batch_trace_XXT(whitener * diagonal.sqrt().unsqueeze(-2))
        - _batch_trace_XXT(whitener.matmul(factor))
    )
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) ")
    log_dets = _log_det_low_rank(q) - 2 * _half_log_det(p)
    distance = _distance_low_rank(p, q)
    factor = p._unbroadcasted_scale_tril
    inverse_deviations = q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    trace = _batch_trace_XXT(factor * inverse_deviations) - _batch_trace_XXT(
        _whitener(q).matmul(factor)
    )
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


def _common(p_matrix: Tensor, q: Any) -> tuple[Tensor, tuple[int, ...]]:
    """Return the triangle of `q`, expanded to its common batch with a matrix of `p`."""
    triangle = q._unbroadcasted_scale_tril
    batch = broadcast_shapes(triangle.shape[:-2], p_matrix.shape[:-2])
    return triangle.expand((*batch, *triangle.shape[-2:])), batch


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "(Low Rank) ")
    log_dets = 2 * _half_log_det(q) - _log_det_low_rank(p)
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    factor = p._unbroadcasted_cov_factor
    triangle, batch = _common(factor, q)
    factor = factor.expand((*batch, *factor.shape[-2:]))
    diagonal = diag_embed(p._unbroadcasted_cov_diag.sqrt()).expand(triangle.shape)
    trace = _batch_trace_XXT(solve_triangular(triangle, factor, upper=False)) + _batch_trace_XXT(
        solve_triangular(triangle, diagonal, upper=False)
    )
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p: Any, q: Any) -> Tensor:
    _check_events(p, q, "")
    half_log_dets = _half_log_det(q) - _half_log_det(p)
    triangle, _ = _common(p._unbroadcasted_scale_tril, q)
    factor = p._unbroadcasted_scale_tril.expand(triangle.shape)
    trace = _batch_trace_XXT(solve_triangular(triangle, factor, upper=False))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return half_log_dets + 0.5 * (trace + distance - p.event_shape[0])
