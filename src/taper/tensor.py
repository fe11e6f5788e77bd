"""Tensor: an array with autograd metadata.

Owns: the slots, construction from arrays, what can be read off the array (shape, dtype, strides,
storage), conversion to Python and NumPy.  No maths: operators attach themselves as methods
(`opdef`), and so does the autograd side (`autograd.tensor_api`).  Knows dtypes, not operators.

The slots, all set by whoever makes a Tensor:

    _array          the ndarray; its strides are the tensor's.  On other devices than the CPU it is
                    a foreign array (`arrays.foreign`)
    _requires_grad  True, False, or ASK for a view, whose answer depends on its base
    _grad_fn        the node that made it, None for leaves; for views read it through `grad_fn`
    _output_nr      which output of that node it is
    _counter        version counter, None until the first view or write
    _view           ViewRecord if it is a tracked view
    _autograd_meta  AutogradMeta: gradient, accumulator, hooks; None for most
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from taper import dtypes
from taper.arrays.foreign import ForeignArray, device_of
from taper.arrays.native import native
from taper.arrays.strides import row_major, wrap_dim
from taper.device import CPU, strided
from taper.device import device as Device
from taper.device import layout as Layout
from taper.size import Size, of_shape

if TYPE_CHECKING:  # what operators and autograd attach to the class; written by tools/stubs.py
    from taper.tensor_methods import TensorMethods
else:
    TensorMethods = object


class Tensor(TensorMethods):
    """A multi-dimensional array of numbers that remembers how it was computed.

    All elements have one type (`dtype`).  Make a tensor from Python numbers with `taper.tensor`,
    filled with `taper.zeros`, `taper.ones` or `taper.rand`, and from a NumPy array, on the same
    memory, with `taper.from_numpy`; `numpy()` goes back, `item()` and `tolist()` give Python
    numbers.  Operators and functions of tensors return new tensors; methods whose name ends in an
    underscore write in place.

    With `requires_grad=True` the operations on a tensor are recorded: each result knows the node
    that made it (`grad_fn`), and `backward()` adds gradients to the `grad` of the tensors that the
    record began with, its leaves.

    >>> import taper
    >>> x = taper.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> loss
    tensor(5., grad_fn=<SumBackward0>)
    >>> loss.backward()
    >>> x.grad
    tensor([2., 4.])
    >>> x.shape, x.dtype, x.detach().numpy()
    (torch.Size([2]), torch.float32, array([1., 2.], dtype=float32))
    """

    # This class must not get `__setattr__` or `__delattr__`: each would make every store to a slot,
    # of which a new tensor needs seven, six times slower (0.1 us).

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_autograd_meta",
        "_counter",
        "_grad_fn",
        "_output_nr",
        "_requires_grad",
        "_view",
    )

    _array: np.ndarray
    _requires_grad: Any
    _grad_fn: Any
    _output_nr: int
    _counter: Any
    _view: Any
    _autograd_meta: Any

    # What is still to be done with the elements of the array: nothing, except for a conjugate (see
    # `autograd.conjugate`).
    _change: Any = None

    # Binary operators of NumPy arrays and scalars give way to ours.
    __array_priority__ = 1000

    # True of no dense tensor; sparse ones have a class that says what they are (D17).
    is_mps = is_xpu = is_ipu = is_hpu = is_mtia = is_maia = is_xla = False
    is_vulkan = is_sparse = is_sparse_csr = is_mkldnn = is_quantized = is_nested = False

    __hash__ = object.__hash__

    # --- what the array says -----------------------------------------------------------------

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[self._array.dtype]

    @property
    def shape(self) -> Size:
        return of_shape(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def device(self) -> Device:
        array = self._array
        return CPU if type(array) is np.ndarray else device_of(array)

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self.device.type == "meta"

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def layout(self) -> Layout:
        return strided

    @property
    def name(self) -> None:
        return None

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """Return the shape, or the length of one dimension.

        Args:
            dim: a dimension; None for all of them.

        Returns: a Size (a tuple of ints), or an int.

        Example:
            >>> import taper
            >>> taper.zeros(2, 3).size(), taper.zeros(2, 3).size(-1)
            (torch.Size([2, 3]), 3)
        """
        if dim is None:
            return of_shape(self._array.shape)
        try:
            return self._array.shape[wrap_dim(dim, self._array.ndim)]
        except TypeError:
            raise TypeError(
                f"size(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
            ) from None
        except IndexError:
            if self._array.ndim:
                raise
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions") from None

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """Return how many elements lie in memory between neighbours along each dimension.

        Args:
            dim: a dimension; None for all of them.

        Returns: a tuple of ints, or an int.

        Example:
            >>> import taper
            >>> taper.zeros(2, 3).stride()
            (3, 1)
        """
        strides = element_strides(self._array)
        if dim is None:
            return strides
        if not strides:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return strides[wrap_dim(dim, self._array.ndim)]

    def dim(self) -> int:
        """Count the dimensions.

        Returns: an int, 0 for a tensor that holds one number.

        Example:
            >>> import taper
            >>> taper.zeros(2, 3).dim()
            2
        """
        return self._array.ndim

    ndimension = dim

    def numel(self) -> int:
        """Count the elements.

        Returns: the product of all lengths, an int.

        Example:
            >>> import taper
            >>> taper.zeros(2, 3).numel()
            6
        """
        return self._array.size

    nelement = numel

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self._array.itemsize

    def data_ptr(self) -> int:
        """Return the address of the first element in memory.

        Returns: an int, 0 if there are no elements.

        Example:
            >>> import taper
            >>> x = taper.ones(2)
            >>> x.data_ptr() == x.view(1, 2).data_ptr()
            True
        """
        array = self._array
        if isinstance(array, ForeignArray):
            return array.address
        return array.ctypes.data if array.size else 0

    def storage_offset(self) -> int:
        """Return how many elements lie between the start of the storage and the first element."""
        return storage_offset(self._array)

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)


blank: functools.partial[Tensor] = functools.partial(
    object.__new__, Tensor
)  # saves 30 ns against the plain call


def wrap(array: np.ndarray) -> Tensor:
    """Return a plain tensor on the memory of `array`, an ndarray of a known dtype."""
    tensor: Tensor = blank()
    tensor._array = array
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._counter = None
    tensor._view = None
    tensor._autograd_meta = None
    return tensor


def fresh(array: np.ndarray, flag: Any) -> Tensor:
    """Return a new tensor that is not recorded; `flag` is false and may know why (D13)."""
    tensor = wrap(array)
    tensor._requires_grad = flag
    return tensor


if native is not None:
    native.know_tensor(Tensor)
    wrap = native.wrap
    fresh = native.fresh  # 90 ns less an operation than to fill the slots here


def is_key(value: Any) -> bool:
    """Return whether dictionaries find it by identity: its class does not define equality."""
    return value.__class__.__hash__ is object.__hash__


def storage_of(array: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory `array` looks at; a foreign array's storage."""
    if isinstance(array, ForeignArray):
        return array.storage
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def storage_offset(array: np.ndarray) -> int:
    """Return how many elements lie between the start of the storage and the array's first."""
    if isinstance(array, ForeignArray):
        return array.offset // array.itemsize
    if array.base is None:
        return 0
    owner = storage_of(array)
    return (array.ctypes.data - owner.ctypes.data) // array.itemsize


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    """Return strides in elements; row-major for empty arrays, to which NumPy gives zeros."""
    strides = array.strides
    if array.size or any(strides):
        itemsize = array.itemsize
        return tuple([stride // itemsize for stride in strides])
    return row_major(array.shape)


def geometry(array: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return shape, strides and offset in the storage, counted in elements."""
    return array.shape, element_strides(array), storage_offset(array)


def outline_of(tensor: Any) -> np.ndarray:
    """The array of a tensor; of a sparse one an array that has its shape and dtype, and no memory.

    For questions about shape and dtype: nobody may read or write the elements.
    """
    try:
        array: np.ndarray = tensor._array
    except AttributeError:
        array = getattr(tensor, "_outline", None)  # type: ignore[assignment]
        if array is None:
            raise
    return array


def array_or_sparse(tensor: Tensor) -> Any:
    """A gradient as passes over arrays know it: its array, or the sparse tensor itself."""
    return tensor._array if tensor.layout is strided else tensor


def array_of(value: Any) -> Any:
    """The array of a Tensor, and anything else as it is, for decisions that have no derivative."""
    return outline_of(value) if isinstance(value, Tensor) else value


def is_complex(value: Any) -> bool:
    """Return whether an array, a NumPy scalar or a Tensor has complex elements."""
    return (value._array if isinstance(value, Tensor) else value).dtype.kind == "c"
