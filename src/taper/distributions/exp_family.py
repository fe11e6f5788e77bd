"""The exponential family: distributions whose entropy follows from their log normalizer.

Knows `Distribution` and gradients, no member of the family.
"""

from __future__ import annotations

from typing import Any

from taper.autograd.backward import grad
from taper.distributions.distribution import Distribution
from taper.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of distributions with density `exp(<t(x), theta> - F(theta) + k(x))`.

    A subclass gives the natural parameters `theta`, the log normalizer `F` and the mean of the
    carrier measure `k`; the entropy follows from them and the gradient of `F`.

    >>> import taper
    >>> isinstance(taper.distributions.Normal(0.0, 1.0), taper.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """Return the entropy, `F(theta) - <theta, F'(theta)> - E[k(x)]`."""
        result = -self._mean_carrier_measure
        parameters = [each.detach().requires_grad_() for each in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = grad(normalizer.sum(), parameters, create_graph=True)
        result = result + normalizer
        for parameter, gradient in zip(parameters, gradients, strict=True):
            result = result - (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
