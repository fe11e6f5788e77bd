"""What sparse tensors do as methods, and as arguments of functions that are not in the table.

Importing this fills the table of rules; `attach_all` puts the methods on the class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from taper import dtypes
from taper.autograd.backward import backward as run_backward
from taper.autograd.views import meta_of, wants_grad
from taper.device import preserve_format, sparse_coo, strided, usable
from taper.opdef import composites, registry
from taper.ops.creation.copy import to_arguments
from taper.ops.sparse import elementwise, products, reductions, shapes  # noqa: F401 - rules
from taper.ops.sparse.nodes import record
from taper.ops.sparse.parts import is_sparse
from taper.ops.sparse.table import run_operator, run_ufunc
from taper.ops.sparse.tensor import LAYOUT_NAMES, SparseTensor, sparse, unsupported
from taper.ops.sparse.writing import writing_methods
from taper.pickling import require_leaf
from taper.printing import sparse_repr
from taper.tensor import Tensor, wrap

# Functions of users that are not operators of the table, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def function(*names: str) -> Callable[[Any], Any]:
    """Register a method of sparse tensors, and what the function of that name does with them."""

    def declare(run: Any) -> Any:
        for name in names:
            FUNCTIONS[name] = run
        return run

    return declare


def run_function(label: str, given: dict[str, Any]) -> Any:
    """Run a function of users, one of whose arguments is sparse."""
    found = FUNCTIONS.get(label)
    if found is None:
        kind = next(each._kind for each in given.values() if is_sparse(each))
        raise unsupported(label, kind)
    code = found.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = list(given.values())[:1]
    rest = {name: value for name, value in list(given.items())[1:] if name in names}
    return found(*positional, **rest)


def _op(name: str) -> Any:
    return registry[name].function


# --- history, copies ---------------------------------------------------------------------------


@function("detach")
def detach(self: Any) -> Any:
    """Return the tensor without history."""
    return self._alias()


def backward(
    self: Any,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of what this tensor was made of."""
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _set_data(self: Any, value: Any) -> None:
    if not is_sparse(value):
        raise RuntimeError(
            "attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    self._become(value)


def deepcopy(self: Any, memo: dict[Any, Any]) -> Any:
    """Return a leaf with copies of indices, elements and gradient."""
    if id(self) in memo:
        return memo[id(self)]
    require_leaf(self)
    made = self.detach().clone()
    made._requires_grad = wants_grad(self)
    memo[id(self)] = made
    meta = self._autograd_meta
    if meta is not None and meta.grad is not None:
        meta_of(made).grad = copy.deepcopy(meta.grad, memo)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def _rebuild_sparse_tensor(layout: Any, parts: tuple[Any, ...]) -> Any:
    """Make a sparse tensor again from what was pickled: PyTorch's `_rebuild_sparse_tensor`."""
    if layout is sparse_coo:
        indices, values, size, *ordered = parts
        is_ordered = bool(ordered and ordered[0]) or indices.shape[1] < 2
        return sparse(layout, indices._array, values._array, size, is_ordered)
    begins, plain, values, size = parts
    return sparse(layout, (begins._array, plain._array), values._array, size)


def reduce(self: Any, protocol: Any) -> tuple[Any, ...]:
    """Take a sparse tensor apart for pickle: layout, indices, elements, shape."""
    values = wrap(self._content)
    if self._kind is sparse_coo:
        parts: tuple[Any, ...] = (wrap(self._where), values, self._size, self._ordered)
    else:
        begins, plain = self._where
        parts = (wrap(begins), wrap(plain), values, self._size)
    return _rebuild_sparse_tensor, (self._kind, parts)


def representation(self: Any, *, tensor_contents: Any = None) -> str:
    """Show indices and elements."""
    node = self._grad_fn
    return sparse_repr(
        self._where,
        self._content,
        size=tuple(self._size),
        layout=self._kind,
        requires_grad=wants_grad(self),
        grad_fn_name=None if node is None else node._class_name(),
        parameter=getattr(self, "_is_param", False),
    )


# --- dtypes ------------------------------------------------------------------------------------


def _as_type(x: Any, dtype: dtypes.dtype, must_copy: bool = False) -> Any:
    if not must_copy and x.dtype is dtype:
        return x
    return _op("_to_copy" if dtype.category > dtypes.INTEGER else "_to_integers")(x, dtype, None)


@function("to")
def to(
    self: Any,
    *args: Any,
    device: Any = None,
    dtype: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    other: Any = None,
    memory_format: Any = None,
) -> Any:
    """Convert to another dtype."""
    if args:
        found = to_arguments(args)
        device, dtype, copy = found[0] or device, found[1] or dtype, found[3] or copy
    dtype = other.dtype if other is not None else dtype
    usable(device, "to")
    wanted = self.dtype if dtype is None else dtypes.as_dtype(dtype, "to", "dtype", 1)
    return _as_type(self, wanted, copy)


@function("type_as")
def type_as(self: Any, other: Any) -> Any:
    """Convert to the dtype of another tensor of the same layout."""
    if other.layout is not self._kind:
        names = [LAYOUT_NAMES.get(each.layout, "Strided") for each in (self, other)]
        raise RuntimeError(
            "to(options) doesn't support converting to a different layout, but got self.layout "
            f"being {names[0]} and options.layout set as {names[1]}"
        )
    return _as_type(self, other.dtype)


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Tell the name of the type, or convert to a dtype."""
    if dtype is None:
        if self._kind is not sparse_coo:
            raise RuntimeError("Unimplemented backend SparseCsrCPU")
        return f"torch.sparse.{self.dtype.scalar_type}Tensor"
    return _as_type(self, dtypes.as_dtype(dtype, "type", "dtype", 1))


def _converter(which: dtypes.dtype) -> Any:
    return lambda self, memory_format=None: _as_type(self, which)


# --- products ----------------------------------------------------------------------------------


@function("matmul")
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Multiply matrices, or a matrix and a vector."""
    left, right = input.ndim, other.ndim
    if (left, right) == (2, 2):
        return _op("mm")(input, other)
    if (left, right) == (2, 1):
        return _op("mv")(input, other)
    if (left, right) == (1, 2):
        return _op("mm")(input.unsqueeze(0), other)[0]
    if (left, right) == (1, 1):
        return _op("dot")(input, other)
    raise RuntimeError("expand is unsupported for Sparse tensors")


def _matmul_operator(self: Any, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _reflected_matmul(self: Any, other: Any) -> Any:
    return matmul(other, self) if isinstance(other, Tensor) else NotImplemented


@function("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Multiply with a transposed weight and add a bias."""
    product = matmul(input, weight.t())
    return product if bias is None else product + bias


@function("mv")
def mv(self: Any, vec: Any) -> Any:
    """Multiply a matrix and a vector."""
    return _op("mv")(self, vec)


# --- parts -------------------------------------------------------------------------------------


def getitem(self: Any, key: Any) -> Any:
    """Take parts by whole numbers; everything else is refused, as in PyTorch."""
    keys = key if isinstance(key, tuple) else (key,)
    result, dim = self, 0
    for each in keys:
        if isinstance(each, (bool, Tensor, list, np.ndarray)):
            raise unsupported("index.Tensor", self._kind)
        if each is Ellipsis:
            dim = result.ndim - (len(keys) - keys.index(Ellipsis) - 1)
        elif each is None:
            result, dim = result.unsqueeze(dim), dim + 1
        elif isinstance(each, slice):
            if each != slice(None):
                raise unsupported("as_strided", self._kind)
            dim += 1
        else:
            result = _op("select")(result, dim, int(each))
    return result


@function("select")
def select(input: Any, dim: int, index: int) -> Any:
    """Take the part at one index of a dimension."""
    return _op("select")(input, dim, index)


@function("narrow_copy")
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """Take a range of a dimension."""
    return shapes.narrowed(self, dim, start, length)


@function("unbind")
def unbind(input: Any, dim: int = 0) -> Any:
    """Take all parts along a dimension."""
    return tuple([select(input, dim, index) for index in range(input.shape[dim])])


def _iterate(self: Any) -> Any:
    return iter(unbind(self))


@function("permute")
def permute(input: Any, *order: Any, dims: Any = None) -> Any:
    """Put the dimensions into another order."""
    if dims is None:
        dims = order[0] if len(order) == 1 and isinstance(order[0], (list, tuple)) else order
    return _op("permute")(input, tuple(dims))


def _transposed(self: Any) -> Any:
    if self._kind is not sparse_coo:
        raise unsupported("as_strided", self._kind)
    return permute(self, tuple(range(self.ndim))[::-1])


def _matrix_transposed(self: Any) -> Any:
    return _op("transpose")(self, -2, -1)


def _matrix_adjoint(self: Any) -> Any:
    turned = _matrix_transposed(self)
    return turned.conj() if self.dtype.is_complex else turned


@function("conj", "conj_physical")
def conj(input: Any) -> Any:
    """Conjugate complex elements."""
    return _op("_conj_physical")(input) if input.dtype.is_complex else input


@function("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, *, axis: Any = None) -> Any:
    """Join tensors along a dimension."""
    return _op("cat")(tensors, dim if axis is None else axis)


@function("stack")
def stack(tensors: Any, dim: int = 0) -> Any:
    """Join tensors along a new dimension."""
    return _op("stack")(tensors, dim)


def _refuse_reshape(self: Any, *more: Any, **named: Any) -> Any:
    if self._kind is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    raise RuntimeError("reshape is not implemented for sparse tensors")


def _refuse_contiguous(self: Any, *more: Any, **named: Any) -> Any:
    if self._kind is not sparse_coo:
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    raise RuntimeError("unsupported memory format option Contiguous")


@function("expand", "expand_as", "broadcast_to")
def expand(self: Any, *more: Any, **named: Any) -> Any:
    """Refuse, as PyTorch does."""
    raise RuntimeError("expand is unsupported for Sparse tensors")


# --- numbers -----------------------------------------------------------------------------------


@function("sum")
def total(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Add up all elements, or along dimensions."""
    if dim is None or not isinstance(dim, (int, tuple, list)):
        return _op("sum_all")(input, dtype)
    return _op("sum_dim")(input, (dim,) if isinstance(dim, int) else tuple(dim), keepdim, dtype)


@function("norm")
def norm(
    self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """Take the norm of all elements."""
    if self._kind is not sparse_coo:
        raise unsupported("norm.out", self._kind)
    if dim not in (None, (), []):
        raise RuntimeError("norm_sparse currently does not support keepdim=True or dim")
    content: Any = wrap(elementwise.in_order(self)._content)
    if dtype is not None:
        content = content.to(dtype)
    result = content.norm(2 if p in (None, "fro") else p)

    def formula(grad: Any, needs: Any) -> Any:
        raise unsupported("masked_fill_.Scalar", self._kind)

    return record("NormBackward1", result, (self,), formula)


@function("any")
def any_element(self: Any) -> Any:
    """Tell whether an element is not zero."""
    if self._kind is not sparse_coo:
        raise unsupported("any.all_out", self._kind)
    return reductions.any_element(None, self)


def item(self: Any) -> Any:
    """Return the one element as a Python number."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self._content.sum(dtype=self._content.dtype).item()


def _truth(self: Any) -> bool:
    if self.numel() != 1:
        text = "no values" if not self.numel() else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {text} is ambiguous")
    return bool(item(self))


@function("square")
def square(input: Any) -> Any:
    """Multiply each element with itself."""
    return _op("pow_scalar")(input, 2)


@function("pow", "__pow__")
def power(self: Any, exponent: Any) -> Any:
    """Raise to a power."""
    if isinstance(exponent, Tensor):
        raise unsupported("pow.Tensor_Tensor", self._kind)
    return _op("pow_scalar")(self, exponent)


@function("positive", "real", "resolve_conj", "resolve_neg", "cpu")
def unchanged(input: Any, *more: Any, **named: Any) -> Any:
    """Return the tensor itself."""
    return input


@function("zeros_like", "empty_like")
def zeros_like(
    input: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:
    """Make a tensor of zeros in the shape of another: without elements, unless it is strided."""
    kind, which = layout or input._kind, dtype or input.dtype
    if kind is strided:
        return _dense_zeros_like(input, which, requires_grad, memory_format)
    if memory_format is not None and memory_format is not preserve_format:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if kind is not input._kind:
        zeros = composites["zeros"]
        return zeros(input._size, dtype=which, layout=kind, requires_grad=requires_grad)
    if kind is sparse_coo:
        where, content = input._where[:, :0], input._content[:0].copy()
    else:
        begins, plain = input._where
        where = begins * 0, plain[..., :0]
        content = input._content.take(range(0), begins.ndim - 1)
    made: Any = sparse(kind, where, content, input._size, kind is sparse_coo).to(which)
    return made.requires_grad_() if requires_grad else made


def _dense_zeros_like(input: Any, dtype: Any, requires_grad: bool, memory_format: Any) -> Any:
    if input._kind is not sparse_coo:
        name = str(input._kind)[-3:].capitalize()
        raise RuntimeError(
            "empty_like with different sparse layout is not supported (self is "
            f"Sparse{name} but you requested Strided)"
        )
    made: Any = composites["zeros"](input._size, dtype=dtype)
    if memory_format is not None and memory_format is not preserve_format:
        made = made.contiguous(memory_format=memory_format)
    return made.requires_grad_() if requires_grad else made


@function("is_floating_point")
def is_floating_point(input: Any) -> bool:
    """Tell whether the elements are floating point numbers."""
    return bool(input.dtype.is_floating_point)


@function("is_complex")
def is_complex(input: Any) -> bool:
    """Tell whether the elements are complex numbers."""
    return bool(input.dtype.is_complex)


@function("is_signed")
def is_signed(input: Any) -> bool:
    """Tell whether the elements may be negative."""
    return bool(input.dtype.is_signed)


@function("is_conj", "is_neg", "is_pinned")
def never(input: Any, device: Any = None) -> bool:
    """Return False: elements are stored as they are."""
    return False


@function("numel")
def numel(input: Any) -> int:
    """Count the elements, zeros too."""
    return int(input._size.numel())


@function("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    """Tell whether two tensors have the same shape."""
    return bool(input.shape == other.shape)


# --- the class ---------------------------------------------------------------------------------


def attach_all() -> None:
    """Put the methods on the class."""
    kind: Any = SparseTensor
    kind._run_operator = staticmethod(run_operator)
    kind._run_function = staticmethod(run_function)
    kind.__array_ufunc__ = run_ufunc
    for name, method in FUNCTIONS.items():
        if name not in ("cat", "concat", "concatenate", "stack", "linear"):
            setattr(kind, name, method)
    for name, method in writing_methods().items():
        setattr(kind, name, method)
    kind.backward, kind.type = backward, type_
    kind.data = property(detach, _set_data)
    kind.__deepcopy__, kind.__reduce_ex__ = deepcopy, reduce
    kind.__repr__ = kind.__str__ = representation
    kind.__format__ = lambda self, spec: object.__format__(self, spec)
    kind.__getitem__, kind.__iter__ = getitem, _iterate
    kind.__matmul__, kind.__rmatmul__ = _matmul_operator, _reflected_matmul
    kind.item, kind.__bool__ = item, _truth
    kind.is_nonzero = _truth
    kind.__float__ = lambda self: float(item(self))
    kind.__int__ = lambda self: int(item(self))
    kind.T, kind.mT = property(_transposed), property(_matrix_transposed)
    kind.H = kind.mH = property(_matrix_adjoint)
    kind.adjoint = _matrix_adjoint
    kind.reshape = kind.flatten = kind.reshape_as = _refuse_reshape
    kind.contiguous = kind.ravel = _refuse_contiguous
    for name in "float double half bfloat16 short int long bool cfloat cdouble".split():
        setattr(kind, name, _converter(dtypes.DTYPES[name]))
    kind.char, kind.byte = _converter(dtypes.int8), _converter(dtypes.uint8)
