"""What many distributions do with their parameters: choose probabilities or logits, expand.

Knows `Distribution` and tensors, no distribution.
"""

from __future__ import annotations

from typing import Any

from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from taper.size import Size
from taper.tensor import Tensor

Number = bool | int | float


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """Return the name and value of probabilities or logits, of which exactly one is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


class OfTwo:
    """A distribution over yes and no: `probs` or `logits`, each computed from the one given."""

    _param: Tensor

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


def expanded(
    distribution: Distribution,
    cls: type,
    instance: Any,
    batch_shape: Shape,
    event_shape: Shape = NO_SHAPE,
    **parameters: Any,
) -> Any:
    """Return the copy for `expand` of `cls`: a new object with these attributes, unchecked."""
    new = distribution._get_checked_instance(cls, instance)
    new.__dict__.update(parameters)
    base: Any = super(cls, new)
    base.__init__(Size(batch_shape), Size(event_shape), validate_args=False)
    new._validate_args = distribution._validate_args
    return new


def expanded_by_name(
    distribution: Distribution, cls: type, instance: Any, batch_shape: Shape, *names: str
) -> Any:
    """Return the same for parameters of the batch's shape; those not given stay out."""
    parameters = {
        name: distribution.__dict__[name].expand(batch_shape)
        for name in names
        if name in distribution.__dict__
    }
    return expanded(distribution, cls, instance, batch_shape, **parameters)
