"""What pooling refuses, in PyTorch's words, and how many windows there are.

Knows shapes and dtypes; the arithmetic of windows is in `arrays.windows`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from taper import dtypes
from taper.arrays.strides import Shape, integers
from taper.arrays.windows import Windows, regular_windows
from taper.factory import refuse
from taper.tensor import Tensor

FLOATS = ("float16", "bfloat16", "float32", "float64")
NUMBERS = (*FLOATS, "uint8", "int8", "int16", "int32", "int64")

_WORDS = {2: "two", 3: "three"}
_LETTERS = {2: "HW", 3: "THW"}


# --- arguments -------------------------------------------------------------------------------


def tensor(function: str, value: Any) -> Tensor:
    """Check that the first argument of a function is a Tensor."""
    if not isinstance(value, Tensor):
        refuse(function, "input", 1, "Tensor", value)
    return value


def whole_numbers(function: str, name: str, position: int, value: Any, rank: int) -> Shape:
    """Return one whole number for each of `rank` dimensions, or as many as the user gave."""
    if type(value) is int:
        return (value,) * rank
    if isinstance(value, (list, tuple)):
        return integers(function, name, value, position)
    try:
        if isinstance(value, bool):
            raise TypeError
        return (operator.index(value),) * rank
    except TypeError:
        refuse(function, name, position, "tuple of ints", value)


def flag(function: str, name: str, position: int, value: Any) -> bool:
    """Check that an argument is True or False."""
    if not isinstance(value, bool):
        refuse(function, name, position, "bool", value)
    return value


def for_each_dim(text: str, numbers: Shape, rank: int) -> Shape:
    """Return one number for each dimension; `text` is the error for neither 1 nor `rank`."""
    if len(numbers) == 1:
        return numbers * rank
    if len(numbers) != rank:
        raise RuntimeError(text)
    return numbers


def require_dtype(kernel: str, array: ndarray, allowed: Sequence[str]) -> None:
    """Raise PyTorch's error of a missing kernel unless the dtype is among the allowed."""
    kind = dtypes.FROM_NUMPY[array.dtype]
    if kind.name not in allowed:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.scalar_type}'")


# --- shapes ----------------------------------------------------------------------------------


def output_length(
    length: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """Count the windows; only with `ceil_mode` may the last one stand out."""
    rest = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (rest + (stride - 1 if ceil_mode else 0)) // stride + 1
    # A window that would start in the padding at the end does not exist.
    return count - 1 if ceil_mode and (count - 1) * stride >= length + padding else count


def pool_windows(
    shape: Shape,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    ceil_mode: bool,
    empty: str = "",
) -> list[Windows]:
    """Check the windows along the last dimensions; `empty` names who refuses lengths 0."""
    rank = len(kernel)
    lengths = shape[len(shape) - rank :]
    _check_numbers(kernel, stride, padding, dilation)
    _check_lengths(shape, rank, empty)
    _check_half(kernel, padding)
    counts = [
        output_length(*each, ceil_mode)
        for each in zip(lengths, kernel, stride, padding, dilation, strict=True)
    ]
    _check_counts(shape, kernel, tuple(counts), empty == "avg_pool3d()" and rank == 3)
    return [
        regular_windows(*each)
        for each in zip(lengths, kernel, stride, padding, dilation, counts, strict=True)
    ]


def _check_numbers(kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> None:
    for k, s, p, d in zip(kernel, stride, padding, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > max((k - 1) * d + 1, 0) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
    for what, letter, numbers in (
        ("kernel size", "k", kernel),
        ("stride", "d", stride),
        ("dilation", "dilation", dilation),
    ):
        if min(numbers) <= 0:
            raise RuntimeError(
                f"{what} should be greater than zero, but got {_listed(letter, numbers)}"
            )


def _check_counts(shape: Shape, kernel: Shape, counts: Shape, whole_kernel: bool) -> None:
    """Raise if there is no window; with `whole_kernel` one must fit without padding."""
    lead = len(shape) - len(kernel)
    lengths = shape[lead:]
    if whole_kernel and any(n < k for n, k in zip(lengths, kernel, strict=True)):
        raise RuntimeError(
            f"input image ({_listed('', lengths)}) smaller than kernel size "
            f"({_listed('k', kernel)})"
        )
    if min(counts) < 1:
        given, found = ("x".join(map(str, (shape[lead - 1], *each))) for each in (lengths, counts))
        raise RuntimeError(
            f"Given input size: ({given}). Calculated output size: ({found}). "
            "Output size is too small"
        )


def _listed(prefix: str, numbers: Shape) -> str:
    letters = _LETTERS[len(numbers)]
    return " ".join(f"{prefix}{a}: {n}" for a, n in zip(letters, numbers, strict=True))


def _check_lengths(shape: Shape, rank: int, empty: str) -> None:
    if rank == 2:
        if len(shape) not in (3, 4) or 0 in shape[-3:]:
            raise RuntimeError(
                "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, "
                f"but got:{list(shape)}"
            )
    elif 0 in shape[-rank - 1 :]:
        raise RuntimeError(
            f"{empty}: Expected input's non-batch dimensions to have positive length, but input "
            f"has a shape of {list(shape)} and non-batch dimension 0 has length zero!"
        )


def _check_half(kernel: Shape, padding: Shape) -> None:
    """Compare padding with the kernel once more, now without its dilation."""
    if all(p <= k // 2 for p, k in zip(padding, kernel, strict=True)):
        return
    if len(kernel) == 2:
        (high, wide), (tall, broad) = padding, kernel
        raise RuntimeError(
            "pad should be smaller than or equal to half of kernel size, but got "
            f"padW = {wide}, padH = {high}, kW = {broad}, kH = {tall}"
        )
    raise RuntimeError(
        "pad should be smaller than or equal to half of kernel size, but got "
        f"kT: {kernel[0]} kW: {kernel[2]} kH: {kernel[1]} padT: {padding[0]} padW: {padding[2]} "
        f"padH: {padding[1]}"
    )


def require_dims(shape: Shape, rank: int) -> None:
    """Raise unless there are channels, and at most a batch, before the pooled dimensions."""
    if len(shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"non-empty {rank + 1}D or {rank + 2}D (batch mode) tensor expected for input"
        )


def require_range(function: str, shape: Shape) -> None:
    """Raise unless a one-dimensional pooling is given two or three dimensions."""
    if len(shape) not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {len(shape)}-dimensional tensor for argument #1 "
            f"'self' (while checking arguments for {function})"
        )


def numbers_of(function: str, name: str, numbers: Shape, rank: int) -> Shape:
    """Return the setting `name` for each dimension; `stride` may be left out."""
    omitted = "omitted, " if name == "stride" else ""
    either = "be either" if name == "dilation" else "either be"
    if function == "avg_pool3d":
        either = "be"
    return for_each_dim(
        f"{function}: {name} must {either} {omitted}a single int, or a tuple of "
        f"{_WORDS[rank]} ints",
        numbers,
        rank,
    )


def one_number(function: str, name: str, numbers: Shape) -> int:
    """Return the only number of a setting in one dimension."""
    if len(numbers) != 1:
        raise RuntimeError(
            f"{function}() argument '{name}' should contain one int (got {len(numbers)})"
        )
    return numbers[0]
