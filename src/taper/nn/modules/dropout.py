"""The dropout family: parts of the input are zeroed at random while training."""

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
    """Zero each element with probability `p` and scale the others by 1/(1-p).

    >>> import taper
    >>> taper.nn.Dropout(0.5).eval()(taper.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of (batch, channel, length) or (channel, length).

    >>> import taper
    >>> out = taper.nn.Dropout1d(0.5)(taper.ones(4, 8, 2))
    >>> out.unique(), taper.equal(out.amin(2), out.amax(2))
    (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of (batch, channel, height, width) or (channel, height, width).

    >>> import taper
    >>> out = taper.nn.Dropout2d(0.5)(taper.ones(4, 8, 2, 2))
    >>> out.unique(), taper.equal(out.amin((2, 3)), out.amax((2, 3)))
    (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of (batch, channel, depth, height, width).

    >>> import taper
    >>> out = taper.nn.Dropout3d(0.5)(taper.ones(4, 8, 2, 2, 2))
    >>> out.unique(), taper.equal(out.amin((2, 3, 4)), out.amax((2, 3, 4)))
    (tensor([0., 2.]), True)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of the input, for use with SELU.

    >>> import taper
    >>> taper.nn.AlphaDropout(0.5).eval()(taper.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> import taper
    >>> out = taper.nn.FeatureAlphaDropout(0.5)(taper.ones(4, 8, 5))
    >>> taper.equal(out.amin(2), out.amax(2))
    True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
