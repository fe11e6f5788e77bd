"""Sequences of different lengths for recurrent networks: packed, padded, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from taper import dtypes
from taper.ops.creation.data import as_tensor
from taper.ops.creation.filled import empty_like
from taper.ops.creation.ranges import arange
from taper.ops.recurrent.packing import pack, pad_packed
from taper.ops.recurrent.packing import pad_sequence as pad_tensors
from taper.ops.reduction.order import sort
from taper.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Hold sequences of different lengths in one tensor: all first elements, all second ones, ...

    Made by `pack_padded_sequence` and `pack_sequence`; recurrent networks take and return it.

    Args:
        data: the elements.
        batch_sizes: how many sequences each time step has, longer sequences first.
        sorted_indices: how the batch was sorted for that; None means not at all.
        unsorted_indices: the way back.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pack_sequence
        >>> pack_sequence([taper.tensor([1, 2, 3]), taper.tensor([4])]).data
        tensor([1, 4, 2, 3])
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
            sorted_indices = None
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn."
            )
        elif unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor) -> Self:
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert the data as `Tensor.to` does; return `self` if nothing changes."""
        if "copy" in kwargs:
            raise RuntimeError(".to() does not accept copy argument")
        return self._with(self.data.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Raise an error: there is no CUDA."""
        if args or kwargs:
            self.data.to(*args, **kwargs)
        return self._with(self.data.cuda())

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        return self.to(*args, **{**kwargs, "device": "cpu"})

    def double(self) -> Self:
        return self.to(dtype=dtypes.float64)

    def float(self) -> Self:
        return self.to(dtype=dtypes.float32)

    def half(self) -> Self:
        return self.to(dtype=dtypes.float16)

    def long(self) -> Self:
        return self.to(dtype=dtypes.int64)

    def int(self) -> Self:
        return self.to(dtype=dtypes.int32)

    def short(self) -> Self:
        return self.to(dtype=dtypes.int16)

    def char(self) -> Self:
        return self.to(dtype=dtypes.int8)

    def byte(self) -> Self:
        return self.to(dtype=dtypes.uint8)

    def pin_memory(self) -> Self:
        """Refused: there is no accelerator to pin memory for."""
        return self._with(self.data.pin_memory())

    @property
    def is_cuda(self) -> bool:
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another one.

    Args:
        permutation: a tensor of indices, or None, which gives None.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import invert_permutation
        >>> invert_permutation(taper.tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return empty_like(permutation).scatter_(0, permutation, arange(0, permutation.numel()))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences without their padding.

    Args:
        input: the sequences, (L, N, *).
        lengths: the length of each: a tensor on the CPU, or a list.
        batch_first: whether the input is (N, L, *).
        enforce_sorted: whether lengths must not increase; else the sequences are sorted.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pack_padded_sequence
        >>> packed = pack_padded_sequence(taper.tensor([[1, 2, 3], [4, 0, 0]]), [3, 1], True)
        >>> packed.data, packed.batch_sizes
        (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """
    lengths = as_tensor(lengths, dtype=dtypes.int64)
    order = None
    if not enforce_sorted:
        lengths, order = sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = pack(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return packed sequences with padding, in their first order, and their lengths.

    Args:
        sequence: the packed sequences.
        batch_first: whether the result is (N, L, *) instead of (L, N, *).
        padding_value: the value to fill with.
        total_length: the length to fill up to; None means that of the longest.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> packed = pack_sequence([taper.tensor([1, 2, 3]), taper.tensor([4])])
        >>> pad_packed_sequence(packed, batch_first=True)
        (tensor([[1, 2, 3],
                [4, 0, 0]]), tensor([3, 1]))
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is None:
        total_length = longest
    elif total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    padded, lengths = pad_packed(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, total_length
    )
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order]


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Put sequences side by side, the shorter ones filled up to the length of the longest.

    Args:
        sequences: tensors (l, *) of different lengths l.
        batch_first: whether the result is (N, L, *) instead of (L, N, *).
        padding_value: the value to fill with.
        padding_side: "right" or "left", where to fill.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pad_sequence
        >>> pad_sequence([taper.tensor([1, 2, 3]), taper.tensor([4])], batch_first=True)
        tensor([[1, 2, 3],
                [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    parts = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return pad_tensors(parts, batch_first, padding_value, padding_side)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Return the sequences that were padded, as a list.

    Args:
        padded_sequences: the padded sequences, (L, N, *).
        lengths: the length of each.
        batch_first: whether the input is (N, L, *).

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import unpad_sequence
        >>> unpad_sequence(taper.tensor([[1, 2, 3], [4, 0, 0]]), taper.tensor([3, 1]), True)
        [tensor([1, 2, 3]), tensor([4])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    places = arange(padded_sequences.size(1), device=lengths.device)
    return [
        sequence[places < length]
        for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Args:
        sequences: tensors (l, *) of different lengths l.
        enforce_sorted: whether lengths must not increase; else the sequences are sorted.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pack_sequence
        >>> pack_sequence([taper.tensor([1, 2]), taper.tensor([3])]).data
        tensor([1, 3, 2])
    """
    lengths = as_tensor([each.size(0) for each in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences that were packed, as a list.

    Args:
        packed_sequences: the packed sequences.

    Example:
        >>> import taper
        >>> from taper.nn.utils.rnn import pack_sequence, unpack_sequence
        >>> unpack_sequence(pack_sequence([taper.tensor([1, 2]), taper.tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
