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
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions in reverse order; the transpose of a matrix."""
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
    __torch_function__: Any
    def __truediv__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def __xor__(self, other: _Operand | _np.ndarray) -> Tensor: ...
    def _accumulator(self, sequence: _int | None = None) -> _AccumulateGrad | None:
        """The leaf's AccumulateGrad: one while anybody holds it, held weakly by the leaf (I7).

        For a node with a sequence number it is the one of that time.
        """
    @property
    def _backward_hooks(self) -> Any:
        ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of, None if it is none."""
    @_base.setter
    def _base(self, value: Tensor | None) -> None: ...
    @property
    def _grad(self) -> Tensor | None:
        """The accumulated gradient, None before the first backward."""
    @_grad.setter
    def _grad(self, value: Tensor | None) -> None: ...
    def _is_view(self) -> _bool: ...
    _make_subclass: Any
    def _neg_view(self) -> Tensor:
        """The negative as a view: a write to either shows in both.

        >>> import taper
        >>> x = taper.ones(2)
        >>> taper._neg_view(x).fill_(3)
        tensor([3., 3.])
        >>> x
        tensor([-3., -3.])
        """
    @property
    def _post_accumulate_grad_hooks(self) -> Any:
        """The hooks that run after a gradient was added to this leaf's, None if there are none."""
    @_post_accumulate_grad_hooks.setter
    def _post_accumulate_grad_hooks(self, value: Any) -> None: ...
    def _use_count(self) -> _int:
        """How many hold this tensor, all of Python counting as one; nodes and views are the others.

        >>> import taper
        >>> x = taper.ones(2, requires_grad=True)
        >>> y = x.exp()
        >>> x._use_count()
        2
        """
    @property
    def _version(self) -> _int:
        """How often this tensor's memory was written in place."""
    @_version.setter
    def _version(self, value: _int) -> None: ...
    def _view_func(self, new_base: Tensor) -> Tensor | None:
        """This view as a view of another base; None if it is no view, or the base has another layout.

        >>> import taper
        >>> taper.zeros(2, 3)[1]._view_func(taper.ones(2, 3))
        tensor([1., 1., 1.])
        """
    def _view_func_unsafe(self, new_base: Tensor) -> Tensor | None:
        """As `_view_func`, without looking at the layout of the base."""
    def abs(self) -> Tensor:
        """The absolute value of every element; of a complex one its distance from zero.

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
        """The absolute value of every element; of a complex one its distance from zero.

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
        """Angle in radians whose cosine is the element.

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
        """Inverse hyperbolic cosine of every element.

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
        """Sum of two tensors, the second multiplied by `alpha`.

        >>> import taper
        >>> taper.add(taper.tensor([1.0, 2.0]), taper.tensor([3.0, 4.0]), alpha=2)
        tensor([ 7., 10.])
        """
    def add_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `add`."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * self + alpha * (the sum of bmm(batch1, batch2) over the stack)`.

        >>> import taper
        >>> taper.addbmm(taper.tensor(1.), taper.ones(5, 2, 3), taper.ones(5, 3, 2))
        tensor([[16., 16.],
                [16., 16.]])
        """
    def addbmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `addbmm`; a tensor that broadcasts to the result gets its shape."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Tensor:
        """`input` plus `value` times the quotient of two tensors.

        >>> import taper
        >>> x = taper.tensor([1.0, 2.0])
        >>> taper.addcdiv(x, x, x, value=10)
        tensor([11., 12.])
        """
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Self:
        """In-place version of `addcdiv`."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Tensor:
        """`input` plus `value` times the product of two tensors.

        >>> import taper
        >>> x = taper.tensor([1.0, 2.0])
        >>> taper.addcmul(x, x, x, value=10)
        tensor([11., 42.])
        """
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Operand = 1) -> Self:
        """In-place version of `addcmul`."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * self + alpha * (mat1 @ mat2)`.

        >>> import taper
        >>> taper.addmm(taper.tensor([1., 2.]), taper.ones(2, 3), taper.ones(3, 2))
        tensor([[4., 5.],
                [4., 5.]])
        """
    def addmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `addmm`."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * self + alpha * (mat @ vec)`.

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
        """`beta * self + alpha * outer(vec1, vec2)`.

        >>> import taper
        >>> taper.addr(taper.zeros(2, 2), taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor([[3., 4.],
                [6., 8.]])
        """
    def addr_(self, vec1: Tensor, vec2: Tensor, *more: Any, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """In-place version of `addr`."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of a matrix or of a batch of matrices.

        >>> import taper
        >>> taper.adjoint(taper.zeros(2, 3)).shape
        torch.Size([3, 2])
        """
    def all(self, dim: _Ints | None = None, keepdim: _bool = False, *, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Whether all elements are true (not zero), of all or along dimensions.

        >>> import taper
        >>> taper.all(taper.tensor([[True, True], [False, True]]), dim=1)
        tensor([ True, False])
        """
    def allclose(self, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether `isclose` holds for all elements.

        >>> import taper
        >>> taper.allclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.0]))
        True
        """
    def amax(self, dim: _Ints | None = ..., keepdim: _bool = False, *, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """The largest elements along dimensions, by default of all.

        >>> import taper
        >>> taper.amax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
        tensor([2., 3.])
        """
    def amin(self, dim: _Ints | None = ..., keepdim: _bool = False, *, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """The smallest elements along dimensions, by default of all.

        >>> import taper
        >>> taper.amin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=0)
        tensor([1., 0.])
        """
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _return_types.aminmax:
        """The smallest and the largest element, of all or along a dimension.

        >>> import taper
        >>> taper.aminmax(taper.tensor([1.0, 3.0, 2.0]))
        torch.return_types.aminmax(
        min=tensor(1.),
        max=tensor(3.))
        """
    def angle(self) -> Tensor:
        """The angle of every element in radians; pi for negative real numbers.

        >>> import taper
        >>> taper.angle(taper.tensor([1j, -1.0]))
        tensor([1.5708, 3.1416])
        """
    def any(self, dim: _Ints | None = None, keepdim: _bool = False, *, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """Whether any element is true (not zero), of all or along dimensions.

        >>> import taper
        >>> taper.any(taper.tensor([[False, True], [False, False]]), dim=1)
        tensor([ True, False])
        """
    def apply_(self, callable: Callable[[Any], Any]) -> Self:
        """Replace each element by what a Python function makes of it; slow.

        >>> import taper
        >>> taper.tensor([1, 2]).apply_(lambda value: value * 10)
        tensor([10, 20])
        """
    def arccos(self) -> Tensor:
        """Angle in radians whose cosine is the element.

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
        """Inverse hyperbolic cosine of every element.

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
        """Angle in radians whose sine is the element.

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
        """Inverse hyperbolic sine of every element.

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
        """Angle in radians whose tangent is the element.

        >>> import taper
        >>> taper.atan(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle in radians of the point with height `input` and width `other`.

        >>> import taper
        >>> taper.atan2(taper.tensor([1.0, 0.0]), taper.tensor([1.0, -1.0]))
        tensor([0.7854, 3.1416])
        """
    def arctan2_(self, other: Tensor) -> Self:
        """In-place version of `atan2`."""
    def arctan_(self) -> Self:
        """In-place version of `atan`.

        >>> import taper
        >>> taper.atan_(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent of every element.

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
        """Where the largest element is: counted in the flattened tensor, or along a dimension.

        >>> import taper
        >>> taper.argmax(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
        tensor([1, 0])
        """
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Where the smallest element is: counted in the flattened tensor, or along a dimension.

        >>> import taper
        >>> taper.argmin(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1)
        tensor([0, 1])
        """
    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False, axis: _int | None = None) -> Tensor:
        """The indices that put the elements in order along a dimension.

        >>> import taper
        >>> taper.argsort(taper.tensor([3.0, 1.0, 2.0]))
        tensor([1, 2, 0])
        """
    def argwhere(self) -> Tensor:
        """The coordinates of all elements that are not zero, one row each.

        >>> import taper
        >>> taper.argwhere(taper.tensor([0, 5, 6]))
        tensor([[1],
                [2]])
        """
    def as_strided(self, size: _Ints, stride: _Ints, storage_offset: _int | None = None) -> Tensor:
        """A view of the tensor's whole storage with any shape and strides.

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
        """A copy with `src` in the place of `as_strided(size, stride, storage_offset)`.

        Differs: the gradient of `input` is zero where it was replaced; in PyTorch it is zero elsewhere.

        >>> import taper
        >>> taper.as_strided_scatter(taper.zeros(6), taper.ones(2), (2,), (3,))
        tensor([1., 0., 0., 1., 0., 0.])
        """
    def as_subclass(self, cls: type[_T]) -> _T:
        """The same tensor, with its history, as an object of a subclass.

        >>> import taper
        >>> class Marked(taper.Tensor):
        ...     pass
        >>> taper.ones(2).as_subclass(Marked)
        Marked([1., 1.])
        """
    def asin(self) -> Tensor:
        """Angle in radians whose sine is the element.

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
        """Inverse hyperbolic sine of every element.

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
        """Angle in radians whose tangent is the element.

        >>> import taper
        >>> taper.atan(taper.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854])
        """
    def atan2(self, other: Tensor) -> Tensor:
        """The angle in radians of the point with height `input` and width `other`.

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
        """Inverse hyperbolic tangent of every element.

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
        """Compute the gradients of this tensor with respect to the leaves of its graph.

        >>> import taper
        >>> x = taper.tensor([2.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([4., 6.])
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * self + alpha * bmm(batch1, batch2)`.

        >>> import taper
        >>> taper.baddbmm(taper.tensor(1.), taper.ones(1, 2, 3), taper.ones(1, 3, 2))
        tensor([[[4., 4.],
                 [4., 4.]]])
        """
    def baddbmm_(self, *args: Any, **kwargs: Any) -> Self:
        """In-place version of `baddbmm`."""
    def bernoulli(self, p: Any = None, *, generator: Generator | None = None) -> Tensor:
        """Ones with the probabilities that the elements of `input` are (or with `p`), and zeros.

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
        """The tensor as torch.bfloat16; itself if it is that already."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights.

        >>> import taper
        >>> taper.bincount(taper.tensor([0, 2, 2]))
        tensor([1, 0, 2])
        """
    def bitwise_and(self, other: _Operand) -> Tensor:
        """The bits that both elements have; for bool logical and.

        >>> import taper
        >>> taper.bitwise_and(taper.tensor([6, 5]), 3)
        tensor([2, 1])
        """
    def bitwise_and_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_and`."""
    def bitwise_left_shift(self, other: _Operand) -> Tensor:
        """The bits moved up by `other` places; none is left if there are not so many.

        >>> import taper
        >>> taper.bitwise_left_shift(taper.tensor([1, 3]), 2)
        tensor([ 4, 12])
        """
    def bitwise_left_shift_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_left_shift`."""
    def bitwise_not(self) -> Tensor:
        """All bits turned; for bool logical not.

        >>> import taper
        >>> taper.bitwise_not(taper.tensor([0, -1]))
        tensor([-1,  0])
        """
    def bitwise_not_(self) -> Self:
        """In-place version of `bitwise_not`."""
    def bitwise_or(self, other: _Operand) -> Tensor:
        """The bits that one of the elements has; for bool logical or.

        >>> import taper
        >>> taper.bitwise_or(taper.tensor([6, 5]), 3)
        tensor([7, 7])
        """
    def bitwise_or_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_or`."""
    def bitwise_right_shift(self, other: _Operand) -> Tensor:
        """The bits moved down by `other` places; the sign stays.

        >>> import taper
        >>> taper.bitwise_right_shift(taper.tensor([4, -8]), 2)
        tensor([ 1, -2])
        """
    def bitwise_right_shift_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_right_shift`."""
    def bitwise_xor(self, other: _Operand) -> Tensor:
        """The bits that exactly one of the elements has; for bool logical xor.

        >>> import taper
        >>> taper.bitwise_xor(taper.tensor([6, 5]), 3)
        tensor([5, 6])
        """
    def bitwise_xor_(self, other: _Operand) -> Self:
        """In-place version of `bitwise_xor`."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of the matrices of two stacks, pair by pair.

        >>> import taper
        >>> taper.bmm(taper.ones(2, 1, 3), taper.ones(2, 3, 1))
        tensor([[[3.]],
        <BLANKLINE>
                [[3.]]])
        """
    def bool(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.bool; itself if it is that already."""
    def broadcast_to(self, size: _Ints) -> Tensor:
        """The tensor expanded to `size`.

        >>> import taper
        >>> taper.broadcast_to(taper.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
    def byte(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.uint8; itself if it is that already."""
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with numbers of the Cauchy distribution.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).cauchy_(1, 2)
        tensor([22.1955,  2.5295])
        """
    def cdouble(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.complex128; itself if it is that already."""
    def ceil(self) -> Tensor:
        """The smallest whole number that is not below the element.

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
        """The tensor as torch.complex64; itself if it is that already."""
    def char(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int8; itself if it is that already."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """L of A = L L^H, or its adjoint; `linalg.cholesky` is the name to use.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.cholesky(taper.tensor([[4.0]]))
        tensor([[2.]])
        """
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A from its Cholesky factor.

        >>> import taper
        >>> taper.cholesky_inverse(taper.tensor([[2.0]]))
        tensor([[0.2500]])
        """
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """X of A X = B from Cholesky's factor of A, the second argument.

        >>> import taper
        >>> taper.cholesky_solve(taper.tensor([[4.0]]), taper.tensor([[2.0]]))
        tensor([[1.]])
        """
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """At most `chunks` parts of equal length along `dim`, the last one perhaps shorter.

        >>> import taper
        >>> taper.chunk(taper.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        """
    def clamp(self, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """The tensor kept within `min` and `max`, numbers or tensors, of which one may be None.

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
        """The tensor, not above `max`.

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
        """The tensor, not below `min`.

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
        """The tensor kept within `min` and `max`, numbers or tensors, of which one may be None.

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
        """A copy with its own memory.

        >>> import taper
        >>> taper.clone(taper.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
    def conj(self) -> Tensor:
        """Complex conjugate; a real tensor is returned as it is.

        >>> import taper
        >>> taper.conj(taper.tensor([1 + 2j]))
        tensor([1.-2.j])
        """
    def conj_physical(self) -> Tensor:
        """Complex conjugate; a real tensor is returned as it is.

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
        """The address of the first element, for reading.

        >>> import taper
        >>> x = taper.ones(2)
        >>> x.const_data_ptr() == x.data_ptr()
        True
        """
    def contiguous(self, memory_format: _memory_format | None = ...) -> Tensor:
        """The tensor itself if its elements lie in row-major order, else a copy that does.

        >>> import taper
        >>> taper.tensor([[1, 2], [3, 4]]).t().contiguous().stride()
        (2, 1)
        """
    def copy_(self, other: _Operand, non_blocking: _bool = False) -> Self:
        """Write the values of another tensor into this one, broadcast and converted.

        >>> import taper
        >>> taper.zeros(2, 2).copy_(taper.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
        """
    def copysign(self, other: _Operand) -> Tensor:
        """The absolute values of `input` with the signs of `other`.

        >>> import taper
        >>> taper.copysign(taper.tensor([1.0, -2.0]), taper.tensor([-1.0, 3.0]))
        tensor([-1.,  2.])
        """
    def copysign_(self, other: _Operand) -> Self:
        """In-place version of `copysign`."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of the rows; columns are observations.

        >>> import taper
        >>> taper.corrcoef(taper.tensor([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]))
        tensor([[ 1., -1.],
                [-1.,  1.]])
        """
    def cos(self) -> Tensor:
        """Cosine of every element, in radians.

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
        """Hyperbolic cosine of every element.

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
        """How many elements are not zero, of all or along dimensions.

        >>> import taper
        >>> taper.count_nonzero(taper.tensor([0, 3, 0, 4]))
        tensor(2)
        """
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of the rows; columns are observations, which may have weights.

        >>> import taper
        >>> taper.cov(taper.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
        tensor([[1., 2.],
                [2., 4.]])
        """
    def cpu(self, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor on the CPU: itself."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The cross product of vectors of length 3; without `dim` along the first such dimension.

        >>> import taper
        >>> taper.cross(taper.tensor([1, 0, 0]), taper.tensor([0, 1, 0]), dim=0)
        tensor([0, 0, 1])
        """
    def cuda(self, device: _Device | None = None, non_blocking: _bool = False, memory_format: _memory_format | None = None) -> Tensor:
        """Raises: there is no CUDA."""
    def cummax(self, dim: _int) -> _return_types.cummax:
        """The largest element up to each one along a dimension, and where it is.

        >>> import taper
        >>> taper.cummax(taper.tensor([1.0, 3.0, 2.0]), dim=0).indices
        tensor([0, 1, 1])
        """
    def cummin(self, dim: _int) -> _return_types.cummin:
        """The smallest element up to each one along a dimension, and where it is.

        >>> import taper
        >>> taper.cummin(taper.tensor([2.0, 3.0, 1.0]), dim=0).values
        tensor([2., 2., 1.])
        """
    def cumprod(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """The product of the elements up to each one along a dimension; of integers in int64.

        >>> import taper
        >>> taper.cumprod(taper.tensor([1.0, 2.0, 3.0]), dim=0)
        tensor([1., 2., 6.])
        """
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = None) -> Self:
        """In-place version of `cumprod`."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = None) -> Tensor:
        """The sum of the elements up to each one along a dimension; of integers in int64.

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
        """Degrees as radians.

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
    def det(self) -> Tensor:
        """Another name of `linalg.det`.

        >>> import taper
        >>> taper.det(taper.eye(2))
        tensor(1.)
        """
    def detach(self) -> Tensor:
        """The same memory and version counter without history and without tangent.

        >>> import taper
        >>> taper.ones(2, requires_grad=True).detach()
        tensor([1., 1.])
        """
    def detach_(self) -> Self:
        """Cut this tensor from its graph, in place."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A matrix with the vector on a diagonal; of a matrix, the diagonal as a vector.

        >>> import taper
        >>> taper.diag(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
        """
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices with the last dimension of the tensor on a diagonal, zero elsewhere.

        >>> import taper
        >>> taper.diag_embed(taper.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of the tensor on a diagonal.

        >>> import taper
        >>> taper.diagflat(taper.tensor([[1], [2]]))
        tensor([[1, 0],
                [0, 2]])
        """
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dimensions as a new last dimension; shares the memory.

        >>> import taper
        >>> taper.diagonal(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
        """
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy with `src` on a diagonal.

        >>> import taper
        >>> taper.diagonal_scatter(taper.zeros(2, 2), taper.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
        """
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int | None = None) -> Tensor:
        """The differences of neighbours along a dimension, `n` times over.

        `prepend` and `append` are joined to the input first.

        >>> import taper
        >>> taper.diff(taper.tensor([1, 3, 7]))
        tensor([2, 4])
        """
    def digamma(self) -> Tensor:
        """The derivative of lgamma.

        >>> import taper
        >>> taper.digamma(taper.tensor([1.0, 2.0]))
        tensor([-0.5772,  0.4228])
        """
    def digamma_(self) -> Self:
        """In-place version of `digamma`."""
    def dim_order(self, *, ambiguity_check: Any = False) -> tuple[_int, ...]:
        """The dimensions from the outermost in memory to the innermost.

        `ambiguity_check` refuses an order that lengths of 1 or repeated strides leave open; a list of
        memory formats refuses a tensor that fits several of them, or none.

        >>> import taper
        >>> taper.ones(2, 3).t().dim_order()
        (1, 0)
        """
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The norm of order `p` of the difference of two tensors.

        >>> import taper
        >>> taper.dist(taper.tensor([1.0, 2.0]), taper.tensor([4.0, 6.0]))
        tensor(5.)
        """
    def div(self, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """Quotient of two tensors; `rounding_mode` "trunc" rounds towards zero, "floor" downwards.

        >>> import taper
        >>> taper.div(taper.tensor([1.0, 2.0]), 4)
        tensor([0.2500, 0.5000])
        >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
        """
    def div_(self, other: _Operand, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`."""
    def divide(self, other: _Operand, *, rounding_mode: str | None = ...) -> Tensor:
        """Quotient of two tensors; `rounding_mode` "trunc" rounds towards zero, "floor" downwards.

        >>> import taper
        >>> taper.div(taper.tensor([1.0, 2.0]), 4)
        tensor([0.2500, 0.5000])
        >>> taper.div(taper.tensor([-7, 7]), 2, rounding_mode="floor")
        tensor([-4,  3])
        """
    def divide_(self, other: _Operand, *, rounding_mode: str | None = ...) -> Self:
        """In-place version of `div`."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Sum of the products of the elements of two vectors.

        >>> import taper
        >>> taper.dot(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor(11.)
        """
    def double(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float64; itself if it is that already."""
    def dsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Parts along the third dimension.

        >>> import taper
        >>> taper.dsplit(taper.zeros(2, 2, 4), 2)[0].shape
        torch.Size([2, 2, 2])
        """
    def eq(self, other: _Operand) -> Tensor:
        """Whether two elements are equal.

        >>> import taper
        >>> taper.eq(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
        """
    def eq_(self, other: _Operand) -> Self:
        """In-place version of `eq`."""
    def equal(self, other: _Operand) -> _bool:
        """Whether two tensors have the same shape and elements.

        >>> import taper
        >>> taper.equal(taper.tensor([1, 2]), taper.tensor([1, 2]))
        True
        """
    def erf(self) -> Tensor:
        """The error function: the probability that a normal deviate of variance 1/2 is within +-x.

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
        """1 - erf(x), accurate where that is small.

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
        """The inverse of the error function.

        >>> import taper
        >>> taper.erfinv(taper.tensor([0.0, 0.5]))
        tensor([0.0000, 0.4769])
        """
    def erfinv_(self) -> Self:
        """In-place version of `erfinv`."""
    def exp(self) -> Tensor:
        """e to the power of every element.

        >>> import taper
        >>> taper.exp(taper.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183])
        """
    def exp2(self) -> Tensor:
        """2 to the power of every element.

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
        """Dimensions of length 1 seen as longer ones, and new leading ones; shares the memory.

        >>> import taper
        >>> taper.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
        """
    def expand_as(self, other: Tensor) -> Tensor:
        """`expand` to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """exp(x) - 1 of every element, accurate near zero.

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
        """Write `value`, a number or a 0-d tensor, into every element.

        >>> import taper
        >>> taper.fill_(taper.zeros(2), 3)
        tensor([3., 3.])
        """
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Self:
        """Write a number on the main diagonal; with `wrap` it goes on below it in a tall matrix.

        >>> import taper
        >>> taper.zeros(2, 2).fill_diagonal_(1)
        tensor([[1., 0.],
                [0., 1.]])
        """
    def fix(self) -> Tensor:
        """The element without its fraction.

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
        """The dimensions from `start_dim` to `end_dim` as one.

        >>> import taper
        >>> taper.flatten(taper.zeros(2, 3, 4), 1).shape
        torch.Size([2, 12])
        """
    def flip(self, *order: _Ints, dims: _Ints | None = None) -> Tensor:
        """The order of elements reversed along the given dimensions.

        >>> import taper
        >>> taper.flip(taper.tensor([[1, 2], [3, 4]]), (0,))
        tensor([[3, 4],
                [1, 2]])
        """
    def fliplr(self) -> Tensor:
        """The columns in reverse order.

        >>> import taper
        >>> taper.fliplr(taper.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
        """
    def flipud(self) -> Tensor:
        """The rows in reverse order.

        >>> import taper
        >>> taper.flipud(taper.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
        """
    def float(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float32; itself if it is that already."""
    def float_power(self, exponent: _Operand) -> Tensor:
        """`input` to the power of `exponent`, computed in double precision.

        >>> import taper
        >>> taper.float_power(taper.tensor([2, 3]), -1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
        """
    def float_power_(self, exponent: _Operand) -> Self:
        """In-place version of `float_power`; the tensor must be of double precision."""
    def floor(self) -> Tensor:
        """The largest whole number that is not above the element.

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
        """Quotient of two tensors, rounded downwards.  Differentiating it fails, as in PyTorch.

        >>> import taper
        >>> taper.floor_divide(taper.tensor([-7, 7]), 2)
        tensor([-4,  3])
        """
    def floor_divide_(self, other: _Operand) -> Self:
        """In-place version of `floor_divide`."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of two elements; nan only if both are nan.

        >>> import taper
        >>> taper.fmax(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
        tensor([3., 2.])
        """
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of two elements; nan only if both are nan.

        >>> import taper
        >>> taper.fmin(taper.tensor([1.0, float("nan")]), taper.tensor([3.0, 2.0]))
        tensor([1., 2.])
        """
    def fmod(self, other: _Operand) -> Tensor:
        """Remainder of the division, with the sign of the dividend, as C's `fmod`.

        >>> import taper
        >>> taper.fmod(taper.tensor([-7.0, 7.0]), 3)
        tensor([-1.,  1.])
        """
    def fmod_(self, other: _Operand) -> Self:
        """In-place version of `fmod`."""
    def frac(self) -> Tensor:
        """The fraction of the element, with its sign.

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
        """Numbers as mantissa * 2**exponent, the mantissa's size from 1/2 to below 1.

        >>> import taper
        >>> taper.frexp(taper.tensor([3.0])).exponent
        tensor([2], dtype=torch.int32)
        """
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """The elements along `dim` that `index` points at, one for each of its places.

        >>> import taper
        >>> taper.gather(taper.tensor([[1, 2], [3, 4]]), 1, taper.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
        """
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of two whole numbers.

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
        """Whether the first element is not smaller.

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
        """R and the reflectors whose product is Q, as LAPACK stores them: for `ormqr`.

        >>> import taper
        >>> taper.geqrf(taper.tensor([[3.0], [4.0]])).a[0].abs()
        tensor([5.])
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Another name of `outer`.

        >>> import taper
        >>> taper.ger(taper.tensor([1., 2.]), taper.tensor([3.]))
        tensor([[3.],
                [6.]])
        """
    def get_device(self) -> _int:
        """-1: the tensor is on the CPU.

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
        """Whether the first element is larger.

        >>> import taper
        >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
        tensor([False,  True])
        """
    def greater_(self, other: _Operand) -> Self:
        """In-place version of `gt`."""
    def greater_equal(self, other: _Operand) -> Tensor:
        """Whether the first element is not smaller.

        >>> import taper
        >>> taper.ge(taper.tensor([1.0, 2.0]), 2)
        tensor([False,  True])
        """
    def greater_equal_(self, other: _Operand) -> Self:
        """In-place version of `ge`."""
    def gt(self, other: _Operand) -> Tensor:
        """Whether the first element is larger.

        >>> import taper
        >>> taper.gt(taper.tensor([1.0, 2.0]), 1)
        tensor([False,  True])
        """
    def gt_(self, other: _Operand) -> Self:
        """In-place version of `gt`."""
    def half(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float16; itself if it is that already."""
    def hardshrink(self, lambd: _Number = 0.5) -> Tensor:
        """x, but zero where its absolute value is at most `lambd`.

        >>> import taper
        >>> taper.hardshrink(taper.tensor([-0.4, 0.6]))
        tensor([0.0000, 0.6000])
        """
    def hash_tensor(self, dim: _Ints | None = ..., *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """A hash of the elements along dimensions, or of all: the exclusive or of their bits.

        >>> import taper
        >>> taper.hash_tensor(taper.tensor([1, 2, 4]))
        tensor(7, dtype=torch.uint64)
        """
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, `values` at zero.  Differentiating it fails, as in PyTorch.

        >>> import taper
        >>> taper.heaviside(taper.tensor([-1.0, 0.0, 2.0]), taper.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
        """
    def heaviside_(self, values: Tensor) -> Self:
        """In-place version of `heaviside`."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements fall into each of `bins` equal parts of the range from `min` to `max`.

        Elements outside are not counted.  With `min == max` the range is that of the elements.

        >>> import taper
        >>> taper.histc(taper.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=2)
        tensor([0., 3.])
        """
    def histogram(self, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogram:
        """How many elements, or how much weight, falls into each bin, and the edges of the bins.

        `bins` is a tensor of edges, or a number of bins of one width in `range` (by default that of the
        elements).  Elements outside are not counted.  With `density` the integral is 1.

        >>> import taper
        >>> taper.histogram(taper.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
        tensor([0., 3.])
        """
    def hsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Parts along the second dimension, of a vector along its only one.

        >>> import taper
        >>> taper.hsplit(taper.arange(4), 2)
        (tensor([0, 1]), tensor([2, 3]))
        """
    def hypot(self, other: Tensor) -> Tensor:
        """The longest side of the right-angled triangle with these other sides.

        >>> import taper
        >>> taper.hypot(taper.tensor([3.0]), taper.tensor([4.0]))
        tensor([5.])
        """
    def hypot_(self, other: Tensor) -> Self:
        """In-place version of `hypot`."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0.

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
        """The regularised lower incomplete gamma function of parameter `input` at `other`.

        >>> import taper
        >>> taper.igamma(taper.tensor([4.0]), taper.tensor([3.0]))
        tensor([0.3528])
        """
    def igamma_(self, other: Tensor) -> Self:
        """In-place version of `igamma`."""
    def igammac(self, other: Tensor) -> Tensor:
        """The regularised upper incomplete gamma function: one minus `igamma`.

        >>> import taper
        >>> taper.igammac(taper.tensor([4.0]), taper.tensor([3.0]))
        tensor([0.6472])
        """
    def igammac_(self, other: Tensor) -> Self:
        """In-place version of `igammac`."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor as a view.

        >>> import taper
        >>> taper.imag(taper.tensor([1 + 2j]))
        tensor([2.])
        """
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index(self, positions: Any, dims: _Ints) -> Tensor:
        """The tensor indexed in some dimensions: `index((0, 2), (i, j))` is `self[i, :, j]`.

        >>> import taper
        >>> taper.arange(6).view(2, 3).index(1, 2)
        tensor([2, 5])
        """
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """A copy with the slices of `source`, times `alpha`, added at the places `index` along `dim`.

        >>> import taper
        >>> taper.index_add(taper.zeros(3), 0, taper.tensor([0, 0]), taper.tensor([1.0, 2.0]))
        tensor([3., 0., 0.])
        """
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Self:
        """In-place version of `index_add`."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """A copy with the slices of `source` written at the places `index` along `dim`.

        >>> import taper
        >>> taper.index_copy(taper.zeros(3), 0, taper.tensor([2, 0]), taper.tensor([1.0, 2.0]))
        tensor([2., 0., 1.])
        """
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """In-place version of `index_copy`."""
    def index_fill(self, dim: _int, index: _Operand, value: _Operand) -> Tensor:
        """A copy with `value`, a number or 0-d tensor, in the slices at `index` along `dim`.

        >>> import taper
        >>> taper.index_fill(taper.zeros(3), 0, taper.tensor([1]), 5)
        tensor([0., 5., 0.])
        """
    def index_fill_(self, dim: _int, index: Tensor, value: _Operand) -> Self:
        """In-place version of `index_fill`."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy with `values` written, or added, at the places `indices`.

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
        """A copy with slices of `source` combined by `reduce` where `index` points along `dim`.

        >>> import taper
        >>> index = taper.tensor([0, 0])
        >>> taper.index_reduce(taper.ones(2), 0, index, taper.tensor([2.0, 3.0]), "amax")
        tensor([3., 1.])
        """
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In-place version of `index_reduce`."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices along `dim` at the places in the vector `index`.

        >>> import taper
        >>> taper.index_select(taper.tensor([[1, 2], [3, 4]]), 0, taper.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
        """
    def inner(self, other: Tensor) -> Tensor:
        """Sum of products over the last dimension of both tensors.

        >>> import taper
        >>> taper.inner(taper.tensor([1., 2.]), taper.tensor([3., 4.]))
        tensor(11.)
        """
    def int(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int32; itself if it is that already."""
    def inverse(self) -> Tensor:
        """Another name of `linalg.inv`.

        >>> import taper
        >>> taper.inverse(taper.tensor([[2.0]]))
        tensor([[0.5000]])
        """
    def is_coalesced(self) -> _bool:
        """Refused: no tensor is sparse."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex numbers.

        >>> import taper
        >>> taper.is_complex(taper.tensor([1j]))
        True
        """
    def is_conj(self) -> _bool:
        """Whether the tensor is a conjugate view, which shows memory conjugated.

        >>> import taper
        >>> taper.is_conj(taper.tensor([1 + 2j]).conj())
        True
        """
    def is_contiguous(self, memory_format: _memory_format | None = ...) -> _bool:
        """Whether the elements lie in the order of the memory format without gaps.

        >>> import taper
        >>> taper.zeros(2, 3).t().is_contiguous()
        False
        """
    def is_distributed(self) -> _bool:
        """False: every tensor is in this process.

        >>> import taper
        >>> taper.is_distributed(taper.ones(2))
        False
        """
    def is_floating_point(self) -> _bool:
        """Whether the elements are floating point numbers.

        >>> import taper
        >>> taper.is_floating_point(taper.ones(2))
        True
        """
    def is_inference(self) -> _bool:
        """Whether this tensor was made in inference mode."""
    @property
    def is_leaf(self) -> _bool:
        """Whether no recorded operation made this tensor."""
    @is_leaf.setter
    def is_leaf(self, value: _bool) -> None: ...
    def is_neg(self) -> _bool:
        """Whether the tensor is a negative view, which shows memory negated.

        >>> import taper
        >>> taper.is_neg(taper.tensor([1 + 2j]).conj().imag)
        True
        """
    def is_nonzero(self) -> _bool:
        """Whether the only element is not zero.

        >>> import taper
        >>> taper.is_nonzero(taper.tensor([0.0]))
        False
        """
    def is_pinned(self, device: _Device | None = None) -> _bool:
        """False: there is no accelerator to pin memory for.

        >>> import taper
        >>> taper.ones(2).is_pinned()
        False
        """
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape.

        >>> import taper
        >>> taper.is_same_size(taper.ones(2, 3), taper.ones(3, 2))
        False
        """
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors are the same view of the same memory.

        >>> import taper
        >>> x = taper.ones(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
        (True, False)
        """
    def is_shared(self) -> _bool:
        """Whether other processes see the same memory, or can be shown it.

        >>> import taper
        >>> taper.ones(2).is_shared()
        False
        """
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers.

        >>> import taper
        >>> taper.is_signed(taper.tensor([1], dtype=taper.uint8))
        False
        """
    def isclose(self, other: _Operand, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether two elements differ by at most `atol + rtol * abs(other)`.

        >>> import taper
        >>> taper.isclose(taper.tensor([1.0, 2.0]), taper.tensor([1.0, 2.1]))
        tensor([ True, False])
        """
    def isfinite(self) -> Tensor:
        """Whether an element is neither infinite nor nan.

        >>> import taper
        >>> taper.isfinite(taper.tensor([1.0, float("inf")]))
        tensor([ True, False])
        """
    def isinf(self) -> Tensor:
        """Whether an element is infinite.

        >>> import taper
        >>> taper.isinf(taper.tensor([1.0, float("inf")]))
        tensor([False,  True])
        """
    def isnan(self) -> Tensor:
        """Whether an element is nan.

        >>> import taper
        >>> taper.isnan(taper.tensor([1.0, float("nan")]))
        tensor([False,  True])
        """
    def isneginf(self) -> Tensor:
        """Whether an element is -inf.

        >>> import taper
        >>> taper.isneginf(taper.tensor([float("inf"), -float("inf")]))
        tensor([False,  True])
        """
    def isposinf(self) -> Tensor:
        """Whether an element is +inf.

        >>> import taper
        >>> taper.isposinf(taper.tensor([float("inf"), -float("inf")]))
        tensor([ True, False])
        """
    def isreal(self) -> Tensor:
        """Whether the imaginary part of an element is zero.

        >>> import taper
        >>> taper.isreal(taper.tensor([1 + 0j, 1j]))
        tensor([ True, False])
        """
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal whose `stft` this is, or comes closest to it in the sense of least squares.

        >>> import taper
        >>> signal, window = taper.arange(8.0), taper.ones(4)
        >>> taper.istft(taper.stft(signal, 4, window=window, return_complex=True), 4, window=window)
        tensor([0., 1., 2., 3., 4., 5., 6., 7.])
        """
    def item(self) -> _bool | _int | _float:
        """The only element, as a Python number.

        >>> import taper
        >>> taper.tensor([[2.5]]).item()
        2.5
        """
    def kron(self, other: Tensor) -> Tensor:
        """Kronecker's product: `other` times each element of `input`, in the place of the element.

        >>> import taper
        >>> taper.kron(taper.tensor([1, 10]), taper.tensor([1, 2]))
        tensor([ 1,  2, 10, 20])
        """
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _return_types.kthvalue:
        """The `k`-th smallest element along a dimension, counted from 1, and where it is.

        >>> import taper
        >>> taper.kthvalue(taper.tensor([3.0, 1.0, 2.0]), 2).values
        tensor(2.)
        """
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of two whole numbers.

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
        """`input` times 2 to the power of `other`.

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
        """Whether the first element is not larger.

        >>> import taper
        >>> taper.le(taper.tensor([1.0, 2.0]), 1)
        tensor([ True, False])
        """
    def le_(self, other: _Operand) -> Self:
        """In-place version of `le`."""
    def lerp(self, end: _Operand, weight: _Operand) -> Tensor:
        """The points between `input` and `end`, `weight` of the way.

        >>> import taper
        >>> taper.lerp(taper.tensor([0.0, 10.0]), taper.tensor([1.0, 20.0]), 0.25)
        tensor([ 0.2500, 12.5000])
        """
    def lerp_(self, end: _Operand, weight: _Operand) -> Self:
        """In-place version of `lerp`."""
    def less(self, other: _Operand) -> Tensor:
        """Whether the first element is smaller.

        >>> import taper
        >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def less_(self, other: _Operand) -> Self:
        """In-place version of `lt`."""
    def less_equal(self, other: _Operand) -> Tensor:
        """Whether the first element is not larger.

        >>> import taper
        >>> taper.le(taper.tensor([1.0, 2.0]), 1)
        tensor([ True, False])
        """
    def less_equal_(self, other: _Operand) -> Self:
        """In-place version of `le`."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function.

        >>> import taper
        >>> taper.lgamma(taper.tensor([1.0, 4.0]))
        tensor([0.0000, 1.7918])
        """
    def lgamma_(self) -> Self:
        """In-place version of `lgamma`."""
    def log(self) -> Tensor:
        """Natural logarithm of every element.

        >>> import taper
        >>> taper.log(taper.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931])
        """
    def log10(self) -> Tensor:
        """Logarithm of every element to the base 10.

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
        """log(1 + x) of every element, accurate near zero.

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
        """Logarithm of every element to the base 2.

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
        """The logarithm of softmax along a dimension, computed without overflow.

        >>> import taper
        >>> taper.log_softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([-0.6931, -0.6931])
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(x) + exp(y)), without overflow.

        >>> import taper
        >>> taper.logaddexp(taper.tensor([0.0]), taper.tensor([0.0]))
        tensor([0.6931])
        """
    def logaddexp2(self, other: Tensor) -> Tensor:
        """log2(2**x + 2**y), without overflow.

        >>> import taper
        >>> taper.logaddexp2(taper.tensor([1.0]), taper.tensor([1.0]))
        tensor([2.])
        """
    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the running sum of exponentials along a dimension, without overflow.

        >>> import taper
        >>> taper.logcumsumexp(taper.tensor([0.0, 0.0, 0.0]), dim=0)
        tensor([0.0000, 0.6931, 1.0986])
        """
    def logdet(self) -> Tensor:
        """The logarithm of each determinant; nan where it is negative.

        >>> import taper
        >>> taper.logdet(taper.tensor([[2.0, 0.0], [0.0, 0.5]]))
        tensor(0.)
        """
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both elements are not zero.

        >>> import taper
        >>> taper.logical_and(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
        tensor([ True, False])
        """
    def logical_and_(self, other: Tensor) -> Self:
        """In-place version of `logical_and`, unrecorded."""
    def logical_not(self) -> Tensor:
        """Whether an element is zero.

        >>> import taper
        >>> taper.logical_not(taper.tensor([1.0, 0.0]))
        tensor([False,  True])
        """
    def logical_not_(self) -> Self:
        """In-place version of `logical_not`, unrecorded."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether one of the elements is not zero.

        >>> import taper
        >>> taper.logical_or(taper.tensor([1.0, 0.0]), taper.tensor([False, False]))
        tensor([ True, False])
        """
    def logical_or_(self, other: Tensor) -> Self:
        """In-place version of `logical_or`, unrecorded."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one of the elements is not zero.

        >>> import taper
        >>> taper.logical_xor(taper.tensor([1.0, 0.0]), taper.tensor([True, True]))
        tensor([False,  True])
        """
    def logical_xor_(self, other: Tensor) -> Self:
        """In-place version of `logical_xor`, unrecorded."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """log(x / (1 - x)) of every element, first kept within [eps, 1 - eps] if `eps` is given.

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
        """The logarithm of the sum of exponentials along dimensions, without overflow.

        >>> import taper
        >>> taper.logsumexp(taper.tensor([1000.0, 1000.0]), dim=0)
        tensor(1000.6932)
        """
    def long(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int64; itself if it is that already."""
    def lt(self, other: _Operand) -> Tensor:
        """Whether the first element is smaller.

        >>> import taper
        >>> taper.lt(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def lt_(self, other: _Operand) -> Self:
        """In-place version of `lt`."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Tensor:
        """As the function, in a plain tuple."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """`linalg.lu_solve` with other names of the arguments, in another order.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.lu_solve(taper.ones(2, 1), *taper.linalg.lu_factor(taper.eye(2)))
        tensor([[1.],
                [1.]])
        """
    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix or of a batch of matrices; `name` is for errors."""
    @property
    def mT(self) -> Tensor:
        """The transpose of a matrix or of a batch of matrices."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element by what a Python function makes of it and of two others; slow.

        >>> import taper
        >>> taper.tensor([1]).map2_(taper.tensor([3]), taper.tensor([4]), max)
        tensor([4])
        """
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Replace each element by what a Python function makes of it and of one of `other`; slow.

        >>> import taper
        >>> taper.tensor([1, 2]).map_(taper.tensor([3, 4]), max)
        tensor([3, 4])
        """
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """A copy with `value`, a number or a 0-d tensor, where `mask` is true.

        >>> import taper
        >>> taper.masked_fill(taper.tensor([1.0, 2.0]), taper.tensor([True, False]), 0)
        tensor([0., 2.])
        """
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Self:
        """Write `value`, a number or a 0-d tensor, where `mask` is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy with the elements of `source`, one after the other, where the mask is true.

        >>> import taper
        >>> mask = taper.tensor([True, False, True])
        >>> taper.masked_scatter(taper.zeros(3), mask, taper.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
        """
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """Write the elements of `source`, one after the other, where the mask is true."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask is true, as a vector.

        >>> import taper
        >>> taper.masked_select(taper.tensor([1, 2, 3]), taper.tensor([True, False, True]))
        tensor([1, 3])
        """
    def matmul(self, other: _Operand) -> Tensor:
        """Product of two matrices, vectors, or stacks of matrices, which broadcast.

        >>> import taper
        >>> taper.matmul(taper.ones(5, 2, 3), taper.ones(3)).shape
        torch.Size([5, 2])
        """
    def matrix_exp(self) -> Tensor:
        """Another name of `linalg.matrix_exp`.

        >>> import taper
        >>> taper.matrix_exp(taper.zeros(1, 1))
        tensor([[1.]])
        """
    def matrix_power(self, n: _int) -> Tensor:
        """Another name of `linalg.matrix_power`.

        >>> import taper
        >>> taper.matrix_power(taper.tensor([[2]]), 3)
        tensor([[8]])
        """
    @overload
    def max(self) -> Tensor:
        """The largest element; with `dim` also where it is; with another tensor `maximum`.

        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
        """
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> _return_types.max:
        """The largest element; with `dim` also where it is; with another tensor `maximum`.

        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
        """
    @overload
    def max(self, *, axis: _int, keepdims: _bool = False) -> _return_types.max:
        """The largest element; with `dim` also where it is; with another tensor `maximum`.

        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
        """
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The largest element; with `dim` also where it is; with another tensor `maximum`.

        >>> import taper
        >>> taper.max(taper.tensor([1.0, 3.0, 2.0]), dim=0)
        torch.return_types.max(
        values=tensor(3.),
        indices=tensor(1))
        """
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of two elements; nan if one is nan.

        >>> import taper
        >>> taper.maximum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([3., 4.])
        """
    def mean(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """The mean of all elements, or along dimensions.

        >>> import taper
        >>> taper.mean(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([2., 3.])
        """
    @overload
    def median(self) -> Tensor:
        """The median; of an even number of elements the lower one; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> _return_types.median:
        """The median; of an even number of elements the lower one; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def median(self, *, axis: _int, keepdims: _bool = False) -> _return_types.median:
        """The median; of an even number of elements the lower one; with `dim` also where it is.

        >>> import taper
        >>> taper.median(taper.tensor([3.0, 1.0, 2.0, 4.0]))
        tensor(2.)
        """
    @overload
    def min(self) -> Tensor:
        """The smallest element; with `dim` also where it is; with another tensor `minimum`.

        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
        """
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> _return_types.min:
        """The smallest element; with `dim` also where it is; with another tensor `minimum`.

        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
        """
    @overload
    def min(self, *, axis: _int, keepdims: _bool = False) -> _return_types.min:
        """The smallest element; with `dim` also where it is; with another tensor `minimum`.

        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
        """
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest element; with `dim` also where it is; with another tensor `minimum`.

        >>> import taper
        >>> taper.min(taper.tensor([[1.0, 3.0], [2.0, 0.0]]), dim=1).values
        tensor([1., 0.])
        """
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two elements; nan if one is nan.

        >>> import taper
        >>> taper.minimum(taper.tensor([1.0, 4.0]), taper.tensor([3.0, 2.0]))
        tensor([1., 2.])
        """
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices.

        >>> import taper
        >>> taper.mm(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([[1., 0.], [1., 1.]]))
        tensor([[3., 2.],
                [7., 4.]])
        """
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _return_types.mode:
        """The most frequent element along a dimension, the smallest of several, and where it is last.

        >>> import taper
        >>> taper.mode(taper.tensor([1, 2, 2, 3]))
        torch.return_types.mode(
        values=tensor(2),
        indices=tensor(2))
        """
    def module_load(self, other: _Operand, assign: _bool = False) -> Tensor:
        """What `load_state_dict` puts in the place of `self`: itself with the values of `other`.

        With `assign` it is `other`.

        >>> import taper
        >>> taper.zeros(2).module_load(taper.ones(2))
        tensor([1., 1.])
        """
    def moveaxis(self, source: _Ints, destination: _Ints) -> Tensor:
        """`movedim` under NumPy's name.

        >>> import taper
        >>> taper.moveaxis(taper.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
        """
    def movedim(self, source: _Ints, destination: _Ints) -> Tensor:
        """The dimensions `source` moved to the places `destination`, the others in order.

        >>> import taper
        >>> taper.movedim(taper.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
        """
    def msort(self) -> Tensor:
        """The elements in order along the first dimension.

        >>> import taper
        >>> taper.msort(taper.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
        """
    def mul(self, other: _Operand) -> Tensor:
        """Product of two tensors, element by element.

        >>> import taper
        >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    def mul_(self, other: _Operand) -> Self:
        """In-place version of `mul`."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Indices of categories, `num_samples` for each row, drawn with the row's weights.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.multinomial(taper.tensor([0.0, 10.0, 3.0, 0.0]), 2).sort().values
        tensor([1, 2])
        """
    def multiply(self, other: _Operand) -> Tensor:
        """Product of two tensors, element by element.

        >>> import taper
        >>> taper.mul(taper.tensor([1.0, 2.0]), 3)
        tensor([3., 6.])
        """
    def multiply_(self, other: _Operand) -> Self:
        """In-place version of `mul`."""
    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector.

        >>> import taper
        >>> taper.mv(taper.tensor([[1., 2.], [3., 4.]]), taper.tensor([1., 1.]))
        tensor([3., 7.])
        """
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of dimension `p`, without its constant sign.

        >>> import taper
        >>> taper.mvlgamma(taper.tensor([3.0]), 2)
        tensor([1.5502])
        """
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of `mvlgamma`."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """The tensor with nan replaced by `nan` (0), inf by `posinf` and -inf by `neginf` (the limits).

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
        """The mean of the elements that are no NaN, of all or along dimensions.

        >>> import taper
        >>> taper.nanmean(taper.tensor([1.0, float("nan"), 2.0]))
        tensor(1.5000)
        """
    @overload
    def nanmedian(self) -> Tensor:
        """The median of the elements that are no NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _return_types.nanmedian:
        """The median of the elements that are no NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    @overload
    def nanmedian(self, *, axis: _int, keepdims: _bool = False) -> _return_types.nanmedian:
        """The median of the elements that are no NaN; see `median`.

        >>> import taper
        >>> taper.nanmedian(taper.tensor([1.0, float("nan"), 3.0, 2.0]))
        tensor(2.)
        """
    def nanquantile(self, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The `q`-quantiles of the elements that are no NaN; see `quantile`.

        >>> import taper
        >>> taper.nanquantile(taper.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
        """
    def nansum(self, dim: _Ints | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """The sum of all elements, or along dimensions, with NaN counted as zero.

        >>> import taper
        >>> taper.nansum(taper.tensor([1.0, float("nan"), 2.0]))
        tensor(3.)
        """
    def narrow(self, dim: _Ints | None = ..., start: _Operand = ..., length: Any = ..., *, axis: _Ints | None = ...) -> Tensor:
        """`length` slices along `dim` from `start` on; shares the memory.

        >>> import taper
        >>> taper.narrow(taper.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
        """
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of `length` slices along `dim` from `start` on.

        >>> import taper
        >>> taper.narrow_copy(taper.arange(5), 0, 1, 2)
        tensor([1, 2])
        """
    def ne(self, other: _Operand) -> Tensor:
        """Whether two elements differ.

        >>> import taper
        >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def ne_(self, other: _Operand) -> Self:
        """In-place version of `ne`."""
    def neg(self) -> Tensor:
        """The negative of every element.

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
        """The negative of every element.

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
        """A new tensor of this tensor's dtype, by the rules of the old constructors.

        >>> import taper
        >>> taper.tensor([1]).new([2.5, 3.5])
        tensor([2, 3])
        """
    def new_empty(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """An uninitialised tensor of a given size in the dtype of this one.

        >>> import taper
        >>> taper.tensor([1, 2]).new_empty(3).dtype
        torch.int64
        """
    def new_empty_strided(self, size: _Ints, stride: _Ints, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """An uninitialised tensor with the given strides in the dtype of this one.

        >>> import taper
        >>> taper.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
        """
    def new_full(self, size: _Ints, fill_value: _Number, *, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """A tensor of a given size with one number everywhere, in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1.0]).new_full((2,), 7)
        tensor([7., 7.])
        """
    def new_ones(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Ones of a given size in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1, 2]).new_ones(3)
        tensor([1, 1, 1])
        """
    def new_tensor(self, data: Any, *, dtype: _dtype | None = None, device: _Device | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A new tensor with the elements of `data` in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1.0]).new_tensor([2, 3])
        tensor([2., 3.])
        """
    def new_zeros(self, *sizes: _Ints, size: _Ints | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _Device | None = None, pin_memory: _bool = False, requires_grad: _bool = False) -> Tensor:
        """Zeros of a given size in the dtype of this tensor.

        >>> import taper
        >>> taper.tensor([1, 2]).new_zeros(3)
        tensor([0, 0, 0])
        """
    def nextafter(self, other: Tensor) -> Tensor:
        """The next floating point number from `input` towards `other`; it moves with `input`.

        >>> import taper
        >>> taper.nextafter(taper.tensor([1.0]), taper.tensor([2.0])) > 1
        tensor([True])
        """
    def nextafter_(self, other: Tensor) -> Self:
        """In-place version of `nextafter`."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The coordinates of all elements that are not zero: rows of a matrix, or a tuple of columns.

        >>> import taper
        >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The coordinates of all elements that are not zero: rows of a matrix, or a tuple of columns.

        >>> import taper
        >>> taper.nonzero(taper.tensor([[0, 5], [6, 0]]))
        tensor([[0, 1],
                [1, 0]])
        """
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The coordinates of the first `size` elements that are not zero; the rest is `fill_value`.

        >>> import taper
        >>> taper.nonzero_static(taper.tensor([0, 5, 6]), size=3)
        tensor([[ 1],
                [ 2],
                [-1]])
        """
    def norm(self, p: _float | str | None = 'fro', dim: _Ints | None = None, keepdim: _bool = False, dtype: _dtype | None = None) -> Tensor:
        """The norm of all elements, or along dimensions: `p` is its order, "fro" means 2.

        "nuc" is the sum of the singular values, of matrices.

        >>> import taper
        >>> taper.norm(taper.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
        """
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Self:
        """Fill with normally distributed numbers.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).normal_(mean=10, std=0.5)
        tensor([10.7705,  9.8533])
        """
    def not_equal(self, other: _Operand) -> Tensor:
        """Whether two elements differ.

        >>> import taper
        >>> taper.ne(taper.tensor([1.0, 2.0]), 2)
        tensor([ True, False])
        """
    def not_equal_(self, other: _Operand) -> Self:
        """In-place version of `ne`."""
    def numpy(self, *, force: _bool = False) -> _np.ndarray:
        """The elements as an array on the same memory, which it keeps alive.

        `force` also accepts a tensor that requires a gradient.

        >>> import taper
        >>> taper.tensor([1, 2]).numpy()
        array([1, 2])
        """
    def orgqr(self, input2: Tensor) -> Tensor:
        """Another name of `linalg.householder_product`.

        >>> import taper
        >>> taper.orgqr(*taper.geqrf(taper.tensor([[3.0], [4.0]]))).abs()
        tensor([[0.6000],
                [0.8000]])
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """The third argument times Q, or its adjoint, where Q is what `geqrf` returns.

        >>> import taper
        >>> A = taper.tensor([[3.0], [4.0]])
        >>> taper.ormqr(*taper.geqrf(A), A, transpose=True).abs().round()
        tensor([[5.],
                [0.]])
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """The products of each element of one vector with each of another.

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
        """The dimensions in another order; shares the memory.

        >>> import taper
        >>> taper.permute(taper.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
        """
    def pin_memory(self, device: _Device | None = None) -> Tensor:
        """Refused: there is no accelerator to pin memory for."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """`linalg.pinv` with a fixed relative tolerance.

        >>> import taper
        >>> taper.pinverse(taper.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
        """
    def polygamma(self, n: _int) -> Tensor:
        """The derivative of order `n` of digamma."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of `polygamma`."""
    def positive(self) -> Tensor:
        """The tensor itself.

        >>> import taper
        >>> taper.positive(taper.tensor([1.0, -2.0]))
        tensor([ 1., -2.])
        """
    def pow(self, exponent: _Operand) -> Tensor:
        """`input` to the power of `exponent`; one of them may be a number.

        >>> import taper
        >>> taper.pow(taper.tensor([1.0, 2.0, 3.0]), 2)
        tensor([1., 4., 9.])
        >>> taper.pow(2, taper.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 8.])
        """
    def pow_(self, exponent: _Operand) -> Self:
        """In-place version of `pow`."""
    def prelu(self, weight: _Operand) -> Tensor:
        """x where it is above zero, else x times the weight, one for all or one for each channel.

        >>> import taper
        >>> taper.prelu(taper.tensor([-1.0, 2.0]), taper.tensor([0.25]))
        tensor([-0.2500,  2.0000])
        """
    def prod(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """The product of all elements, or along one dimension; of integers in int64.

        >>> import taper
        >>> taper.prod(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1)
        tensor([ 2., 12.])
        """
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy with `source` written, or added, at the places `index` of the flattened tensor.

        >>> import taper
        >>> taper.put(taper.zeros(2, 2), taper.tensor([0, 3]), taper.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
        """
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """In-place version of `put`."""
    def qr(self, some: _bool = True) -> _return_types.qr:
        """Q and R of A = Q R; `linalg.qr` is the name to use.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.qr(taper.tensor([[3.0], [4.0]])).R.abs()
        tensor([[5.]])
        """
    def quantile(self, q: _Operand, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The `q`-quantiles of all elements, or along a dimension; NaN if one is among them.

        `q` is a number between 0 and 1, or a 1-d tensor of them, which adds a first dimension.

        >>> import taper
        >>> taper.quantile(taper.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
        tensor(2.5000)
        """
    def rad2deg(self) -> Tensor:
        """Radians as degrees.

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
        """Fill with integers: `random_(from, to)` below `to`, `random_(to)` from 0, `random_()` all.

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(3).random_(2, 5)
        tensor([4., 2., 4.])
        """
    def ravel(self) -> Tensor:
        """All elements in one dimension; a view if the tensor is contiguous.

        >>> import taper
        >>> taper.ravel(taper.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
        """
    @property
    def real(self) -> Tensor:
        """The real part of a tensor as a view; a real tensor is returned as it is.

        >>> import taper
        >>> taper.real(taper.tensor([1 + 2j]))
        tensor([1.])
        """
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor:
        """1 / x of every element.

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
        """Call `hook(grad)` when this tensor's gradient is computed; it may return a replacement."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> _RemovableHandle:
        """Call `hook(self)` after a gradient was added to this leaf's `.grad`."""
    def relu(self) -> Tensor:
        """The positive part: x where it is above zero, else zero.

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
        """Remainder of the division, with the sign of the divisor, as Python's `%`.

        >>> import taper
        >>> taper.remainder(taper.tensor([-7.0, 7.0]), 3)
        tensor([2., 1.])
        """
    def remainder_(self, other: _Operand) -> Self:
        """In-place version of `remainder`."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """The slices along `dim` whose norm is larger than `maxnorm`, made that long.

        >>> import taper
        >>> taper.renorm(taper.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.0)
        tensor([[1.2000, 1.6000],
                [0.0000, 1.0000]])
        """
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """In-place version of `renorm`."""
    def repeat(self, *times: _Ints, repeats: _Operand | None = None) -> Tensor:
        """The tensor so many times along each dimension; further numbers in front are new dimensions.

        >>> import taper
        >>> taper.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
        """
    def repeat_interleave(self, repeats: Tensor | _int | None = None, dim: _int | None = None, *, output_size: _int | None = None, axis: _int | None = None) -> Tensor:
        """Each slice along `dim` so many times; `repeats` is a number or one number for each.

        Without `dim` the flattened tensor is used.  With one argument it is the numbers, and the
        result says for each place which slice stands there.

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
        """Set `requires_grad` in place and return the tensor.

        >>> import taper
        >>> taper.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
    def reshape(self, *dims: _Ints, shape: _Ints | None = None) -> Tensor:
        """The same elements in another shape; a view where strides allow it, else a copy.

        >>> import taper
        >>> taper.reshape(taper.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
    def reshape_as(self, other: Tensor) -> Tensor:
        """`reshape` to the shape of another tensor."""
    def resize(self, *sizes: _Ints) -> Tensor:
        """The tensor in another shape; deprecated: use `reshape`."""
    def resize_(self, *shape: _Ints, size: _Ints | None = None, memory_format: _memory_format | None = None) -> Self:
        """Change the shape in place; a larger tensor has undefined elements at its end.

        >>> import taper
        >>> taper.arange(6).resize_(2, 2)
        tensor([[0, 1],
                [2, 3]])
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """The tensor in the shape of another; deprecated: use `reshape`."""
    def resize_as_(self, the_template: Tensor, memory_format: _memory_format | None = None) -> Self:
        """Give a tensor the shape of another, in place.

        >>> import taper
        >>> taper.resize_as_(taper.arange(6), taper.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
    def resolve_conj(self) -> Tensor:
        """The tensor with conjugation done: a copy of a conjugate view, other tensors as they are.

        >>> import taper
        >>> x = taper.tensor([1 + 2j])
        >>> taper.resolve_conj(x) is x
        True
        >>> taper.resolve_conj(x.conj()).is_conj()
        False
        """
    def resolve_neg(self) -> Tensor:
        """The tensor with negation done: a copy of a negative view, other tensors as they are.

        >>> import taper
        >>> x = taper.tensor([1 + 2j])
        >>> taper.resolve_neg(x) is x
        True
        >>> taper.resolve_neg(x.conj().imag).is_neg()
        False
        """
    def retain_grad(self) -> None:
        """Keep the gradient of a non-leaf tensor in its `.grad`."""
    @property
    def retains_grad(self) -> _bool:
        """Whether the gradient of this non-leaf tensor is kept."""
    @retains_grad.setter
    def retains_grad(self, value: _bool) -> None: ...
    def roll(self, shifts: _Ints, dims: _Ints = ...) -> Tensor:
        """Elements moved along dimensions; what leaves at the end comes in at the front.

        Without `dims` the flattened tensor is rolled.

        >>> import taper
        >>> taper.roll(taper.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
        """
    def rot90(self, k: _int = 1, dims: _Ints = ...) -> Tensor:
        """A quarter turn `k` times in the plane of two dimensions.

        >>> import taper
        >>> taper.rot90(taper.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
        """
    def round(self, *, decimals: _int | None = None) -> Tensor:
        """The nearest whole number, or number with so many decimals; the even one of two.

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
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x) of every element.

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
        """A copy with elements of `src`, or a number, written where `index` points along `dim`.

        >>> import taper
        >>> taper.scatter(taper.zeros(1, 3), 1, taper.tensor([[2, 0]]), 1.0)
        tensor([[1., 0., 1.]])
        """
    def scatter_(self, dim: _int, index: Tensor, src: _Operand | None = None, *, value: _Operand | None = None, reduce: str | None = None) -> Self:
        """In-place version of `scatter`."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with elements of `src` added where `index` points along `dim`.

        >>> import taper
        >>> taper.scatter_add(taper.zeros(1, 3), 1, taper.tensor([[0, 0]]), taper.ones(1, 2))
        tensor([[2., 0., 0.]])
        """
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of `scatter_add`."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy with elements of `src` combined by `reduce` where `index` points along `dim`.

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
        """The slice at `index` along `dim`, without that dimension; shares the memory.

        >>> import taper
        >>> taper.select(taper.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
        """
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy with `src` in the place of `select(dim, index)`.

        >>> import taper
        >>> taper.select_scatter(taper.zeros(2, 2), taper.ones(2), 0, 1)
        tensor([[0., 0.],
                [1., 1.]])
        """
    def set_(self, source: Any = None, storage_offset: _int = 0, size: _Ints | None = None, stride: _Ints | None = None) -> Self:
        """Let a tensor look at the memory of another tensor, or of a storage.

        >>> import taper
        >>> taper.zeros(3).set_(taper.tensor([1.0, 2.0]))
        tensor([1., 2.])
        """
    def sgn(self) -> Tensor:
        """The sign of real elements; complex ones divided by their absolute value, zero at zero.

        >>> import taper
        >>> taper.sgn(taper.tensor([3 + 4j]))
        tensor([0.6000+0.8000j])
        """
    def sgn_(self) -> Self:
        """In-place version of `sgn`."""
    def share_memory_(self) -> Self:
        """Move the elements into memory that other processes see when the tensor is handed to them.

        Those that are forked from now on do, and those that get it as an argument or through a queue
        of multiprocessing.  Differs: views and other tensors made before stay on the old memory.

        >>> import taper
        >>> taper.ones(2).share_memory_().is_shared()
        True
        """
    def short(self, *more: Any, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int16; itself if it is that already."""
    def sigmoid(self) -> Tensor:
        """The logistic function 1 / (1 + exp(-x)) of every element.

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
        """-1, 0 or 1 for every element, as its sign is.

        >>> import taper
        >>> taper.sign(taper.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.])
        """
    def sign_(self) -> Self:
        """In-place version of `sign`."""
    def signbit(self) -> Tensor:
        """Whether an element has a minus sign; -0.0 has.

        >>> import taper
        >>> taper.signbit(taper.tensor([-0.0, 1.0]))
        tensor([ True, False])
        """
    def sin(self) -> Tensor:
        """Sine of every element, in radians.

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
        """sin(pi x) / (pi x) of every element, 1 at zero.

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
        """Hyperbolic sine of every element.

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
        """The tensor that `self` is a slice of: its memory, seen with the shape and strides of `src`.

        >>> import taper
        >>> whole = taper.arange(5)
        >>> taper.slice_inverse(whole[1:3], whole, 0, 1, 3)
        tensor([0, 1, 2, 3, 4])
        """
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A copy with `src` in the place of every `step`-th slice from `start` up to `end`.

        >>> import taper
        >>> taper.slice_scatter(taper.zeros(4), taper.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
        """
    def slogdet(self) -> _return_types.slogdet:
        """Another name of `linalg.slogdet`.

        >>> import taper
        >>> taper.slogdet(taper.eye(2)).sign
        tensor(1.)
        """
    def softmax(self, dim: _int = ..., dtype: _dtype | None = None, *, axis: _int = ...) -> Tensor:
        """Exponentials along a dimension, divided by their sum.

        `dtype` is what the input is converted to first.

        >>> import taper
        >>> taper.softmax(taper.tensor([0.0, 0.0]), dim=0)
        tensor([0.5000, 0.5000])
        """
    def sort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = None, axis: _int | None = None) -> _return_types.sort:
        """The elements in order along a dimension, and where they were; equal ones keep their order.

        >>> import taper
        >>> taper.sort(taper.tensor([3.0, 1.0, 2.0]))
        torch.return_types.sort(
        values=tensor([1., 2., 3.]),
        indices=tensor([1, 2, 0]))
        """
    def split(self, split_size: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`, as the method calls its arguments."""
    def split_with_sizes(self, split_sizes: _Ints, dim: _int = 0, *, axis: _int | None = None) -> tuple[Tensor, ...]:
        """Consecutive parts of given lengths along `dim`; they share the memory.

        >>> import taper
        >>> taper.split_with_sizes(taper.arange(3), (1, 2))
        (tensor([0]), tensor([1, 2]))
        """
    def sqrt(self) -> Tensor:
        """Square root of every element.

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
        """The square of every element.

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
        """Without its dimensions of length 1, or without those in `dim`; shares the memory.

        >>> import taper
        >>> taper.squeeze(taper.zeros(1, 2, 1)).shape
        torch.Size([2])
        """
    def squeeze_(self, dim: _Ints | None = None) -> Self:
        """In-place version of `squeeze`."""
    def std(self, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """The standard deviation of all elements, or along dimensions; see `var`.

        >>> import taper
        >>> taper.std(taper.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
        """
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The Fourier transforms of overlapping pieces of a signal: frequencies by pieces.

        A piece of `n_fft` points begins every `hop_length` (a quarter of it) points and is multiplied
        by `window`.  With `center` the signal gets a border, so that piece k has its middle at point
        k * hop_length; without it, `align_to_window` lets the first window, not the first piece, begin
        where the signal does.

        >>> import taper
        >>> taper.stft(taper.ones(8), 4, window=taper.ones(4), return_complex=True).abs()
        tensor([[4., 4., 4., 4., 4., 4., 4., 4., 4.],
                [0., 0., 0., 0., 0., 0., 0., 0., 0.],
                [0., 0., 0., 0., 0., 0., 0., 0., 0.]])
        """
    def storage(self) -> _TypedStorage:
        """The memory that the tensor and its views look at, as elements; deprecated."""
    def storage_type(self) -> _LegacyStorage:
        """The class of the tensor's storage.

        >>> import taper
        >>> taper.ones(2).storage_type() is taper.FloatStorage
        True
        """
    def sub(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """Difference of two tensors, the second multiplied by `alpha`.

        >>> import taper
        >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
        """
    def sub_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `sub`."""
    def subtract(self, other: _Operand, *, alpha: _Number = 1) -> Tensor:
        """Difference of two tensors, the second multiplied by `alpha`.

        >>> import taper
        >>> taper.sub(taper.tensor([1.0, 2.0]), 1)
        tensor([0., 1.])
        """
    def subtract_(self, other: _Operand, *, alpha: _Number = 1) -> Self:
        """In-place version of `sub`."""
    def sum(self, dim: _Ints | None = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, axis: _Ints | None = ..., keepdims: _bool = False) -> Tensor:
        """The sum of all elements, or along dimensions; of integers in int64.

        >>> import taper
        >>> taper.sum(taper.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
        tensor([4., 6.])
        """
    def sum_to_size(self, *size: _Ints) -> Tensor:
        """The sum over whatever broadcasting would add to `size`, so that the result has that shape.

        >>> import taper
        >>> taper.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
        """
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _return_types.svd:
        """U, S and V of A = U diag(S) V^H; `linalg.svd` is the name to use.

        >>> import taper
        >>> taper.svd(taper.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
        """
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """`transpose` under NumPy's name.

        >>> import taper
        >>> taper.swapaxes(taper.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """In-place version of `swapaxes`."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` under another name.

        >>> import taper
        >>> taper.swapdims(taper.zeros(2, 3), 0, 1).shape
        torch.Size([3, 2])
        """
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `swapdims`."""
    def t(self) -> Tensor:
        """The transpose of a matrix; shares the memory.

        >>> import taper
        >>> taper.t(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
        """
    def t_(self) -> Self:
        """In-place version of `t`."""
    def take(self, index: Tensor) -> Tensor:
        """The elements of the flattened tensor at the places `index`, in the shape of `index`.

        >>> import taper
        >>> taper.take(taper.tensor([[1, 2], [3, 4]]), taper.tensor([0, 3]))
        tensor([1, 4])
        """
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """`gather` with broadcasting; without `dim` from the flattened tensor.

        Along a dimension indices are taken modulo its length.

        >>> import taper
        >>> taper.take_along_dim(taper.tensor([[3, 1], [2, 4]]), taper.tensor([[1]]), 1)
        tensor([[1],
                [4]])
        """
    def tan(self) -> Tensor:
        """Tangent of every element, in radians.

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
        """Hyperbolic tangent of every element.

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
        """Parts along `dim`: so many, of lengths that differ by at most 1, or cut at given places.

        >>> import taper
        >>> taper.tensor_split(taper.arange(5), (1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
        """
    def tile(self, *times: _Ints, dims: _Ints | None = None) -> Tensor:
        """The tensor so many times along its last dimensions.

        >>> import taper
        >>> taper.tile(taper.tensor([[1, 2]]), (2,))
        tensor([[1, 2, 1, 2]])
        """
    def to(self, *args: Any, device: _Device | None = None, dtype: _dtype | None = None, non_blocking: _bool = False, copy: _bool = False, other: _Operand | None = None, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor in the dtype, on the device or as another tensor; itself if nothing changes.

        `to(dtype)`, `to(device, dtype)` and `to(other)`, each with `non_blocking` and `copy` behind.

        >>> import taper
        >>> taper.tensor([1.5]).to(taper.int64)
        tensor([1])
        """
    def tolist(self) -> list[Any]:
        """The elements as nested lists of Python numbers; one number for a tensor without dimensions.

        >>> import taper
        >>> taper.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _return_types.topk:
        """The `k` largest (or smallest) elements along a dimension, and where they are.

        They are in order also without `sorted`.

        >>> import taper
        >>> taper.topk(taper.tensor([3.0, 1.0, 2.0]), 2).values
        tensor([3., 2.])
        """
    def trace(self) -> Tensor:
        """The sum of the main diagonal of a matrix.

        >>> import taper
        >>> taper.trace(taper.tensor([[1, 2], [3, 4]]))
        tensor(5)
        """
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged; shares the memory.

        >>> import taper
        >>> taper.transpose(taper.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
        """
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In-place version of `transpose`."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _return_types.triangular_solve:
        """X of A X = B with a triangular A, and a copy of A; `linalg.solve_triangular` is newer.

        >>> import taper, warnings
        >>> warnings.simplefilter("ignore")
        >>> taper.triangular_solve(taper.ones(2, 1), 2 * taper.eye(2)).solution
        tensor([[0.5000],
                [0.5000]])
        """
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of a matrix or of a batch of matrices, zero elsewhere.

        >>> import taper
        >>> taper.tril(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 0],
                [3, 4]])
        """
    def tril_(self, diagonal: _int = 0) -> Self:
        """In-place version of `tril`."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of a matrix or of a batch of matrices, zero elsewhere.

        >>> import taper
        >>> taper.triu(taper.tensor([[1, 2], [3, 4]]))
        tensor([[1, 2],
                [0, 4]])
        """
    def triu_(self, diagonal: _int = 0) -> Self:
        """In-place version of `triu`."""
    def true_divide(self, other: _Operand) -> Tensor:
        """Quotient of two tensors, never rounded.

        >>> import taper
        >>> taper.true_divide(taper.tensor([1, 2]), 4)
        tensor([0.2500, 0.5000])
        """
    def true_divide_(self, other: _Operand) -> Self:
        """In-place version of `true_divide`."""
    def trunc(self) -> Tensor:
        """The element without its fraction.

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
        """Without argument the name of the tensor's type, else the tensor in the given type.

        >>> import taper
        >>> taper.tensor([1.0]).type()
        'torch.FloatTensor'
        """
    @overload
    def type(self, dtype: str | type | _dtype, non_blocking: _bool = False) -> Tensor:
        """Without argument the name of the tensor's type, else the tensor in the given type.

        >>> import taper
        >>> taper.tensor([1.0]).type()
        'torch.FloatTensor'
        """
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype of another."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices along a dimension, without it; they share the memory.

        >>> import taper
        >>> taper.unbind(taper.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
        """
    def unflatten(self, dim: _int, sizes: _Ints) -> Tensor:
        """One dimension as several, whose product is its length.

        >>> import taper
        >>> taper.unflatten(taper.zeros(4, 3), 0, (2, -1)).shape
        torch.Size([2, 2, 3])
        """
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """All windows of length `size` along a dimension, as a new last dimension; shares the memory.

        >>> import taper
        >>> taper.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
        """
    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: Generator | None = None, **start: _float) -> Self:
        """Fill with numbers evenly distributed over [from, to).

        >>> import taper
        >>> generator = taper.manual_seed(0)
        >>> taper.empty(2).uniform_(-1, 1)
        tensor([-0.0075,  0.5364])
        """
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

        Every NaN is distinct.  The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

        Every NaN is distinct.  The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

        Every NaN is distinct.  The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct elements, or slices along `dim`; they are in order also without `sorted`.

        Every NaN is distinct.  The inverse tells where each element is in the result.

        >>> import taper
        >>> taper.unique(taper.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The elements, or slices along `dim`, without those equal to the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """The elements, or slices along `dim`, without those equal to the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor]:
        """The elements, or slices along `dim`, without those equal to the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The elements, or slices along `dim`, without those equal to the one before.

        >>> import taper
        >>> taper.unique_consecutive(taper.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1])
        """
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk` without the check that parts which are written in place stand alone.

        >>> import taper
        >>> taper.unsafe_chunk(taper.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split` without the check that parts which are written in place stand alone.

        >>> import taper
        >>> taper.unsafe_split(taper.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
        """
    def unsafe_split_with_sizes(self, split_sizes: _Ints, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split_with_sizes` without the check that parts which are written in place stand alone.

        >>> import taper
        >>> taper.unsafe_split_with_sizes(taper.arange(3), (1, 2))
        (tensor([0]), tensor([1, 2]))
        """
    def unsqueeze(self, dim: _int) -> Tensor:
        """A new dimension of length 1 at position `dim`; shares the memory.

        >>> import taper
        >>> taper.unsqueeze(taper.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
        """
    def unsqueeze_(self, dim: _int) -> Self:
        """In-place version of `unsqueeze`."""
    def untyped_storage(self) -> _UntypedStorage:
        """The memory that the tensor and its views look at, as bytes.

        >>> import taper
        >>> taper.zeros(4)[2:].untyped_storage().nbytes()
        16
        """
    def var(self, dim: _Ints | None = ..., unbiased: _bool | None = ..., keepdim: _bool = False, *, correction: _Number | None = ..., axis: _Ints | None = None, keepdims: _bool = False) -> Tensor:
        """The variance of all elements, or along dimensions.

        The sum of squares is divided by the number of elements less `correction`, which is 1 by
        default; `unbiased=False` means `correction=0`.

        >>> import taper
        >>> taper.var(taper.tensor([1.0, 2.0, 3.0]))
        tensor(1.)
        """
    def vdot(self, other: Tensor) -> Tensor:
        """As `dot`, with the conjugate of the first vector.

        >>> import taper
        >>> taper.vdot(taper.tensor([1j, 2.]), taper.tensor([1j, 1.]))
        tensor(3.+0.j)
        """
    def view(self, *shape: _Ints | _dtype, size: _Ints | None = None, dtype: _dtype | None = None) -> Tensor:
        """The same elements in another shape, or their bytes as another dtype; shares the memory.

        A view as another dtype has no history, as in PyTorch.

        >>> import taper
        >>> taper.arange(6).view(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
        """
    def view_as(self, other: Tensor) -> Tensor:
        """`view` with the shape of another tensor."""
    @property
    def volatile(self) -> _bool:
        """False; the attribute of an old PyTorch has no effect any more."""
    def vsplit(self, indices_or_sections: Tensor | _Ints | None = None, *, sections: _Ints | None = None, indices: Any = None) -> tuple[Tensor, ...]:
        """Parts along the first dimension.

        >>> import taper
        >>> taper.vsplit(taper.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]]), tensor([[3, 4]]))
        """
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """The tensor where the condition holds, else `other`."""
    def xlogy(self, other: _Operand) -> Tensor:
        """x log(y), zero where x is zero; one of them may be a number.

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
        """Write zero into every element.

        >>> import taper
        >>> taper.zero_(taper.ones(2))
        tensor([0., 0.])
        """
