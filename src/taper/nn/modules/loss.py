"""Losses as modules; each calls the function of the same name.

Long because: there are twenty losses, and each has its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.nn import functional as F
from taper.nn.modules.distance import PairwiseDistance
from taper.nn.modules.module import Module
from taper.ops.loss.elementwise import legacy_reduction
from taper.tensor import Tensor


class _Loss(Module):
    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """Measure the distance of each element from its target.

        l = |x - y|

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.L1Loss()(taper.zeros(2), taper.tensor([1.0, 3.0]))
        tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Measure the squared distance of each element from its target.

        l = (x - y)²

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.MSELoss()(taper.zeros(2), taper.tensor([1.0, 3.0]))
        tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Measure distances: squared for small ones, straight for large ones.

        l = (x - y)² / (2 beta) if |x - y| < beta else |x - y| - beta/2

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.
        beta: where the two formulas meet; 0 gives `L1Loss`.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.SmoothL1Loss()(taper.zeros(2), taper.tensor([0.5, 3.0]))
        tensor(1.3125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Measure distances: squared for small ones, straight with slope `delta` for large ones.

        l = (x - y)² / 2 if |x - y| < delta else delta (|x - y| - delta/2)

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        delta: where the two formulas meet; above 0.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.HuberLoss(delta=2.0)(taper.zeros(2), taper.tensor([1.0, 3.0]))
        tensor(2.2500)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Measure how improbable the target class is; the input holds log-probabilities.

        l = -w[y] x[y], and "mean" divides the sum by Σ w[y]

    Args:
        weight: a factor for each class, (C,); None means 1.
        size_average, reduce: deprecated; `reduction` replaces both.
        ignore_index: a target that counts for nothing.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).

    Shape:
        input (C), (N, C) or (N, C, d1, ...); target (), (N) or (N, d1, ...) of class numbers; the
        result is a scalar, or has the target's shape for "none".

    Example:
        >>> import taper
        >>> taper.nn.NLLLoss()(taper.tensor([[-0.5, -1.0]]), taper.tensor([1]))
        tensor(1.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """Measure how improbable the target class is; the input holds scores.

        l = -w[y] log softmax(x)[y], and "mean" divides the sum by Σ w[y]
        l = -Σc w[c] y[c] log softmax(x)[c], where the target y holds probabilities

    Args:
        weight: a factor for each class, (C,); None means 1.
        size_average, reduce: deprecated; `reduction` replaces both.
        ignore_index: a target that counts for nothing; not for targets of probabilities.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        label_smoothing: the share of each target to spread evenly over all classes, 0 to 1.

    Shape:
        input (C), (N, C) or (N, C, d1, ...); target (), (N) or (N, d1, ...) of class numbers, or
        the input's shape of probabilities; the result is a scalar, or for "none" the shape without
        C.

    Example:
        >>> import taper
        >>> taper.nn.CrossEntropyLoss()(taper.zeros(1, 2), taper.tensor([1]))
        tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class PoissonNLLLoss(_Loss):
    """Measure how improbable counts are under a Poisson distribution.

        l = exp(x) - y x with log_input, else l = x - y log(x + eps)

    Args:
        log_input: whether the input is the logarithm of the expected counts.
        full: whether to add Stirling's approximation of log(y!): y log y - y + log(2πy)/2 where y
            > 1.
        size_average, reduce: deprecated; `reduction` replaces both.
        eps: guards against log(0).
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.PoissonNLLLoss()(taper.zeros(2), taper.tensor([1.0, 2.0]))
        tensor(1.)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Measure how improbable targets are under normal distributions of given mean and variance.

        l = (log v + (x - y)² / v) / 2, v = max(var, eps)

    Args:
        full: whether to add the constant log(2π)/2.
        eps: the smallest variance to use.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).

    Shape:
        input (N, *), the means; target (N, *); var (N, *), or with 1 or nothing as its last
        dimension, or a number; the result is a scalar, or (N, *) for "none".

    Example:
        >>> import taper
        >>> mean, target, variance = taper.zeros(2), taper.tensor([1.0, 2.0]), taper.ones(2)
        >>> taper.nn.GaussianNLLLoss()(mean, target, variance)
        tensor(1.2500)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """Measure the divergence of the target distribution from log-probabilities.

        l = y (log y - x), or with log_target l = exp(y) (y - x)

    Args:
        size_average, reduce: deprecated; `reduction` replaces both.
        reduction: "batchmean" (the sum divided by N, which is the divergence), "sum", "none", or
            "mean" (over all elements).
        log_target: whether the target holds log-probabilities, too.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> guess, target = taper.tensor([[0.5, 0.5]]), taper.tensor([[0.25, 0.75]])
        >>> taper.nn.KLDivLoss(reduction="batchmean")(guess.log(), target)
        tensor(0.1308)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Measure how improbable yes or no is; the input holds probabilities of yes.

        l = -w (y log x + (1 - y) log(1 - x)), each logarithm at least -100

    Args:
        weight: factors that broadcast to the input's shape; None means 1.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.BCELoss()(taper.tensor([0.5, 0.9]), taper.tensor([1.0, 1.0]))
        tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Measure how improbable yes or no is; the input holds scores, before any sigmoid.

        l = -w (p y log s(x) + (1 - y) log(1 - s(x))), s(x) = 1 / (1 + exp(-x))

    Args:
        weight: factors w that broadcast to the input's shape; None means 1.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.
        pos_weight: factors p of the positive targets, which broadcast, too; above 1 favours
            recall.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.BCEWithLogitsLoss()(taper.tensor([0.0, 2.0]), taper.tensor([1.0, 1.0]))
        tensor(0.4100)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """Pull distances together where the target is 1, and apart where it is -1.

        l = x if y = 1 else max(0, margin - x)

    Args:
        margin: how far apart is far enough.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.HingeEmbeddingLoss()(taper.tensor([0.25, 0.25]), taper.tensor([1, -1]))
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Compare the scores of all target classes with those of all others.

        l = Σ(i, j) max(0, 1 - (x[y[j]] - x[i])) / C, j over the targets, i over the other classes

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape:
        input (C) or (N, C); target likewise: class numbers, which end at the first -1; the result
        is a scalar, or (N) for "none".

    Example:
        >>> import taper
        >>> scores, labels = taper.tensor([[0.1, 0.2, 0.4, 0.8]]), taper.tensor([[3, 0, -1, 1]])
        >>> taper.nn.MultiLabelMarginLoss()(scores, labels)
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Measure how improbable one of two classes is; the target is 1 or -1, the input a score.

        l = log(1 + exp(-y x))

    Args:
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input and target (*), of the same shape; the result is a scalar, or (*) for "none".

    Example:
        >>> import taper
        >>> taper.nn.SoftMarginLoss()(taper.tensor([0.0, 1.0]), taper.tensor([1.0, -1.0]))
        tensor(1.0032)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Measure how improbable several yes-or-no labels are together; the input holds scores.

        l = -Σc w[c] (y[c] log s(x[c]) + (1 - y[c]) log s(-x[c])) / C, s(x) = 1 / (1 + exp(-x))

    Args:
        weight: a factor for each class, (C,); None means 1.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input (N, C); target likewise, 0 or 1; the result is a scalar, or (N) for "none".

    Example:
        >>> import taper
        >>> scores, labels = taper.tensor([[0.0, 1.0]]), taper.tensor([[1.0, 0.0]])
        >>> taper.nn.MultiLabelSoftMarginLoss()(scores, labels)
        tensor(1.0032)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """Turn vectors towards each other where the target is 1, and away where it is -1.

        l = 1 - cos(x1, x2) if y = 1 else max(0, cos(x1, x2) - margin)

    Args:
        margin: the cosine up to which vectors are far enough apart, -1 to 1.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape:
        input1 and input2 (N, D) or (D); target (N) or (); the result is a scalar, or (N) for
        "none".

    Example:
        >>> import taper
        >>> a, b = taper.tensor([[1.0, 0.0]]), taper.tensor([[1.0, 1.0]])
        >>> taper.nn.CosineEmbeddingLoss()(a, b, taper.tensor([1]))
        tensor(0.2929)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """Rank the first input above the second where the target is 1, and below where it is -1.

        l = max(0, -y (x1 - x2) + margin)

    Args:
        margin: how far apart they must be.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: input1, input2 and target (N) or (); the result is a scalar, or (N) for "none".

    Example:
        >>> import taper
        >>> a, b = taper.tensor([1.0, 2.0]), taper.tensor([2.0, 1.0])
        >>> taper.nn.MarginRankingLoss()(a, b, taper.tensor([1, 1]))
        tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """Compare the score of the target class with those of all others.

        l = Σ(i ≠ y) w[y] max(0, margin - x[y] + x[i])ᵖ / C

    Args:
        p: the power, 1 or 2.
        margin: by how much the target's score must be the largest.
        weight: a factor for each class, (C,); None means 1.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape:
        input (N, C) or (C); target (N) or () of class numbers; the result is a scalar, or (N) for
        "none".

    Example:
        >>> import taper
        >>> taper.nn.MultiMarginLoss()(taper.tensor([[0.1, 0.2, 0.8]]), taper.tensor([2]))
        tensor(0.2333)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight.dim()}D instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """Bring an anchor nearer to a positive example than to a negative one.

        l = max(0, d(a, p) - d(a, n) + margin), d(x, y) = ‖x - y + eps‖ₚ

    Args:
        margin: by how much nearer; above 0.
        p: the kind of norm.
        eps: keeps the distance away from 0, where it has no derivative.
        swap: whether to use d(p, n) instead of d(a, n) where that is smaller.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).
        size_average, reduce: deprecated; `reduction` replaces both.

    Shape: anchor, positive and negative (N, D) or (D); the result is a scalar, or (N) for "none".

    Example:
        >>> import taper
        >>> anchor, near, far = taper.zeros(1, 2), taper.full((1, 2), 3.0), taper.full((1, 2), 2.0)
        >>> taper.nn.TripletMarginLoss()(anchor, near, far)
        tensor(2.4142)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """Bring an anchor nearer to a positive example than to a negative one, by your own distance.

        l = max(0, d(a, p) - d(a, n) + margin)

    Args:
        distance_function: d, which takes two tensors (N, *) and returns (N); None means
            `PairwiseDistance`.
        margin: by how much nearer; above 0.
        swap: whether to use d(p, n) instead of d(a, n) where that is smaller.
        reduction: "mean" (the average of the losses), "sum", or "none" (every loss).

    Shape:
        anchor, positive and negative (N, *), as the distance takes them; the result is a scalar,
        or (N) for "none".

    Example:
        >>> import taper
        >>> anchor, near, far = taper.zeros(1, 2), taper.full((1, 2), 3.0), taper.full((1, 2), 2.0)
        >>> def steps(a, b):
        ...     return (a - b).abs().sum(1)
        >>> taper.nn.TripletMarginWithDistanceLoss(distance_function=steps)(anchor, near, far)
        tensor(3.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function: Any = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """Measure how improbable a sequence of labels is under all its alignments to the input.

        l = -log Σ Πt exp(x[t, a[t]]), over the alignments a of the target

    An alignment has a label at each time; without repetitions, then without blanks, it is the
    target. `forward(log_probs, targets, input_lengths, target_lengths)` takes log-probabilities.

    Args:
        blank: the number of the blank label.
        reduction: "mean" (each loss divided by its target's length, then the average), "sum" or
            "none".
        zero_infinity: whether losses of targets that are too long for the input become 0, and
            their gradients.

    Shape:
        log_probs (T, N, C) or (T, C); targets (N, S), or (Σ target_lengths) in one row; both
        lengths (N) or (); the result is a scalar, or (N) for "none".

    Example:
        >>> import taper
        >>> steps = taper.full((3, 1, 2), 0.5).log()  # 3 steps, 2 classes; 0 is the blank
        >>> taper.nn.CTCLoss()(steps, taper.tensor([[1]]), taper.tensor([3]), taper.tensor([1]))
        tensor(0.2877)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
