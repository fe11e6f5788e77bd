"""SparseTensor: a tensor that holds the elements that are not zero, and where they are.

Owns: the slots, and what can be read off them (shape, dtype, number of elements, `repr`).  No
maths: the other files of the room compute, and attach their methods to the class.

It has no array.  An operator that asks for one hears an AttributeError and turns to
`bad_arguments`, which finds `_run_operator`; so operators on dense tensors pay nothing.

    _where      coordinates: an int64 array (sparse dims, elements); compressed layouts: the
                compressed and the plain indices, two arrays
    _content    the elements, an array (elements, *dense dims); of blocks also their two dims
    _size       shape
    _kind       layout
    _ordered    whether coordinates are sorted and each is there once (`is_coalesced`)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from taper import dtypes
from taper.arrays.strides import wrap_dim
from taper.autograd.overrides import _disabled_torch_function_impl
from taper.device import CPU, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from taper.device import device as Device
from taper.device import layout as Layout
from taper.size import Size
from taper.tensor import Tensor

ROWS_FIRST = (sparse_csr, sparse_bsr)
BLOCKS = (sparse_bsr, sparse_bsc)
COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)

# What PyTorch's errors call layouts, and the key of the functions for them.
LAYOUT_NAMES = {
    sparse_coo: "Sparse",
    sparse_csr: "SparseCsr",
    sparse_csc: "SparseCsc",
    sparse_bsr: "SparseBsr",
    sparse_bsc: "SparseBsc",
}


class NoArrayError(AttributeError, NotImplementedError):
    """What a sparse tensor answers to whoever asks for its array: no function is there for it."""


NoArrayError.__name__ = NoArrayError.__qualname__ = "NotImplementedError"


def unsupported(name: str, kind: Layout) -> NotImplementedError:
    """Return the error of a function that sparse tensors do not have, with PyTorch's beginning."""
    backend = "SparseCPU" if kind is sparse_coo else "SparseCsrCPU"
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be "
        "because the operator doesn't exist for this backend: use to_dense() first."
    )


class SparseTensor(Tensor):
    """A tensor of which only some elements are stored: `sparse_coo_tensor` makes one.

    >>> import taper
    >>> x = taper.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x.to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """

    __slots__ = ("_content", "_kind", "_ordered", "_size", "_where")

    __torch_function__ = _disabled_torch_function_impl  # users see a plain Tensor

    _content: np.ndarray
    _kind: Layout
    _ordered: bool
    _size: Size
    _where: Any

    @property
    def _array(self) -> np.ndarray:  # type: ignore[override]
        name = sys._getframe(1).f_code.co_name
        raise NoArrayError(*unsupported(name, self._kind).args)

    @property
    def _outline(self) -> np.ndarray:
        """An array of this shape and dtype without memory."""
        return np.broadcast_to(np.zeros((), self._content.dtype), tuple(self._size))

    # --- what it is --------------------------------------------------------------------------

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self._content.dtype]

    @property
    def shape(self) -> Size:
        return self._size

    @property
    def ndim(self) -> int:
        return len(self._size)

    @property
    def device(self) -> Device:
        return CPU

    @property
    def itemsize(self) -> int:
        return self._content.itemsize

    @property
    def nbytes(self) -> int:
        if self._kind is sparse_coo:
            raise RuntimeError(
                "nbytes is not defined for sparse tensors.  If you want the size of the "
                "constituent tensors, add the nbytes of the indices and values.  If you want the "
                "size of the  equivalent dense tensor, multiply numel() by element_size()"
            )
        return self.numel() * self.itemsize

    @property
    def layout(self) -> Layout:
        return self._kind

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self._kind is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        return self._kind is sparse_csr

    def size(self, dim: int | None = None) -> Any:
        return self._size if dim is None else self._size[wrap_dim(dim, self.ndim)]

    def dim(self) -> int:
        return len(self._size)

    ndimension = dim

    def numel(self) -> int:
        return self._size.numel()

    nelement = numel

    def element_size(self) -> int:
        return self._content.itemsize

    def stride(self, dim: int | None = None) -> Any:
        if self._kind is not sparse_coo:
            raise RuntimeError(f"Sparse {_short(self._kind)} tensors do not have strides")
        return (0,) * self.ndim if dim is None else 0

    def storage_offset(self) -> int:
        return 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        if self._kind is not sparse_coo:
            raise RuntimeError(f"Sparse {_short(self._kind)} tensors do not have is_contiguous")
        return False

    def data_ptr(self) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def tolist(self) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def numpy(self, *, force: bool = False) -> NoReturn:
        raise TypeError(
            f"can't convert {LAYOUT_NAMES[self._kind]} layout tensor to numpy. Use "
            "Tensor.to_dense() first."
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        self.numpy()

    def untyped_storage(self) -> NoReturn:
        kind = "SparseTensorImpl" if self._kind is sparse_coo else "SparseCsrTensorImpl"
        raise NotImplementedError(f"Cannot access storage of {kind}")

    storage = _typed_storage = is_shared = share_memory_ = untyped_storage

    def __len__(self) -> int:
        if not self._size:
            raise TypeError("len() of a 0-d tensor")
        return self._size[0]

    # --- parts -------------------------------------------------------------------------------

    @property
    def _sparse_dims(self) -> int:
        return len(self._where) if self._kind is sparse_coo else 2

    @property
    def _dense_dims(self) -> int:
        """The dimensions whose elements are stored together."""
        if self._kind is sparse_coo:
            return len(self._size) - len(self._where)
        batch = self._where[0].ndim - 1
        return self._content.ndim - 1 - batch - (2 if self._kind in BLOCKS else 0)

    def _with(self, content: np.ndarray) -> SparseTensor:
        """The same places with other elements, without history."""
        return sparse(self._kind, self._where, content, self._size, self._ordered)

    def _alias(self) -> SparseTensor:
        """The same places and elements, without history."""
        return self._with(self._content)

    def _as_gradient(self) -> SparseTensor:
        """A copy that becomes the gradient of a leaf; PyTorch forgets that it is in order."""
        content, where = self._content, self._where
        forgets = self._kind is sparse_coo and content.flags.c_contiguous and len(content) > 1
        where = where.copy() if isinstance(where, np.ndarray) else where
        content = np.array(content, order="C")
        return sparse(self._kind, where, content, self._size, self._ordered and not forgets)

    def _become(self, other: SparseTensor) -> None:
        """Take over what another sparse tensor holds."""
        self._kind, self._where, self._content = other._kind, other._where, other._content
        self._size, self._ordered = other._size, other._ordered


def _short(kind: Layout) -> str:
    return LAYOUT_NAMES[kind].removeprefix("Sparse").upper()


# Users see one class of tensors, as in PyTorch.
SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"
SparseTensor.__module__ = Tensor.__module__


def sparse(
    kind: Layout, where: Any, content: np.ndarray, size: Sequence[int], ordered: bool = False
) -> SparseTensor:
    """Return a sparse tensor on these arrays, without history."""
    made: SparseTensor = object.__new__(SparseTensor)
    made._kind, made._where, made._content = kind, where, content
    made._size, made._ordered = Size(size), ordered
    made._requires_grad = False
    made._grad_fn = None
    made._output_nr = 0
    made._counter = None
    made._view = None
    made._autograd_meta = None
    return made
