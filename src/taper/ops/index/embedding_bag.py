"""Sums, means or maxima of rows of a table, looked up by number: embedding_bag.

Owns: the operator and its two backward passes.  A bag is a slice of the indices; `offsets` says
where each begins.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.elements import LOW_PRECISION
from taper.arrays.reduction import add_rows
from taper.arrays.strides import Shape
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.opdef.operands import invalid_combination
from taper.ops.creation.ranges import arange
from taper.ops.index.embedding import embedding_renorm_
from taper.ops.linalg.checks import missing_tangent, no_derivative, no_formula
from taper.tensor import Tensor, array_of
from taper.userwarning import warn_user

SUM, MEAN, MAX = 0, 1, 2
_MODES = {"sum": SUM, "mean": MEAN, "max": MAX}
_FLOATING = ("float16", "bfloat16", "float32", "float64")


# --- checks ----------------------------------------------------------------------------------


def _wrong_dtype(name: str, array: ndarray, wanted: str) -> RuntimeError:
    given = dtypes.backend_type_name(dtypes.FROM_NUMPY[array.dtype])
    return RuntimeError(
        f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: "
        f"{wanted}; but got {given} instead (while checking arguments for embedding_bag)"
    )


def _check_dtypes(weight: ndarray, indices: ndarray, offsets: ndarray) -> None:
    for array in (indices, offsets):
        if array.dtype not in (np.int64, np.int32):
            raise _wrong_dtype("indices", array, "Long, Int")
    if dtypes.FROM_NUMPY[weight.dtype].name not in _FLOATING:
        raise _wrong_dtype("weight", weight, "Half, BFloat16, Float, Double")


def _check_values(
    weight: ndarray, indices: ndarray, offsets: ndarray, last: bool, quick: bool
) -> None:
    if last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {offsets[0]}"
        )
    if offsets.size and offsets[-1] > indices.size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.size} but got "
            f"offsets[-1] of {offsets[-1]}"
        )
    rows = len(weight)
    outside = np.flatnonzero((indices < 0) | (indices >= rows))
    if outside.size:
        number = int(outside[0])
        if not quick:
            raise RuntimeError(
                "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                f"{indices[number]}"
            )
        raise RuntimeError(
            f"Index {number} of input takes value {indices[number]} which is not in the valid "
            f"range [0, {rows})"
        )


def _check_weights(weight: ndarray, indices: ndarray, samples: ndarray | None, mode: int) -> None:
    if samples is None:
        return
    if mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if samples.dtype != weight.dtype:
        names = [dtypes.type_name(dtypes.FROM_NUMPY[each.dtype]) for each in (weight, samples)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {names[0]} does not equal {names[1]} (while "
            "checking arguments for embedding_bag)"
        )
    for text, holds in (
        ("per_sample_weights.value().dim() == 1", samples.ndim == 1),
        ("per_sample_weights.value().numel() == indices.numel()", samples.size == indices.size),
    ):
        if not holds:
            raise RuntimeError(
                f"Expected {text} to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)"
            )


# --- bags ------------------------------------------------------------------------------------


def _bag_of_each(offsets: ndarray, count: int) -> ndarray:
    """Return the number of the bag in which each index stands."""
    return np.searchsorted(offsets, np.arange(count), "right") - 1


def _reduced(reduce: Any, values: ndarray, bags: ndarray, count: int, start: Any = 0) -> ndarray:
    """Reduce to one row for each bag, `start` for empty bags; `bags` must be ascending."""
    result = np.full((count, *values.shape[1:]), start, values.dtype)
    if len(bags):
        starts = np.flatnonzero(np.diff(bags, prepend=-1))
        result[bags[starts]] = reduce.reduceat(values, starts, axis=0)
    return result


def _is_quick(weight: ndarray, samples: ndarray | None, padding_idx: int) -> bool:
    """Tell whether PyTorch has a kernel that never asks in which bag an index stands."""
    dense = all(
        each is None or not each.size or each.strides[-1] == each.itemsize
        for each in (weight, samples)
    )
    return padding_idx < 0 and weight.dtype != np.float64 and dense


@op(
    name="_embedding_bag",
    label="embedding_bag",
    outputs=("result0", "result1", "result2", "result3"),
    nondifferentiable=(1, 2, 3),
    saved_sizes={"weight": (0,)},
    public=False,
    method=False,
)
def bags_of_rows(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Array:
    """Compute the bags, the bag of each index, the size of each bag, and its largest rows."""
    _check_dtypes(weight, indices, offsets)
    indices = indices.reshape(-1)
    quick = mode != MAX and _is_quick(weight, per_sample_weights, padding_idx)
    _check_values(weight, indices, offsets, include_last_offset, quick)
    _check_weights(weight, indices, per_sample_weights, mode)
    count = len(offsets) - include_last_offset
    common = np.promote_types(indices.dtype, offsets.dtype)
    bags = _bag_of_each(offsets, indices.size)
    if mode == SUM and quick:
        of_each = np.empty(0, common)
        used = bags < count
    else:  # what follows the last offset counts for the last bag
        bags = np.minimum(bags, count - 1)
        of_each = bags.astype(common)
        used = np.ones(bags.shape, bool) if padding_idx < 0 else indices != padding_idx
    bags, rows = bags[used], indices[used]
    values = weight.take(rows, 0)
    if values.dtype in LOW_PRECISION:
        values = values.astype(np.float32)
    sizes = np.bincount(bags, minlength=count).astype(common)
    if mode == MAX:
        largest, places = _largest(values, bags, rows, count)
        return largest.astype(weight.dtype), of_each, sizes, places.astype(common)
    if per_sample_weights is not None:
        values *= per_sample_weights[used, None].astype(values.dtype)
    result = _reduced(np.add, values, bags, count)
    if mode == MEAN:
        result /= np.maximum(sizes, 1)[:, None].astype(values.dtype)
    else:
        sizes[...] = 0
    return result.astype(weight.dtype, copy=False), of_each, sizes, sizes.copy()


def _largest(values: ndarray, bags: ndarray, rows: ndarray, count: int) -> tuple[ndarray, ndarray]:
    """Find the largest value of each bag and column, and the first row of the table that has it."""
    largest = _reduced(np.maximum, values, bags, count)
    position = np.arange(len(rows))[:, None]
    first = np.where(values == largest[bags], position, max(len(rows) - 1, 0))
    first = _reduced(np.minimum, first, bags, count, -1)
    return largest, np.where(first >= 0, np.append(rows, 0)[first], 0)


@op(name="_embedding_bag_backward", public=False, method=False)
def bags_to_rows(
    grad: Array,
    indices: Array,
    offsets: Array,
    offset2bag: Array,
    bag_size: Array,
    maximum_indices: Array,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Array | None,
    padding_idx: int,
) -> Array:
    """Compute what each row of the table gets from the bags in which it is."""
    width = grad.shape[-1]
    result = np.zeros((num_weights, width), grad.dtype)
    if not grad.size:
        return result
    if mode == MAX:
        filled = bag_size > 0
        places = maximum_indices[filled].astype(np.int64) * width + np.arange(width)
        np.add.at(result.reshape(-1), places.ravel(), grad[filled].ravel())
        return result
    rows, values = _shares_of_rows(
        grad, indices, offsets, offset2bag, bag_size, mode, per_sample_weights, padding_idx
    )
    if scale_grad_by_freq:
        indices = indices.reshape(-1)
        values = values / _frequencies(indices, rows)[:, None].astype(grad.dtype)
    if not add_rows(result, rows, values):
        places = rows[:, None] * width + np.arange(width)
        np.add.at(result.reshape(-1), places.ravel(), values.ravel())
    return result


def _shares_of_rows(
    grad: ndarray,
    indices: ndarray,
    offsets: ndarray,
    offset2bag: ndarray,
    bag_size: ndarray,
    mode: int,
    samples: ndarray | None,
    padding_idx: int,
) -> tuple[ndarray, ndarray]:
    """Return for each index that counts its row, and what the row gets from that bag."""
    indices = indices.reshape(-1)
    bags, used = _known_bags(offset2bag, indices, offsets, len(grad), padding_idx)
    bags, rows = bags[used], indices[used].astype(np.int64)
    values = grad[bags]
    if mode == MEAN:
        values = values / bag_size[bags][:, None].astype(grad.dtype)
    if samples is not None:
        values = values * samples[used, None]
    return rows, values


def _known_bags(
    known: ndarray, indices: ndarray, offsets: ndarray, count: int, padding_idx: int
) -> tuple[ndarray, ndarray]:
    """Return the bag of each index, as the forward pass found it, and which indices count."""
    bags = known if known.size else _bag_of_each(offsets, indices.size)
    used = bags < count
    if padding_idx >= 0:
        used &= indices != padding_idx
    return bags, used


def _frequencies(indices: ndarray, rows: ndarray) -> ndarray:
    """Return PyTorch's divisors: for the k-th row in order, how often the k-th index occurs.

    Where each occurs once that is the frequency of the row; programs see the same numbers.
    """
    ordered = np.sort(indices)
    counts = np.bincount(ordered)
    present = np.unique(ordered)
    return counts[ordered[np.searchsorted(present, rows)]]


@op(
    name="_embedding_bag_per_sample_weights_backward",
    node="NotImplemented",
    public=False,
    method=False,
)
def bags_to_samples(
    grad: Array,
    weight: Array,
    indices: Array,
    offsets: Array,
    offset2bag: Array,
    padding_idx: int,
) -> Array:
    """Compute the gradient of each sample's weight: its row times the gradient of its bag."""
    indices = indices.reshape(-1)
    bags, used = _known_bags(offset2bag, indices, offsets, len(grad), padding_idx)
    result = np.zeros(indices.shape, grad.dtype)
    products = grad[bags[used]] * weight[indices[used]]
    wide = np.float32 if grad.dtype in LOW_PRECISION else grad.dtype
    result[used] = np.add.reduce(products, 1, wide).astype(grad.dtype)
    return result


@derivative(bags_of_rows, wrt="weight")
def bags_of_rows_weight(
    grad_result0: Any,
    weight_shape: Shape,
    indices: Any,
    offsets: Any,
    result1: Any,
    result2: Any,
    result3: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int,
) -> Any:
    if sparse:
        # late: few gradients are sparse
        gradients = importlib.import_module("taper.ops.sparse.gradients")
        if scale_grad_by_freq:
            raise RuntimeError(
                "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
            )
        samples = None if per_sample_weights is None else array_of(per_sample_weights)
        rows, shares = _shares_of_rows(
            array_of(grad_result0),
            array_of(indices),
            array_of(offsets),
            array_of(result1),
            array_of(result2),
            mode,
            samples,
            padding_idx,
        )
        return gradients.of_bags(rows, shares, weight_shape)
    return bags_to_rows(
        grad_result0,
        indices,
        offsets,
        result1,
        result2,
        result3,
        weight_shape[0],
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


@derivative(bags_of_rows, wrt="per_sample_weights")
def bags_of_rows_samples(
    grad_result0: Any,
    weight: Any,
    indices: Any,
    offsets: Any,
    result1: Any,
    result2: Any,
    result3: Any,
    per_sample_weights: Any,
    padding_idx: int,
) -> Any:
    return bags_to_samples(grad_result0, weight, indices, offsets, result1, padding_idx)


@tangent_of(bags_of_rows)
def bags_of_rows_tangent(weight_t):
    raise missing_tangent("_embedding_bag")


@derivative(bags_to_rows, wrt="grad")
def bags_to_rows_grad(grad):
    raise no_formula("_embedding_bag_backward")


@tangent_of(bags_to_rows)
def bags_to_rows_tangent(grad_t):
    raise missing_tangent("_embedding_bag_backward")


@derivative(bags_to_samples, wrt=("grad", "weight"))
def bags_to_samples_all(needs):
    raise no_derivative("_embedding_bag_per_sample_weights_backward")


@tangent_of(bags_to_samples)
def bags_to_samples_tangent(grad_t):
    raise missing_tangent("_embedding_bag_per_sample_weights_backward")


# --- public functions ------------------------------------------------------------------------


_ARGUMENTS = "Tensor weight, Tensor indices, Tensor offsets"
_SIGNATURES = (
    f"({_ARGUMENTS}, bool scale_grad_by_freq, int mode, bool sparse, Tensor per_sample_weights, "
    "bool include_last_offset, int padding_idx)",
    f"({_ARGUMENTS}, bool scale_grad_by_freq = False, int mode = 0, bool sparse = False, "
    "Tensor per_sample_weights = None, bool include_last_offset = False)",
)


@composite(method=False)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reduce bags of rows (`mode` 0 sum, 1 mean, 2 max); also return three bookkeeping tensors.

    >>> import taper
    >>> weight = taper.tensor([[1.0], [2.0], [4.0]])
    >>> taper.embedding_bag(weight, taper.tensor([0, 2, 1]), taper.tensor([0, 2]))[0]
    tensor([[5.],
            [2.]])
    """
    for given in (weight, indices, offsets):
        if not isinstance(given, Tensor):
            raise invalid_combination("embedding_bag", (weight, indices, offsets), _SIGNATURES)
    if mode not in (SUM, MEAN, MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if weight.dim() != 2:
        raise RuntimeError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if offsets.dim() != 1:
        raise RuntimeError(
            f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}"
        )
    found: tuple[Tensor, Tensor, Tensor, Tensor] = bags_of_rows(
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        _padding(padding_idx, weight.shape[0]),
    )
    return found


def _padding(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but "
            f"got {padding_idx}"
        )
    return padding_idx % rows


def _whole_rows(input: Tensor, offsets: Tensor | None) -> tuple[Tensor, Tensor]:
    """Turn a matrix of indices, a bag in each row, into a vector and where its bags begin."""
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            "fixed length sequences. However, found offsets of type <class 'torch.Tensor'>"
        )
    begins = arange(0, input.numel(), input.shape[1], dtype=input.dtype)
    return input.reshape(-1), begins


def _check_functional(
    mode: str, max_norm: Any, scale_grad_by_freq: bool, sparse: bool, samples: Tensor | None
) -> None:
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max":
        if scale_grad_by_freq:
            raise ValueError("max mode does not support scaling the gradient by the frequency")
        if sparse:
            raise ValueError("max mode does not support sparse weights")


@composite(method=False, public=False, name="functional_embedding_bag")
def functional_embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Look up rows of a table and reduce them bag by bag.

    Args:
        input: row numbers; a matrix with a bag in each row, or a vector of all bags.
        weight: table (rows, width).
        offsets: where each bag begins in a vector `input`.
        max_norm: rows that are looked up are first scaled down, in place, to this norm.
        norm_type: order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it was looked up.
        mode: "sum", "mean" or "max".
        sparse: whether the gradient of `weight` is sparse, with a row for each index.
        per_sample_weights: factors of the rows, in the shape of `input`; only with "sum".
        include_last_offset: `offsets` also says where the last bag ends.
        padding_idx: row that does not count and gets no gradient.

    Shape: (bags, width).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> weight = taper.tensor([[1.0], [2.0], [4.0]])
        >>> F.embedding_bag(taper.tensor([[0, 2], [1, 1]]), weight, mode="sum")
        tensor([[5.],
                [4.]])
    """
    if weight.dtype.name == "int64" and input.is_floating_point():
        warn_user(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        input, offsets = _whole_rows(input, offsets)
        include_last_offset = False
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    elif not isinstance(offsets, Tensor):
        raise ValueError("offsets has to be a 1D Tensor but got None")
    elif offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _check_functional(mode, max_norm, scale_grad_by_freq, sparse, per_sample_weights)
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    return embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]
