"""The dropout family: zero parts of the input at random while training."""

from __future__ import annotations

from taper.nn import functional as F
from taper.nn.modules.module import Module
from taper.tensor import Tensor


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero elements at random while training, and scale the others up.

        y = x m / (1 - p), m ~ Bernoulli(1 - p); in eval mode y = x

    Args:
        p: the probability that an element becomes 0.
        inplace: whether to overwrite the input with the result.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.Dropout(0.5).eval()(taper.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of sequences at random while training, and scale the others up.

    Args:
        p: the probability that a channel becomes 0.
        inplace: whether to overwrite the input with the result.

    Shape: (N, C, L) → the same, or both without N.

    Example:
        >>> import taper
        >>> out = taper.nn.Dropout1d(0.5)(taper.ones(4, 8, 2))
        >>> out.unique(), taper.equal(out.amin(2), out.amax(2))
        (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of images at random while training, and scale the others up.

    Args:
        p: the probability that a channel becomes 0.
        inplace: whether to overwrite the input with the result.

    Shape: (N, C, H, W) → the same, or both without N.

    Example:
        >>> import taper
        >>> out = taper.nn.Dropout2d(0.5)(taper.ones(4, 8, 2, 2))
        >>> out.unique(), taper.equal(out.amin((2, 3)), out.amax((2, 3)))
        (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of volumes at random while training, and scale the others up.

    Args:
        p: the probability that a channel becomes 0.
        inplace: whether to overwrite the input with the result.

    Shape: (N, C, D, H, W) → the same, or both without N.

    Example:
        >>> import taper
        >>> out = taper.nn.Dropout3d(0.5)(taper.ones(4, 8, 2, 2, 2))
        >>> out.unique(), taper.equal(out.amin((2, 3, 4)), out.amax((2, 3, 4)))
        (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Drop elements at random while training so that mean 0 and variance 1 are kept; for `SELU`.

        y = a (x m - 1.7581 (1 - m)) + b, m ~ Bernoulli(1 - p)

    The numbers a and b depend on p. In eval mode y = x.

    Args:
        p: the probability that an element is dropped.
        inplace: accepted without effect, as in PyTorch.

    Shape: (*) → (*): any shape, which the result keeps.

    Example:
        >>> import taper
        >>> taper.nn.AlphaDropout(0.5).eval()(taper.ones(3))
        tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Drop whole channels as `AlphaDropout` drops elements.

    Args:
        p: the probability that a channel is dropped.
        inplace: accepted without effect, as in PyTorch.

    Shape: (N, C, *) → the same.

    Example:
        >>> import taper
        >>> out = taper.nn.FeatureAlphaDropout(0.5)(taper.ones(4, 8, 5))
        >>> taper.equal(out.amin(2), out.amax(2))
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
