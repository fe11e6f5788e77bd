"""Sums of products over named or listed dimensions: `einsum`, `tensordot`, `inner`, `chain_matmul`.

Owns: the language of subscripts and the way to matrix products.  `einsum` brings all operands to
one order of dimensions, the output's first, and contracts them from left to right with `bmm`.

Labels: 0 to 51 stand for A to Z, a to z; a dimension under an ellipsis has a negative label, -1
for the last of them, so that ellipses of different lengths line up at the right.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from taper import dtypes
from taper.arrays.strides import existing_dim, wrap_dim
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.dtypes import C_NAMES
from taper.opdef import composite
from taper.opdef.writes import compute_into, recorded_into
from taper.ops.elementwise.arithmetic import mul
from taper.ops.linalg.matmul import bmm, dot, mm, not_tensors, same_dtype
from taper.ops.reduction.sums import sum_all, sum_dim
from taper.ops.shape.ones import (
    diagonal,
    flatten,
    movedim,
    permute_dims,
    reshape,
    squeeze_all,
    unsqueeze,
    view_as_shape,
)
from taper.tensor import Tensor
from taper.userwarning import warn_once

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = "..."

Labels = list[Any]


@composite(method=False)
def einsum(*args: Any) -> Tensor:
    """Sum products of elements over indices that are named by letters.

    Indices that stand in the operands but not behind `->` are summed over; `...` stands for any
    dimensions, which broadcast. Without `->` the result has the letters that occur once, in
    alphabetical order.

    Args:
        args: the equation and the tensors, as `einsum("ij,jk->ik", a, b)`, or tensors and lists of
            numbers in turn, as `einsum(a, [0, 1], b, [1, 2], [0, 2])`.

    Shape: one dimension for each letter of the result, as long as in the operands.

    Example:
        >>> import taper
        >>> taper.einsum("ij->j", taper.tensor([[1., 2.], [3., 4.]]))
        tensor([4., 6.])
    """
    equation, operands = _arguments(args)
    for index, operand in enumerate(operands):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument 1, but got "
                f"{type(operand).__name__}"
            )
    plan = _plan(equation, tuple([operand._array.ndim for operand in operands]))
    if plan.is_product and _is_quick(*operands):
        return _product(*operands)
    _check_sizes(plan.labels, [operand._array.shape for operand in operands])
    aligned = [_align(*pair) for pair in zip(operands, plan.alignments, strict=True)]
    return _contract(aligned, plan.free, plan.ends)


class Alignment(NamedTuple):
    """Tells how an operand gets one dimension for each label, of length 1 where it lacks one."""

    diagonals: tuple[tuple[int, int], ...]  # pairs of dimensions that become the first of them
    added: tuple[int, ...]  # where dimensions of length 1 are put
    order: tuple[int, ...]  # the permutation that follows


class Plan(NamedTuple):
    """Holds what an equation means for operands with given numbers of dimensions."""

    labels: tuple[list[int], ...]  # of each dimension of each operand
    alignments: tuple[Alignment, ...]
    free: int  # how many dimensions the result has
    ends: tuple[int, ...]  # the last operand that has each summed dimension
    is_product: bool  # of two matrices, "ij,jk->ik"


@functools.lru_cache(maxsize=512)
def _plan(equation: str, ndims: tuple[int, ...]) -> Plan:
    inputs, start = _parse_inputs(equation, len(ndims))
    labels = tuple([_spell_out(each, ndims[nr], nr) for nr, each in enumerate(inputs)])
    wanted = _output_labels(equation, start, inputs, labels)
    contracted = sorted({label for each in labels for label in each} - set(wanted))
    alignments = tuple([_alignment(each, wanted + contracted) for each in labels])
    last = {label: nr for nr, each in enumerate(labels) for label in each}
    ends = tuple([last[label] for label in contracted])
    return Plan(labels, alignments, len(wanted), ends, _is_product(labels, wanted))


def _is_product(labels: Sequence[list[int]], wanted: list[int]) -> bool:
    if [len(each) for each in labels] != [2, 2]:
        return False
    (row, inner), (again, column) = labels
    return inner == again and [row, column] == wanted and len({row, inner, column}) == 3


def _is_quick(left: Tensor, right: Tensor) -> bool:
    """Return whether a product of matrices is not recorded, and nothing in it broadcasts."""
    shape, other = left._array.shape, right._array.shape
    if shape[1] != other[0] or min(shape) < 2 or min(other) < 2:
        return False
    mode = local.state.mode
    return mode == NO_GRAD or (mode == 0 and not requires_grad(left) and not requires_grad(right))


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply two matrices as `_contract` does, without the views whose nodes nobody sees.

    This takes 24 us less.
    """
    result = bmm(unsqueeze(left, 0), unsqueeze(right, 0))
    return view_as_shape(result, result._array.shape[1:])


def _alignment(labels: list[int], order: list[int]) -> Alignment:
    kept: list[int] = []
    diagonals = []
    for label in labels:
        if label in kept:
            diagonals.append((kept.index(label), len(kept)))
        else:
            kept.append(label)
    missing = [label for label in order if label not in kept]
    added = tuple(range(len(kept), len(order)))
    kept += missing
    return Alignment(tuple(diagonals), added, tuple([kept.index(label) for label in order]))


# --- the language of subscripts --------------------------------------------------------------


def _arguments(args: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the equation and the operands of either format."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        inputs = ",".join(_subscripts(each) for each in args[1::2])
        if len(args) % 2:
            return f"{inputs}->{_subscripts(args[-1])}", args[:-1:2]
        return inputs, args[::2]
    if not isinstance(args[0], str):
        raise TypeError(
            f"einsum(): argument 'equation' (position 1) must be str, not {type(args[0]).__name__}"
        )
    operands = args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return args[0], operands


def _subscripts(numbers: Iterable[Any]) -> str:
    text = ""
    for number in numbers:
        if number is Ellipsis:
            text += _ELLIPSIS
        elif 0 <= number < len(_LETTERS):
            text += _LETTERS[operator.index(number)]
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range "
                f"[0, {len(_LETTERS)})"
            )
    return text


def _parse_inputs(equation: str, count: int) -> tuple[list[Labels], int]:
    """Return the labels of each operand, and where the output begins: -1 without an arrow."""
    arrow = equation.find("->")
    end = len(equation) if arrow < 0 else arrow
    inputs: list[Labels] = [[]]
    position = 0
    while position < end:
        if equation[position] == ",":
            if len(inputs) == count:
                raise RuntimeError(
                    "einsum(): fewer operands were provided than specified in the equation"
                )
            inputs.append([])
            position += 1
        else:
            place = f"operand {len(inputs) - 1}"
            position += _read_label(equation, position, end, inputs[-1], place)
    if len(inputs) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return inputs, -1 if arrow < 0 else arrow + 2


def _read_label(equation: str, position: int, end: int, labels: Labels, place: str) -> int:
    """Append what stands at `position` to the labels; return the number of characters."""
    letter = equation[position]
    if letter == " ":
        return 1
    if letter == ".":
        is_output = place == "output"
        if _ELLIPSIS in labels:
            clash = "but an ellipsis (...)" if is_output else "for which an ellipsis"
            raise RuntimeError(f"einsum(): found '.' for {place} {clash} was already found")
        dots = equation[position : min(position + 3, end)]
        if dots != _ELLIPSIS:
            suffix = " (...)" if is_output else ""
            raise RuntimeError(
                f"einsum(): found '.' for {place} that is not part of any ellipsis{suffix}"
            )
        labels.append(_ELLIPSIS)
        return 3
    label = _LETTERS.find(letter)
    if label < 0:
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {position} in the equation string, "
            "subscripts must be in [a-zA-Z]"
        )
    if place == "output" and label in labels:
        raise RuntimeError(
            f"einsum(): output subscript {letter} appears more than once in the output"
        )
    labels.append(label)
    return 1


def _spell_out(labels: Labels, ndim: int, nr: int) -> list[int]:
    """Replace the ellipsis by one label for each dimension that it covers."""
    named = len(labels) - labels.count(_ELLIPSIS)
    if _ELLIPSIS not in labels:
        if named != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                f"number of dimensions ({ndim}) for operand {nr} and no ellipsis was given"
            )
        return labels
    if named > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) is more than the "
            f"number of dimensions ({ndim}) for operand {nr}"
        )
    place = labels.index(_ELLIPSIS)
    return [*labels[:place], *range(named - ndim, 0), *labels[place + 1 :]]


def _check_sizes(spelled: Sequence[list[int]], shapes: list[tuple[int, ...]]) -> None:
    """Refuse sizes of equal labels that are neither equal nor 1."""
    seen: dict[int, int] = {}
    for nr, (labels, shape) in enumerate(zip(spelled, shapes, strict=True)):
        own: dict[int, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {_LETTERS[label]} is repeated for operand {nr} but the "
                    f"sizes don't match, {size} != {own[label]}"
                )
        for label, size in own.items():
            known = seen.get(label, 1)
            if known == 1:
                seen[label] = size
            elif size not in (1, known):
                raise _size_clash(label, size, nr, known, labels.index(label))


def _size_clash(label: int, size: int, nr: int, known: int, dim: int) -> RuntimeError:
    if label < 0:
        return RuntimeError(
            f"einsum(): dimension {dim} covered by ellipsis in operand {nr}has size "
            f"{size} which does not broadcast with previously seen ellipsis with size {known} for "
            "the respective dimension"
        )
    return RuntimeError(
        f"einsum(): subscript {_LETTERS[label]} has size {size} for operand {nr} which does not "
        f"broadcast with previously seen size {known}"
    )


def _output_labels(
    equation: str, start: int, inputs: list[Labels], spelled: Sequence[list[int]]
) -> list[int]:
    """Return the labels of the result; without an arrow the ellipsis and labels that occur once."""
    under_ellipsis = sorted({label for labels in spelled for label in labels if label < 0})
    if start < 0:
        named = [label for labels in inputs for label in labels if label != _ELLIPSIS]
        return under_ellipsis + sorted(label for label in named if named.count(label) == 1)
    output: Labels = []
    while start < len(equation):
        start += _read_label(equation, start, len(equation), output, "output")
    wanted: list[int] = []
    for label in output:
        if label == _ELLIPSIS:
            wanted += under_ellipsis
        elif any(label in labels for labels in spelled):
            wanted.append(label)
        else:
            raise RuntimeError(
                f"einsum(): output subscript {_LETTERS[label]} does not appear in the equation "
                "for any input operand"
            )
    return wanted


# --- contraction -----------------------------------------------------------------------------


def _align(operand: Tensor, alignment: Alignment) -> Tensor:
    for first, second in alignment.diagonals:
        operand = movedim(diagonal(operand, 0, first, second), -1, first)
    for dim in alignment.added:
        operand = unsqueeze(operand, dim)
    return permute_dims(operand, alignment.order)


def _contract(operands: list[Tensor], free: int, ends: tuple[int, ...]) -> Tensor:
    """Multiply from left to right; sum a dimension when its last operand is reached.

    The first `free` dimensions stay; `ends` tells the last operand of each of the others.
    """
    result = operands[0]
    if len(operands) == 1:
        return sum_dim(result, tuple(range(free, free + len(ends)))) if ends else result
    for nr, operand in enumerate(operands[1:], 1):
        dims = [free + dim for dim, end in enumerate(ends) if end == nr or end < nr == 1]
        result = _sum_of_products(result, operand, dims)
    if ends:
        result = view_as_shape(result, result._array.shape[:free])
    return result


def _sum_of_products(left: Tensor, right: Tensor, dims: list[int]) -> Tensor:
    """Compute `(left * right).sum(dims, keepdim=True)`, by matrix product where that helps."""
    long_left = [dim for dim in dims if left._array.shape[dim] != 1]
    long_right = [dim for dim in dims if right._array.shape[dim] != 1]
    only_left = tuple([dim for dim in long_left if dim not in long_right])
    only_right = tuple([dim for dim in long_right if dim not in long_left])
    if only_left:
        left = sum_dim(left, only_left, True)
    if only_right:
        right = sum_dim(right, only_right, True)
    summed = [dim for dim in long_left if dim in long_right]
    return _by_bmm(left, right, summed) if summed else left * right


def _by_bmm(left: Tensor, right: Tensor, summed: list[int]) -> Tensor:
    left_shape, right_shape = left._array.shape, right._array.shape
    rest = [dim for dim in range(len(left_shape)) if dim not in summed]
    shared = [dim for dim in rest if left_shape[dim] != 1 and right_shape[dim] != 1]
    rows = [dim for dim in rest if left_shape[dim] != 1 and right_shape[dim] == 1]
    columns = [dim for dim in rest if left_shape[dim] == 1]
    if rows and columns and columns[-1] < rows[0]:
        # This way the result lies in memory in the order of the output's dimensions.
        swapped = [dim for dim in columns if right_shape[dim] == 1]
        columns = [dim for dim in columns if dim not in swapped]
        left, right, left_shape, right_shape = right, left, right_shape, left_shape
        rows, columns = columns, rows + swapped
    batch = [left_shape[dim] for dim in shared]
    heights, widths = [left_shape[dim] for dim in rows], [right_shape[dim] for dim in columns]
    inner = math.prod([left_shape[dim] for dim in summed])
    count, height, width = math.prod(batch), math.prod(heights), math.prod(widths)
    tall = permute_dims(left, tuple(shared + rows + summed + columns))
    tall = reshape(tall, (count, height, inner))
    wide = permute_dims(right, tuple(shared + summed + columns + rows))
    result = bmm(tall, reshape(wide, (count, inner, width)))
    result = view_as_shape(result, (*batch, *heights, *[1] * len(summed), *widths))
    placed = shared + rows + summed + columns
    return permute_dims(result, tuple([placed.index(dim) for dim in range(len(placed))]))


# --- tensordot, inner ------------------------------------------------------------------------


@composite(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sum products over the last `dims` dimensions of `a` and the first of `b`, or over lists.

    >>> import taper
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    >>> taper.tensordot(taper.ones(2, 3), taper.ones(4, 3), dims=([1], [1])).shape
    torch.Size([2, 4])
    """
    dims_a, dims_b = _contracted_dims(a, b, dims)
    if out is not None:
        return recorded_into("tensordot", _tensordot, (a, b, dims_a, dims_b), out, _dtype_of_result)
    return _tensordot(a, b, dims_a, dims_b)


def _dtype_of_result(out: Any, result: Any) -> None:
    given, wanted = dtypes.FROM_NUMPY[out.dtype], dtypes.FROM_NUMPY[result.dtype]
    if given is not wanted:
        raise RuntimeError(
            f"tensordot: Expected the output tensor to have dtype {wanted.scalar_type}, but got "
            f"an output tensor with dtype {given.scalar_type}"
        )


def _contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor) and dims._array.ndim == 0:
        dims = int(dims._array)
    elif isinstance(dims, Tensor):
        dims = dims._array.tolist()
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
        for name, given in (("dims_self", dims_a), ("dims_other", dims_b)):
            if not isinstance(given, (tuple, list)):
                position = 3 if name == "dims_self" else 4
                raise TypeError(
                    f"tensordot(): argument '{name}' (position {position}) must be tuple of ints, "
                    f"not {type(given).__name__}"
                )
        return list(dims_a), list(dims_b)
    if not isinstance(dims, int):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.ndim, b.ndim):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    return list(range(-dims, 0)), list(range(dims))


def _tensordot(a: Tensor, b: Tensor, given_a: list[int], given_b: list[int]) -> Tensor:
    if len(given_a) != len(given_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._array.dtype != b._array.dtype:
        raise RuntimeError("both inputs should have same dtype")
    dims_a = [wrap_dim(dim, a._array.ndim) for dim in given_a]
    dims_b = [wrap_dim(dim, b._array.ndim) for dim in given_b]
    for place, (dim_a, dim_b) in enumerate(zip(dims_a, dims_b, strict=True)):
        existing_dim(given_a[place], a._array.ndim), existing_dim(given_b[place], b._array.ndim)
        size_a, size_b = a._array.shape[dim_a], b._array.shape[dim_b]
        if size_b == 1:
            a = sum_dim(a, (dim_a,), True, a.dtype)
        elif size_a == 1:
            b = sum_dim(b, (dim_b,), True, b.dtype)
        elif size_a != size_b:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {size_a} in dim "
                f"{given_a[place]} and second has size {size_b} in dim {given_b[place]}"
            )
    _refuse_repeated(dims_a)
    _refuse_repeated(dims_b)
    rest_a = [dim for dim in range(a._array.ndim) if dim not in dims_a]
    rest_b = [dim for dim in range(b._array.ndim) if dim not in dims_b]
    shape_a = [a._array.shape[dim] for dim in rest_a]
    shape_b = [b._array.shape[dim] for dim in rest_b]
    left, right = permute_dims(a, tuple(rest_a + dims_a)), permute_dims(b, tuple(dims_b + rest_b))
    rows, columns = math.prod(shape_a), math.prod(shape_b)
    if rows == columns == 1:
        return reshape(_full_contraction(left, right), (*shape_a, *shape_b))
    inner_size = math.prod([a._array.shape[dim] for dim in dims_a])
    flat = mm(reshape(left, (rows, inner_size)), reshape(right, (inner_size, columns)))
    return reshape(flat, (*shape_a, *shape_b))


def _full_contraction(left: Tensor, right: Tensor) -> Tensor:
    """Sum all products; for bool, PyTorch has a sum but no dot product."""
    if left.is_contiguous() and right.is_contiguous():
        return dot(flatten(left), flatten(right))
    return sum_all(mul(squeeze_all(left), squeeze_all(right)), left.dtype)


def _refuse_repeated(dims: list[int]) -> None:
    for dim in dims:
        if dims.count(dim) > 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")


@composite()
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Any:
    """Sum products over the last dimension of both tensors.

    >>> import taper
    >>> taper.inner(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
    tensor(11.)
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise not_tensors("inner", input=input, other=other)
    if out is not None:
        if not input._array.ndim or not other._array.ndim:
            return compute_into("mul", inner, (input, other), out)
        return recorded_into("tensordot", inner, (input, other), out, _dtype_of_result)
    if not input._array.ndim or not other._array.ndim:
        return input * other
    if input._array.shape[-1] != other._array.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input._array.shape)} and {list(other._array.shape)}"
        )
    return _tensordot(input, other, [-1], [-1])


# --- chains of matrices ----------------------------------------------------------------------


@composite(method=False)
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Multiply several matrices, in the order that costs least.

    >>> import taper
    >>> import warnings
    >>> warnings.simplefilter("ignore")  # PyTorch calls it deprecated
    >>> taper.chain_matmul(taper.ones(2, 3), taper.ones(3, 4), taper.ones(4, 1)).shape
    torch.Size([2, 1])
    """
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters."
    )
    for index, matrix in enumerate(matrices):
        if not isinstance(matrix, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument 0, but got {type(matrix).__name__}"
            )
        if matrix._array.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix._array.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if out is not None:
        return compute_into("mm", _chain, matrices, out, same_dtype)
    return _chain(*matrices)


def _chain(*matrices: Tensor) -> Tensor:
    return matrices[0].clone() if len(matrices) == 1 else multiply_chain(matrices)


def multiply_chain(
    matrices: Sequence[Tensor],
    shape: tuple[int, ...] | None = None,
    given: Sequence[Tensor] | None = None,
) -> Tensor:
    """Multiply matrices, made of the tensors `given` to `multi_dot`, and view them as `shape`."""
    _check_chain(matrices, matrices if given is None else given)
    sizes = [matrices[0]._array.shape[0], *(each._array.shape[1] for each in matrices)]
    product = _multiply(matrices, _cheapest_splits(sizes), 0, len(matrices) - 1)
    return view_as_shape(product, (sizes[0], sizes[-1]) if shape is None else shape)


def _check_chain(matrices: Sequence[Tensor], given: Sequence[Tensor]) -> None:
    for nr, (left, right) in enumerate(itertools.pairwise(matrices)):
        if right._array.dtype != matrices[0]._array.dtype:
            names = [C_NAMES[each.dtype] for each in (matrices[0], right)]
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {names[0]} "
                f"and tensor {nr + 1} {names[1]}"
            )
        if left._array.shape[1] != right._array.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {nr} and {nr + 1} with shapes {list(given[nr].shape)} "
                f"and {list(given[nr + 1].shape)} cannot be multiplied"
            )


def _cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Find where to split each part of a chain so that multiplications are fewest."""
    count = len(sizes) - 1
    cost = {(nr, nr): 0 for nr in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            for middle in range(first, last):
                found = cost[first, middle] + cost[middle + 1, last]
                found += sizes[first] * sizes[middle + 1] * sizes[last + 1]
                if (first, last) not in cost or found < cost[first, last]:
                    cost[first, last], split[first, last] = found, middle
    return split


def _multiply(
    matrices: Sequence[Tensor], split: dict[tuple[int, int], int], first: int, last: int
) -> Tensor:
    if first == last:
        return matrices[first]
    middle = split[first, last]
    left = _multiply(matrices, split, first, middle)
    return mm(left, _multiply(matrices, split, middle + 1, last))
