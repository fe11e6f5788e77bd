"""Stochastic depth: samples, or the whole batch, are zeroed at random while training."""

from __future__ import annotations

from taper import nn
from taper.ops.creation.filled import empty
from taper.tensor import Tensor


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zero the batch (`mode` "batch") or each sample ("row") with probability `p`.

    The rest is scaled so that the mean is kept.

    >>> import taper
    >>> from taper.vision.ops import stochastic_depth
    >>> stochastic_depth(taper.ones(2), 0.5, "row", training=False)
    tensor([1., 1.])
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    kept = 1.0 - p
    ones = [1] * input.ndim
    shape = [input.shape[0], *ones[1:]] if mode == "row" else ones
    noise = empty(shape, dtype=input.dtype, device=input.device).bernoulli_(kept)
    if kept > 0.0:
        noise.div_(kept)
    return input * noise


class StochasticDepth(nn.Module):
    """Do `stochastic_depth` while training.

    >>> import taper
    >>> from taper.vision.ops import StochasticDepth
    >>> StochasticDepth(0.2, "row")
    StochasticDepth(p=0.2, mode=row)
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
