"""Rows of gamma and Dirichlet numbers and of their derivatives."""

from __future__ import annotations

import numpy as np

from op_case import OpCase, Raises, sample

SHAPES = np.exp(np.linspace(-5.0, 6.0, 24)).reshape(4, 6)
FLIPPED = np.asfortranarray(SHAPES)


def gamma_places(rng):
    """Return places in every region of the gradient: small ones, near and far from the mean."""
    alpha = np.repeat([0.1, 0.9, 3.0, 7.9, 8.1, 50.0], 6).reshape(6, 6)
    ratio = np.array([0.02, 0.5, 0.95, 1.05, 2.0, 5.0])
    return [sample(alpha, alpha * ratio), sample(np.zeros((0, 3)), np.zeros((0, 3)))]


def beta_places(rng):
    """Return places in every region: near zero and one, near and far from a large mean."""
    alpha, beta = (each.ravel() for each in np.meshgrid(*[[0.2, 1.0, 5.0, 8.0, 60.0]] * 2))
    mean = alpha / (alpha + beta)
    spread = np.sqrt(alpha * beta / (alpha + beta + 1.0)) / (alpha + beta)
    fractions = np.array([[0.02], [0.3], [0.98]]), np.array([[0.05], [-0.05], [1.0], [-1.0]])
    x = np.concatenate([fractions[0] * np.ones(25), np.clip(mean + fractions[1] * spread, 0.01, 1)])
    x = np.minimum(x, 0.99)
    return [sample(x, alpha * np.ones_like(x), (alpha + beta) * np.ones_like(x))]


def wrong(error, text, *args, **kwargs):
    return Raises(error, text, sample(*args, **kwargs))


LONG = np.array([1, 2])

CASES = [
    OpCase(
        "_standard_gamma",
        lambda rng: [sample(SHAPES), sample(FLIPPED), sample(np.array(2.0)), sample(np.ones(0))],
        random=True,
        gradgrad=False,
        forward_ad=False,
        errors=(
            wrong(NotImplementedError, "\"gamma_cpu\" not implemented for 'Long'", LONG),
            wrong(TypeError, "argument 'input' (position 1) must be Tensor, not float", 1.0),
        ),
    ),
    OpCase(
        "_sample_dirichlet",
        lambda rng: [sample(SHAPES), sample(FLIPPED), sample(SHAPES[0]), sample(np.array(2.0))],
        random=True,
        differentiable=False,
        errors=(wrong(NotImplementedError, "\"dirichlet\" not implemented for 'Long'", LONG),),
    ),
    OpCase(
        "_standard_gamma_grad",
        gamma_places,
        differentiable=False,
        errors=(
            wrong(RuntimeError, "tensor a (3) must match", np.ones(3), np.ones(2)),
            wrong(RuntimeError, "Found dtype Long but expected Double", np.ones(2), LONG),
            wrong(NotImplementedError, "_grad_cpu\" not implemented for 'Long'", LONG, LONG),
        ),
    ),
    OpCase(
        "_dirichlet_grad",
        beta_places,
        differentiable=False,
        errors=(
            wrong(RuntimeError, "tensor a (3) must match", np.ones(3), np.ones(2), np.ones(3)),
            wrong(NotImplementedError, "not implemented for 'Long'", LONG, LONG, LONG),
        ),
    ),
]
