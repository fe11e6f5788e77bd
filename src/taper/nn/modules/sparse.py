"""Embedding and EmbeddingBag: a table of vectors, looked up by number, one by one or in bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from taper.autograd.grad_mode import no_grad
from taper.nn import functional as F
from taper.nn import init
from taper.nn.modules.module import Module
from taper.nn.parameter import Parameter
from taper.ops.creation.filled import empty
from taper.tensor import Tensor

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


class Embedding(Module):
    """Look up vectors by number.

        y = weight[input]

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: their length.
        padding_idx: the row that starts as zero and gets no gradient.
        max_norm: rows that are looked up and longer are shortened to this, in place.
        norm_type: the norm that `max_norm` means.
        scale_grad_by_freq: whether to divide a row's gradient by how often the row is looked up.
        sparse: whether the gradient of the weight is a sparse tensor.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (*) of whole numbers → (*, embedding_dim).
    Initialisation: weight (num_embeddings, embedding_dim) ~ N(0, 1); the row `padding_idx` is 0.

    Example:
        >>> import taper
        >>> taper.nn.Embedding(10, 3)(taper.tensor([[1, 2], [4, 5]])).shape
        torch.Size([2, 2, 3])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            self.weight = Parameter(
                empty(shape, device=device, dtype=dtype), requires_grad=not _freeze
            )
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != shape:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    def reset_parameters(self) -> None:
        """Draw the vectors from N(0, 1), and set the padding row to 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (
            ("padding_idx", None),
            ("max_norm", None),
            ("norm_type", 2),
            ("scale_grad_by_freq", False),
            ("sparse", False),
        ):
            value = getattr(self, name)
            if value is not usual and value != usual:
                text += f", {name}={value}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Make a table on the memory of `embeddings`; `freeze` excludes the table from training."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(Module):
    """Look up bags of vectors by number, and reduce each bag to one vector.

        y = mean, sum or max of weight[i], over the numbers i in a bag

    `forward(input, offsets=None, per_sample_weights=None)`: `offsets` says where bags begin in a
    row of numbers; `per_sample_weights`, for "sum", gives each number a factor.

    Args:
        num_embeddings: how many vectors there are.
        embedding_dim: their length.
        max_norm: rows that are looked up and longer are shortened to this, in place.
        norm_type: the norm that `max_norm` means.
        scale_grad_by_freq: whether to divide a row's gradient by how often the row is looked up;
            not for "max".
        mode: "mean", "sum" or "max".
        sparse: whether the gradient of the weight is a sparse tensor; not for "max".
        include_last_offset: whether `offsets` ends with the number of numbers.
        padding_idx: the row that starts as zero, and whose numbers do not count.
        device, dtype: where the parameters live, and their type; None means the default.

    Shape: (B, n), a bag in each row, or (n) with offsets (B) → (B, embedding_dim).
    Initialisation: weight (num_embeddings, embedding_dim) ~ N(0, 1); the row `padding_idx` is 0.

    Example:
        >>> import taper
        >>> taper.nn.EmbeddingBag(10, 3)(taper.tensor([1, 2, 4]), taper.tensor([0, 2])).shape
        torch.Size([2, 3])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        shape = (num_embeddings, embedding_dim)
        if _weight is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype))
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != shape:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(_weight)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def reset_parameters(self) -> None:
        """Draw the vectors from N(0, 1), and set the padding row to 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Make a table on the memory of `embeddings`; `freeze` excludes the table from training."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
