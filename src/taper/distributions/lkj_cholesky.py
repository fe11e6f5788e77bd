"""The LKJ distribution of Cholesky factors of correlation matrices.

Draws use the onion method of Lewandowski, Kurowicka and Joe (2009): each row is a point on a
sphere, scaled by a Beta variable, and completed to length one.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from taper.distributions import constraints
from taper.distributions.beta import Beta
from taper.distributions.distribution import NO_SHAPE, Distribution, Shape
from taper.distributions.parameters import expanded
from taper.distributions.utils import broadcast_all
from taper.dtypes import finfo
from taper.ops.creation.ranges import arange
from taper.ops.elementwise.clamping import clamp
from taper.ops.random.draws import randn
from taper.ops.shape.split import cat
from taper.ops.special.gamma import mvlgamma
from taper.size import Size
from taper.tensor import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Factors of correlation matrices M, with density proportional to det(M)^(concentration - 1).

    Args:
        dim: the size of the matrices, at least 2.
        concentration: positive; 1 makes all correlation matrices equally likely.
        validate_args: whether parameters and values are checked.

    >>> import taper
    >>> generator = taper.manual_seed(0)
    >>> taper.distributions.LKJCholesky(2, 0.5).sample()
    tensor([[ 1.0000,  0.0000],
            [-0.5438,  0.8392]])
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = arange(self.dim - 1, **options)
        offset = cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (self.dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        batch_shape = Size(batch_shape)
        return expanded(
            self,
            LKJCholesky,
            _instance,
            batch_shape,
            self.event_shape,
            dim=self.dim,
            concentration=self.concentration.expand(batch_shape),
            _beta=self._beta.expand((*batch_shape, self.dim)),
        )

    def sample(self, sample_shape: Shape = NO_SHAPE) -> Tensor:
        radius = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        points = randn(shape, dtype=radius.dtype, device=radius.device).tril(-1)
        sphere = points / points.norm(dim=-1, keepdim=True)
        sphere[..., 0, :].fill_(0.0)  # the first row has no element before the diagonal
        rows = radius.sqrt() * sphere
        rest = clamp(1 - (rows**2).sum(dim=-1), min=finfo(rows.dtype).tiny).sqrt()
        return rows + rest.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (order * diagonal.log()).sum(dim=-1)
        # The constant is that of page 1999 of the paper, written with multivariate gammas.
        rank = self.dim - 1
        alpha = self.concentration + 0.5 * rank
        normalizer = 0.5 * rank * math.log(math.pi) + mvlgamma(alpha - 0.5, rank)
        return unnormalized - (normalizer - alpha.lgamma() * rank)
