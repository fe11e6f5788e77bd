"""What operators and autograd attach to Tensor.  Written by tools/stubs.py (`make docs`)."""

# Names such as `int`, `float` and `dtype` are functions, dtypes and methods below: types have an
# underscore.

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from taper import return_types as _return_types
from taper.autograd.accumulate import AccumulateGrad as _AccumulateGrad
from taper.autograd.handles import RemovableHandle as _RemovableHandle
from taper.autograd.node import Node as _Node
from taper.device import device as _device
from taper.device import layout as _layout
from taper.device import memory_format as _memory_format
from taper.dtypes import dtype as _dtype
from taper.ops.creation.legacy import _T
from taper.random import Generator
from taper.size import Size as _Size
from taper.storage import LegacyStorage as _LegacyStorage
from taper.storage import TypedStorage as _TypedStorage
from taper.storage import UntypedStorage as _UntypedStorage
from taper.tensor import Tensor
from typing_extensions import TypeIs
import numpy as _np

_Number: TypeAlias = _int | _float | _complex | _np.generic
_Operand: TypeAlias = Tensor | _Number
_Device: TypeAlias = _device | str | _int
_Ints: TypeAlias = _int | Sequence[_int]

class TensorMethods:
    @property
    def H(self) -> Tensor:
        """Conjugate and transpose a matrix."""
    @property
    def T(self) -> Tensor:
        """Reverse the order of the dimensions; transpose a matrix."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __and__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> _np.ndarray: ...
    def __array_wrap__(self, array: _np.ndarray, context: Any = None, return_scalar: _bool = False) -> Tensor: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, value: _Operand) -> _bool: ...
    def __deepcopy__(self, memo: dict[Any, Any]) -> Any: ...
    def __delitem__(self, index_given: Any) -> None: ...
    def __div__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __dlpack__(self, *, stream: Any = None, max_version: tuple[_int, _int] | None = None, dl_device: tuple[_int, _int] | None = None, copy: _bool | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, _int]: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __ge__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __getitem__(self, index_given: Any) -> Tensor: ...
    def __gt__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __iadd__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __iand__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __idiv__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __ifloordiv__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __ilshift__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __imod__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __imul__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __ipow__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __irshift__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __isub__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __ixor__(self, other: _Operand | _np.ndarray) -> Self: ...
    def __le__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __lshift__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __lt__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __matmul__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __mod__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __mul__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *args: Any, device: _Device | None = None) -> Self: ...
    def __or__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __radd__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rand__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rdiv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rlshift__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rmatmul__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rmod__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rmul__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __ror__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rpow__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rrshift__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rshift__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rsub__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rtruediv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __rxor__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __setitem__(self, index_given: Any, value: _Operand) -> None: ...
    def __sub__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = ..., kwargs: Any = None) -> Any: ...
    __torch_function__: Any
    def __truediv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __xor__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def _accumulator(self, sequence: _int | None = None) -> _AccumulateGrad | None:
        """Return the leaf's AccumulateGrad: one while anybody holds it, held weakly by the leaf (I7).

        For a node with a sequence number it is the one of the time when the node was recorded.
        """
    @property
    def _backward_hooks(self) -> Any:
        ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, None if it is no view."""
    @_base.setter
    def _base(self, value: Tensor | None) -> None: ...
    @property
    def _cdata(self) -> _int:
        """A number that tells tensors apart while they live, also those that share memory."""
    @_cdata.setter
    def _cdata(self, value: _int) -> None: ...
    def _coalesced_(self, coalesced: _bool) -> Self:
        """Say whether the coordinates are sorted and different."""
    def _dimI(self) -> _int:
        """Count the dimensions that have coordinates; none for a dense tensor.

        >>> import taper
        >>> taper.ones(2, 3).to_sparse(1).sparse_dim()
        1
        """
    def _dimV(self) -> _int:
        """Count the dimensions that are stored whole; all for a dense tensor.

        >>> import taper
        >>> taper.ones(2, 3).to_sparse(1).dense_dim()
        1
        """
    @property
    def _grad(self) -> Tensor | None:
        """The accumulated gradient, None before the first backward."""
    @_grad.setter
    def _grad(self, value: Tensor | None) -> None: ...
    def _indices(self) -> Tensor:
        """Return the coordinates, as they are."""
    def _is_view(self) -> _bool: ...
    _make_subclass: Any
    _make_wrapper_subclass: Any
    def _neg_view(self) -> Tensor:
        """Show the negative as a view: a write to either shows in both.

        >>> import taper
        >>> x = taper.ones(2)
        >>> taper._neg_view(x).fill_(3)
        tensor([3., 3.])
        >>> x
        tensor([-3., -3.])
        """
    def _nnz(self) -> _int:
        """Count the elements that are stored."""
    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        """The hooks that run after a gradient was added to this leaf's, None if there are none."""
    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, value: Any) -> None: ...
    def _repr_html_(self) -> Self: ...
    def _use_count(self) -> _int:
        """Count who holds this tensor: nodes, views, and all of Python as one.

        >>> import taper
        >>> x = taper.ones(2, requires_grad=True)
        >>> y = x.exp()
        >>> x._use_count()
        2
        """
    def _values(self) -> Tensor:
        """Return the elements, as they are, without history."""
    @property
    def _version(self) -> _int:
        """How often this tensor's memory was written in place."""
    @_version.setter
    def _version(self, value: _int) -> None: ...
    def _view_func(self, new_base: Tensor) -> Tensor | None:
        """Return this view taken of another base; None if it is no view, or the layout differs.

        >>> import taper
        >>> taper.zeros(2, 3)[1]._view_func(taper.ones(2, 3))
        tensor([1., 1., 1.])
        """
    def _view_func_unsafe(self, new_base: Tensor) -> Tensor | None:
        """Do the work of `_view_func` without checking the layout of the base."""
    def abs(self) -> Tensor:
        """Take the absolute value of every element.

        result = |input|; of a complex element its distance from zero, a real number.

        Args:
            input: a tensor.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.abs(taper.tensor([1.0, -2.0]))
            tensor([1., 2.])
        """
    def abs_(self) -> Self:
        """In-place version of `abs`.

        >>> import taper
        >>> taper.abs_(taper.tensor([1.0, -2.0]))
        tensor([1., 2.])
        """
    def absolute(self) -> Tensor:
        """Take the absolute value of every element.

        result = |input|; of a complex element its distance from zero, a real number.

        Args:
            input: a tensor.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.abs(taper.tensor([1.0, -2.0]))
            tensor([1., 2.])
        """
    def absolute_(self) -> Self:
        """In-place version of `abs`.

        >>> import taper
        >>> taper.abs_(taper.tensor([1.0, -2.0]))
        tensor([1., 2.])
        """
    def acos(self) -> Tensor:
        """Find the angle in radians whose cosine is the element.

        >>> import taper
        >>> taper.acos(taper.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def acos_(self) -> Self:
        """In-place version of `acos`.

        >>> import taper
        >>> taper.acos_(taper.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def acosh(self) -> Tensor:
        """Take the inverse hyperbolic cosine of every element.

        >>> import taper
        >>> taper.acosh(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
        """
    def acosh_(self) -> Self:
        """In-place version of `acosh`.

        >>> import taper
        >>> taper.acosh_(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
        """
    def add(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """Add two tensors element by element, the second multiplied by `alpha`.

        result = input + alpha · other

        Args:
            input: first summand.
            other: second summand, a tensor or a number.
            alpha: number that multiplies `other`.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.add(taper.tensor([1.0, 2.0]), taper.tensor([3.0, 4.0]), alpha=2)
            tensor([ 7., 10.])
        """
    def add_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Compute `beta * input + alpha * (the sum of bmm(batch1, batch2) over the stack)`.

        >>> import taper
        >>> taper.addbmm(taper.tensor(1.), taper.ones(5, 2, 3), taper.ones(5, 3, 2))
        tensor([[16., 16.],
                [16., 16.]])
        """
    def addbmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `addbmm`; a tensor that broadcasts to the result gets its shape."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Tensor:
        """Add `value` times the quotient of two tensors to `input`.

        >>> import taper
        >>> x = taper.tensor([1.0, 2.0])
        >>> taper.addcdiv(x, x, x, value=10)
        tensor([11., 12.])
        """
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Self:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Tensor:
        """Add `value` times the product of two tensors to `input`.

        >>> import taper
        >>> x = taper.tensor([1.0, 2.0])
        >>> taper.addcmul(x, x, x, value=10)
        tensor([11., 42.])
        """
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Self:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Compute `beta * input + alpha * (mat1 @ mat2)`.

        >>> import taper
        >>> taper.addmm(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3, 2))
        tensor([[4., 5.],
                [4., 5.]])
        """
    def addmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Compute `beta * input + alpha * (mat @ vec)`.

        >>> import taper
        >>> taper.addmv(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3), alpha=2)
        tensor([7., 8.])
        """
    def addmv_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `addmv`.

        >>> import taper
        >>> taper.addmv_(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3), alpha=2)
        tensor([7., 8.])
        """
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Compute `beta * input + alpha * outer(vec1, vec2)`.

        >>> import taper
        >>> taper.addr(taper.zeros(2, 2), taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor([[3., 4.],
                [6., 8.]])
        """
    def addr_(self, vec1: Tensor, vec2: Tensor, *more: Any, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """In-place version of `addr`."""
    def adjoint(self) -> Tensor:
        """Conjugate and transpose a matrix or a batch of matrices.

        >>> import taper
        >>> taper.adjoint(taper.zeros(2, 3)).shape
        torch.Size([3, 2])
        """
    def all(self, dim: _Ints | None = None, keepdim: _bool = False, *, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Tell whether all elements are true (not zero).

        Args:
            input: a tensor.
            dim: dimension or dimensions to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

        Example:
            >>> import taper
            >>> taper.all(taper.tensor([[True, True], [False, True]]), dim=1)
            tensor([ True, False])
        """
    def allclose(self, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Tell whether all elements of two tensors are close to each other.

        Close means |input - other| ≤ atol + rtol · |other|.

        Args:
            input: first tensor.
            other: second tensor, of the same dtype; it broadcasts with the first.
            rtol: relative tolerance.
            atol: absolute tolerance.
            equal_nan: whether nan counts as close to nan.

        Returns: True or False.

        Example:
            >>> import taper
            >>> taper.allclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.0]))
            True
        """
    def amax(self, dim: _Ints | None = ..., keepdim: _bool = False, *, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Find the largest elements along dimensions, by default of all.

        Equal largest elements share the gradient evenly.

        >>> import taper
        >>> taper.amax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
        tensor([2., 3.])
        """
    def amin(self, dim: _Ints | None = ..., keepdim: _bool = False, *, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Find the smallest elements along dimensions, by default of all.

        Equal smallest elements share the gradient evenly.

        >>> import taper
        >>> taper.amin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
        tensor([1., 0.])
        """
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _return_types.aminmax:
        """Find the smallest and the largest element, of all or along a dimension.

        >>> import taper
        >>> taper.aminmax(taper.tensor([1.0, 3.0, 2.0]))
        torch.return_types.aminmax(
        min=tensor(1.),
        max=tensor(3.))
        """
    def angle(self) -> Tensor:
        """Compute the angle of every element in radians; pi for negative real numbers.

        >>> import taper
        >>> taper.angle(taper.tensor([1j, -1.0]))
        tensor([1.5708, 3.1416])
        """
    def any(self, dim: _Ints | None = None, keepdim: _bool = False, *, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Tell whether any element is true (not zero).

        Args:
            input: a tensor.
            dim: dimension or dimensions to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`; the result is bool (uint8 for uint8).

        Example:
            >>> import taper
            >>> taper.any(taper.tensor([[False, True], [False, False]]), dim=1)
            tensor([ True, False])
        """
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element by what a Python function returns for it; slow.

        >>> import taper
        >>> taper.tensor([1, 2]).apply_(lambda value: value * 10)
        tensor([10, 20])
        """
    def arccos(self) -> Tensor:
        """Find the angle in radians whose cosine is the element.

        >>> import taper
        >>> taper.acos(taper.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def arccos_(self) -> Self:
        """In-place version of `acos`.

        >>> import taper
        >>> taper.acos_(taper.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000])
        """
    def arccosh(self) -> Tensor:
        """Take the inverse hyperbolic cosine of every element.

        >>> import taper
        >>> taper.acosh(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
        """
    def arccosh_(self) -> Self:
        """In-place version of `acosh`.

        >>> import taper
        >>> taper.acosh_(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170])
        """
    def arcsin(self) -> Tensor:
        """Find the angle in radians whose sine is the element.

        >>> import taper
        >>> taper.asin(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def arcsin_(self) -> Self:
        """In-place version of `asin`.

        >>> import taper
        >>> taper.asin_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def arcsinh(self) -> Tensor:
        """Take the inverse hyperbolic sine of every element.

        >>> import taper
        >>> taper.asinh(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def arcsinh_(self) -> Self:
        """In-place version of `asinh`.

        >>> import taper
        >>> taper.asinh_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def arctan(self) -> Tensor:
        """Find the angle in radians whose tangent is the element.

        >>> import taper
        >>> taper.atan(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def arctan2(self, other: _Operand) -> Tensor:
        """Find angles: another name of `atan2`.

        >>> import taper
        >>> taper.arctan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
        tensor([0.7854, 3.1416])
        """
    def arctan2_(self, other: _Operand) -> Self:
        """In-place version of `arctan2`."""
    def arctan_(self) -> Self:
        """In-place version of `atan`.

        >>> import taper
        >>> taper.atan_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def arctanh(self) -> Tensor:
        """Take the inverse hyperbolic tangent of every element.

        >>> import taper
        >>> taper.atanh(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def arctanh_(self) -> Self:
        """In-place version of `atanh`.

        >>> import taper
        >>> taper.atanh_(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Find the index of the largest element.

        Args:
            input: a tensor.
            dim: dimension to search along; by default the index counts in the flattened tensor.
            keepdim: keep the reduced dimensions, with length 1.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`, in int64; of equal elements the first counts.

        Example:
            >>> import taper
            >>> taper.argmax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
            tensor([1, 0])
        """
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Find the index of the smallest element, in the flattened tensor or along a dimension.

        >>> import taper
        >>> taper.argmin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
        tensor([0, 1])
        """
    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int | None = None) -> Tensor:
        """Find the indices that sort a tensor along a dimension.

        Args:
            input: a tensor.
            dim: dimension to sort along.
            descending: whether the largest element comes first.
            stable: whether equal elements keep their order; here they always do.
            axis: NumPy's name for `dim`.

        Shape: the result has the shape of `input`, in int64.

        Example:
            >>> import taper
            >>> taper.argsort(taper.tensor([3.0, 1.0, 2.0]))
            tensor([1, 2, 0])
        """
    def argwhere(self) -> Tensor:
        """Find the coordinates of all elements that are not zero, one row each.

        >>> import taper
        >>> taper.argwhere(taper.tensor([0, 5, 6]))
        tensor([[1],
                [2]])
        """
    def as_strided(self, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
        """View the tensor's whole storage with any shape and strides.

        >>> import taper
        >>> taper.as_strided(taper.arange(6), (2, 3), (1, 2))
        tensor([[0, 2, 4],
                [1, 3, 5]])
        """
    def as_strided_(self, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Self:
        """In-place version of `as_strided`.

        >>> import taper
        >>> taper.as_strided_(taper.arange(6), (3,), (2,))
        tensor([0, 2, 4])
        """
    def as_strided_scatter(self, src: Tensor, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
        """Copy a tensor with `src` written to `as_strided(size, stride, storage_offset)`.

        Differs from PyTorch: the gradient of `input` is zero where it was replaced; in PyTorch it is
        zero elsewhere.

        >>> import taper
        >>> taper.as_strided_scatter(taper.zeros(6), taper.ones(2), (2,), (3,))
        tensor([1., 0., 0., 1., 0., 0.])
        """
    def as_subclass(self, cls: type[_T]) -> _T:
        """Return the same tensor, with its history, as an object of a subclass.

        >>> import taper
        >>> class Marked(taper.Tensor):
        ...     pass
        >>> taper.ones(2).as_subclass(Marked)
        Marked([1., 1.])
        """
    def asin(self) -> Tensor:
        """Find the angle in radians whose sine is the element.

        >>> import taper
        >>> taper.asin(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def asin_(self) -> Self:
        """In-place version of `asin`.

        >>> import taper
        >>> taper.asin_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708])
        """
    def asinh(self) -> Tensor:
        """Take the inverse hyperbolic sine of every element.

        >>> import taper
        >>> taper.asinh(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def asinh_(self) -> Self:
        """In-place version of `asinh`.

        >>> import taper
        >>> taper.asinh_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814])
        """
    def atan(self) -> Tensor:
        """Find the angle in radians whose tangent is the element.

        >>> import taper
        >>> taper.atan(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def atan2(self, other: Tensor) -> Tensor:
        """Find the angle in radians of the point with height `input` and width `other`.

        >>> import taper
        >>> taper.atan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
        tensor([0.7854, 3.1416])
        """
    def atan2_(self, other: Tensor) -> Self:
        """In-place version of `atan2`."""
    def atan_(self) -> Self:
        """In-place version of `atan`.

        >>> import taper
        >>> taper.atan_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def atanh(self) -> Tensor:
        """Take the inverse hyperbolic tangent of every element.

        >>> import taper
        >>> taper.atanh(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def atanh_(self) -> Self:
        """In-place version of `atanh`.

        >>> import taper
        >>> taper.atanh_(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493])
        """
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Tensor | Sequence[Tensor] | None = None) -> None:
        """Compute the gradients of this tensor with respect to the leaves it was computed from.

        The gradients are added to the `.grad` of the leaves.

        Args:
            gradient: gradient with respect to this tensor; needed unless it has exactly one element.
            retain_graph: keep what the graph saved, for another pass; by default as `create_graph`.
            create_graph: record the pass itself, for gradients of gradients.
            inputs: tensors whose `.grad` receives gradients; by default all leaves.

        Returns: nothing.

        Example:
            >>> import taper
            >>> x = taper.tensor([2.0, 3.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([4., 6.])
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """Compute `beta * input + alpha * bmm(batch1, batch2)`.

        >>> import taper
        >>> taper.baddbmm(taper.tensor(1.), taper.ones(1, 2, 3), taper.ones(1, 3, 2))
        tensor([[[4., 4.],
                 [4., 4.]]])
        """
    def baddbmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `baddbmm`."""
    def bernoulli(self, p: Any = None, *, generator: Generator | None = None) -> Tensor:
        """Draw ones and zeros: each element is 1 with its own probability.

        Args:
            input: tensor of probabilities in [0, 1].
            p: one probability for all; only the shape of `input` counts then.
            generator: source of random numbers; by default the one that `manual_seed` seeds.
            out: tensor that receives the result.

        Shape: the result has the shape and dtype of `input`.

        Example:
            >>> import taper
            >>> generator = taper.manual_seed(0)
            >>> taper.bernoulli(taper.tensor([0.0, 0.5, 1.0]))
            tensor([0., 0., 1.])
        """
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with ones, each with probability `p` (a number or a tensor), and zeros.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(4).bernoulli_(0.5)
        tensor([0., 0., 1., 0.])
        """
    def bfloat16(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.bfloat16.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).bfloat16().dtype
            torch.bfloat16
        """
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Count how often each non-negative integer occurs, or add up its weights.

        >>> import taper
        >>> taper.bincount(taper.tensor([0, 2, 2]))
        tensor([1, 0, 2])
        """
    def bitwise_and(self, other: _Operand) -> Tensor:
        """Keep the bits that both elements have; for bool logical and.

        >>> import taper
        >>> taper.bitwise_and(taper.tensor([6, 5]), 3)
        tensor([2, 1])
        """
    def bitwise_and_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Operand) -> Tensor:
        """Move the bits up by `other` places; those pushed out are lost.

        >>> import taper
        >>> taper.bitwise_left_shift(taper.tensor([1, 3]), 2)
        tensor([ 4, 12])
        """
    def bitwise_left_shift_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_left_shift`."""
    def bitwise_not(self) -> Tensor:
        """Turn all bits; for bool logical not.

        >>> import taper
        >>> taper.bitwise_not(taper.tensor([0, -1]))
        tensor([-1,  0])
        """
    def bitwise_not_(self) -> Self:
        """In-place version of `bitwise_not`."""
    def bitwise_or(self, other: _Operand) -> Tensor:
        """Keep the bits that one of the elements has; for bool logical or.

        >>> import taper
        >>> taper.bitwise_or(taper.tensor([6, 5]), 3)
        tensor([7, 7])
        """
    def bitwise_or_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Operand) -> Tensor:
        """Move the bits down by `other` places; the sign stays.

        >>> import taper
        >>> taper.bitwise_right_shift(taper.tensor([4, -8]), 2)
        tensor([ 1, -2])
        """
    def bitwise_right_shift_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Operand) -> Tensor:
        """Keep the bits that exactly one of the elements has; for bool logical xor.

        >>> import taper
        >>> taper.bitwise_xor(taper.tensor([6, 5]), 3)
        tensor([5, 6])
        """
    def bitwise_xor_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_xor`."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Multiply the matrices of two stacks, pair by pair; nothing broadcasts.

        result[b] = input[b] @ mat2[b]

        Args:
            input: stack of left matrices.
            mat2: stack of right matrices.
            out: tensor that receives the result.

        Shape: (b, n, k) and (b, k, m) give (b, n, m).

        Example:
            >>> import taper
            >>> taper.bmm(taper.ones(2, 1, 3), taper.ones(2, 3, 1))
            tensor([[[3.]],
            <BLANKLINE>
                    [[3.]]])
        """
    def bool(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.bool.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).bool().dtype
            torch.bool
        """
    def broadcast_to(self, size: _Ints) -> Tensor:
        """Expand the tensor to `size`, as a view.

        >>> import taper
        >>> taper.broadcast_to(taper.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
    def byte(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.uint8.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).byte().dtype
            torch.uint8
        """
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of the Cauchy distribution.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).cauchy_(1, 2)
        tensor([22.1955,  2.5295])
        """
    def ccol_indices(self) -> Tensor:
        """Return the begins of the columns of a compressed tensor."""
    def cdouble(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.complex128.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).cdouble().dtype
            torch.complex128
        """
    def ceil(self) -> Tensor:
        """Round every element up to a whole number.

        >>> import taper
        >>> taper.ceil(taper.tensor([1.5, -1.5]))
        tensor([ 2., -1.])
        """
    def ceil_(self) -> Self:
        """In-place version of `ceil`.

        >>> import taper
        >>> taper.ceil_(taper.tensor([1.5, -1.5]))
        tensor([ 2., -1.])
        """
    def cfloat(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.complex64.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).cfloat().dtype
            torch.complex64
        """
    def char(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.int8.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).char().dtype
            torch.int8
        """
    def cholesky(self, upper: _bool = False) -> Tensor:
        """Factor matrices as A = L L^H; `linalg.cholesky` is the name to use.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.cholesky(taper.tensor([[4.0]]))
        tensor([[2.]])
        """
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """Invert A with its Cholesky factor.

        >>> import taper
        >>> taper.cholesky_inverse(taper.tensor([[2.0]]))
        tensor([[0.2500]])
        """
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """Solve A X = B with Cholesky's factor of A, the second argument.

        >>> import taper
        >>> taper.cholesky_solve(taper.tensor([[4.0]]), taper.tensor([[2.0]]))
        tensor([[1.]])
        """
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Cut a tensor into at most `chunks` parts of equal length.

        Args:
            input: the tensor to cut.
            chunks: how many parts are wanted; there are fewer where the length does not allow so many.
            dim: dimension to cut.
            axis: NumPy's name for `dim`.

        Returns: a tuple of views, each ⌈length / chunks⌉ long, the last perhaps shorter.

        Example:
            >>> import taper
            >>> taper.chunk(taper.arange(5), 2)
            (tensor([0, 1, 2]), tensor([3, 4]))
        """
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """Move every element into the interval from `min` to `max`.

        result = min(max(x, min), max); where `min` is above `max` the result is `max`.

        Args:
            input: a tensor.
            min: lower bound, a number or a tensor; None for no bound.
            max: upper bound, likewise; one of the two must be given.
            out: tensor that receives the result.

        Shape: `input` and tensor bounds broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> taper.clamp(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
            tensor([0.0000, 0.5000, 1.0000])
        """
    def clamp_(self, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """In-place version of `clamp`.

        >>> import taper
        >>> taper.clamp_(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    def clamp_max(self, max: _Operand) -> Tensor:
        """Lower elements that lie above `max` to it.

        >>> import taper
        >>> taper.clamp_max(taper.tensor([-2.0, 3.0]), 0)
        tensor([-2.,  0.])
        """
    def clamp_max_(self, max: _Operand) -> Self:
        """In-place version of `clamp_max`.

        >>> import taper
        >>> taper.clamp_max_(taper.tensor([-2.0, 3.0]), 0)
        tensor([-2.,  0.])
        """
    def clamp_min(self, min: _Operand) -> Tensor:
        """Raise elements that lie below `min` to it.

        >>> import taper
        >>> taper.clamp_min(taper.tensor([-2.0, 3.0]), 0)
        tensor([0., 3.])
        """
    def clamp_min_(self, min: _Operand) -> Self:
        """In-place version of `clamp_min`.

        >>> import taper
        >>> taper.clamp_min_(taper.tensor([-2.0, 3.0]), 0)
        tensor([0., 3.])
        """
    def clip(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """Move every element into the interval from `min` to `max`.

        result = min(max(x, min), max); where `min` is above `max` the result is `max`.

        Args:
            input: a tensor.
            min: lower bound, a number or a tensor; None for no bound.
            max: upper bound, likewise; one of the two must be given.
            out: tensor that receives the result.

        Shape: `input` and tensor bounds broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> taper.clamp(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
            tensor([0.0000, 0.5000, 1.0000])
        """
    def clip_(self, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """In-place version of `clamp`.

        >>> import taper
        >>> taper.clamp_(taper.tensor([-2.0, 0.5, 3.0]), 0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """
    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """Copy a tensor into memory of its own; the copy is recorded by autograd.

        Args:
            input: a tensor.
            memory_format: order of the dimensions in memory; by default that of the input.

        Shape: the result has the shape and dtype of `input`.

        Example:
            >>> import taper
            >>> taper.clone(taper.tensor([1.0, 2.0]))
            tensor([1., 2.])
        """
    def coalesce(self) -> Tensor:
        """Sort the coordinates and add up the elements of each place.

        Example:
            >>> import taper
            >>> x = taper.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (3,))
            >>> x.coalesce().values()
            tensor([2., 4.])
        """
    def col_indices(self) -> Tensor:
        """Return the column of each element of a compressed tensor."""
    def conj(self) -> Tensor:
        """Conjugate a complex tensor, as a view; return a real one as it is.

        >>> import taper
        >>> taper.conj(taper.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def conj_physical(self) -> Tensor:
        """Conjugate a complex tensor into new memory; return a real one as it is.

        >>> import taper
        >>> taper.conj_physical(taper.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def conj_physical_(self) -> Self:
        """In-place version of `conj_physical`.

        >>> import taper
        >>> taper.conj_physical_(taper.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def const_data_ptr(self) -> _int:
        """Return the address of the first element, for reading.

        >>> import taper
        >>> x = taper.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
        """
    def contiguous(self, memory_format: _memory_format | None = ...) -> Tensor:
        """Arrange the elements in memory in the order of their indices.

        Args:
            memory_format: order of the dimensions in memory, row-major by default.

        Returns: the tensor itself if it lies so already, else a copy.

        Example:
            >>> import taper
            >>> taper.tensor([[1, 2], [3, 4]]).t().contiguous().stride()
            (2, 1)
        """
    def copy_(self, other: _Operand, non_blocking: _bool = False) -> Self:
        """Write the values of another tensor into this one.

        Args:
            other: tensor that broadcasts to this one; its values are converted to this dtype.
            non_blocking: do not wait for a copy between a GPU and pinned memory.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> taper.zeros(2, 2).copy_(taper.tensor([1, 2]))
            tensor([[1., 2.],
                    [1., 2.]])
        """
    def copysign(self, other: _Operand) -> Tensor:
        """Give the absolute values of `input` the signs of `other`.

        >>> import taper
        >>> taper.copysign(taper.tensor([1.0, -2.0]), taper.tensor([-1.0, 3.0]))
        tensor([-1.,  2.])
        """
    def copysign_(self, other: _Operand) -> Self:
        """In-place version of `copysign`."""
    def corrcoef(self) -> Tensor:
        """Compute the correlation coefficients of the rows; columns are observations.

        >>> import taper
        >>> taper.corrcoef(taper.tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def cos(self) -> Tensor:
        """Take the cosine of every element.

        result = cos x for each x of `input`, in radians

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.cos(taper.tensor([0.0, 1.0]))
            tensor([1.0000, 0.5403])
        """
    def cos_(self) -> Self:
        """In-place version of `cos`.

        >>> import taper
        >>> taper.cos_(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403])
        """
    def cosh(self) -> Tensor:
        """Take the hyperbolic cosine of every element.

        >>> import taper
        >>> taper.cosh(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
    def cosh_(self) -> Self:
        """In-place version of `cosh`.

        >>> import taper
        >>> taper.cosh_(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431])
        """
    def count_nonzero(self, dim: _Ints | None = None, *, axis: _Ints | None = None) -> Tensor:
        """Count the elements that are not zero, of all or along dimensions.

        >>> import taper
        >>> taper.count_nonzero(taper.tensor([0, 3, 0, 4]))
        tensor(2)
        """
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Compute the covariances of the rows; columns are observations, which may have weights.

        >>> import taper
        >>> taper.cov(taper.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
        tensor([[1., 2.],
                [2., 4.]])
        """
    def cpu(self, memory_format: _memory_format | None = None) -> Tensor:
        """Move the tensor to the CPU.

        Args:
            memory_format: order of the dimensions in memory; by default that of the input.

        Returns: the tensor itself if it is there already.

        Example:
            >>> import taper
            >>> taper.ones(2).cpu()
            tensor([1., 1.])
        """
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """Compute the cross product of vectors of length 3, by default along the first such dimension.

        >>> import taper
        >>> taper.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
        """
    def crow_indices(self) -> Tensor:
        """Return the begins of the rows of a compressed tensor."""
    def cuda(self, device: _Device | None = None, non_blocking: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """Move the tensor to a GPU.

        Args:
            device: number or name of a CUDA device; by default the current one.
            non_blocking: do not wait for a copy from pinned memory.
            memory_format: order of the dimensions in memory; by default that of the input.

        Returns: the tensor itself if it is there already; without a GPU PyTorch's error.

        Example:
            >>> import taper
            >>> taper.ones(2).cuda() if taper.cuda.is_available() else taper.ones(2)  # doctest: +SKIP
            tensor([1., 1.], device='cuda:0')
        """
    def cummax(self, dim: _int) -> _return_types.cummax:
        """Find the largest element up to each one along a dimension, and where it is.

        >>> import taper
        >>> taper.cummax(taper.tensor([1.0, 3.0, 2.0]), dim=0).indices
        tensor([0, 1, 1])
        """
    def cummin(self, dim: _int) -> _return_types.cummin:
        """Find the smallest element up to each one along a dimension, and where it is.

        >>> import taper
        >>> taper.cummin(taper.tensor([2.0, 3.0, 1.0]), dim=0).values
        tensor([2., 2., 1.])
        """
    def cumprod(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """Multiply the elements up to each one along a dimension; integers in int64.

        >>> import taper
        >>> taper.cumprod(taper.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([1., 2., 6.])
        """
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None) -> Self:
        """In-place version of `cumprod`."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """Add up the elements from the first to each one, along a dimension.

        result[i] = input[0] + … + input[i]

        Args:
            input: a tensor; integers and bools are added in int64.
            dim: dimension to go along.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.cumsum(taper.tensor([1.0, 2.0, 3.0]), dim=0)
            tensor([1., 3., 6.])
        """
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = None) -> Self:
        """In-place version of `cumsum`."""
    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version counter of its own."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def deg2rad(self) -> Tensor:
        """Convert degrees to radians.

        >>> import taper
        >>> taper.deg2rad(taper.tensor([180.0]))
        tensor([3.1416])
        """
    def deg2rad_(self) -> Self:
        """In-place version of `deg2rad`.

        >>> import taper
        >>> taper.deg2rad_(taper.tensor([180.0]))
        tensor([3.1416])
        """
    def dense_dim(self) -> _int:
        """Count the dimensions that are stored whole; all for a dense tensor.

        >>> import taper
        >>> taper.ones(2, 3).to_sparse(1).dense_dim()
        1
        """
    def det(self) -> Tensor:
        """Compute determinants: another name of `linalg.det`.

        >>> import taper
        >>> taper.det(taper.eye(2))
        tensor(1.)
        """
    def detach(self) -> Tensor:
        """Look at the same memory without history: no gradient flows through the result.

        Writing in place into the result changes `input` too, and autograd notices it.

        Args:
            input: a tensor.

        Returns: a tensor that does not require a gradient and shares the memory of `input`.

        Example:
            >>> import taper
            >>> taper.ones(2, requires_grad=True).detach()
            tensor([1., 1.])
        """
    def detach_(self) -> Self:
        """Cut this tensor from its graph, in place: it becomes a leaf without gradient.

        Returns: the tensor itself; views cannot be cut in place.

        Example:
            >>> import taper
            >>> (taper.ones(2, requires_grad=True) * 2).detach_()
            tensor([2., 2.])
        """
    def diag(self, diagonal: _int = 0) -> Tensor:
        """Put a vector on a diagonal, or take a diagonal from a matrix.

        Args:
            input: a vector or a matrix.
            diagonal: which diagonal; positive ones lie above the main one.
            out: tensor that receives the result.

        Shape: (n,) gives (n + |diagonal|, n + |diagonal|); (n, m) gives the vector of its diagonal.

        Example:
            >>> import taper
            >>> taper.diag(taper.tensor([[1, 2], [3, 4]]))
            tensor([1, 4])
        """
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Make matrices with the tensor's last dimension on a diagonal, zero elsewhere.

        >>> import taper
        >>> taper.diag_embed(taper.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagflat(self, offset: _int = 0) -> Tensor:
        """Make a matrix with all elements of the tensor on a diagonal.

        >>> import taper
        >>> taper.diagflat(taper.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """View the diagonal of two dimensions as a new last dimension.

        >>> import taper
        >>> taper.diagonal(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
        """
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Copy a tensor with `src` written to a diagonal.

        >>> import taper
        >>> taper.diagonal_scatter(taper.zeros(2, 2), taper.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
        """
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int | None = None) -> Tensor:
        """Subtract neighbours along a dimension, `n` times over.

        `prepend` and `append` are joined to the input first.

        >>> import taper
        >>> taper.diff(taper.tensor([1, 3, 7]))
        tensor([2, 4])
        """
    def digamma(self) -> Tensor:
        """Compute the derivative of lgamma.

        >>> import taper
        >>> taper.digamma(taper.tensor([1.0, 2.0]))
        tensor([-0.5772,  0.4228])
        """
    def digamma_(self) -> Self:
        """In-place version of `digamma`."""
    def dim_order(self, *, ambiguity_check: Any = False) -> tuple[_int, ...]:
        """List the dimensions from the outermost in memory to the innermost.

        `ambiguity_check` refuses an order that lengths of 1 or repeated strides leave open; a list of
        memory formats refuses a tensor that fits several of them, or none.

        >>> import taper
        >>> taper.ones(2, 3).t().dim_order()
        (1, 0)
        """
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """Compute the norm of order `p` of the difference of two tensors.

        >>> import taper
        >>> taper.dist(taper.tensor([1.0, 2.0]), taper.tensor([4.0, 6.0]))
        tensor(5.)
        """
    def div(self, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """Divide one tensor by another, element by element.

        result = input / other; integers give the default floating dtype unless the quotient is rounded.

        Args:
            input: the dividend.
            other: the divisor, a tensor or a number.
            rounding_mode: None (exact), "trunc" (towards zero) or "floor" (down); both keep integers.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> taper.div(taper.tensor([1.0, 2.0]), 4)
            tensor([0.2500, 0.5000])
            >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
            tensor([-4,  3])
        """
    def div_(self, other: _Operand, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`."""
    def divide(self, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """Divide one tensor by another, element by element.

        result = input / other; integers give the default floating dtype unless the quotient is rounded.

        Args:
            input: the dividend.
            other: the divisor, a tensor or a number.
            rounding_mode: None (exact), "trunc" (towards zero) or "floor" (down); both keep integers.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> taper.div(taper.tensor([1.0, 2.0]), 4)
            tensor([0.2500, 0.5000])
            >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
            tensor([-4,  3])
        """
    def divide_(self, other: _Operand, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Sum the products of the elements of two vectors.

        >>> import taper
        >>> taper.dot(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor(11.)
        """
    def double(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.float64.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).double().dtype
            torch.float64
        """
    def dsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut along the third dimension.

        >>> import taper
        >>> taper.dsplit(taper.zeros(2, 2, 4), 2)[0].shape
        torch.Size([2, 2, 2])
        """
    def eq(self, other: _Operand) -> Tensor:
        """Compare two tensors for equality, element by element.

        result = (input == other)

        Args:
            input: first tensor.
            other: a tensor or a number.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
            shape.

        Example:
            >>> import taper
            >>> taper.eq(taper.tensor([1.0, 2.0]), 2)
            tensor([False,  True])
        """
    def eq_(self, other: _Operand) -> Self:
        """In-place version of `eq`."""
    def equal(self, other: _Operand) -> _bool:
        """Tell whether two tensors have the same shape and elements.

        >>> import taper
        >>> taper.equal(taper.tensor([1, 2]), taper.tensor([1, 2]))
        True
        """
    def erf(self) -> Tensor:
        """Compute the error function: the probability that a normal deviate of variance 1/2 is in +-x.

        >>> import taper
        >>> taper.erf(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
        """
    def erf_(self) -> Self:
        """In-place version of `erf`.

        >>> import taper
        >>> taper.erf_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8427])
        """
    def erfc(self) -> Tensor:
        """Compute 1 - erf(x), accurately where that is small.

        >>> import taper
        >>> taper.erfc(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
        """
    def erfc_(self) -> Self:
        """In-place version of `erfc`.

        >>> import taper
        >>> taper.erfc_(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 0.1573])
        """
    def erfinv(self) -> Tensor:
        """Invert the error function.

        >>> import taper
        >>> taper.erfinv(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.4769])
        """
    def erfinv_(self) -> Self:
        """In-place version of `erfinv`."""
    def exp(self) -> Tensor:
        """Raise e to the power of every element.

        result = eˣ for each x of `input`

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.exp(taper.tensor([0.0, 1.0]))
            tensor([1.0000, 2.7183])
        """
    def exp2(self) -> Tensor:
        """Raise 2 to the power of every element.

        >>> import taper
        >>> taper.exp2(taper.tensor([0.0, 3.0]))
        tensor([1., 8.])
        """
    def exp2_(self) -> Self:
        """In-place version of `exp2`.

        >>> import taper
        >>> taper.exp2_(taper.tensor([0.0, 3.0]))
        tensor([1., 8.])
        """
    def exp_(self) -> Self:
        """In-place version of `exp`.

        >>> import taper
        >>> taper.exp_(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    def expand(self, *sizes_given: _Ints, size: _Ints | None = None, implicit: _bool = False) -> Tensor:
        """Repeat dimensions of length 1 without copying.

        Args:
            sizes_given: the new lengths, one by one or as one tuple; -1 keeps a length, and more
                lengths than there are dimensions add leading ones.
            size: the new lengths, as a keyword.
            implicit: has no effect.

        Returns: a view in which all repetitions share memory; `clone` it before writing in place.

        Example:
            >>> import taper
            >>> taper.tensor([[1], [2]]).expand(2, 3)
            tensor([[1, 1, 1],
                    [2, 2, 2]])
        """
    def expand_as(self, other: Tensor) -> Tensor:
        """Repeat dimensions of length 1 until the shape is that of another tensor.

        Args:
            other: tensor whose shape is taken.

        Returns: `self.expand(other.size())`, a view.

        Example:
            >>> import taper
            >>> taper.tensor([1, 2]).expand_as(taper.zeros(2, 2))
            tensor([[1, 2],
                    [1, 2]])
        """
    def expm1(self) -> Tensor:
        """Compute exp(x) - 1 of every element, accurately near zero.

        >>> import taper
        >>> taper.expm1(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
    def expm1_(self) -> Self:
        """In-place version of `expm1`.

        >>> import taper
        >>> taper.expm1_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183])
        """
    def exponential_(self, lambd: _float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with exponentially distributed numbers of rate `lambd`.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).exponential_(2)
        tensor([1.7542, 0.6152])
        """
    def fill_(self, value: _Operand) -> Self:
        """Write one value into every element, in place.

        Args:
            input: the tensor that is changed.
            value: a number or a 0-d tensor.

        Returns: `input`.

        Example:
            >>> import taper
            >>> taper.fill_(taper.zeros(2), 3)
            tensor([3., 3.])
        """
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Self:
        """Write a number on the main diagonal; with `wrap` it continues below in a tall matrix.

        >>> import taper
        >>> taper.zeros(2, 2).fill_diagonal_(1)
        tensor([[1., 0.],
                [0., 1.]])
        """
    def fix(self) -> Tensor:
        """Cut off the fraction of every element.

        >>> import taper
        >>> taper.trunc(taper.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
        """
    def fix_(self) -> Self:
        """In-place version of `trunc`.

        >>> import taper
        >>> taper.trunc_(taper.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
        """
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from `start_dim` to `end_dim` into one.

        Args:
            input: a tensor.
            start_dim: first dimension to merge.
            end_dim: last dimension to merge.

        Shape: (*, a, b, c, *) gives (*, a·b·c, *); the result is a view where strides allow one.

        Example:
            >>> import taper
            >>> taper.flatten(taper.zeros(2, 3, 4), 1).shape
            torch.Size([2, 12])
        """
    def flip(self, *order: _Ints, dims: _Ints | None = None) -> Tensor:
        """Reverse the order of the elements along dimensions.

        Args:
            input: a tensor.
            order: dimensions to reverse, one by one or as one tuple.
            dims: the dimensions, as a keyword.

        Shape: the result has the shape of `input`; it is a copy.

        Example:
            >>> import taper
            >>> taper.flip(taper.tensor([[1, 2], [3, 4]]), (0,))
            tensor([[3, 4],
                    [1, 2]])
        """
    def fliplr(self) -> Tensor:
        """Reverse the order of the columns.

        >>> import taper
        >>> taper.fliplr(taper.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
        """
    def flipud(self) -> Tensor:
        """Reverse the order of the rows.

        >>> import taper
        >>> taper.flipud(taper.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
        """
    def float(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.float32.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).float().dtype
            torch.float32
        """
    def float_power(self, exponent: _Operand) -> Tensor:
        """Raise `input` to the power of `exponent`, computed in double precision.

        >>> import taper
        >>> taper.float_power(taper.tensor([2, 3]), -1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
        """
    def float_power_(self, exponent: _Operand) -> Self:
        """In-place version of `float_power`; the tensor must be of double precision."""
    def floor(self) -> Tensor:
        """Round every element down to a whole number.

        >>> import taper
        >>> taper.floor(taper.tensor([1.5, -1.5]))
        tensor([ 1., -2.])
        """
    def floor_(self) -> Self:
        """In-place version of `floor`.

        >>> import taper
        >>> taper.floor_(taper.tensor([1.5, -1.5]))
        tensor([ 1., -2.])
        """
    def floor_divide(self, other: _Operand) -> Tensor:
        """Divide two tensors and round down. Differentiating it fails, as in PyTorch.

        >>> import taper
        >>> taper.floor_divide(taper.tensor([-7, 7]), 2)
        tensor([-4,  3])
        """
    def floor_divide_(self, other: _Operand) -> Self:
        """In-place version of `floor_divide`."""
    def fmax(self, other: Tensor) -> Tensor:
        """Take the larger of two elements; nan only if both are nan.

        >>> import taper
        >>> taper.fmax(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
        tensor([3., 2.])
        """
    def fmin(self, other: Tensor) -> Tensor:
        """Take the smaller of two elements; nan only if both are nan.

        >>> import taper
        >>> taper.fmin(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
        tensor([1., 2.])
        """
    def fmod(self, other: _Operand) -> Tensor:
        """Take the remainder of the division, with the sign of the dividend, as C's `fmod`.

        >>> import taper
        >>> taper.fmod(taper.tensor([-7.0, 7.0]), 3)
        tensor([-1.,  1.])
        """
    def fmod_(self, other: _Operand) -> Self:
        """In-place version of `fmod`."""
    def frac(self) -> Tensor:
        """Keep the fraction of every element, with its sign.

        >>> import taper
        >>> taper.frac(taper.tensor([1.5, -1.25]))
        tensor([ 0.5000, -0.2500])
        """
    def frac_(self) -> Self:
        """In-place version of `frac`.

        >>> import taper
        >>> taper.frac_(taper.tensor([1.5, -1.25]))
        tensor([ 0.5000, -0.2500])
        """
    def frexp(self) -> _return_types.frexp:
        """Split numbers into mantissa * 2**exponent, with a mantissa of size 1/2 to below 1.

        >>> import taper
        >>> taper.frexp(taper.tensor([3.0])).exponent
        tensor([2], dtype=torch.int32)
        """
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Take elements along a dimension at the places in `index`.

        result[i, j] = input[index[i, j], j] for dim = 0, input[i, index[i, j]] for dim = 1, and so on

        Args:
            input: a tensor.
            dim: dimension that `index` counts along.
            index: int64 tensor with as many dimensions as `input`; other lengths at most those of
                `input`.
            sparse_grad: whether the gradient is sparse.
            out: tensor that receives the result.

        Shape: the result has the shape of `index`.

        Example:
            >>> import taper
            >>> taper.gather(taper.tensor([[1, 2], [3, 4]]), 1, taper.tensor([[0, 0], [1, 0]]))
            tensor([[1, 1],
                    [4, 3]])
        """
    def gcd(self, other: Tensor) -> Tensor:
        """Find the greatest common divisor of two whole numbers.

        >>> import taper
        >>> taper.gcd(taper.tensor([12, 18]), taper.tensor([8, 27]))
        tensor([4, 9])
        """
    def gcd_(self, other: Tensor) -> Self:
        """In-place version of `gcd`.

        >>> import taper
        >>> taper.gcd_(taper.tensor([12, 18]), taper.tensor([8, 27]))
        tensor([4, 9])
        """
    def ge(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is larger than or equal to the second.

        >>> import taper
        >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
        """
    def ge_(self, other: _Operand) -> Self:
        """In-place version of `ge`."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of trials until the first success of probability `p`.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(3).geometric_(0.5)
        tensor([1., 1., 2.])
        """
    def geqrf(self) -> _return_types.geqrf:
        """Compute R and the reflectors whose product is Q, as LAPACK stores them, for `ormqr`.

        >>> import taper
        >>> taper.geqrf(taper.tensor([[3.0], [4.0]])).a[0].abs()
        tensor([5.])
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Multiply each element of one vector with each of another: another name of `outer`.

        >>> import taper
        >>> taper.ger(taper.tensor([1., 2.]), taper.tensor([3.]))
        tensor([[3.],
                [6.]])
        """
    def get_device(self) -> _int:
        """Return the number of the tensor's device; -1 on the CPU.

        >>> import taper
        >>> taper.get_device(taper.ones(2))
        -1
        """
    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient, None before the first backward."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @property
    def grad_dtype(self) -> _dtype | None:
        """The dtype in which gradients accumulate, None for the one they arrive in (§L6)."""
    @grad_dtype.setter
    def grad_dtype(self, value: _dtype | None) -> None: ...
    @property
    def grad_fn(self) -> _Node | None:
        """The node that computed this tensor, None for a leaf."""
    @grad_fn.setter
    def grad_fn(self, value: _Node | None) -> None: ...
    def greater(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is larger than the second.

        >>> import taper
        >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
        tensor([False,  True])
        """
    def greater_(self, other: _Operand) -> Self:
        """In-place version of `gt`."""
    def greater_equal(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is larger than or equal to the second.

        >>> import taper
        >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
        """
    def greater_equal_(self, other: _Operand) -> Self:
        """In-place version of `ge`."""
    def gt(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is larger than the second.

        >>> import taper
        >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
        tensor([False,  True])
        """
    def gt_(self, other: _Operand) -> Self:
        """In-place version of `gt`."""
    def half(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.float16.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).half().dtype
            torch.float16
        """
    def hardshrink(self, lambd: _Number = 0.5) -> Tensor:
        """Replace small elements by zero.

        result = x where |x| > lambd, else 0

        Args:
            input: a tensor.
            lambd: bound that |x| must exceed.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.hardshrink(taper.tensor([-0.4, 0.6]))
            tensor([0.0000, 0.6000])
        """
    def hash_tensor(self, dim: _Ints | None = ..., *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """Hash the elements along dimensions, or all: the exclusive or of their bits.

        >>> import taper
        >>> taper.hash_tensor(taper.tensor([1, 2, 4]))
        tensor(7, dtype=torch.uint64)
        """
    def heaviside(self, values: Tensor) -> Tensor:
        """Return 0 below zero, 1 above, `values` at zero. Differentiating it fails, as in PyTorch.

        >>> import taper
        >>> taper.heaviside(taper.tensor([-1.0, 0.0, 2.0]), taper.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
        """
    def heaviside_(self, values: Tensor) -> Self:
        """In-place version of `heaviside`."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """Count the elements in each of `bins` equal parts of the range from `min` to `max`.

        Elements outside are not counted. With `min == max` the range is that of the elements.

        >>> import taper
        >>> taper.histc(taper.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=2)
        tensor([0., 3.])
        """
    def histogram(self, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogram:
        """Count the elements, or add up their weights, in each bin; also return the edges.

        `bins` is a tensor of edges, or a number of bins of one width in `range` (by default that of the
        elements). Elements outside are not counted. With `density` the integral is 1.

        >>> import taper
        >>> taper.histogram(taper.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
        tensor([0., 3.])
        """
    def hsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut along the second dimension; a vector along its only one.

        >>> import taper
        >>> taper.hsplit(taper.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
        """
    def hypot(self, other: Tensor) -> Tensor:
        """Compute the longest side of a right-angled triangle from the other two.

        >>> import taper
        >>> taper.hypot(taper.tensor([3.0]), taper.tensor([4.0]))
        tensor([5.])
        """
    def hypot_(self, other: Tensor) -> Self:
        """In-place version of `hypot`."""
    def i0(self) -> Tensor:
        """Compute the modified Bessel function of the first kind of order 0.

        >>> import taper
        >>> taper.i0(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
        """
    def i0_(self) -> Self:
        """In-place version of `i0`.

        >>> import taper
        >>> taper.i0_(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 1.2661])
        """
    def igamma(self, other: Tensor) -> Tensor:
        """Compute the regularised lower incomplete gamma function of parameter `input` at `other`.

        >>> import taper
        >>> taper.igamma(taper.tensor([4.0]), taper.tensor([3.0]))
        tensor([0.3528])
        """
    def igamma_(self, other: Tensor) -> Self:
        """In-place version of `igamma`."""
    def igammac(self, other: Tensor) -> Tensor:
        """Compute the regularised upper incomplete gamma function: one minus `igamma`.

        >>> import taper
        >>> taper.igammac(taper.tensor([4.0]), taper.tensor([3.0]))
        tensor([0.6472])
        """
    def igammac_(self, other: Tensor) -> Self:
        """In-place version of `igammac`."""
    @property
    def imag(self) -> Tensor:
        """View the imaginary part of a complex tensor.

        >>> import taper
        >>> taper.imag(taper.tensor([1 + 2j]))
        tensor([2.])
        """
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index(self, positions: Any, dims: _Ints) -> Tensor:
        """Index the tensor in some dimensions: `index((0, 2), (i, j))` is `self[i, :, j]`.

        >>> import taper
        >>> taper.arange(6).view(2, 3).index(1, 2)
        tensor([2, 5])
        """
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """Copy a tensor and add slices of `source`, times `alpha`, at `index` along `dim`.

        >>> import taper
        >>> taper.index_add(taper.zeros(3), 0, taper.tensor([0, 0]), taper.tensor([1.0, 2.0]))
        tensor([3., 0., 0.])
        """
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Self:
        """In-place version of `index_add`."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Copy a tensor and write slices of `source` at `index` along `dim`.

        >>> import taper
        >>> taper.index_copy(taper.zeros(3), 0, taper.tensor([2, 0]), taper.tensor([1.0, 2.0]))
        tensor([2., 0., 1.])
        """
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """In-place version of `index_copy`."""
    def index_fill(self, dim: _int, index: _Operand, value: _Operand) -> Tensor:
        """Copy a tensor and write `value`, a number or 0-d tensor, to the slices at `index`.

        >>> import taper
        >>> taper.index_fill(taper.zeros(3), 0, taper.tensor([1]), 5)
        tensor([0., 5., 0.])
        """
    def index_fill_(self, dim: _int, index: Tensor, value: _Operand) -> Self:
        """In-place version of `index_fill`."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Copy a tensor and write, or add, `values` at the places `indices`.

        >>> import taper
        >>> taper.index_put(taper.zeros(3), (taper.tensor([0, 2]),), taper.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
        """
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Self:
        """Write `values`, or add them, at the places `indices`.

        >>> import taper
        >>> taper.zeros(3).index_put_((taper.tensor([0, 0]),), taper.tensor(1.0), accumulate=True)
        tensor([2., 0., 0.])
        """
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """Copy a tensor and combine slices of `source` by `reduce` where `index` points along `dim`.

        >>> import taper
        >>> index = taper.tensor([0, 0])
        >>> taper.index_reduce(taper.ones(2), 0, index, taper.tensor([2.0, 3.0]), "amax")
        tensor([3., 1.])
        """
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Take slices along a dimension at the places in a vector.

        Args:
            input: a tensor.
            dim: dimension that `index` counts along.
            index: int32 or int64 vector; a place may occur several times.
            out: tensor that receives the result.

        Shape: `input` with the length of `index` along `dim`; the result is a copy.

        Example:
            >>> import taper
            >>> taper.index_select(taper.tensor([[1, 2], [3, 4]]), 0, taper.tensor([1, 1]))
            tensor([[3, 4],
                    [3, 4]])
        """
    def indices(self) -> Tensor:
        """Return the coordinates of a coalesced tensor, a row for each dimension.

        >>> import taper
        >>> taper.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
        """
    def inner(self, other: Tensor) -> Tensor:
        """Sum products over the last dimension of both tensors.

        >>> import taper
        >>> taper.inner(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor(11.)
        """
    def int(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.int32.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).int().dtype
            torch.int32
        """
    def inverse(self) -> Tensor:
        """Invert matrices: another name of `linalg.inv`.

        >>> import taper
        >>> taper.inverse(taper.tensor([[2.0]]))
        tensor([[0.5000]])
        """
    def is_coalesced(self) -> _bool:
        """Tell whether the coordinates of a sparse tensor are sorted and different.

        >>> import taper
        >>> taper.eye(2).to_sparse().is_coalesced()
        True
        """
    def is_complex(self) -> _bool:
        """Tell whether the elements are complex numbers.

        >>> import taper
        >>> taper.is_complex(taper.tensor([1j]))
        True
        """
    def is_conj(self) -> _bool:
        """Tell whether the tensor is a conjugate view, which shows memory conjugated.

        >>> import taper
        >>> taper.is_conj(taper.tensor([1 + 2j]).conj())
        True
        """
    def is_contiguous(self, memory_format: _memory_format | None = ...) -> _bool:
        """Tell whether the elements lie in memory in the order of their indices, without gaps.

        Args:
            memory_format: order of the dimensions in memory, row-major by default.

        Returns: True or False.

        Example:
            >>> import taper
            >>> taper.zeros(2, 3).t().is_contiguous()
            False
        """
    def is_distributed(self) -> _bool:
        """Return False: every tensor is in this process.

        >>> import taper
        >>> taper.is_distributed(taper.ones(2))
        False
        """
    def is_floating_point(self) -> _bool:
        """Tell whether the elements are floating point numbers.

        >>> import taper
        >>> taper.is_floating_point(taper.ones(2))
        True
        """
    def is_inference(self) -> _bool:
        """Return whether this tensor was made in inference mode."""
    @property
    def is_leaf(self) -> _bool:
        """Whether no recorded operation made this tensor."""
    @is_leaf.setter
    def is_leaf(self, value: _bool) -> None: ...
    def is_neg(self) -> _bool:
        """Tell whether the tensor is a negative view, which shows memory negated.

        >>> import taper
        >>> taper.is_neg(taper.tensor([1 + 2j]).conj().imag)
        True
        """
    def is_nonzero(self) -> _bool:
        """Tell whether the only element is not zero.

        >>> import taper
        >>> taper.is_nonzero(taper.tensor([0.0]))
        False
        """
    def is_pinned(self, device: _Device | None = None) -> _bool:
        """Tell whether the elements are in memory that a GPU can copy from by itself.

        >>> import taper
        >>> taper.ones(2).is_pinned()
        False
        """
    def is_same_size(self, other: Tensor) -> _bool:
        """Tell whether two tensors have the same shape.

        >>> import taper
        >>> taper.is_same_size(taper.ones(2, 3), taper.ones(3, 2))
        False
        """
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Tell whether two tensors are the same view of the same memory.

        >>> import taper
        >>> x = taper.ones(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
        (True, False)
        """
    def is_shared(self) -> _bool:
        """Tell whether other processes see the same memory, or can be shown it.

        >>> import taper
        >>> taper.ones(2).is_shared()
        False
        """
    def is_signed(self) -> _bool:
        """Tell whether the dtype has negative numbers.

        >>> import taper
        >>> taper.is_signed(taper.tensor([1], dtype=taper.uint8))
        False
        """
    def isclose(self, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Tell where two tensors differ by at most `atol + rtol * abs(other)`.

        >>> import taper
        >>> taper.isclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.1]))
        tensor([ True, False])
        """
    def isfinite(self) -> Tensor:
        """Tell which elements are neither infinite nor nan.

        >>> import taper
        >>> taper.isfinite(taper.tensor([1.0, float("inf")]))
        tensor([ True, False])
        """
    def isinf(self) -> Tensor:
        """Tell which elements are infinite.

        >>> import taper
        >>> taper.isinf(taper.tensor([1.0, float("inf")]))
        tensor([False,  True])
        """
    def isnan(self) -> Tensor:
        """Tell which elements are nan.

        Args:
            input: a tensor; a complex element is nan if either of its parts is.

        Shape: the result is a bool tensor with the shape of `input`.

        Example:
            >>> import taper
            >>> taper.isnan(taper.tensor([1.0, float("nan")]))
            tensor([False,  True])
        """
    def isneginf(self) -> Tensor:
        """Tell which elements are -inf.

        >>> import taper
        >>> taper.isneginf(taper.tensor([float("inf"), -float("inf")]))
        tensor([False,  True])
        """
    def isposinf(self) -> Tensor:
        """Tell which elements are +inf.

        >>> import taper
        >>> taper.isposinf(taper.tensor([float("inf"), -float("inf")]))
        tensor([ True, False])
        """
    def isreal(self) -> Tensor:
        """Tell which elements have the imaginary part zero.

        >>> import taper
        >>> taper.isreal(taper.tensor([1 + 0j, 1j]))
        tensor([ True, False])
        """
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """Find the signal whose `stft` this is, or comes closest to it by least squares.

        >>> import taper
        >>> signal, window = taper.arange(8.0), taper.ones(4)
        >>> taper.istft(taper.stft(signal, 4, window=window, return_complex=True), 4, window=window)
        tensor([0., 1., 2., 3., 4., 5., 6., 7.])
        """
    def item(self) -> _bool | _int | _float:
        """Return the only element as a Python number.

        Returns: a bool, int, float or complex; a tensor with more or fewer elements is an error.

        Example:
            >>> import taper
            >>> taper.tensor([[2.5]]).item()
            2.5
        """
    def kron(self, other: Tensor) -> Tensor:
        """Replace each element of `input` by `other` times that element: Kronecker's product.

        >>> import taper
        >>> taper.kron(taper.tensor([1, 10]), taper.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
        """
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _return_types.kthvalue:
        """Find the `k`-th smallest element along a dimension, counted from 1, and where it is.

        >>> import taper
        >>> taper.kthvalue(taper.tensor([3.0, 1.0, 2.0]), 2).values
        tensor(2.)
        """
    def lcm(self, other: Tensor) -> Tensor:
        """Find the least common multiple of two whole numbers.

        >>> import taper
        >>> taper.lcm(taper.tensor([4, 6]), taper.tensor([6, 9]))
        tensor([12, 18])
        """
    def lcm_(self, other: Tensor) -> Self:
        """In-place version of `lcm`.

        >>> import taper
        >>> taper.lcm_(taper.tensor([4, 6]), taper.tensor([6, 9]))
        tensor([12, 18])
        """
    def ldexp(self, other: Tensor) -> Tensor:
        """Multiply `input` by 2 to the power of `other`.

        >>> import taper
        >>> taper.ldexp(taper.tensor([1.5]), taper.tensor([3]))
        tensor([12.])
        """
    def ldexp_(self, other: Tensor) -> Self:
        """In-place version of `ldexp`.

        >>> import taper
        >>> taper.ldexp_(taper.tensor([1.5]), taper.tensor([3]))
        tensor([12.])
        """
    def le(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is less than or equal to the second.

        result = (input ≤ other)

        Args:
            input: first tensor.
            other: a tensor or a number.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
            shape.

        Example:
            >>> import taper
            >>> taper.le(taper.tensor([1.0, 2.0]), 1)
            tensor([ True, False])
        """
    def le_(self, other: _Operand) -> Self:
        """In-place version of `le`."""
    def lerp(self, end: _Operand, weight: _Operand) -> Tensor:
        """Go `weight` of the way from `input` to `end`: input + weight (end - input).

        >>> import taper
        >>> taper.lerp(taper.tensor([0.0, 10.0]), taper.tensor([1.0, 20.0]), 0.25)
        tensor([ 0.2500, 12.5000])
        """
    def lerp_(self, end: _Operand, weight: _Operand) -> Self:
        """In-place version of `lerp`."""
    def less(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is smaller than the second.

        >>> import taper
        >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def less_(self, other: _Operand) -> Self:
        """In-place version of `lt`."""
    def less_equal(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is less than or equal to the second.

        result = (input ≤ other)

        Args:
            input: first tensor.
            other: a tensor or a number.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast together; the result is a bool tensor of the broadcast
            shape.

        Example:
            >>> import taper
            >>> taper.le(taper.tensor([1.0, 2.0]), 1)
            tensor([ True, False])
        """
    def less_equal_(self, other: _Operand) -> Self:
        """In-place version of `le`."""
    def lgamma(self) -> Tensor:
        """Take the logarithm of the absolute value of the gamma function.

        >>> import taper
        >>> taper.lgamma(taper.tensor([1.0, 4.0]))
        tensor([0.0000, 1.7918])
        """
    def lgamma_(self) -> Self:
        """In-place version of `lgamma`."""
    def log(self) -> Tensor:
        """Take the natural logarithm of every element.

        result = ln x for each x of `input`; -inf at 0 and nan below it.

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.log(taper.tensor([1.0, 2.0]))
            tensor([0.0000, 0.6931])
        """
    def log10(self) -> Tensor:
        """Take the logarithm of every element to the base 10.

        >>> import taper
        >>> taper.log10(taper.tensor([1.0, 100.0]))
        tensor([0., 2.])
        """
    def log10_(self) -> Self:
        """In-place version of `log10`.

        >>> import taper
        >>> taper.log10_(taper.tensor([1.0, 100.0]))
        tensor([0., 2.])
        """
    def log1p(self) -> Tensor:
        """Take the logarithm of 1 + x for every element, accurately near zero.

        result = ln(1 + x) for each x of `input`

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.log1p(taper.tensor([0.0, 1.0]))
            tensor([0.0000, 0.6931])
        """
    def log1p_(self) -> Self:
        """In-place version of `log1p`.

        >>> import taper
        >>> taper.log1p_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931])
        """
    def log2(self) -> Tensor:
        """Take the logarithm of every element to the base 2.

        >>> import taper
        >>> taper.log2(taper.tensor([1.0, 8.0]))
        tensor([0., 3.])
        """
    def log2_(self) -> Self:
        """In-place version of `log2`.

        >>> import taper
        >>> taper.log2_(taper.tensor([1.0, 8.0]))
        tensor([0., 3.])
        """
    def log_(self) -> Self:
        """In-place version of `log`.

        >>> import taper
        >>> taper.log_(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None) -> Self:
        """Fill with numbers whose logarithms are normally distributed.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).log_normal_()
        tensor([59.2634,  1.5116])
        """
    def log_softmax(self, dim: _int = ..., dtype: _dtype | None = None, *, axis: _int = ...) -> Tensor:
        """Take the logarithm of softmax along a dimension, without overflow.

        result[i] = input[i] - ln Σⱼ exp(input[j])

        Args:
            input: a floating point tensor.
            dim: dimension along which the exponentials of the results sum to 1.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.
            axis: NumPy's name for `dim`.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
            tensor([-0.6931, -0.6931])
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """Compute log(exp(x) + exp(y)) without overflow.

        >>> import taper
        >>> taper.logaddexp(taper.tensor([0.0]), taper.tensor([0.0]))
        tensor([0.6931])
        """
    def logaddexp2(self, other: Tensor) -> Tensor:
        """Compute log2(2**x + 2**y) without overflow.

        >>> import taper
        >>> taper.logaddexp2(taper.tensor([1.0]), taper.tensor([1.0]))
        tensor([2.])
        """
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Take the logarithm of the running sum of exponentials along a dimension, without overflow.

        >>> import taper
        >>> taper.logcumsumexp(taper.tensor([0.0, 0.0, 0.0]), dim=0)
        tensor([0.0000, 0.6931, 1.0986])
        """
    def logdet(self) -> Tensor:
        """Compute the logarithm of each determinant; nan where it is negative.

        >>> import taper
        >>> taper.logdet(taper.tensor([[2.0, 0.0], [0.0, 0.5]]))
        tensor(0.)
        """
    def logical_and(self, other: Tensor) -> Tensor:
        """Tell where both tensors are not zero.

        >>> import taper
        >>> taper.logical_and(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
        tensor([ True, False])
        """
    def logical_and_(self, other: Tensor) -> Self:
        """In-place version of `logical_and`, unrecorded."""
    def logical_not(self) -> Tensor:
        """Tell which elements are zero.

        >>> import taper
        >>> taper.logical_not(taper.tensor([1.0, 0.0]))
        tensor([False,  True])
        """
    def logical_not_(self) -> Self:
        """In-place version of `logical_not`, unrecorded."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Tell where at least one of two tensors is not zero.

        >>> import taper
        >>> taper.logical_or(taper.tensor([1.0, 0.0]), taper.tensor([False, False]))
        tensor([ True, False])
        """
    def logical_or_(self, other: Tensor) -> Self:
        """In-place version of `logical_or`, unrecorded."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Tell where exactly one of two tensors is not zero.

        >>> import taper
        >>> taper.logical_xor(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
        tensor([False,  True])
        """
    def logical_xor_(self, other: Tensor) -> Self:
        """In-place version of `logical_xor`, unrecorded."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """Compute log(x / (1 - x)), with x first moved into [eps, 1 - eps] if `eps` is given.

        >>> import taper
        >>> taper.logit(taper.tensor([0.5, 0.75]))
        tensor([0.0000, 1.0986])
        """
    def logit_(self, eps: _float | None = None) -> Self:
        """In-place version of `logit`.

        >>> import taper
        >>> taper.logit_(taper.tensor([0.5, 0.75]))
        tensor([0.0000, 1.0986])
        """
    def logsumexp(self, dim: _Ints | None = ..., keepdim: _bool = False, *, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Take the logarithm of the sum of exponentials along dimensions, without overflow.

        result = ln Σ eˣ

        Args:
            input: a tensor; integers give the default floating dtype.
            dim: dimension or dimensions to reduce.
            keepdim: keep the reduced dimensions, with length 1.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.logsumexp(taper.tensor([1000.0, 1000.0]), dim=0)
            tensor(1000.6932)
        """
    def long(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.int64.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).long().dtype
            torch.int64
        """
    def lt(self, other: _Operand) -> Tensor:
        """Tell where the first tensor is smaller than the second.

        >>> import taper
        >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def lt_(self, other: _Operand) -> Self:
        """In-place version of `lt`."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Tensor:
        """Factor as the function does, into a plain tuple."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Solve A X = B with LU factors: `linalg.lu_solve` with its arguments in another order.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.lu_solve(taper.ones(2, 1), *taper.linalg.lu_factor(taper.eye(2)))
        tensor([[1.],
                [1.]])
        """
    @property
    def mH(self) -> Tensor:
        """Conjugate and transpose a matrix or a batch of matrices; `name` is for errors."""
    @property
    def mT(self) -> Tensor:
        """Transpose a matrix or a batch of matrices."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element by what a Python function returns for it and two partners; slow.

        >>> import taper
        >>> taper.tensor([1]).map2_(taper.tensor([3]), taper.tensor([4]), max)
        tensor([4])
        """
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element by what a Python function returns for it and its partner; slow.

        >>> import taper
        >>> taper.tensor([1, 2]).map_(taper.tensor([3, 4]), max)
        tensor([3, 4])
        """
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """Replace the elements where a mask is True.

        Args:
            input: a tensor.
            mask: bool tensor that broadcasts with `input`.
            value: a number or a 0-d tensor.

        Shape: the broadcast shape of `input` and `mask`.

        Example:
            >>> import taper
            >>> taper.masked_fill(taper.tensor([1.0, 2.0]), taper.tensor([True, False]), 0)
            tensor([0., 2.])
        """
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Self:
        """Write a value where a mask is True, in place.

        Args:
            mask: bool tensor that broadcasts to the tensor.
            value: a number or a 0-d tensor.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> taper.ones(2).masked_fill_(taper.tensor([True, False]), 7)
            tensor([7., 1.])
        """
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Copy a tensor, with the elements of `source` one after the other where the mask is true.

        >>> import taper
        >>> mask = taper.tensor([True, False, True])
        >>> taper.masked_scatter(taper.zeros(3), mask, taper.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """Write the elements of `source`, one after the other, where the mask is true."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Take the elements where the mask is true, as a vector.

        >>> import taper
        >>> taper.masked_select(taper.tensor([1, 2, 3]), taper.tensor([True, False, True]))
        tensor([1, 3])
        """
    def matmul(self, other: _Operand) -> Tensor:
        """Multiply matrices, vectors or stacks of matrices.

        Two vectors give their dot product, a matrix and a vector a vector. With more than two
        dimensions
        the last two are the matrices and those before them broadcast.

        Args:
            input: left factor, with at least one dimension.
            other: right factor, with at least one dimension.
            out: tensor that receives the result.

        Shape: (*, n, k) and (*, k, m) give (*, n, m). A vector counts as (1, k) on the left and (k, 1)
            on the right, and the added dimension is dropped from the result.

        Example:
            >>> import taper
            >>> taper.matmul(taper.ones(5, 2, 3), taper.ones(3)).shape
            torch.Size([5, 2])
        """
    def matrix_exp(self) -> Tensor:
        """Compute the exponential of matrices: another name of `linalg.matrix_exp`.

        >>> import taper
        >>> taper.matrix_exp(taper.zeros(1, 1))
        tensor([[1.]])
        """
    def matrix_power(self, n: _int) -> Tensor:
        """Raise matrices to a power: another name of `linalg.matrix_power`.

        >>> import taper
        >>> taper.matrix_power(taper.tensor([[2]]), 3)
        tensor([[8]])
        """
    @overload
    def max(self) -> Tensor:
        """Find the largest element, of all or along a dimension; nan is larger than any number.

        `max(input, other)` with a second tensor is `maximum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
            evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

        Example:
            >>> import taper
            >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
            torch.return_types.max(
            values=tensor(3.),
            indices=tensor(1))
        """
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> _return_types.max:
        """Find the largest element, of all or along a dimension; nan is larger than any number.

        `max(input, other)` with a second tensor is `maximum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
            evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

        Example:
            >>> import taper
            >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
            torch.return_types.max(
            values=tensor(3.),
            indices=tensor(1))
        """
    @overload
    def max(self, *, axis: _int, keepdims: _bool = False) -> _return_types.max:
        """Find the largest element, of all or along a dimension; nan is larger than any number.

        `max(input, other)` with a second tensor is `maximum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
            evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

        Example:
            >>> import taper
            >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
            torch.return_types.max(
            values=tensor(3.),
            indices=tensor(1))
        """
    @overload
    def max(self, other: Tensor) -> Tensor:
        """Find the largest element, of all or along a dimension; nan is larger than any number.

        `max(input, other)` with a second tensor is `maximum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the largest element; with `dim` a named tuple (values, indices). The gradient is shared
            evenly among equal largest elements without `dim`, and goes to the one at `indices` with it.

        Example:
            >>> import taper
            >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
            torch.return_types.max(
            values=tensor(3.),
            indices=tensor(1))
        """
    def maximum(self, other: Tensor) -> Tensor:
        """Take the larger of two elements, place by place; nan if either is nan.

        The gradient of equal elements is halved between the two.

        Args:
            input: first tensor.
            other: second tensor.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.maximum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
            tensor([3., 4.])
        """
    def mean(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Average all elements, or those along dimensions.

        result = (1/n) Σ x

        Args:
            input: a floating point or complex tensor.
            dim: dimension or dimensions to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.mean(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
            tensor([2., 3.])
        """
    @overload
    def median(self) -> Tensor:
        """Find the median, the lower of two middle elements; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> _return_types.median:
        """Find the median, the lower of two middle elements; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def median(self, *, axis: _int, keepdims: _bool = False) -> _return_types.median:
        """Find the median, the lower of two middle elements; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def min(self) -> Tensor:
        """Find the smallest element, of all or along a dimension; nan is smaller than any number.

        `min(input, other)` with a second tensor is `minimum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
            shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
            with it.

        Example:
            >>> import taper
            >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
            tensor([1., 0.])
        """
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> _return_types.min:
        """Find the smallest element, of all or along a dimension; nan is smaller than any number.

        `min(input, other)` with a second tensor is `minimum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
            shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
            with it.

        Example:
            >>> import taper
            >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
            tensor([1., 0.])
        """
    @overload
    def min(self, *, axis: _int, keepdims: _bool = False) -> _return_types.min:
        """Find the smallest element, of all or along a dimension; nan is smaller than any number.

        `min(input, other)` with a second tensor is `minimum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
            shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
            with it.

        Example:
            >>> import taper
            >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
            tensor([1., 0.])
        """
    @overload
    def min(self, other: Tensor) -> Tensor:
        """Find the smallest element, of all or along a dimension; nan is smaller than any number.

        `min(input, other)` with a second tensor is `minimum`.

        Args:
            input: a tensor.
            dim: dimension to search along; by default all elements are searched.
            keepdim: keep the reduced dimensions, with length 1.
            other: a tensor to compare with instead, element by element.
            out: tensor, or pair of tensors, that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Returns: the smallest element; with `dim` a named tuple (values, indices). The gradient is
            shared evenly among equal smallest elements without `dim`, and goes to the one at `indices`
            with it.

        Example:
            >>> import taper
            >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
            tensor([1., 0.])
        """
    def minimum(self, other: Tensor) -> Tensor:
        """Take the smaller of two elements, place by place; nan if either is nan.

        The gradient of equal elements is halved between the two.

        Args:
            input: first tensor.
            other: second tensor.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.minimum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
            tensor([1., 2.])
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """Multiply two matrices; nothing broadcasts.

        result[i, j] = Σₖ input[i, k] · mat2[k, j]

        Args:
            input: left matrix.
            mat2: right matrix.
            out: tensor that receives the result.

        Shape: (n, k) and (k, m) give (n, m).

        Example:
            >>> import taper
            >>> taper.mm(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([[1., 0.], [1., 1.]]))
            tensor([[3., 2.],
                    [7., 4.]])
        """
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _return_types.mode:
        """Find the most frequent element along a dimension, and where it is last.

        Of equally frequent elements the smallest counts.

        >>> import taper
        >>> taper.mode(taper.tensor([1, 2, 2, 3]))
        torch.return_types.mode(
        values=tensor(2),
        indices=tensor(2))
        """
    def module_load(self, other: _Operand, assign: _bool = False) -> Tensor:
        """Return what `load_state_dict` replaces `self` by: itself with the values of `other`.

        With `assign` it is `other`.

        >>> import taper
        >>> taper.zeros(2).module_load(taper.ones(2))
        tensor([1., 1.])
        """
    def moveaxis(self, source: _Ints, destination: _Ints) -> Tensor:
        """Move dimensions: NumPy's name of `movedim`.

        >>> import taper
        >>> taper.moveaxis(taper.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
        """
    def movedim(self, source: _Ints, destination: _Ints) -> Tensor:
        """Move the dimensions `source` to the places `destination`; the others stay in order.

        >>> import taper
        >>> taper.movedim(taper.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
        """
    def msort(self) -> Tensor:
        """Sort the elements along the first dimension.

        >>> import taper
        >>> taper.msort(taper.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
        """
    def mul(self, other: _Operand) -> Tensor:
        """Multiply two tensors element by element.

        result = input · other

        Args:
            input: first factor.
            other: second factor, a tensor or a number.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
            tensor([3., 6.])
        """
    def mul_(self, other: _Operand) -> Self:
        """In-place version of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Draw indices of categories, weighted.

        Args:
            input: weights of the categories, not negative; they need not sum to 1.
            num_samples: how many indices are drawn for each row.
            replacement: whether an index may be drawn again.
            generator: source of random numbers; by default the one that `manual_seed` seeds.
            out: tensor that receives the result.

        Shape: (c,) gives (num_samples,), (n, c) gives (n, num_samples); the result is int64.

        Example:
            >>> import taper
            >>> generator = taper.manual_seed(0)
            >>> taper.multinomial(taper.tensor([0.0, 10.0, 3.0, 0.0]), 2).sort().values
            tensor([1, 2])
        """
    def multiply(self, other: _Operand) -> Tensor:
        """Multiply two tensors element by element.

        result = input · other

        Args:
            input: first factor.
            other: second factor, a tensor or a number.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
            tensor([3., 6.])
        """
    def multiply_(self, other: _Operand) -> Self:
        """In-place version of `mul`."""
    def mv(self, vec: Tensor) -> Tensor:
        """Multiply a matrix and a vector.

        result[i] = Σₖ input[i, k] · vec[k]

        Args:
            input: the matrix.
            vec: the vector.
            out: tensor that receives the result.

        Shape: (n, k) and (k,) give (n,).

        Example:
            >>> import taper
            >>> taper.mv(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([1., 1.]))
            tensor([3., 7.])
        """
    def mvlgamma(self, p: _int) -> Tensor:
        """Take the logarithm of the gamma function of dimension `p`, without its constant sign.

        >>> import taper
        >>> taper.mvlgamma(taper.tensor([3.0]), 2)
        tensor([1.5502])
        """
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of `mvlgamma`."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Replace nan by `nan` (0), inf by `posinf` and -inf by `neginf` (the dtype's limits).

        >>> import taper
        >>> taper.nan_to_num(taper.tensor([float("nan"), 1.0]))
        tensor([0., 1.])
        """
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Self:
        """In-place version of `nan_to_num`.

        >>> import taper
        >>> taper.nan_to_num_(taper.tensor([float("nan"), 1.0]))
        tensor([0., 1.])
        """
    def nanmean(self, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Average the elements that are not NaN, of all or along dimensions.

        >>> import taper
        >>> taper.nanmean(taper.tensor([1.0, float("nan"), 2.0]))
        tensor(1.5000)
        """
    @overload
    def nanmedian(self) -> Tensor:
        """Find the median of the elements that are not NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _return_types.nanmedian:
        """Find the median of the elements that are not NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    @overload
    def nanmedian(self, *, axis: _int, keepdims: _bool = False) -> _return_types.nanmedian:
        """Find the median of the elements that are not NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    def nanquantile(self, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Compute the `q`-quantiles of the elements that are not NaN; see `quantile`.

        >>> import taper
        >>> taper.nanquantile(taper.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
        """
    def nansum(self, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Sum all elements, or along dimensions, counting NaN as zero.

        >>> import taper
        >>> taper.nansum(taper.tensor([1.0, float("nan"), 2.0]))
        tensor(3.)
        """
    def narrow(self, dim: _Ints | None = ..., start: _Operand = ..., length: Any = ..., *, axis: _Ints | None = ...) -> Tensor:
        """Take `length` slices along a dimension, beginning at `start`.

        Args:
            input: a tensor.
            dim: dimension to cut.
            start: index of the first slice; may be negative, or a 0-d integer tensor.
            length: how many slices.
            axis: NumPy's name for `dim`.

        Shape: `input` with `length` along `dim`; the result is a view.

        Example:
            >>> import taper
            >>> taper.narrow(taper.arange(5), 0, 1, 3)
            tensor([1, 2, 3])
        """
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """Copy `length` slices along `dim` from `start` on.

        >>> import taper
        >>> taper.narrow_copy(taper.arange(5), 0, 1, 2)
        tensor([1, 2])
        """
    def ne(self, other: _Operand) -> Tensor:
        """Tell where two tensors differ.

        >>> import taper
        >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def ne_(self, other: _Operand) -> Self:
        """In-place version of `ne`."""
    def neg(self) -> Tensor:
        """Change the sign of every element.

        result = -input

        Args:
            input: a tensor; bool is refused.
            out: tensor that receives the result.

        Shape: the result has the shape and dtype of `input`.

        Example:
            >>> import taper
            >>> taper.neg(taper.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """
    def neg_(self) -> Self:
        """In-place version of `neg`.

        >>> import taper
        >>> taper.neg_(taper.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def negative(self) -> Tensor:
        """Change the sign of every element.

        result = -input

        Args:
            input: a tensor; bool is refused.
            out: tensor that receives the result.

        Shape: the result has the shape and dtype of `input`.

        Example:
            >>> import taper
            >>> taper.neg(taper.tensor([1.0, -2.0]))
            tensor([-1.,  2.])
        """
    def negative_(self) -> Self:
        """In-place version of `neg`.

        >>> import taper
        >>> taper.neg_(taper.tensor([1.0, -2.0]))
        tensor([-1.,  2.])
        """
    def new(self, *arguments: Any, size: _Ints | None = None, device: _Device | None = None) -> Tensor:
        """Make a tensor of this tensor's dtype, by the rules of the old constructors.

        >>> import taper
        >>> taper.tensor([1]).new([2.5, 3.5])
        tensor([2, 3])
        """
    def new_empty(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Make an uninitialised tensor in the dtype of this one.

        >>> import taper
        >>> taper.tensor([1, 2]).new_empty(3).dtype
        torch.int64
        """
    def new_empty_strided(self, size: _Ints, stride: _Ints, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Make an uninitialised tensor with the given strides in the dtype of this one.

        >>> import taper
        >>> taper.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
    def new_full(self, size: _Ints, fill_value: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Make a tensor with one number everywhere, in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1.0]).new_full((2,), 7)
        tensor([7., 7.])
        """
    def new_ones(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Make a tensor of ones in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1, 2]).new_ones(3)
        tensor([1, 1, 1])
        """
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """Make a tensor with a copy of the given data in the dtype of this tensor.

        Args:
            data: a number, a nested sequence of numbers, a NumPy array or a tensor.
            dtype: dtype of the result; by default that of this tensor.
            device, pin_memory: where elements are stored; none can be pinned.
            requires_grad: whether autograd records what is computed from the result.

        Returns: a new leaf tensor without history.

        Example:
            >>> import taper
            >>> taper.tensor([1.0]).new_tensor([2, 3])
            tensor([2., 3.])
        """
    def new_zeros(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Make a tensor of zeros in the dtype of this tensor.

        Args:
            sizes: the lengths, one by one or as one tuple.
            size: the lengths, as a keyword.
            dtype: dtype of the result; by default that of this tensor.
            layout, device, pin_memory: how and where elements are stored; none can be pinned.
            requires_grad: whether autograd records what is computed from the result.

        Shape: the given lengths.

        Example:
            >>> import taper
            >>> taper.tensor([1, 2]).new_zeros(3)
            tensor([0, 0, 0])
        """
    def nextafter(self, other: Tensor) -> Tensor:
        """Step from `input` to the next floating point number towards `other`.

        The gradient passes to `input` where the two differ.

        >>> import taper
        >>> taper.nextafter(taper.tensor([1.0]), taper.tensor([2.0])) > 1
        tensor([True])
        """
    def nextafter_(self, other: Tensor) -> Self:
        """In-place version of `nextafter`."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """Find the coordinates of all elements that are not zero.

        Args:
            input: a tensor with d dimensions and n nonzero elements.
            out: tensor that receives the result.
            as_tuple: whether to return one vector for each dimension, ready to index with.

        Returns: an int64 matrix (n, d) with a row for each element, or a tuple of d vectors (n,).

        Example:
            >>> import taper
            >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
            tensor([[0, 1],
                    [1, 0]])
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """Find the coordinates of all elements that are not zero.

        Args:
            input: a tensor with d dimensions and n nonzero elements.
            out: tensor that receives the result.
            as_tuple: whether to return one vector for each dimension, ready to index with.

        Returns: an int64 matrix (n, d) with a row for each element, or a tuple of d vectors (n,).

        Example:
            >>> import taper
            >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
            tensor([[0, 1],
                    [1, 0]])
        """
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """Find the coordinates of the first `size` nonzero elements; the rest is `fill_value`.

        >>> import taper
        >>> taper.nonzero_static(taper.tensor([0, 5, 6]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
        """
    def norm(self, p: _float | str | None = 'fro', dim: _Ints | None = None, keepdim: _bool = False, dtype: _dtype | None = None) -> Tensor:
        """Compute a norm of all elements, or along dimensions.

        result = (Σ |x|ᵖ)^(1/p); `linalg.vector_norm` and `linalg.matrix_norm` are the newer functions.

        Args:
            input: a floating point or complex tensor.
            p: order of the norm; "fro" means 2, inf the largest |x|, 0 the number of nonzero elements,
                "nuc" the sum of the singular values of matrices.
            dim: dimension or dimensions to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            out: tensor that receives the result.
            dtype: dtype that `input` is converted to first.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.norm(taper.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
            tensor([ 5., 10.])
        """
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Self:
        """Fill the tensor with normally distributed numbers, in place.

        Args:
            mean: mean of the distribution.
            std: standard deviation.
            generator: source of random numbers; by default the one that `manual_seed` seeds.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> generator = taper.manual_seed(0)
            >>> taper.empty(2).normal_(mean=10, std=0.5)
            tensor([10.7705,  9.8533])
        """
    def not_equal(self, other: _Operand) -> Tensor:
        """Tell where two tensors differ.

        >>> import taper
        >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def not_equal_(self, other: _Operand) -> Self:
        """In-place version of `ne`."""
    def numpy(self, *, force: _bool = False) -> _np.ndarray:
        """Return the elements as a NumPy array that shares the tensor's memory.

        Args:
            force: also accept a tensor that requires a gradient; its history is left behind.

        Returns: an array of the same shape and dtype; bfloat16, which NumPy lacks, is an error.

        Example:
            >>> import taper
            >>> taper.tensor([1, 2]).numpy()
            array([1, 2])
        """
    def orgqr(self, input2: Tensor) -> Tensor:
        """Compute Q from reflectors: another name of `linalg.householder_product`.

        >>> import taper
        >>> taper.orgqr(*taper.geqrf(taper.tensor([[3.0], [4.0]]))).abs()
        tensor([[0.6000],
                [0.8000]])
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """Multiply the third argument by Q or its adjoint, where Q is what `geqrf` returns.

        >>> import taper
        >>> A = taper.tensor([[3.0], [4.0]])
        >>> taper.ormqr(*taper.geqrf(A), A, transpose=True).abs().round()
        tensor([[5.],
                [0.]])
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """Multiply each element of one vector with each element of another.

        result[i, j] = input[i] · vec2[j]

        Args:
            input: first vector.
            vec2: second vector.
            out: tensor that receives the result.

        Shape: (n,) and (m,) give (n, m).

        Example:
            >>> import taper
            >>> taper.outer(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
            tensor([[3., 4.],
                    [6., 8.]])
        """
    @property
    def output_nr(self) -> _int:
        ...
    @output_nr.setter
    def output_nr(self, value: _int) -> None: ...
    def permute(self, *order: _Ints, dims: _Ints | None = None) -> Tensor:
        """Put the dimensions into another order.

        Args:
            input: a tensor.
            order: numbers of the dimensions in their new order, one by one or as one tuple.
            dims: the order, as a keyword.

        Shape: length i of the result is length `dims[i]` of `input`; the result is a view.

        Example:
            >>> import taper
            >>> taper.permute(taper.zeros(2, 3, 4), (2, 0, 1)).shape
            torch.Size([4, 2, 3])
        """
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """Copy into memory that a GPU can copy from by itself.

        Args:
            device: the accelerator.

        Returns: a tensor on the CPU; without a GPU PyTorch's error.

        Example:
            >>> import taper
            >>> taper.ones(2).pin_memory()  # doctest: +SKIP
            tensor([1., 1.])
        """
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """Compute the pseudo-inverse as `linalg.pinv` does, with a fixed relative tolerance.

        >>> import taper
        >>> taper.pinverse(taper.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
        """
    def polygamma(self, n: _int) -> Tensor:
        """Compute the derivative of order `n` of digamma."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of `polygamma`."""
    def positive(self) -> Tensor:
        """Return the tensor itself; bool is refused.

        >>> import taper
        >>> taper.positive(taper.tensor([1.0, -2.0]))
        tensor([ 1., -2.])
        """
    def pow(self, exponent: _Operand) -> Tensor:
        """Raise one tensor to the power of another; one of the two may be a number.

        result = input ^ exponent

        Args:
            input: the base, a tensor or a number.
            exponent: a tensor or a number; integers cannot be raised to a negative integer.
            out: tensor that receives the result.

        Shape: `input` and `exponent` broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> taper.pow(taper.tensor([1.0, 2.0, 3.0]), 2)
            tensor([1., 4., 9.])
            >>> taper.pow(2, taper.tensor([1.0, 2.0, 3.0]))
            tensor([2., 4., 8.])
        """
    def pow_(self, exponent: _Operand) -> Self:
        """In-place version of `pow`."""
    def prelu(self, weight: _Operand) -> Tensor:
        """Scale negative elements by a learnable weight.

        result = x where x > 0, else weight · x

        Args:
            input: a tensor; its second dimension are the channels.
            weight: one number for all, or a vector with one for each channel.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.prelu(taper.tensor([-1.0, 2.0]), taper.tensor([0.25]))
            tensor([-0.2500,  2.0000])
        """
    def prod(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Multiply all elements, or those along a dimension.

        Args:
            input: a tensor; integers and bools are multiplied in int64.
            dim: dimension to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimension `dim`.

        Example:
            >>> import taper
            >>> taper.prod(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
            tensor([ 2., 12.])
        """
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Copy a tensor and write, or add, `source` at places `index` of the flattened tensor.

        >>> import taper
        >>> taper.put(taper.zeros(2, 2), taper.tensor([0, 3]), taper.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """In-place version of `put`."""
    def qr(self, some: _bool = True) -> _return_types.qr:
        """Factor A = Q R; `linalg.qr` is the name to use.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.qr(taper.tensor([[3.0], [4.0]])).R.abs()
        tensor([[5.]])
        """
    def quantile(self, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Compute the `q`-quantiles of all elements, or along a dimension; NaN if one is NaN.

        `q` is a number between 0 and 1, or a 1-d tensor of them, which adds a first dimension.

        >>> import taper
        >>> taper.quantile(taper.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
        tensor(2.5000)
        """
    def rad2deg(self) -> Tensor:
        """Convert radians to degrees.

        >>> import taper
        >>> taper.rad2deg(taper.tensor([1.0]))
        tensor([57.2958])
        """
    def rad2deg_(self) -> Self:
        """In-place version of `rad2deg`.

        >>> import taper
        >>> taper.rad2deg_(taper.tensor([1.0]))
        tensor([57.2958])
        """
    def random_(self, *bounds: Any, to: Any = None, generator: Generator | None = None, **start: _int) -> Self:
        """Fill the tensor with integers drawn evenly, in place.

        Args:
            bounds: `from, to`, or only `to` to begin at 0; without bounds all integers that the dtype
                can tell apart, from 0 on.
            to: integer above the highest, as a keyword.
            generator: source of random numbers; by default the one that `manual_seed` seeds.
            start: lowest integer, by the keyword `from`.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> generator = taper.manual_seed(0)
            >>> taper.empty(3).random_(2, 5)
            tensor([4., 2., 4.])
        """
    def ravel(self) -> Tensor:
        """Flatten all elements into one dimension; a view if the tensor is contiguous.

        >>> import taper
        >>> taper.ravel(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
    @property
    def real(self) -> Tensor:
        """View the real part of a tensor; return a real tensor as it is.

        >>> import taper
        >>> taper.real(taper.tensor([1 + 2j]))
        tensor([1.])
        """
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor:
        """Compute 1 / x of every element.

        >>> import taper
        >>> taper.reciprocal(taper.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
        """
    def reciprocal_(self) -> Self:
        """In-place version of `reciprocal`.

        >>> import taper
        >>> taper.reciprocal_(taper.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
        """
    def register_hook(self, hook: Callable[[Tensor], Any]) -> _RemovableHandle:
        """Call a function whenever this tensor's gradient is computed.

        Args:
            hook: called as `hook(grad)`; what it returns, unless None, replaces the gradient.

        Returns: a handle whose `remove()` takes the hook away.

        Example:
            >>> import taper
            >>> x = taper.ones(1, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: grad * 10)
            >>> (x * 3).backward()
            >>> x.grad
            tensor([30.])
        """
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> _RemovableHandle:
        """Call `hook(self)` after a pass has added a gradient to this leaf's `.grad`."""
    def relu(self) -> Tensor:
        """Replace negative elements by zero.

        result = max(0, x) for each x of `input`

        Args:
            input: a tensor; bool is refused.

        Shape: the result has the shape and dtype of `input`.

        Example:
            >>> import taper
            >>> taper.relu(taper.tensor([-1.0, 2.0]))
            tensor([0., 2.])
        """
    def relu_(self) -> Self:
        """In-place version of `relu`.

        >>> import taper
        >>> taper.relu_(taper.tensor([-1.0, 2.0]))
        tensor([0., 2.])
        """
    def remainder(self, other: _Operand) -> Tensor:
        """Take the remainder of the division, with the sign of the divisor, as Python's `%`.

        >>> import taper
        >>> taper.remainder(taper.tensor([-7.0, 7.0]), 3)
        tensor([2., 1.])
        """
    def remainder_(self, other: _Operand) -> Self:
        """In-place version of `remainder`."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Scale down slices along `dim` whose norm is larger than `maxnorm`.

        >>> import taper
        >>> taper.renorm(taper.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.0)
        tensor([[1.2000, 1.6000],
                [0.0000, 1.0000]])
        """
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """In-place version of `renorm`."""
    def repeat(self, *times: _Ints, repeats: _Operand | None = None) -> Tensor:
        """Copy the tensor so many times along each dimension.

        Args:
            times: repetitions of each dimension, one by one or as one tuple; more numbers than there
                are dimensions stand for new leading dimensions.
            repeats: the repetitions, as a keyword.

        Shape: each length is multiplied by its number of repetitions.

        Example:
            >>> import taper
            >>> taper.tensor([1, 2]).repeat(2, 2)
            tensor([[1, 2, 1, 2],
                    [1, 2, 1, 2]])
        """
    def repeat_interleave(self, repeats: Tensor | _int | None = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = None) -> Tensor:
        """Repeat each slice along `dim`; `repeats` is a number, or one number for each slice.

        Without `dim` the flattened tensor is used. A single argument is taken as the numbers; the
        result then says for each place which slice stands there.

        >>> import taper
        >>> taper.repeat_interleave(taper.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
        """
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients are computed for this tensor."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Set whether autograd records what is computed from this leaf, in place.

        Args:
            requires_grad: True or False.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> taper.ones(2).requires_grad_()
            tensor([1., 1.], requires_grad=True)
        """
    def reshape(self, *dims: _Ints, shape: _Ints | None = None) -> Tensor:
        """Give a tensor another shape; the elements keep their row-major order.

        Args:
            input: a tensor.
            dims: the new lengths, one by one or as one tuple; one of them may be -1 and is computed.
            shape: the new lengths, as a keyword.

        Returns: a view of `input` where its strides allow one, else a copy.

        Example:
            >>> import taper
            >>> taper.reshape(taper.arange(4), (2, 2))
            tensor([[0, 1],
                    [2, 3]])
        """
    def reshape_as(self, other: Tensor) -> Tensor:
        """Give the tensor the shape of another; a view where strides allow it, else a copy."""
    def resize(self, *sizes: _Ints) -> Tensor:
        """Return the tensor in another shape; deprecated: use `reshape`."""
    def resize_(self, *shape: _Ints, size: _Ints | None = None, memory_format: _memory_format | None = None) -> Self:
        """Change the shape in place; a larger tensor has undefined elements at its end.

        >>> import taper
        >>> taper.arange(6).resize_(2, 2)
        tensor([[0, 1],
                [2, 3]])
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """Return the tensor in the shape of another; deprecated: use `reshape`."""
    def resize_as_(self, the_template: Tensor, memory_format: _memory_format | None = None) -> Self:
        """Give a tensor the shape of another, in place.

        >>> import taper
        >>> taper.resize_as_(taper.arange(6), taper.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
    def resolve_conj(self) -> Tensor:
        """Carry out the conjugation of a conjugate view; return other tensors as they are.

        >>> import taper
        >>> x = taper.tensor([1 + 2j])
        >>> taper.resolve_conj(x) is x
        True
        >>> taper.resolve_conj(x.conj()).is_conj()
        False
        """
    def resolve_neg(self) -> Tensor:
        """Carry out the negation of a negative view; return other tensors as they are.

        >>> import taper
        >>> x = taper.tensor([1 + 2j])
        >>> taper.resolve_neg(x) is x
        True
        >>> taper.resolve_neg(x.conj().imag).is_neg()
        False
        """
    def retain_grad(self) -> None:
        """Keep the gradient of a computed tensor in its `.grad`, as leaves do.

        Returns: nothing; a leaf keeps its gradient anyway.

        Example:
            >>> import taper
            >>> x = taper.ones(1, requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * 3).backward()
            >>> y.grad
            tensor([3.])
        """
    @property
    def retains_grad(self) -> _bool:
        """Whether the gradient of this non-leaf tensor is kept."""
    @retains_grad.setter
    def retains_grad(self, value: _bool) -> None: ...
    def roll(self, shifts: _Ints, dims: _Ints = ...) -> Tensor:
        """Move elements along dimensions; what leaves at the end comes in at the front.

        Without `dims` the flattened tensor is rolled.

        >>> import taper
        >>> taper.roll(taper.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def rot90(self, k: _int = 1, dims: _Ints = ...) -> Tensor:
        """Turn by 90 degrees, `k` times, in the plane of two dimensions.

        >>> import taper
        >>> taper.rot90(taper.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
        """
    def round(self, *, decimals: _int | None = None) -> Tensor:
        """Round to the nearest whole number, or to `decimals` places; halves to the even one.

        >>> import taper
        >>> taper.round(taper.tensor([0.5, 1.5, -2.7]))
        tensor([ 0.,  2., -3.])
        """
    def round_(self, *, decimals: _int | None = None) -> Self:
        """In-place version of `round`.

        >>> import taper
        >>> taper.round_(taper.tensor([0.5, 1.5, -2.7]))
        tensor([ 0.,  2., -3.])
        """
    def row_indices(self) -> Tensor:
        """Return the row of each element of a compressed tensor."""
    def rsqrt(self) -> Tensor:
        """Take one over the square root of every element.

        result = 1 / √x for each x of `input`

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.rsqrt(taper.tensor([4.0, 16.0]))
            tensor([0.5000, 0.2500])
        """
    def rsqrt_(self) -> Self:
        """In-place version of `rsqrt`.

        >>> import taper
        >>> taper.rsqrt_(taper.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
        """
    def scatter(self, dim: _int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: str | None = None) -> Tensor:
        """Copy a tensor and write elements of `src`, or a number, where `index` points along `dim`.

        >>> import taper
        >>> taper.scatter(taper.zeros(1, 3), 1, taper.tensor([[2, 0]]), 1.0)
        tensor([[1., 0., 1.]])
        """
    def scatter_(self, dim: _int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: str | None = None) -> Self:
        """Write elements along a dimension at the places in `index`, in place.

        self[index[i, j], j] = src[i, j] for dim = 0, self[i, index[i, j]] = src[i, j] for dim = 1

        Args:
            dim: dimension that `index` counts along.
            index: int64 tensor with as many dimensions as the tensor.
            src: tensor of values, no smaller than `index`, or a number.
            value: a number, as a keyword.
            reduce: "add" or "multiply" to combine with what is there; None overwrites.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> taper.zeros(3).scatter_(0, taper.tensor([2, 0]), taper.tensor([5.0, 6.0]))
            tensor([6., 0., 5.])
        """
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Copy a tensor and add elements of `src` where `index` points along `dim`.

        >>> import taper
        >>> taper.scatter_add(taper.zeros(1, 3), 1, taper.tensor([[0, 0]]), taper.ones(1, 2))
        tensor([[2., 0., 0.]])
        """
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """Add elements along a dimension at the places in `index`, in place.

        self[index[i, j], j] += src[i, j] for dim = 0, self[i, index[i, j]] += src[i, j] for dim = 1

        Args:
            dim: dimension that `index` counts along.
            index: int64 tensor with as many dimensions as the tensor.
            src: tensor of values, no smaller than `index`.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> taper.zeros(2).scatter_add_(0, taper.tensor([1, 1]), taper.tensor([5.0, 6.0]))
            tensor([ 0., 11.])
        """
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """Copy a tensor and combine elements of `src` by `reduce` where `index` points along `dim`.

        `reduce` is "sum", "prod", "mean", "amax" or "amin"; without `include_self` the tensor's own
        elements do not count where something is written.

        >>> import taper
        >>> index = taper.tensor([0, 0, 1])
        >>> taper.scatter_reduce(taper.ones(3), 0, index, taper.tensor([2.0, 3.0, 4.0]), "prod")
        tensor([6., 4., 1.])
        """
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In-place version of `scatter_reduce`."""
    def select(self, dim: _Ints | None = ..., index: _Operand = ..., *, axis: _Ints | None = ...) -> Tensor:
        """Take the slice at one index along a dimension.

        Args:
            input: a tensor.
            dim: dimension that disappears.
            index: which slice.
            axis: NumPy's name for `dim`.

        Shape: `input` without `dim`; the result is a view.

        Example:
            >>> import taper
            >>> taper.select(taper.tensor([[1, 2], [3, 4]]), 1, 0)
            tensor([1, 3])
        """
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """Copy a tensor with `src` written to `select(dim, index)`.

        >>> import taper
        >>> taper.select_scatter(taper.zeros(2, 2), taper.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
        """
    def set_(self, source: Any = None, storage_offset: _int = 0, size: _Ints | None = None, stride: _Ints | None = None) -> Self:
        """Let a tensor view the memory of another tensor, or of a storage.

        >>> import taper
        >>> taper.zeros(3).set_(taper.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
    def sgn(self) -> Tensor:
        """Return the sign of real elements; divide complex ones by their absolute value, zero at zero.

        >>> import taper
        >>> taper.sgn(taper.tensor([3 + 4j]))
        tensor([0.6000+0.8000j])
        """
    def sgn_(self) -> Self:
        """In-place version of `sgn`."""
    def share_memory_(self) -> Self:
        """Move the elements into memory that other processes can see.

        Processes that are forked from now on see it, and those that get the tensor as an argument or
        through a queue of multiprocessing.

        Differs from PyTorch: views and other tensors made before stay on the old memory.

        >>> import taper
        >>> taper.ones(2).share_memory_().is_shared()
        True
        """
    def short(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to torch.int16.

        Args:
            more: no positional arguments are taken.
            memory_format: order of the dimensions in memory; by default that of the tensor.

        Returns: the tensor itself if it has that dtype already, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([True]).short().dtype
            torch.int16
        """
    def sigmoid(self) -> Tensor:
        """Apply the logistic function to every element.

        result = 1 / (1 + e⁻ˣ) for each x of `input`

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.sigmoid(taper.tensor([0.0, 1.0]))
            tensor([0.5000, 0.7311])
        """
    def sigmoid_(self) -> Self:
        """In-place version of `sigmoid`.

        >>> import taper
        >>> taper.sigmoid_(taper.tensor([0.0, 1.0]))
        tensor([0.5000, 0.7311])
        """
    def sign(self) -> Tensor:
        """Return the sign of every element: -1, 0 or 1.

        >>> import taper
        >>> taper.sign(taper.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def sign_(self) -> Self:
        """In-place version of `sign`."""
    def signbit(self) -> Tensor:
        """Tell which elements have a minus sign; -0.0 has one.

        >>> import taper
        >>> taper.signbit(taper.tensor([-0.0, 1.0]))
        tensor([ True, False])
        """
    def sin(self) -> Tensor:
        """Take the sine of every element.

        result = sin x for each x of `input`, in radians

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.sin(taper.tensor([0.0, 1.0]))
            tensor([0.0000, 0.8415])
        """
    def sin_(self) -> Self:
        """In-place version of `sin`.

        >>> import taper
        >>> taper.sin_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415])
        """
    def sinc(self) -> Tensor:
        """Compute sin(pi x) / (pi x) of every element; 1 at zero.

        >>> import taper
        >>> taper.sinc(taper.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
        """
    def sinc_(self) -> Self:
        """In-place version of `sinc`.

        >>> import taper
        >>> taper.sinc_(taper.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366])
        """
    def sinh(self) -> Tensor:
        """Take the hyperbolic sine of every element.

        >>> import taper
        >>> taper.sinh(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
    def sinh_(self) -> Self:
        """In-place version of `sinh`.

        >>> import taper
        >>> taper.sinh_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752])
        """
    def slice_inverse(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """Recover the tensor that `self` is a slice of: its memory in shape and strides of `src`.

        >>> import taper
        >>> whole = taper.arange(5)
        >>> taper.slice_inverse(whole[1:3], whole, 0, 1, 3)
        tensor([0, 1, 2, 3, 4])
        """
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """Copy a tensor with `src` written to every `step`-th slice from `start` up to `end`.

        >>> import taper
        >>> taper.slice_scatter(taper.zeros(4), taper.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
        """
    def slogdet(self) -> _return_types.slogdet:
        """Compute sign and logarithm of determinants: another name of `linalg.slogdet`.

        >>> import taper
        >>> taper.slogdet(taper.eye(2)).sign
        tensor(1.)
        """
    def smm(self, mat2: Tensor) -> Tensor:
        """Multiply a sparse matrix with a dense one; the result is sparse.

        >>> import taper
        >>> taper.smm(taper.eye(2).to_sparse(), taper.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
        """
    def softmax(self, dim: _int = ..., dtype: _dtype | None = None, *, axis: _int = ...) -> Tensor:
        """Turn numbers into probabilities along a dimension.

        result[i] = exp(input[i]) / Σⱼ exp(input[j])

        Args:
            input: a floating point tensor.
            dim: dimension along which the results sum to 1.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.
            axis: NumPy's name for `dim`.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.softmax(taper.tensor([0.0, 0.0]), dim=0)
            tensor([0.5000, 0.5000])
        """
    def sort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = None, axis: _int | None = None) -> _return_types.sort:
        """Sort the elements along a dimension; nan counts as larger than any number.

        Args:
            input: a tensor.
            dim: dimension to sort along.
            descending: whether the largest element comes first.
            stable: whether equal elements keep their order; here they always do.
            out: pair of tensors that receives the result.
            axis: NumPy's name for `dim`.

        Returns: a named tuple (values, indices), both with the shape of `input`; indices are int64.

        Example:
            >>> import taper
            >>> taper.sort(taper.tensor([3.0, 1.0, 2.0]))
            torch.return_types.sort(
            values=tensor([1., 2., 3.]),
            indices=tensor([1, 2, 0]))
        """
    def sparse_dim(self) -> _int:
        """Count the dimensions that have coordinates; none for a dense tensor.

        >>> import taper
        >>> taper.ones(2, 3).to_sparse(1).sparse_dim()
        1
        """
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """Take the elements at the places where a sparse tensor has some.

        Args:
            mask: a sparse tensor of the same shape; its elements do not count.

        Example:
            >>> import taper
            >>> mask = taper.sparse_coo_tensor([[1]], [5.0], (3,))
            >>> taper.tensor([7.0, 8.0, 9.0]).sparse_mask(mask).to_dense()
            tensor([0., 8., 0.])
        """
    def sparse_resize_(self, size: _Ints, sparse_dim: _int, dense_dim: _int) -> Self:
        """Give a sparse tensor another shape, in place; its elements stay where they are.

        Args:
            size: the new shape, at least as large if there are elements.
            sparse_dim, dense_dim: how many dimensions have coordinates, and how many are stored whole.

        Example:
            >>> import taper
            >>> x = taper.eye(2).to_sparse()
            >>> x.sparse_resize_((3, 3), 2, 0).shape
            torch.Size([3, 3])
        """
    def sparse_resize_and_clear_(self, size: _Ints, sparse_dim: _int, dense_dim: _int) -> Self:
        """Give a sparse tensor another shape and no elements, in place."""
    def split(self, split_size: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut the tensor into consecutive parts along a dimension.

        Args:
            split_size: length of each part (the last may be shorter), or a list of lengths.
            dim: dimension to cut.

        Returns: a tuple of views.

        Example:
            >>> import taper
            >>> taper.arange(5).split([4, 1])
            (tensor([0, 1, 2, 3]), tensor([4]))
        """
    def split_with_sizes(self, split_sizes: _Ints, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Cut into consecutive parts of given lengths along `dim`, as views.

        >>> import taper
        >>> taper.split_with_sizes(taper.arange(3), (1, 2))
        (tensor([0]), tensor([1, 2]))
        """
    def sqrt(self) -> Tensor:
        """Take the square root of every element.

        result = √x for each x of `input`; nan below 0.

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.sqrt(taper.tensor([4.0, 9.0]))
            tensor([2., 3.])
        """
    def sqrt_(self) -> Self:
        """In-place version of `sqrt`.

        >>> import taper
        >>> taper.sqrt_(taper.tensor([4.0, 9.0]))
        tensor([2., 3.])
        """
    def square(self) -> Tensor:
        """Square every element.

        result = x² for each x of `input`

        Args:
            input: a tensor.
            out: tensor that receives the result.

        Shape: the result has the shape and dtype of `input`; bool gives int64.

        Example:
            >>> import taper
            >>> taper.square(taper.tensor([1.0, -3.0]))
            tensor([1., 9.])
        """
    def square_(self) -> Self:
        """In-place version of `square`.

        >>> import taper
        >>> taper.square_(taper.tensor([1.0, -3.0]))
        tensor([1., 9.])
        """
    def squeeze(self, dim: _Ints | None = None, *, axis: _Ints | None = None) -> Tensor:
        """Drop dimensions of length 1.

        Args:
            input: a tensor.
            dim: dimension or dimensions to drop if their length is 1; by default all that can be.
            axis: NumPy's name for `dim`.

        Shape: `input` without those dimensions; the result is a view.

        Example:
            >>> import taper
            >>> taper.squeeze(taper.zeros(1, 2, 1)).shape
            torch.Size([2])
        """
    def squeeze_(self, dim: _Ints | None = None) -> Self:
        """In-place version of `squeeze`."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: _float = 1, alpha: _float = 1) -> Tensor:
        """Multiply a sparse matrix with a dense one and add a sparse one; the result is sparse.

        >>> import taper
        >>> one = taper.eye(2).to_sparse()
        >>> taper.sspaddmm(one, one, taper.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
        """
    def std(self, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Compute the standard deviation of all elements, or along dimensions.

        result = √(Σ (x - mean)² / max(0, n - correction)), n elements in each sum

        Args:
            input: a floating point or complex tensor.
            dim: dimension or dimensions to reduce; all of them by default.
            unbiased: old form of `correction`: True means 1, False means 0.
            keepdim: keep the reduced dimensions, with length 1.
            correction: what is subtracted from the number of elements; 1 by default.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.std(taper.tensor([1.0, 2.0, 3.0]))
            tensor(1.)
        """
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """Transform overlapping pieces of a signal: frequencies by pieces.

        A piece of `n_fft` points begins every `hop_length` (a quarter of it) points and is multiplied
        by `window`. With `center` the signal gets a border, so that piece k has its middle at point k *
        hop_length; without it, `align_to_window` lets the first window, not the first piece, begin
        where the signal does.

        >>> import taper
        >>> taper.stft(taper.ones(8), 4, window=taper.ones(4), return_complex=True).abs()
        tensor([[4., 4., 4., 4., 4., 4., 4., 4., 4.],
                [0., 0., 0., 0., 0., 0., 0., 0., 0.],
                [0., 0., 0., 0., 0., 0., 0., 0., 0.]])
        """
    def storage(self) -> _TypedStorage:
        """Return the memory that the tensor and its views look at, as elements; deprecated."""
    def storage_type(self) -> _LegacyStorage:
        """Return the class of the tensor's storage.

        >>> import taper
        >>> taper.ones(2).storage_type() is taper.FloatStorage
        True
        """
    def sub(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """Subtract from one tensor another, multiplied by `alpha`.

        result = input - alpha · other

        Args:
            input: the minuend.
            other: the subtrahend, a tensor or a number.
            alpha: number that multiplies `other`.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """
    def sub_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `sub`."""
    def subtract(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """Subtract from one tensor another, multiplied by `alpha`.

        result = input - alpha · other

        Args:
            input: the minuend.
            other: the subtrahend, a tensor or a number.
            alpha: number that multiplies `other`.
            out: tensor that receives the result.

        Shape: `input` and `other` broadcast; the result has their common shape and dtype.

        Example:
            >>> import taper
            >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
            tensor([0., 1.])
        """
    def subtract_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `sub`."""
    def sum(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """Add up all elements, or those along dimensions.

        Args:
            input: a tensor; integers and bools are added in int64.
            dim: dimension or dimensions to reduce; all of them by default.
            keepdim: keep the reduced dimensions, with length 1.
            dtype: dtype that `input` is converted to first.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.sum(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
            tensor([4., 6.])
        """
    def sum_to_size(self, *size: _Ints) -> Tensor:
        """Sum over what broadcasting would add to `size`, so that the result has that shape.

        >>> import taper
        >>> taper.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _return_types.svd:
        """Factor A = U diag(S) V^H; `linalg.svd` is the name to use.

        >>> import taper
        >>> taper.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
        """
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Exchange two dimensions: NumPy's name of `transpose`.

        >>> import taper
        >>> taper.swapaxes(taper.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """In-place version of `swapaxes`."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions: another name of `transpose`.

        >>> import taper
        >>> taper.swapdims(taper.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `swapdims`."""
    def t(self) -> Tensor:
        """Transpose a matrix; vectors and 0-d tensors stay as they are.

        Args:
            input: a tensor with at most two dimensions.

        Shape: (n, m) gives (m, n); the result is a view.

        Example:
            >>> import taper
            >>> taper.t(taper.tensor([[1, 2], [3, 4]]))
            tensor([[1, 3],
                    [2, 4]])
        """
    def t_(self) -> Self:
        """In-place version of `t`."""
    def take(self, index: Tensor) -> Tensor:
        """Take elements of the flattened tensor at the places `index`, in the shape of `index`.

        >>> import taper
        >>> taper.take(taper.tensor([[1, 2], [3, 4]]), taper.tensor([0, 3]))
        tensor([1, 4])
        """
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Take elements along a dimension as `gather`, with broadcasting.

        Without `dim` the flattened tensor is read. Along a dimension indices are taken modulo its
        length.

        >>> import taper
        >>> taper.take_along_dim(taper.tensor([[3, 1], [2, 4]]), taper.tensor([[1]]), 1)
        tensor([[1],
                [4]])
        """
    def tan(self) -> Tensor:
        """Take the tangent of every element, in radians.

        >>> import taper
        >>> taper.tan(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
    def tan_(self) -> Self:
        """In-place version of `tan`.

        >>> import taper
        >>> taper.tan_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574])
        """
    def tanh(self) -> Tensor:
        """Take the hyperbolic tangent of every element.

        result = (eˣ - e⁻ˣ) / (eˣ + e⁻ˣ) for each x of `input`

        Args:
            input: a tensor; integers give the default floating dtype.
            out: tensor that receives the result.

        Shape: the result has the shape of `input`.

        Example:
            >>> import taper
            >>> taper.tanh(taper.tensor([0.0, 1.0]))
            tensor([0.0000, 0.7616])
        """
    def tanh_(self) -> Self:
        """In-place version of `tanh`.

        >>> import taper
        >>> taper.tanh_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
        """
    def tensor_split(self, indices_or_sections: Tensor | _Ints | None = None, dim: _int = 0, *, indices: Any = None, sections: _Ints | None = None, tensor_indices_or_sections: Any = None, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Cut into so many parts of lengths that differ by at most 1, or at given places.

        >>> import taper
        >>> taper.tensor_split(taper.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
        """
    def tile(self, *times: _Ints, dims: _Ints | None = None) -> Tensor:
        """Repeat the tensor along its last dimensions.

        >>> import taper
        >>> taper.tile(taper.tensor([[1, 2]]), (2,))
        tensor([[1, 2, 1, 2]])
        """
    def to(self, *args: Any, device: _Device | None = None, dtype: _dtype | None = None, non_blocking: _bool = False, copy: _bool = False, other: _Operand | None = None, memory_format: _memory_format | None = None) -> Tensor:
        """Convert the tensor to a dtype or move it to a device.

        Called as `to(dtype)`, `to(device, dtype)` or `to(other)`.

        Args:
            args: a dtype, a device (and a dtype), or a tensor to imitate; then `non_blocking` and
                `copy`.
            device: where the result is.
            dtype: dtype of the result.
            non_blocking: do not wait for a copy between a GPU and pinned memory.
            copy: whether to copy even if nothing changes.
            other: tensor whose dtype and device are taken.
            memory_format: order of the dimensions in memory; by default that of the input.

        Returns: the tensor itself if nothing changes, else a copy that autograd records.

        Example:
            >>> import taper
            >>> taper.tensor([1.5]).to(taper.int64)
            tensor([1])
        """
    def to_dense(self, dtype: _dtype | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """Return the tensor with all its elements, zeros too.

        Args:
            dtype: dtype of the result, for tensors that are dense already.
            masked_grad: whether the gradient has the places of the sparse tensor; it has by default.

        Example:
            >>> import taper
            >>> taper.sparse_coo_tensor([[1]], [5.0], (3,)).to_dense()
            tensor([0., 5., 0.])
        """
    def to_sparse(self, sparse_dim: Any = None, *, layout: _layout | None = None, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """Keep the elements that are not zero, in a sparse layout.

        Args:
            sparse_dim: how many dimensions have coordinates; the others are stored whole.
            layout: the sparse layout; coordinates by default.
            blocksize: height and width of the blocks, for layouts that have them.
            dense_dim: how many dimensions are stored whole, for compressed layouts.

        Example:
            >>> import taper
            >>> taper.eye(2).to_sparse()
            tensor(indices=tensor([[0, 1],
                                   [0, 1]]),
                   values=tensor([1., 1.]),
                   size=(2, 2), nnz=2, layout=torch.sparse_coo)
        """
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """Keep the blocks that are not all zero, compressed by columns.

        >>> import taper
        >>> taper.eye(4).to_sparse_bsc((2, 2)).values().shape
        torch.Size([2, 2, 2])
        """
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """Keep the blocks that are not all zero, compressed by rows.

        >>> import taper
        >>> taper.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
        """
    def to_sparse_coo(self) -> Tensor:
        """Keep the elements that are not zero, with their coordinates."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """Keep the elements that are not zero, compressed by columns.

        >>> import taper
        >>> taper.eye(2).to_sparse_csc().row_indices()
        tensor([0, 1])
        """
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """Keep the elements that are not zero, compressed by rows.

        >>> import taper
        >>> taper.eye(2).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
        """
    def tolist(self) -> list[Any]:
        """Return the elements as nested lists of Python numbers.

        Returns: a list for each dimension; a plain number for a 0-d tensor.

        Example:
            >>> import taper
            >>> taper.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _return_types.topk:
        """Find the `k` largest (or smallest) elements along a dimension.

        Args:
            input: a tensor.
            k: how many elements.
            dim: dimension to search along.
            largest: whether the largest are wanted; else the smallest.
            sorted: whether they come in order; here they always do.
            out: pair of tensors that receives the result.

        Returns: a named tuple (values, indices), shaped as `input` with length `k` along `dim`.

        Example:
            >>> import taper
            >>> taper.topk(taper.tensor([3.0, 1.0, 2.0]), 2).values
            tensor([3., 2.])
        """
    def trace(self) -> Tensor:
        """Sum the main diagonal of a matrix.

        >>> import taper
        >>> taper.trace(taper.tensor([[1, 2], [3, 4]]))
        tensor(5)
        """
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Exchange two dimensions.

        Args:
            input: a tensor.
            dim0: first dimension.
            dim1: second dimension.

        Shape: `input` with the lengths `dim0` and `dim1` exchanged; the result is a view.

        Example:
            >>> import taper
            >>> taper.transpose(taper.tensor([[1, 2], [3, 4]]), 0, 1)
            tensor([[1, 3],
                    [2, 4]])
        """
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `transpose`."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _return_types.triangular_solve:
        """Solve A X = B with a triangular A, and copy A; `linalg.solve_triangular` is newer.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.triangular_solve(taper.ones(2, 1), 2 * taper.eye(2)).solution
        tensor([[0.5000],
                [0.5000]])
        """
    def tril(self, diagonal: _int = 0) -> Tensor:
        """Keep the lower triangle of a matrix; set the rest to zero.

        result[i, j] = input[i, j] where j ≤ i + diagonal, else 0

        Args:
            input: a matrix or a batch of matrices.
            diagonal: which diagonal ends the triangle; positive ones lie above the main one.
            out: tensor that receives the result.

        Shape: (*, n, m) gives (*, n, m).

        Example:
            >>> import taper
            >>> taper.tril(taper.tensor([[1, 2], [3, 4]]))
            tensor([[1, 0],
                    [3, 4]])
        """
    def tril_(self, diagonal: _int = 0) -> Self:
        """In-place version of `tril`."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """Keep the upper triangle of a matrix; set the rest to zero.

        result[i, j] = input[i, j] where j ≥ i + diagonal, else 0

        Args:
            input: a matrix or a batch of matrices.
            diagonal: which diagonal begins the triangle; positive ones lie above the main one.
            out: tensor that receives the result.

        Shape: (*, n, m) gives (*, n, m).

        Example:
            >>> import taper
            >>> taper.triu(taper.tensor([[1, 2], [3, 4]]))
            tensor([[1, 2],
                    [0, 4]])
        """
    def triu_(self, diagonal: _int = 0) -> Self:
        """In-place version of `triu`."""
    def true_divide(self, other: _Operand) -> Tensor:
        """Divide two tensors, never rounding.

        >>> import taper
        >>> taper.true_divide(taper.tensor([1, 2]), 4)
        tensor([0.2500, 0.5000])
        """
    def true_divide_(self, other: _Operand) -> Self:
        """In-place version of `true_divide`."""
    def trunc(self) -> Tensor:
        """Cut off the fraction of every element.

        >>> import taper
        >>> taper.trunc(taper.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
        """
    def trunc_(self) -> Self:
        """In-place version of `trunc`.

        >>> import taper
        >>> taper.trunc_(taper.tensor([1.5, -1.5]))
        tensor([ 1., -1.])
        """
    @overload
    def type(self) -> str:
        """Tell the name of the tensor's type or, given a type, convert to it.

        Args:
            dtype: a dtype, or a name such as "torch.DoubleTensor"; None asks for the name.
            non_blocking: has no effect on the CPU.

        Returns: a name as text, or the tensor in that type (itself if nothing changes).

        Example:
            >>> import taper
            >>> taper.tensor([1.0]).type()
            'torch.FloatTensor'
        """
    @overload
    def type(self, dtype: str | type | _dtype, non_blocking: _bool = False) -> Tensor:
        """Tell the name of the tensor's type or, given a type, convert to it.

        Args:
            dtype: a dtype, or a name such as "torch.DoubleTensor"; None asks for the name.
            non_blocking: has no effect on the CPU.

        Returns: a name as text, or the tensor in that type (itself if nothing changes).

        Example:
            >>> import taper
            >>> taper.tensor([1.0]).type()
            'torch.FloatTensor'
        """
    def type_as(self, other: Tensor) -> Tensor:
        """Convert the tensor to the dtype of another.

        Args:
            other: tensor whose dtype is taken.

        Returns: the tensor itself if it has that dtype already, else a copy.

        Example:
            >>> import taper
            >>> taper.tensor([1, 2]).type_as(taper.tensor(0.5))
            tensor([1., 2.])
        """
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """Take a tensor apart into its slices along a dimension.

        Args:
            input: a tensor.
            dim: dimension to take apart.

        Returns: a tuple of views without `dim`.

        Example:
            >>> import taper
            >>> taper.unbind(taper.tensor([[1, 2], [3, 4]]))
            (tensor([1, 2]), tensor([3, 4]))
        """
    def unflatten(self, dim: _int, sizes: _Ints) -> Tensor:
        """Cut one dimension into several, whose product is its length.

        >>> import taper
        >>> taper.unflatten(taper.zeros(4, 3), 0, (2, -1)).shape
        torch.Size([2, 2, 3])
        """
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """View all windows of length `size` along a dimension as a new last dimension.

        >>> import taper
        >>> taper.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
        """
    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: Generator | None = None, **start: _float) -> Self:
        """Fill the tensor with numbers drawn evenly from an interval, in place.

        Args:
            from_, start: lower bound; `from` as a keyword.
            to: upper bound, which is not reached.
            generator: source of random numbers; by default the one that `manual_seed` seeds.

        Returns: the tensor itself.

        Example:
            >>> import taper
            >>> generator = taper.manual_seed(0)
            >>> taper.empty(2).uniform_(-1, 1)
            tensor([-0.0075,  0.5364])
        """
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

        Every NaN is distinct. The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

        Every NaN is distinct. The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

        Every NaN is distinct. The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Find the distinct elements, or slices along `dim`; they are sorted even without `sorted`.

        Every NaN is distinct. The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """Drop elements, or slices along `dim`, that equal the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """Drop elements, or slices along `dim`, that equal the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """Drop elements, or slices along `dim`, that equal the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Drop elements, or slices along `dim`, that equal the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut as `chunk`, without the check that parts written in place stand alone.

        >>> import taper
        >>> taper.unsafe_chunk(taper.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut as `split`, without the check that parts written in place stand alone.

        >>> import taper
        >>> taper.unsafe_split(taper.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split_with_sizes(self, split_sizes: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """Cut as `split_with_sizes`, without the check that parts written in place stand alone.

        >>> import taper
        >>> taper.unsafe_split_with_sizes(taper.arange(3), (1, 2))
        (tensor([0]), tensor([1, 2]))
        """
    def unsqueeze(self, dim: _int) -> Tensor:
        """Insert a dimension of length 1.

        Args:
            input: a tensor with d dimensions.
            dim: position of the new dimension in the result, from -(d + 1) to d.

        Shape: (*) gives (*, 1, *); the result is a view.

        Example:
            >>> import taper
            >>> taper.unsqueeze(taper.tensor([1, 2]), 1)
            tensor([[1],
                    [2]])
        """
    def unsqueeze_(self, dim: _int) -> Self:
        """In-place version of `unsqueeze`."""
    def untyped_storage(self) -> _UntypedStorage:
        """Return the memory that the tensor and its views look at, as bytes.

        >>> import taper
        >>> taper.zeros(4)[2:].untyped_storage().nbytes()
        16
        """
    def values(self) -> Tensor:
        """Return the elements of a coalesced or compressed tensor; gradients flow through them.

        >>> import taper
        >>> taper.eye(2).to_sparse().values()
        tensor([1., 1.])
        """
    def var(self, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Compute the variance of all elements, or along dimensions.

        result = Σ (x - mean)² / max(0, n - correction), n elements in each sum

        Args:
            input: a floating point or complex tensor.
            dim: dimension or dimensions to reduce; all of them by default.
            unbiased: old form of `correction`: True means 1, False means 0.
            keepdim: keep the reduced dimensions, with length 1.
            correction: what is subtracted from the number of elements; 1 by default.
            out: tensor that receives the result.
            axis, keepdims: NumPy's names for `dim` and `keepdim`.

        Shape: `input` without the dimensions in `dim`.

        Example:
            >>> import taper
            >>> taper.var(taper.tensor([1.0, 2.0, 3.0]))
            tensor(1.)
        """
    def vdot(self, other: Tensor) -> Tensor:
        """Multiply two vectors as `dot` does, with the first one conjugated.

        >>> import taper
        >>> taper.vdot(taper.tensor([1j, 2.]), taper.tensor([1j, 1.]))
        tensor(3.+0.j)
        """
    def view(self, *shape: _Ints | _dtype, size: _Ints | None = None, dtype: _dtype | None = None) -> Tensor:
        """Look at the same memory in another shape or, byte by byte, as another dtype.

        A shape that the strides do not allow is an error: `reshape` copies instead. A view as another
        dtype has no history.

        Args:
            shape: the new lengths, one by one or as one tuple, of which one may be -1 and is computed;
                or a dtype.
            size: the new lengths, as a keyword.
            dtype: the new dtype, as a keyword.

        Returns: a view; another dtype changes the last length by the ratio of the element sizes.

        Example:
            >>> import taper
            >>> taper.arange(6).view(2, -1)
            tensor([[0, 1, 2],
                    [3, 4, 5]])
        """
    def view_as(self, other: Tensor) -> Tensor:
        """Look at the same memory in the shape of another tensor.

        Args:
            other: tensor whose shape is taken.

        Returns: `self.view(other.size())`.

        Example:
            >>> import taper
            >>> taper.arange(4).view_as(taper.zeros(2, 2))
            tensor([[0, 1],
                    [2, 3]])
        """
    @property
    def volatile(self) -> _bool:
        """False: the attribute of an old PyTorch, without effect."""
    def vsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Cut along the first dimension.

        >>> import taper
        >>> taper.vsplit(taper.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
        """
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """Keep the tensor's elements where a condition holds, take others elsewhere.

        Args:
            condition: a bool tensor.
            other: tensor or number taken where the condition is False.

        Shape: the three broadcast together; the result has the broadcast shape.

        Example:
            >>> import taper
            >>> x = taper.tensor([1.0, -2.0])
            >>> x.where(x > 0, 0)
            tensor([1., 0.])
        """
    def xlogy(self, other: _Operand) -> Tensor:
        """Compute x log(y); zero where x is zero. One of the two may be a number.

        >>> import taper
        >>> taper.xlogy(taper.tensor([0.0, 2.0]), taper.tensor([0.0, 1.0]))
        tensor([0., 0.])
        """
    def xlogy_(self, other: _Operand) -> Self:
        """In-place version of `xlogy`.

        >>> import taper
        >>> taper.xlogy_(taper.tensor([0.0, 2.0]), taper.tensor([0.0, 1.0]))
        tensor([0., 0.])
        """
    def zero_(self) -> Self:
        """Write zero into every element, in place.

        Args:
            input: the tensor that is changed.

        Returns: `input`.

        Example:
            >>> import taper
            >>> taper.zero_(taper.ones(2))
            tensor([0., 0.])
        """
