"""`grouped_mm`: matrix products of groups of different sizes that lie in one tensor.

A matrix with two dimensions is cut at the ends `offs` of the groups: along its rows if it is the
left factor of three-dimensional weights, along its columns if it is the right factor, along the
dimension that is summed over if both factors are cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.reduction import no_forward_mode
from taper.dtypes import C_NAMES
from taper.factory import refuse
from taper.opdef import Array, composite, derivative, op, tangent_of
from taper.ops.shape.transpose import transpose
from taper.tensor import Tensor

_KINDS = (dtypes.float32, dtypes.bfloat16, dtypes.float16)


@op(name="_grouped_mm", upcast=True, public=False, method=False, unpromoted=("offs",))
def grouped_product(self: Array, mat2: Array, offs: Array | None) -> Array:
    """Multiply the groups, into one tensor."""
    if offs is None:
        return np.matmul(self, mat2)
    ends = offs.tolist()
    pieces = list(zip([0, *ends[:-1]], ends, strict=True))
    if self.ndim == mat2.ndim:
        result = np.empty((len(ends), self.shape[0], mat2.shape[1]), self.dtype)
        for nr, (start, end) in enumerate(pieces):
            np.matmul(self[:, start:end], mat2[start:end], out=result[nr])
        return result
    result = np.zeros((self.shape[-2], mat2.shape[-1]), self.dtype)
    for nr, (start, end) in enumerate(pieces):
        if self.ndim == 2:
            np.matmul(self[start:end], mat2[nr], out=result[start:end])
        else:
            result[:, start:end] = np.matmul(self[nr], mat2[:, start:end])
    return result


@derivative(grouped_product, wrt="self")
def grouped_product_self(grad, mat2, offs, self_shape, self_strides):
    if _is_column_major(self_strides):
        return transpose(grouped_product(mat2, transpose(grad, -2, -1), offs), -2, -1)
    return grouped_product(grad, transpose(mat2, -2, -1), offs)


@derivative(grouped_product, wrt="mat2")
def grouped_product_mat2(grad, self, offs, mat2_shape, mat2_strides):
    if _is_column_major(mat2_strides):
        return transpose(grouped_product(transpose(grad, -2, -1), self, offs), -2, -1)
    return grouped_product(transpose(self, -2, -1), grad, offs)


def _is_column_major(strides: tuple[int, ...]) -> bool:
    return strides[-2] < strides[-1]


@tangent_of(grouped_product)
def grouped_product_tangent(self_t, mat2_t):
    raise no_forward_mode("_grouped_mm")


def _check_matrix(name: str, array: ndarray) -> None:
    kind = dtypes.FROM_NUMPY[array.dtype]
    if kind not in _KINDS:
        raise RuntimeError(
            f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {kind.scalar_type}"
        )


def _check_layout(array: ndarray) -> None:
    """Refuse matrices without one dimension in one piece and the other in steps of 16 bytes."""
    rows, columns = array.shape[-2:]
    steps = [step // array.itemsize for step in array.strides]
    down, across = steps[-2:]
    if down == 1 and across >= max(1, rows):
        leading = across
    elif across == 1 and down >= max(1, columns):
        leading = down
    else:
        raise RuntimeError(
            f"Invalid strides/sizes, got {steps} for strides and {list(array.shape)} for sizes"
        )
    if leading * array.itemsize % 16:
        raise RuntimeError("strides should be multiple of 16 bytes")


def _check(first: ndarray, second: ndarray, offs: ndarray | None) -> None:
    _check_matrix("mat_a", first)
    _check_matrix("mat_b", second)
    for name, each in (("mat_a", first), ("mat_b", second)):
        if each.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    both = first.ndim == second.ndim
    if not (both and first.ndim == 2) and first.shape[-1] != second.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if both and first.ndim == 2 and first.shape[1] != second.shape[0]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    _check_layout(first)
    _check_layout(second)
    flat = first.ndim == 2 or second.ndim == 2
    if flat != (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None:
        if offs.ndim != 1:
            raise RuntimeError("offs has to be 1D")
        if offs.dtype != np.int32:
            raise RuntimeError("Offsets have to be int32")
        if not both and len(first if first.ndim == 3 else second) != len(offs):
            raise RuntimeError("matrix batch sizes have to match")
    elif len(first) != len(second):
        raise RuntimeError("batched dimension has to match")
    if first.dtype != second.dtype:
        names = [C_NAMES[dtypes.FROM_NUMPY[each.dtype]] for each in (first, second)]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}"
        )


@composite(method=False, public=False)
def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Multiply groups of matrices in one call.

    Args:
        mat_a: left matrices, a stack or one matrix that is cut into groups.
        mat_b: right matrices, likewise.
        offs: int32 vector with the end of each group, where a matrix is cut.
        bias: must be None, as in PyTorch.
        out_dtype: dtype of the result; must be that of `mat_a`.

    Shape: (g, m, k) and (g, k, n) give (g, m, n); a matrix (m, k) cut by rows gives (m, n), with
        zeros behind the last end; two matrices cut along k give (g, m, n).

    Example:
        >>> import taper
        >>> from taper.nn import functional as F
        >>> offs = taper.tensor([1, 2], dtype=taper.int32)
        >>> F.grouped_mm(taper.ones(2, 4), taper.ones(2, 4, 4), offs=offs)
        tensor([[4., 4., 4., 4.],
                [4., 4., 4., 4.]])
    """
    for name, position, each in (("input", 1, mat_a), ("mat2", 2, mat_b)):
        if not isinstance(each, Tensor):
            refuse("_grouped_mm", name, position, "Tensor", each)
    for name, given in (("offs", offs), ("bias", bias)):
        if given is not None and not isinstance(given, Tensor):
            refuse("_grouped_mm", name, 0, "Tensor", given)
    _check(mat_a._array, mat_b._array, None if offs is None else offs._array)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    return grouped_product(mat_a, mat_b, offs)
