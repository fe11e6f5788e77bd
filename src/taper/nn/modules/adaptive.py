"""AdaptiveLogSoftmaxWithLoss: a softmax over very many classes, rare ones in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from taper import dtypes
from taper.nn import functional as F
from taper.nn.modules.container import ModuleList, Sequential
from taper.nn.modules.linear import Linear
from taper.nn.modules.module import Module
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class _ASMoutput(NamedTuple):
    """What the module returns: a value for each sample, and the loss."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Compute log-probabilities of very many classes cheaply, by clusters of rare ones.

        output = log p(target), loss = -mean(output)

    Classes are numbered by falling frequency. Those below the first cutoff are in the head,
    together with one entry for each cluster of the others; p of a class in a cluster is p(cluster)
    p(class | cluster). A cluster is computed only for samples whose target it holds.

    Args:
        in_features: length of the input's last dimension.
        n_classes: how many classes there are.
        cutoffs: the first class of each cluster, increasing.
        div_value: cluster i projects the input to in_features / div_valueⁱ features.
        head_bias: whether the head has a bias.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape:
        input (N, in_features) or (in_features); target (N) or (); output likewise; loss a scalar.

    Initialisation: `head` and `tail`, all linear layers, as `Linear`.

    Example:
        >>> import taper
        >>> loss = taper.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
        >>> result = loss(taper.rand(3, 8), taper.tensor([1, 7, 19]))
        >>> result.output.shape, result.loss.shape
        (torch.Size([3]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for nr, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**nr)
            down = Linear(in_features, width, bias=False, **factory)
            self.tail.append(Sequential(down, Linear(width, high - low, bias=False, **factory)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        pair: Any  # of Linear layers
        for pair in self.tail:
            for each in pair:
                each.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the log-probability of each target, and minus their mean."""
        _check_target(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        output = input.new_zeros(target.size(0))
        places = target.new_empty(target.size(0), dtype=dtypes.int64)
        found = 0
        for nr, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            inside = (target >= low) & (target < high)
            rows = inside.nonzero().squeeze()
            if not rows.numel():
                continue
            found += rows.numel()
            if nr == 0:
                places.index_copy_(0, rows, target[inside].to(dtypes.int64))
                continue
            within = (target[inside] - low).unsqueeze(1)
            scores = self.tail[nr - 1](input.index_select(0, rows))
            chosen = F.log_softmax(scores, dim=1).gather(1, within)
            places.index_fill_(0, rows, self.shortlist_size + nr - 1)
            output.index_copy_(0, rows, chosen.squeeze(1))
        if found != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, places.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, given the output of the head."""
        result = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        first = self.shortlist_size
        result[:, :first] = head[:, :first]
        for nr, (low, high) in enumerate(pairwise(self.cutoffs)):
            cluster = F.log_softmax(self.tail[nr](input), dim=1)
            result[:, low:high] = cluster + head[:, first + nr].unsqueeze(1)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, (N, n_classes).

        >>> import taper
        >>> loss = taper.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
        >>> loss.log_prob(taper.rand(3, 8)).exp().sum(1).allclose(taper.ones(3))
        True
        """
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the likeliest class of each sample, (N).

        >>> import taper
        >>> loss = taper.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
        >>> loss.predict(taper.rand(3, 8)).shape
        torch.Size([3])
        """
        head = self.head(input)
        result = head.argmax(dim=1)
        rare = result >= self.shortlist_size
        if bool(rare.any()):
            result[rare] = self._get_full_log_prob(input[rare], head[rare]).argmax(dim=1)
        return result


def _check_cutoffs(cutoffs: list[int], n_classes: int) -> None:
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    rising = all(low < high for low, high in pairwise([0, *cutoffs, n_classes]))
    if not rising or any(int(each) != each for each in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


def _check_target(input: Tensor, target: Tensor) -> None:
    ndim = target.dim()
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if ndim == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
