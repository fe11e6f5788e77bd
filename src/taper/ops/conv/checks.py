"""The arguments of convolutions: read, checked, refused in PyTorch's words.

Knows arrays, shapes and the texts of errors; computes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import FLOAT32, cast
from taper.arrays.strides import Shape, integers
from taper.dtypes import C_NAMES
from taper.factory import refuse
from taper.opdef.operands import invalid_combination

# --- numbers that the user gives -------------------------------------------------------------


def numbers(value: Any, rank: int) -> Shape | None:
    """Return one number for each of `rank` dimensions, or as many as given; None if not numbers."""
    kind = type(value)
    if kind is int:
        return (value,) * rank
    if kind is tuple and all([type(each) is int for each in value]):
        return value
    if isinstance(value, (bool, str)):
        return None
    try:
        if isinstance(value, (list, tuple)):
            return integers("", "", value)
        return integers("", "", (value,)) * rank
    except TypeError:
        return None


def refuse_numbers(function: str, name: str, position: int, value: Any) -> NoReturn:
    """Raise for an argument that is no tuple of ints, or holds something else."""
    if isinstance(value, (list, tuple)) and value:
        if not isinstance(value[0], int) or isinstance(value[0], bool):
            if position:
                integers(function, name, value, position)
        else:
            integers(function, name, value)
    refuse(function, name, position, "tuple of ints", value)


_SIGNATURE = (
    "(Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, {padding}, "
    "tuple of ints dilation = 1, int groups = 1)"
)
_SIGNATURES = (
    _SIGNATURE.format(padding="tuple of ints padding = 0"),
    _SIGNATURE.format(padding='str padding = "valid"'),
)


def refuse_arguments(
    function: str, tensors: Sequence[Any], settings: Sequence[tuple[str, Any, Any]]
) -> NoReturn:
    """Raise for arguments that fit neither overload of a convolution.

    `settings` are names, values and defaults; those that differ are taken for keywords.
    """
    while tensors and tensors[-1] is None:
        tensors = tensors[:-1]
    error = invalid_combination(function, tensors, _SIGNATURES)
    keywords = "".join(
        f", {name}={type(value).__name__}" for name, value, default in settings if value != default
    )
    raise TypeError(str(error).replace("), but", f"{keywords}), but", 1))


def refuse_input(function: str, rank: int, shape: Shape) -> NoReturn:
    """Raise for an input that is neither one image nor a batch of them."""
    raise RuntimeError(
        f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to {function}, but got "
        f"input of size: {list(shape)}"
    )


# --- the geometry ----------------------------------------------------------------------------


class Geometry(NamedTuple):
    """Holds the settings of a convolution, one number for each dimension, and output sizes."""

    stride: Shape
    padding: Shape
    dilation: Shape
    output_padding: Shape
    sizes: Shape


def refuse_groups(groups: int) -> None:
    """Raise unless the number of groups is positive."""
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def geometry_of(*arguments: Any) -> Geometry:
    """Check the arguments of a convolution and say what they mean; takes shapes, not tensors."""
    try:
        return _known_geometry(*arguments)
    except TypeError:  # lists cannot be looked up
        return _geometry(*arguments)


def _geometry(
    input: Shape,
    weight: Shape,
    bias: Shape | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Geometry:
    rank = len(weight) - 2
    if rank < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if type(groups) is not int:
        refuse("convolution", "groups", 9, "int", groups)
    refuse_groups(groups)
    stride = _expanded("stride", 4, stride, rank)
    padding = _expanded("padding", 5, padding, rank)
    dilation = _expanded("dilation", 6, dilation, rank)
    output_padding = _expanded("output_padding", 8, output_padding, rank)
    _check_signs(stride, padding, dilation, transposed, output_padding)
    _check_channels(input, weight, bias, transposed, groups)
    every = zip(input[2:], weight[2:], stride, padding, dilation, output_padding, strict=True)
    if transposed:
        sizes = tuple([(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in every])
        if _needs_check(input, weight):
            _check_transposed(input, weight, stride, dilation, output_padding, sizes)
    else:
        sizes = tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d, _ in every])
        if min(sizes) < 1:
            _check_kernel(input, weight, padding, dilation)
        if _needs_check(input, weight):
            _check_nonempty(weight, dilation)
    if rank > 3:
        raise RuntimeError("unsupported ConvNd parameters")
    return Geometry(stride, padding, dilation, output_padding, sizes)


# Finding out takes 8 us, looking the result up 1.
_known_geometry = lru_cache(maxsize=256, typed=True)(_geometry)


def _expanded(name: str, position: int, value: Any, rank: int) -> Shape:
    if type(value) is tuple and len(value) == rank:
        return value
    if not isinstance(value, (list, tuple)):
        refuse("convolution", name, position, "tuple of ints", value)
    given = integers("convolution", name, value, position)
    if len(given) == 1:
        return given * rank
    if len(given) != rank:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match the "
            f"convolution dimensions, but got {name}={list(given)}"
        )
    return given


def _check_signs(
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
) -> None:
    if type(transposed) is not bool:
        refuse("convolution", "transposed", 7, "bool", transposed)
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) < 0:
        raise RuntimeError("dilation should be greater than zero")


def _check_channels(
    input: Shape, weight: Shape, bias: Shape | None, transposed: bool, groups: int
) -> None:
    if len(input) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
            f"{list(weight)}, but got {len(input)}-dimensional input of size {list(input)} instead"
        )
    if weight[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight)} instead"
        )
    if weight[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight)}] instead"
        )
    wanted, outputs = weight[1] * groups, weight[0]
    if transposed:
        wanted, outputs = outputs, wanted
    if input[1] != wanted:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {list(weight)}, expected input{list(input)} to have "
            f"{wanted} channels, but got {input[1]} channels instead"
        )
    if bias is not None and bias != (outputs,):
        given = "transposed=1, " if transposed else ""
        raise RuntimeError(
            f"Given {given}weight of size {list(weight)}, expected bias to be 1-dimensional with "
            f"{outputs} elements, but got bias of size {list(bias)} instead"
        )


def _check_kernel(input: Shape, weight: Shape, padding: Shape, dilation: Shape) -> None:
    """Raise if a window is larger than the padded input."""
    padded = [n + 2 * p for n, p in zip(input[2:], padding, strict=True)]
    windows = [d * (k - 1) + 1 for k, d in zip(weight[2:], dilation, strict=True)]
    if any(n < k for n, k in zip(padded, windows, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: "
            f"({_by(windows)}). Kernel size can't be greater than actual input size"
        )


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _needs_check(input: Shape, weight: Shape) -> bool:
    """Raise for an input without places; return False for one without images or channels."""
    if math.prod(input):
        return True
    if input[0] and input[1]:
        shape = [*input[:2], *_two_at_least(input[2:], 1)]
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}"
        )
    return False


# One dimension is computed as two, the first of which is trivial.
_DIMENSIONS = {2: ("height", "width"), 3: ("depth", "height", "width")}


def _two_at_least(values: Sequence[int], trivial: int) -> list[int]:
    return [trivial, *values] if len(values) == 1 else list(values)


def _named(what: str, values: Sequence[int], trivial: int, between: str = " ") -> str:
    values = _two_at_least(values, trivial)
    names = _DIMENSIONS[len(values)]
    return between.join(f"{what}_{name}: {n}" for name, n in zip(names, values, strict=True))


def _check_nonempty(weight: Shape, dilation: Shape) -> None:
    kernel = weight[2:]
    if min(kernel) < 1:
        if len(kernel) == 3:
            text = f": {_by(kernel)} (TxHxW)"
        else:
            text = f" {_named('kernel', kernel, 1)}"
        raise RuntimeError(f"kernel size should be greater than zero, but got{text}")
    if min(dilation) < 1:
        raise RuntimeError(
            f"dilation should be greater than zero, but got {_two_at_least(dilation, 1)}"
        )


def _check_transposed(
    input: Shape,
    weight: Shape,
    stride: Shape,
    dilation: Shape,
    output_padding: Shape,
    sizes: Shape,
) -> None:
    kernel = weight[2:]
    if len(kernel) == 3 and not math.prod(weight):
        raise RuntimeError(
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x "
            f"kernel_width) tensor expected for weight, but got: {list(weight)}"
        )
    if min(kernel) < 1:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got {_named('kernel', kernel, 1)}"
        )
    if min(dilation) < 1:
        raise RuntimeError(
            f"dilation should be greater than zero, but got {_named('dilation', dilation, 1, ', ')}"
        )
    geometry = zip(output_padding, stride, dilation, strict=True)
    if any(extra >= step and extra >= apart for extra, step, apart in geometry):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"{_named('output_padding', output_padding, 0)} {_named('stride', stride, 1)} "
            f"{_named('dilation', dilation, 1)}"
        )
    if not weight[1]:
        raise RuntimeError(f"non-empty 2D or 4D weight tensor expected, but got: {list(weight)}")
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input size per channel: ({_by(_two_at_least(input[2:], 1))}). Calculated "
            f"output size per channel: ({_by(_two_at_least(sizes, 1))}). Output size is too small"
        )


# --- dtypes ----------------------------------------------------------------------------------

# C++'s names of types in the text about a bias.

_HALF = ("float16", "bfloat16")
_MANY = 20480  # elements from which on PyTorch uses another library, with other error texts


def check_dtypes(
    input: ndarray,
    weight: ndarray,
    bias: ndarray | None,
    transposed: bool,
    groups: int,
    geometry: Geometry,
) -> None:
    """Raise unless all are of one dtype that has a kernel."""
    dtype = input.dtype
    kind = dtypes.FROM_NUMPY[dtype]
    plain = max(geometry.dilation) == 1
    every = plain and not transposed  # integer has a kernel, else only the largest
    whole = kind.category == dtypes.INTEGER and (every or kind.name == "int64")
    if not kind.is_floating_point and not whole:
        one = max(*weight.shape[2:], *geometry.stride, groups) == 1 and not any(geometry.padding)
        _refuse_kernel(kind, weight.ndim - 2, transposed, plain, one)
    if weight.dtype is not dtype:
        _refuse_weight(input, weight, groups)
    if bias is not None and bias.dtype is not dtype:
        if not transposed:
            refuse_bias(input, bias)
        _check_bias_of_transposed(input, bias)


def _refuse_kernel(
    kind: dtypes.dtype, rank: int, transposed: bool, plain: bool, one: bool
) -> NoReturn:
    """Name the kernel that PyTorch lacks; `one` means that each element is a window by itself."""
    if transposed:
        kernel = f"slow_conv_transpose{max(rank, 2)}d_out_cpu"
    elif plain and rank == 3:
        kernel = "slow_conv3d_cpu" if one else "compute_columns3d"
    elif plain:
        kernel = "slow_conv2d_cpu"
    else:
        kernel = "slow_conv_dilated<>"
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.scalar_type}'")


def _refuse_weight(input: ndarray, weight: ndarray, groups: int) -> NoReturn:
    ours, theirs = dtypes.FROM_NUMPY[input.dtype], dtypes.FROM_NUMPY[weight.dtype]
    large = groups > 1 or len(input) > 1 or math.prod(input.shape[:4]) > _MANY
    large = large or (weight.ndim > 3 and min(weight.shape[-2:]) > 3)
    if ours.name in _HALF or (ours.name == "float32" and large):
        raise RuntimeError(_differs("weight", input, weight) + _UNLESS.format("weight"))
    raise RuntimeError(f"expected scalar type {ours.scalar_type} but found {theirs.scalar_type}")


_UNLESS = " or input should be a MKLDNN tensor and {} is a dense tensor"


def _differs(name: str, input: ndarray, other: ndarray) -> str:
    ours, theirs = [
        dtypes.backend_type_name(dtypes.FROM_NUMPY[each.dtype]) for each in (input, other)
    ]
    return f"Input type ({ours}) and {name} type ({theirs}) should be the same"


def refuse_bias(input: ndarray, bias: ndarray) -> NoReturn:
    """Raise for a bias of another dtype than the input."""
    ours, theirs = [C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (input, bias)]
    raise RuntimeError(f"Input type ({ours}) and bias type ({theirs}) should be the same")


def _check_bias_of_transposed(input: ndarray, bias: ndarray) -> None:
    """Check a bias; one that is only wider or narrower is converted."""
    ours, theirs = dtypes.FROM_NUMPY[input.dtype], dtypes.FROM_NUMPY[bias.dtype]
    if ours.name in _HALF:
        raise RuntimeError(_differs("bias", input, bias) + _UNLESS.format("bias"))
    if ours.category < theirs.category:
        raise RuntimeError(
            f"result type {theirs.scalar_type} can't be cast to the desired output type "
            f"{ours.scalar_type}"
        )


def check_complex(input: ndarray, weight: ndarray, bias: ndarray | None) -> None:
    """Raise unless weight and bias are of the complex dtype of the input."""
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(_differs(name, input, other))


def wide(array: ndarray) -> ndarray:
    """Convert to the dtype to compute in: float32 for half precision."""
    low = array.dtype.itemsize == 2 and dtypes.FROM_NUMPY[array.dtype].is_floating_point
    return cast(array, FLOAT32) if low else array
