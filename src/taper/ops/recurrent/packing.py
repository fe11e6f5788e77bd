"""Sequences of different lengths as one tensor: packed without gaps, or padded.

Owns: packing and its gradient, and filling padded tensors.  A packed tensor holds the rows of the
first time step, then those of the second; longer sequences stand first, so that a time step is
described by its number of rows.  `nn.utils.rnn` has the public functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy import ndarray

from taper.arrays.reduction import scalar_type
from taper.arrays.strides import Shape, wrap_dim
from taper.factory import refuse
from taper.opdef import LINEAR, Array, composite, derivative, op, tangent_of
from taper.ops.creation.filled import full
from taper.tensor import Tensor, wrap

# --- packing ---------------------------------------------------------------------------------


def _check_lengths(lengths: Any) -> None:
    if lengths.ndim != 1 or lengths.dtype != np.int64:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu "
            f"{scalar_type(lengths.dtype)} tensor"
        )


def _batch_sizes(input: ndarray, lengths: ndarray, batch_first: bool) -> ndarray:
    """Count the sequences of each time step, longer ones first; refuse what cannot be packed."""
    if not isinstance(batch_first, bool):
        refuse("_pack_padded_sequence", "batch_first", 3, "bool", batch_first)
    _check_lengths(lengths)
    if not input.ndim:
        raise IndexError("Dimension specified as 1 but tensor has no dimensions")
    batch = input.shape[wrap_dim(0 if batch_first else 1, input.ndim)]
    if not input.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={batch})"
        )
    if (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if lengths[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    counts: ndarray = np.add.reduce(lengths > np.arange(lengths[0])[:, None], 1, np.int64)
    return counts


def _present(padded: ndarray, batch_sizes: ndarray, batch_first: bool) -> tuple[ndarray, ndarray]:
    """Return the padded array, time first, and which of its places belong to a sequence."""
    by_time = padded.swapaxes(0, 1) if batch_first else padded
    by_time = by_time[: len(batch_sizes)]
    present = np.arange(by_time.shape[1]) < batch_sizes[: len(by_time), None]
    return by_time, present


@op(
    name="_pack_padded_sequence",
    outputs=("result0", "result1"),
    nondifferentiable=(1,),
    public=False,
    method=False,
)
def pack(input: Array, lengths: Array, batch_first: bool) -> tuple[Array, Array]:
    """Take the rows of padded sequences without the padding; also return the rows of each step."""
    batch_sizes = _batch_sizes(input, lengths, batch_first)
    by_time, present = _present(input, batch_sizes, batch_first)
    return by_time[present], batch_sizes


@op(name="_packed_rows", tangent=LINEAR, public=False, method=False)
def packed_rows(input: Array, batch_sizes: Array, batch_first: bool) -> Array:
    """Take the rows, with the number of rows already known."""
    by_time, present = _present(input, batch_sizes, batch_first)
    return by_time[present]


@op(name="_pack_padded_sequence_backward", tangent=LINEAR, public=False, method=False)
def pack_backward(grad: Array, input_size: Shape, batch_sizes: Array, batch_first: bool) -> Array:
    """Put rows at their places in padded sequences, zero elsewhere."""
    result = np.zeros(input_size, grad.dtype)
    by_time, present = _present(result, batch_sizes, batch_first)
    by_time[present] = grad
    return result


@derivative(pack, wrt="input")
def pack_input(grad_result0, input_shape, result1, batch_first):
    return pack_backward(grad_result0, input_shape, result1, batch_first)


@derivative(packed_rows, wrt="input")
def packed_rows_input(grad, input_shape, batch_sizes, batch_first):
    return pack_backward(grad, input_shape, batch_sizes, batch_first)


@derivative(pack_backward, wrt="grad")
def pack_backward_grad(grad, batch_sizes, batch_first):
    return packed_rows(grad, batch_sizes, batch_first)


@tangent_of(pack)
def pack_tangent(input_t, result1, batch_first):
    return packed_rows(input_t, result1, batch_first)


# --- padding ---------------------------------------------------------------------------------


@composite(method=False, public=False, name="_pad_packed_sequence")
def pad_packed(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """Pad packed rows, and return the lengths; a length of 0 or less is the longest."""
    _check_lengths(batch_sizes._array)
    sizes: list[int] = batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("batch_sizes can not be empty")
    steps = len(sizes)
    if total_length > 0:
        if total_length < steps:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    rest = data.shape[1:]
    padded = full((steps, sizes[0], *rest), padding_value, dtype=data.dtype)
    row = step = 0
    for size, run in groupby(sizes):
        count = len(list(run))
        part = data[row : row + count * size].view(count, size, *rest)
        padded.narrow(0, step, count)[:, :size].copy_(part)
        row += count * size
        step += count
    lengths = np.add.reduce(batch_sizes._array[:, None] > np.arange(sizes[0]), 0, np.int64)
    return padded.transpose(0, 1) if batch_first else padded, wrap(lengths)


@composite(method=False, public=False)
def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Put sequences side by side, the shorter ones filled up to the length of the longest."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for number, each in enumerate(sequences):
        if not isinstance(each, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type(each).__name__}"
            )
    if not isinstance(padding_value, (int, float)):
        refuse("pad_sequence", "padding_value", 3, "float", padding_value)
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    first = sequences[0]
    if not first.dim():
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest = max(each.size(0) for each in sequences)
    lead = (len(sequences), longest) if batch_first else (longest, len(sequences))
    options: dict[str, Any] = {"dtype": first.dtype, "device": first.device}
    padded = full((*lead, *first.shape[1:]), padding_value, **options)
    for number, each in enumerate(sequences):
        place = padded.select(0 if batch_first else 1, number)
        start = longest - each.size(0) if padding_side == "left" else 0
        place.narrow(0, start, each.size(0)).copy_(each)
    return padded
