"""LinearCrossEntropyLoss: a linear layer and the cross entropy of what it gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from taper.nn import functional as F
from taper.nn.linear_cross_entropy import LinearCrossEntropyOptions
from taper.nn.modules.linear import Linear
from taper.nn.modules.loss import _WeightedLoss
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class LinearCrossEntropyLoss(_WeightedLoss):
    """Apply `CrossEntropyLoss` to a linear layer; with `options`, a chunk of the scores at a time.

        l = -w[y] log softmax(x Wᵀ + b)[y]

    Args:
        in_features: length of the input's last dimension.
        num_classes: how many classes C there are.
        out_features: the dimensions d1, ... of targets that have several, each with its own
            weights.
        bias: whether the linear layer has a bias.
        device, dtype: where the parameters live, and their type; None means the default.
        reduction: "mean", "sum" or "none", as for `CrossEntropyLoss`.
        weight: a factor for each class, (C,); None means 1.
        ignore_index: a target that counts for nothing.
        label_smoothing: the share of each target to spread evenly over all classes, 0 to 1.
        options: a `LinearCrossEntropyOptions` to save memory; None computes all scores at once.

    Shape:
        input (N, in_features); target (N, d1, ...) of class numbers; the result is a scalar, or
        has the target's shape for "none".

    Initialisation: `linear`, whose weight is (num_classes d1 ..., in_features), as `Linear`.

    Example:
        >>> import taper
        >>> loss = taper.nn.LinearCrossEntropyLoss(3, 5)
        >>> loss(taper.rand(2, 3), taper.tensor([1, 4])).shape
        torch.Size([])
    """

    __constants__ = [  # noqa: RUF012 - as PyTorch's
        "num_classes",
        "out_features",
        "reduction",
        "ignore_index",
        "label_smoothing",
    ]

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be ({num_classes},), got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        count = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        layer = self.linear
        shape = (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input,
            layer.weight.view(*shape, layer.in_features),
            target,
            linear_bias=None if layer.bias is None else layer.bias.view(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
