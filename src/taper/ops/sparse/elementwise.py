"""Element-wise rules: sums, products, and functions that leave zeros alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.strides import broadcast_clash
from taper.device import sparse_coo
from taper.opdef import Op
from taper.ops.sparse import arrays
from taper.ops.sparse.parts import array, compress, coo, coordinates, is_sparse, ordered
from taper.ops.sparse.table import not_there, on_content, rule
from taper.ops.sparse.tensor import LAYOUT_NAMES, SparseTensor, sparse
from taper.tensor import Tensor, array_of, wrap


def common_dtype(*values: Any) -> np.dtype:
    """The dtype of an operation on tensors and numbers."""
    seen = [array_of(each) for each in values]
    return dtypes.result_type(seen).numpy


# --- sums --------------------------------------------------------------------------------------


@rule("add", "sub")
def add(op: Op, self: Any, other: Any, alpha: Any = 1) -> Any:
    """Add; the result is dense if the first is."""
    factor = -alpha if op.name == "sub" else alpha
    if op.name == "sub":
        for each in (self, other):
            if is_sparse(each):
                _refuse_compressed(each)
    if not is_sparse(other):
        if self._kind is sparse_coo:
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        return _into_dense(other, self, factor, self)
    if not is_sparse(self):
        return _into_dense(self, other, factor, other)
    if self._size != other._size:
        raise RuntimeError(
            "add: expected sizes of 'self' and 'other' to match, but "
            f"{list(self._size)} != {list(other._size)}"
        )
    if self._kind is not other._kind:
        raise RuntimeError("memory format option is only supported by strided tensors")
    return sum_of(self, other, factor)


def sum_of(self: SparseTensor, other: SparseTensor, factor: Any = 1) -> SparseTensor:
    """Add two sparse tensors of one shape."""
    dtype = common_dtype(self, other)
    scaled = _times(other._content.astype(dtype), factor)
    if self._kind is not sparse_coo:
        where, content = coordinates(self)
        places, others = coordinates(other._with(scaled))
        total = np.concatenate((content.astype(dtype), others))
        joined = np.concatenate((where, places), axis=1)
        return compress(arrays.coalesced(joined, total, self._size), self._size, self._kind)
    own = self._content.astype(dtype, copy=False)
    if len(self._where) != len(other._where):
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dims, but got "
            f"{len(self._where)} and {len(other._where)}"
        )
    # Elements that are not stored one by one are put behind each other, as in PyTorch.
    if self._content.flags.c_contiguous and other._content.flags.c_contiguous:
        parts = arrays.merged_sum((self._where, own), (other._where, scaled), self._size)
        return sparse(sparse_coo, *parts, self._size, self._ordered and other._ordered)
    where = np.concatenate((self._where, other._where), axis=1)
    return sparse(sparse_coo, where, np.concatenate((own, scaled)), self._size)


def _into_dense(dense: Any, x: SparseTensor, factor: Any, sparse_one: SparseTensor) -> Tensor:
    """Add a sparse tensor, times a factor, to a dense one."""
    if not isinstance(dense, Tensor) or dense.shape != x._size:
        size = list(dense.shape) if isinstance(dense, Tensor) else []
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {size} while "
            f"other has size {list(x._size)} (FYI: "
            f"{'dense' if x._kind is sparse_coo else 'op2'}-sparse addition does not currently "
            "support broadcasting)"
        )
    result = array(dense).astype(common_dtype(dense, x), order="C")
    where, content = ordered(x)
    if x is sparse_one and not isinstance(factor, (int, float, complex, bool)):
        factor = factor.item()
    scaled = _times(content.astype(result.dtype), factor)
    result[tuple(where)] += scaled if len(where) else scaled.sum(0)
    return wrap(result)


def _times(content: np.ndarray, factor: Any) -> np.ndarray:
    return content if factor == 1 else (content * factor).astype(content.dtype)


@rule("rsub_scalar", "rsub_tensor")
def rsub(op: Op, self: Any, other: Any, alpha: Any = 1) -> Any:
    """Subtract from a number or tensor."""
    return _into_dense(other, self, -alpha, self) if is_sparse(self) else add(op, other, self, -1)


# --- products ----------------------------------------------------------------------------------


@rule("mul", "mul_scalar")
def mul(op: Op, self: Any, other: Any) -> Any:
    """Multiply; the result has the places of a sparse factor."""
    if not is_sparse(self):
        self, other = other, self
    if not is_sparse(other):
        if not isinstance(other, Tensor) or not other.ndim:
            return on_content(op, self, other)
        return _times_dense(op, self, other)
    if self._kind is not other._kind:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if self._size != other._size or self._sparse_dims != other._sparse_dims:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal "
            "dimensionality, number of sparse dimensions, and shape of sparse dimensions"
        )
    return _intersection(self, other)


def _times_dense(op: Op, x: SparseTensor, dense: Tensor) -> SparseTensor:
    clash = broadcast_clash([dense.shape, tuple(x._size)])
    if clash is not None:
        raise clash
    wide = np.broadcast_shapes(tuple(x._size), dense.shape)
    if wide != tuple(x._size):
        x = _broadcast(x, wide)
    where, _ = coordinates(x)
    picked = np.broadcast_to(array(dense), wide)[tuple(where)]
    return on_content(op, x, wrap(np.ascontiguousarray(picked).reshape(x._content.shape)))


def _broadcast(x: SparseTensor, wide: tuple[int, ...]) -> SparseTensor:
    """The tensor repeated along new dimensions in front, and along those of length 1."""
    where, content = ordered(x)
    lead = len(wide) - x.ndim
    repeats = [*wide[:lead]]
    for dim, length in enumerate(wide[lead:]):
        repeats.append(length if x._size[dim] != length else 1)
    if any(n != 1 for n in repeats[lead + len(where) :]):
        raise RuntimeError("mul(sparse, dense): dense dimensions cannot be broadcast")
    sparse_repeats = repeats[: lead + len(where)]
    copies = np.indices(sparse_repeats).reshape(len(sparse_repeats), -1)
    own = np.concatenate((np.zeros((lead, where.shape[1]), np.int64), where))
    spread = (copies[:, :, None] + own[:, None, :]).reshape(len(sparse_repeats), -1)
    return coo(
        arrays.coalesced(spread, np.concatenate([content] * copies.shape[1]), wide), wide, True
    )


def _intersection(self: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Multiply where both have elements; one of them decides the places, as in PyTorch."""
    dtype = common_dtype(self, other)
    base, probe = self, other
    if self._kind is sparse_coo:
        if self._ordered != other._ordered:
            base, probe = (self, other) if self._ordered else (other, self)
        elif len(self._content) < len(other._content):
            base, probe = other, self
    places, content = ordered(base)
    where, values = coordinates(probe)
    lengths = self._size[: len(where)]
    keys, wanted = arrays.keys_of(places, lengths), arrays.keys_of(where, lengths)
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    meets = keys[found] == wanted if len(keys) else np.zeros(len(wanted), bool)
    product = values.astype(dtype) * np.asarray(0, dtype)
    product[meets] = values[meets].astype(dtype) * content[found[meets]].astype(dtype)
    in_order = self._kind is not sparse_coo or (self._ordered and other._ordered)
    if in_order:
        where, product = where[:, meets], product[meets]
    if self._kind is not sparse_coo:
        return compress((where, product), self._size, self._kind)
    return coo((where, product), self._size, in_order)


@rule(
    "div_true",
    "div_scalar",
    "div_rounded",
    "div_unrounded",
    "div_rounded_in_steps",
    "floor_divide_number",
)
def div(op: Op, self: Any, other: Any, *more: Any) -> Any:
    """Divide by a number."""
    if is_sparse(other) or (isinstance(other, Tensor) and other.ndim):
        size = list(other.shape)
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{size} for divisor)"
        )
    _refuse_compressed(self)
    whole = op.name not in ("div_true", "div_scalar") and more != (None,)
    return on_content(op, in_order(self) if whole else self, other, *more)


def _refuse_compressed(x: SparseTensor) -> None:
    if x._kind is not sparse_coo:
        raise RuntimeError(f"unsupported tensor layout: {LAYOUT_NAMES[x._kind]}")


def in_order(x: SparseTensor) -> SparseTensor:
    """The tensor with each place once."""
    if x._kind is not sparse_coo or x._ordered:
        return x
    return sparse(sparse_coo, *ordered(x), x._size, True)


# --- functions of one tensor -------------------------------------------------------------------

_KEEP_ZEROS = (
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf "
    "isposinf log1p nan_to_num rad2deg relu round_whole round_decimals sgn sign signbit sin sinh "
    "sqrt tan tanh trunc"
)


@rule(*_KEEP_ZEROS.split())
def function_of_elements(op: Op, self: Any, *more: Any) -> Any:
    """Run a function that leaves zeros alone on the elements."""
    if op.name == "nan_to_num" and self._kind is not sparse_coo:
        raise not_there(op, (self, *more))
    return on_content(op, in_order(self), *more)


@rule("angle")
def angle(op: Op, self: Any) -> Any:
    """Take the angle; only compressed layouts have it, as in PyTorch."""
    if self._kind is sparse_coo:
        raise not_there(op, (self,))
    return on_content(op, self)


@rule("neg", "_conj_physical", "positive")
def linear_function(op: Op, self: Any) -> Any:
    """Run a linear function on the elements as they are."""
    return on_content(op, self)


@rule("pow_scalar")
def power(op: Op, self: Any, exponent: Any) -> Any:
    """Raise to a power."""
    _refuse_compressed(self)
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    return on_content(op, in_order(self), exponent)


@rule("threshold_backward")
def threshold_backward(op: Op, self: Any, output: Any, threshold: Any) -> Any:
    """Pass a gradient on where the output of `relu` is above the threshold."""
    if not (is_sparse(self) and is_sparse(output)):
        raise not_there(op, (self, output, threshold))
    above = output._with((output._content > threshold).astype(output._content.dtype))
    return _intersection(self, above)


@rule("clone", "_to_copy", "_to_integers")
def copy(op: Op, self: Any, *more: Any) -> Any:
    """Copy the elements, in another dtype if asked for."""
    dtype = None if op.name == "clone" else more[0]
    content = self._content.astype(self._content.dtype if dtype is None else dtype.numpy)
    where = self._where
    where = where.copy() if isinstance(where, np.ndarray) else tuple(e.copy() for e in where)
    return sparse(self._kind, where, np.ascontiguousarray(content), self._size, self._ordered)
