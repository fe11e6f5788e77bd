"""Making sparse tensors from indices and values, checked if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.device import layout as Layout
from taper.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, usable
from taper.dtypes import FROM_NUMPY
from taper.factory import NO_INTEGER_GRADIENTS, check_flag, shape_argument
from taper.opdef import composite
from taper.ops.creation.data import tensor as make_tensor
from taper.ops.sparse.invariants import (
    check_compressed,
    check_coordinates,
    check_dimensions,
    index_names,
    state,
)
from taper.ops.sparse.nodes import record
from taper.ops.sparse.reductions import at_places
from taper.ops.sparse.rules import attach_all
from taper.ops.sparse.tensor import BLOCKS, COMPRESSED, ROWS_FIRST, SparseTensor, sparse
from taper.tensor import Tensor, wrap

attach_all()


def _as_tensor(value: Any, dtype: Any = None) -> Tensor:
    if isinstance(value, Tensor):
        return value if dtype is None or value.dtype is dtype else value.to(dtype)
    made: Tensor = make_tensor(value, dtype=dtype)
    return made


def _indices(value: Any) -> np.ndarray:
    given = _as_tensor(value)
    found: np.ndarray = given._array
    return found.astype(np.int64, copy=not isinstance(value, Tensor))


def _finish(function: str, made: SparseTensor, requires_grad: bool, device: Any) -> SparseTensor:
    usable(device, function)
    check_flag(function, requires_grad)
    if requires_grad:
        if not (made.dtype.is_floating_point or made.dtype.is_complex):
            raise RuntimeError(NO_INTEGER_GRADIENTS)
        if made._grad_fn is None:
            made._requires_grad = True
    return made


# --- coordinates -------------------------------------------------------------------------------


@composite(method=False)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """Make a sparse tensor from the coordinates of its elements (layout COO).

    Elements at the same place are added up.

    Args:
        indices: the coordinates, a matrix of integers: a row for each sparse dimension, a column
            for each element.  A shape alone, as the first argument, makes a tensor of zeros.
        values: the elements; more dimensions than one make dense dimensions.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        device, pin_memory: only ordinary CPU memory is provided.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit; by default as
            `taper.sparse.check_sparse_tensor_invariants` says.
        is_coalesced: say that the coordinates are sorted and different.

    Example:
        >>> import taper
        >>> taper.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        tensor(indices=tensor([[0, 1],
                               [2, 0]]),
               values=tensor([3., 4.]),
               size=(2, 3), nnz=2, layout=torch.sparse_coo)
    """
    if values is None:
        shape = shape_argument("sparse_coo_tensor", "size", 1, indices if size is None else size)
        return zeros(sparse_coo, shape, dtype, requires_grad)
    where = _indices(indices)
    given = _as_tensor(values, dtype)
    content = given._array if given.ndim else given._array.reshape(1)
    if where.ndim and size is not None:
        _size_of(where, content, size)
    if where.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(where.shape)}")
    if where.shape[1] != len(content):
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{where.shape[1]}, nnz from values: {len(content)}"
        )
    checks = state.enabled if check_invariants is None else check_invariants
    shape = tuple(_size_of(where, content, size))
    if checks or size is None:
        check_coordinates(where, shape, bool(checks and is_coalesced))
    ordered = where.shape[1] < 2 if is_coalesced is None else is_coalesced
    made = sparse(sparse_coo, where, content, shape, ordered)
    made = record(
        "SparseCooTensorWithDimsAndTensorsBackward0",
        made,
        (given,),
        lambda grad, needs: (_picked(grad, where),),
    )
    return _finish("sparse_coo_tensor", made, requires_grad, device)


def _picked(grad: Any, where: np.ndarray) -> Tensor:
    """The gradient of the elements: what their places receive."""
    return at(grad, where)


def at(x: Any, where: np.ndarray) -> Tensor:
    """The elements of a tensor at some places, recorded."""
    found = wrap(at_places(x.detach(), where))
    size = x.shape

    def formula(grad: Any, needs: Any) -> Any:
        back: Any = sparse(sparse_coo, where, grad._array, size)
        return (back if isinstance(x, SparseTensor) else back.to_dense(),)

    made: Tensor = record("IndexBackward0", found, (x,), formula)
    return made


def _size_of(where: np.ndarray, content: np.ndarray, size: Any) -> Sequence[int]:
    dense = content.shape[1:]
    if size is None:
        largest = where.max(axis=1) + 1 if where.shape[1] else np.zeros(len(where), np.int64)
        return [*largest.tolist(), *dense]
    shape = shape_argument("sparse_coo_tensor", "size", 3, size)
    if len(shape) != len(where) + len(dense):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {len(where)}, dense_dim = {len(dense)}"
        )
    if tuple(shape[len(where) :]) != dense:
        expected = [where.shape[1], *shape[len(where) :]]
        raise RuntimeError(
            f"values has incorrect size, expected {expected}, got {list(content.shape)}"
        )
    return shape


def zeros(
    kind: Layout, shape: Sequence[int], dtype: Any = None, requires_grad: bool = False
) -> SparseTensor:
    """Make a sparse tensor without elements."""
    content: np.ndarray = make_tensor([], dtype=dtype)._array
    if kind is sparse_coo:
        made = sparse(kind, np.zeros((len(shape), 0), np.int64), content, shape, True)
    else:
        if len(shape) < 2 or kind in BLOCKS:
            raise RuntimeError(
                "torch.empty: Only batched sparse compressed (non-block) tensors are supported, "
                f"but got size {list(shape)}"
            )
        batch = tuple(shape[:-2])
        count = shape[-2] if kind in ROWS_FIRST else shape[-1]
        begins = np.zeros((*batch, count + 1), np.int64)
        plain = np.zeros((*batch, 0), np.int64)
        made = sparse(kind, (begins, plain), np.zeros((*batch, 0), content.dtype), shape)
    return _finish("sparse_coo_tensor", made, requires_grad, None)


# --- compressed layouts ------------------------------------------------------------------------


def _compressed(
    function: str,
    kind: Any,
    parts: tuple[Any, Any, Any],
    size: Any,
    dtype: Any,
    device: Any,
    requires_grad: bool,
    check_invariants: bool | None,
) -> Tensor:
    """Make a tensor of a compressed layout from its indices and elements."""
    first, second = (_as_tensor(each)._array for each in parts[:2])
    given = _as_tensor(parts[2], dtype)
    content = given._array
    if size is None:
        size = _compressed_size(kind, first, second, content)
    shape = shape_argument(function, "size", 4, size)
    if state.enabled if check_invariants is None else check_invariants:
        check_compressed(kind, first, second, content, shape)
    made = sparse(kind, (first, second), content, shape)

    def formula(grad: Any, needs: Any) -> Any:
        if grad.layout is kind:
            return (grad.values(),)
        return (grad.sparse_mask(sparse(kind, (first, second), content, shape)).values(),)

    made = record("torch::autograd::NotImplemented", made, (given,), formula)
    return _finish(function, made, requires_grad, device)


def _compressed_size(
    kind: Any, begins: np.ndarray, plain: np.ndarray, content: np.ndarray
) -> list[int]:
    batch, blocks = begins.shape[:-1], 2 if kind in BLOCKS else 0
    _check_estimate(kind, begins, plain, content, blocks)
    count, widest = begins.shape[-1] - 1, int(plain.max()) + 1 if plain.size else 0
    inner = content.shape[len(batch) + 1 :]
    height, width = (max(1, length) for length in (inner[:2] if blocks else (1, 1)))
    rows, columns = (count, widest) if kind in ROWS_FIRST else (widest, count)
    return [*batch, rows * height, columns * width, *inner[blocks:]]


def _check_estimate(
    kind: Any, begins: np.ndarray, plain: np.ndarray, content: np.ndarray, blocks: int
) -> None:
    """Raise unless a shape can be read off the parts."""
    if begins.ndim < 1:
        first, _ = index_names(kind)
        raise RuntimeError(f"{first}_indices must have dimensionality >= 1 but got 0")
    check_dimensions(kind, begins, plain)
    if content.ndim <= begins.ndim - 1 + blocks:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={begins.ndim - 1} + {blocks}) but got {content.ndim}"
        )
    if plain.dtype not in (np.int32, np.int64):
        name = FROM_NUMPY[plain.dtype].scalar_type
        raise NotImplementedError(
            f"\"estimate_sparse_compressed_tensor_size\" not implemented for '{name}'"
        )


@composite(method=False)
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Make a sparse tensor of a compressed layout.

    Args:
        compressed_indices: where the elements of each row (column) begin, and the end of the last.
        plain_indices: the column (row) of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout: `sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`.
        device, pin_memory: only ordinary CPU memory is provided.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> x = taper.sparse_compressed_tensor(
        ...     [0, 1, 2], [1, 0], [3.0, 4.0], layout=taper.sparse_csr
        ... )
        >>> x.to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """
    if layout not in COMPRESSED:
        given = "none" if layout is None else str(layout)
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {given}"
        )
    name, parts = "sparse_compressed_tensor", (compressed_indices, plain_indices, values)
    return _compressed(name, layout, parts, size, dtype, device, requires_grad, check_invariants)


_MAKER_TEXT = """Make a sparse tensor {text}.

    Args:
        {compressed}: where the elements of each {line} begin, and the end of the last.
        {plain}: the {across} of each element.
        values: the elements, or blocks of them.
        size: the shape; by default as large as the indices need.
        dtype: dtype of the elements; by default that of `values`.
        layout, device, pin_memory: only the layout of the name, in ordinary CPU memory.
        requires_grad: whether autograd records what is computed from the result.
        check_invariants: whether to check that the indices fit.

    Example:
        >>> import taper
        >>> taper.{name}([0, 1, 2], [1, 0], {example}).to_dense()
        tensor([[0., 3.],
                [4., 0.]])
    """


def _by_rows(kind: Layout, name: str) -> Any:
    def make(
        crow_indices: Any,
        col_indices: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Tensor:
        parts = (crow_indices, col_indices, values)
        return _compressed(name, kind, parts, size, dtype, device, requires_grad, check_invariants)

    return make


def _by_columns(kind: Layout, name: str) -> Any:
    def make(
        ccol_indices: Any,
        row_indices: Any,
        values: Any,
        size: Any = None,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        check_invariants: bool | None = None,
    ) -> Tensor:
        parts = (ccol_indices, row_indices, values)
        return _compressed(name, kind, parts, size, dtype, device, requires_grad, check_invariants)

    return make


def _maker(kind: Layout, text: str, example: str) -> None:
    name = f"sparse_{str(kind)[-3:]}_tensor"
    if kind in ROWS_FIRST:
        make, words = _by_rows(kind, name), ("crow_indices", "col_indices", "row", "column")
    else:
        make, words = _by_columns(kind, name), ("ccol_indices", "row_indices", "column", "row")
    make.__name__ = make.__qualname__ = name
    make.__module__ = __name__
    said = dict(zip(("compressed", "plain", "line", "across"), words, strict=True))
    make.__doc__ = _MAKER_TEXT.format(name=name, text=text, example=example, **said)
    globals()[name] = composite(method=False)(make)


_maker(sparse_csr, "compressed by rows", "[3.0, 4.0]")
_maker(sparse_csc, "compressed by columns", "[4.0, 3.0]")
_maker(sparse_bsr, "of blocks, by rows", "[[[3.0]], [[4.0]]]")
_maker(sparse_bsc, "of blocks, by columns", "[[[4.0]], [[3.0]]]")

# PyTorch's own names of the same.
composite(method=False, public=False, name="_sparse_coo_tensor_unsafe")(sparse_coo_tensor)
