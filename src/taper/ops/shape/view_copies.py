"""The views as functions that copy: `squeeze_copy`, `view_copy` and their like.

Owns: an operator for each view. Its kernel copies what the view's kernel returns, its formulas are
the view's own, and its node is called after the view's, with `_copy` behind.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy import ndarray

from taper import dtypes
from taper.arrays.reduction import ABSENT
from taper.arrays.strides import Shape, wanted_shape, wrap_dim
from taper.autograd.state import INFERENCE, NO_GRAD, local
from taper.autograd.views import requires_grad
from taper.factory import refuse
from taper.opdef import LINEAR, Array, Op, composite, derivative, op
from taper.opdef.operands import invalid_combination
from taper.opdef.writes import compute_into
from taper.ops.elementwise import complexes
from taper.ops.linalg.checks import no_derivative
from taper.ops.linalg.matmul import same_dtype
from taper.ops.shape import ones as shape
from taper.ops.shape import parts, reshape, split, strided, transpose
from taper.ops.shape.parts import slice_backward
from taper.tensor import Tensor, wrap

_EXAMPLE = """

    >>> import taper
    >>> taper.{name}({arguments}).shape
    torch.Size({shape})
    """


def _copied(found: Any) -> Any:
    if isinstance(found, (list, tuple)):
        return [np.array(each, order="C") for each in found]
    return np.array(found, order="C")


def _copy_of(function: Any, name: str, arguments: str = "", result: list[int] | None = None) -> Any:
    """Declare the operator that copies what a view shows; a public one with an example."""
    view: Op = function.op
    kernel = view.kernel

    def copying(*args: Any, **kwargs: Any) -> Any:
        return _copied(kernel(*args, **kwargs))

    declared = op(
        name=name,
        node=f"{view.node_name}_copy",
        tangent=LINEAR,
        many_outputs=view.many_outputs,
        out=False if view.many_outputs else same_dtype,
        public=bool(arguments),
        method=False,
    )(kernel)
    text = f"Copy what `{view.name}` shows."
    if arguments:
        text += _EXAMPLE.format(name=name, arguments=arguments, shape=result)
    copying.__doc__ = declared.__doc__ = inspect.cleandoc(text)
    entry: Op = declared.op
    entry.kernel = copying
    entry.formulas, entry.wrt = view.formulas, view.wrt
    return declared


_MATRIX = "taper.ones(2, 3)"
alias_copy = _copy_of(reshape.alias, "alias_copy", _MATRIX, [2, 3])
t_copy = _copy_of(transpose.t, "t_copy", _MATRIX, [3, 2])
transpose_copy = _copy_of(transpose.transpose, "transpose_copy", f"{_MATRIX}, 0, 1", [3, 2])
unfold_copy = _copy_of(parts.unfold, "unfold_copy", f"{_MATRIX}, 1, 2, 1", [2, 2, 2])
unsqueeze_copy = _copy_of(shape.unsqueeze, "unsqueeze_copy", f"{_MATRIX}, 0", [1, 2, 3])
view_as_real_copy = _copy_of(
    complexes.view_as_real, "view_as_real_copy", "taper.tensor([1 + 2j])", [1, 2]
)
_squeezed = _copy_of(shape.squeeze_all, "squeeze_all_copy")
_squeezed_dim = _copy_of(shape.squeeze_dim, "squeeze_dim_copy")
_squeezed_dims = _copy_of(shape.squeeze_dims, "squeeze_dims_copy")
_permuted = _copy_of(transpose.permute_dims, "permuted_copy")
_expanded = _copy_of(reshape.expand_to, "expanded_copy")
_strided = _copy_of(strided.strided_view, "strided_copy")
_split = _copy_of(split._split, "split_tensor_copy")
_split_with_sizes = _copy_of(split._split_with_sizes, "split_sizes_copy")
_unbound = _copy_of(split.unbind, "unbound_copy")
_complex = _copy_of(complexes.view_as_complex, "pairs_copy")
_selected = _copy_of(parts.select_at, "selected_copy")
_sliced = _copy_of(parts.slice_dim, "sliced_copy")


def _tuple(function: str, name: str, value: Any) -> Shape:
    if not isinstance(value, (tuple, list)):
        refuse(function, name, 2, "tuple of ints", value)
    return tuple(value)


def _checked(function: str, input: Any) -> Tensor:
    if not isinstance(input, Tensor):
        refuse(function, "input", 1, "Tensor", input)
    return input


@composite(method=False, numpy_names=True)
def squeeze_copy(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Copy without the dimensions of length 1, or without those in `dim`.

    >>> import taper
    >>> taper.squeeze_copy(taper.ones(2, 1, 3)).shape
    torch.Size([2, 3])
    """
    _checked("squeeze_copy", input)
    if dim is None:
        return _squeezed(input, out=out)
    if isinstance(dim, (tuple, list)):
        return _squeezed_dims(input, tuple(dim), out=out)
    return _squeezed_dim(input, dim, out=out)


@composite(method=False)
def permute_copy(input: Tensor, dims: Any, *, out: Tensor | None = None) -> Tensor:
    """Copy with the dimensions in another order.

    >>> import taper
    >>> taper.permute_copy(taper.ones(2, 3), (1, 0)).shape
    torch.Size([3, 2])
    """
    return _permuted(_checked("permute_copy", input), _tuple("permute_copy", "dims", dims), out=out)


@composite(method=False)
def expand_copy(
    input: Tensor, size: Any, *, implicit: bool = False, out: Tensor | None = None
) -> Tensor:
    """Copy with dimensions of length 1 repeated.

    >>> import taper
    >>> taper.expand_copy(taper.ones(1, 3), (2, 3)).shape
    torch.Size([2, 3])
    """
    return _expanded(_checked("expand_copy", input), _tuple("expand_copy", "size", size), out=out)


@composite(method=False)
def as_strided_copy(
    input: Tensor,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Copy elements of the storage at any strides.

    >>> import taper
    >>> taper.as_strided_copy(taper.arange(6), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    given = [_tuple("as_strided_copy", *each) for each in (("size", size), ("stride", stride))]
    return _strided(_checked("as_strided_copy", input), *given, storage_offset, out=out)


def _parts_into(name: str, form: str, parts: tuple[Tensor, ...], out: Any) -> Any:
    """Return the copies, or nothing where `out` takes them.

    `form` is the end of the name in PyTorch's error; one of the three functions does not resize.
    """
    if out is None:
        return parts
    if isinstance(out, Tensor) or not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
        )
    if len(out) != len(parts):
        raise RuntimeError(
            f"{name}{form} expected an out= argument of size {len(parts)}, got size {len(out)}"
        )
    for each, part in zip(out, parts, strict=True):
        if name == "split_copy":
            each.copy_(part)
        else:
            compute_into(name, lambda part=part: part, (part,), each, same_dtype)
    return None


@composite(method=False, numpy_names=True)
def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """Copy the parts of `split_size` along a dimension.

    >>> import taper
    >>> [each.shape[0] for each in taper.split_copy(taper.ones(5), 2)]
    [2, 2, 1]
    """
    parts = tuple(_split(_checked("split_copy", input), split_size, dim))
    return _parts_into("split_copy", "_Tensor_out()", parts, out)


@composite(method=False, numpy_names=True)
def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Copy parts of these sizes along a dimension.

    >>> import taper
    >>> [each.shape[0] for each in taper.split_with_sizes_copy(taper.ones(5), [1, 4])]
    [1, 4]
    """
    lengths = _tuple("split_with_sizes_copy", "split_sizes", split_sizes)
    parts = tuple(_split_with_sizes(_checked("split_with_sizes_copy", input), lengths, dim))
    return _parts_into("split_with_sizes_copy", "_out", parts, out)


@composite(method=False, numpy_names=True)
def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> Any:
    """Copy the slices along a dimension.

    >>> import taper
    >>> taper.unbind_copy(taper.tensor([1, 2]))
    (tensor(1), tensor(2))
    """
    parts = tuple(_unbound(_checked("unbind_copy", input), dim))
    return _parts_into("unbind_copy", "_int_out", parts, out)


@composite(method=False)
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Copy pairs of real numbers as complex ones; PyTorch gives no gradient.

    >>> import taper
    >>> taper.view_as_complex_copy(taper.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    if _is_recorded(_checked("view_as_complex_copy", input)):
        raise _no_complex_gradient("view_as_complex_copy")
    return _complex(input, out=out)


def _is_recorded(input: Tensor) -> bool:
    return not local.state.mode & (NO_GRAD | INFERENCE) and requires_grad(input)


def _no_complex_gradient(function: str) -> RuntimeError:
    return RuntimeError(
        f"{function} does not support automatic differentiation for outputs with complex dtype."
    )


@composite(method=False, numpy_names=True)
def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """Copy one slice along a dimension; PyTorch gives complex ones no gradient.

    >>> import taper
    >>> taper.select_copy(taper.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
    if _checked("select_copy", input).is_complex() and _is_recorded(input):
        raise _no_complex_gradient("select_copy")
    return _selected(input, dim, index, out=out)


@composite(method=False, numpy_names=True)
def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Copy every `step`-th slice from `start` to `end`; complex ones get no gradient.

    >>> import taper
    >>> taper.slice_copy(taper.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    if _checked("slice_copy", input).is_complex() and _is_recorded(input):
        raise _no_complex_gradient("slice_copy")
    return _sliced(input, dim, start, end, step, out=out)


@op(name="viewed_copy", node="ViewBackward0_copy", tangent=LINEAR, public=False, method=False)
def viewed_copy(self: Array, size: Shape) -> Array:
    """Copy into another shape, whatever the strides."""
    return np.array(self.reshape(size), order="C")


@derivative(viewed_copy, wrt="self")
def viewed_copy_self(grad: Any, self_shape: Shape) -> Any:
    return reshape.reshape(grad, self_shape)


_VIEW_COPY = (
    "(Tensor input, torch.dtype dtype, *, Tensor out = None)",
    "(Tensor input, tuple of ints size, *, Tensor out = None)",
)


@composite(method=False)
def view_copy(
    input: Tensor, *shape: Any, size: Any = ABSENT, dtype: Any = ABSENT, out: Tensor | None = None
) -> Tensor:
    """Copy into another shape, or copy the same bytes as another dtype.

    >>> import taper
    >>> taper.view_copy(taper.ones(2, 3), (3, 2)).shape
    torch.Size([3, 2])
    >>> taper.view_copy(taper.ones(2), dtype=taper.int32)
    tensor([1065353216, 1065353216], dtype=torch.int32)
    """
    given = {"dtype": dtype, "size": size}
    named = {name: value for name, value in given.items() if value is not ABSENT}
    target = (*shape, *named.values())
    if len(target) == 1 and isinstance(input, Tensor):
        wanted = target[0]
        if isinstance(wanted, dtypes.dtype) and size is ABSENT:
            return _reinterpreted(input, wanted, out)
        if isinstance(wanted, (tuple, list)) and dtype is ABSENT and all(map(_is_int, wanted)):
            if out is not None:
                return compute_into("view_copy", view_copy, (input, wanted), out, same_dtype)
            return viewed_copy(input, wanted_shape(tuple(wanted), input.numel()))
    raise invalid_combination("view_copy", (input, *shape), _VIEW_COPY, named)


def _is_int(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _reinterpreted(input: Tensor, dtype: dtypes.dtype, out: Tensor | None) -> Tensor:
    """Copy the same bytes as another dtype: a value without a history."""

    def copied(source: Tensor) -> Tensor:
        return wrap(np.array(reshape.bytes_as(source._array, dtype), order="C"))

    if out is None:
        return copied(input)
    written: Tensor = compute_into(None, copied, (input,), out, same_dtype)
    return written


def _narrow_out(out: ndarray, result: ndarray) -> None:
    if out.dtype != result.dtype:
        raise RuntimeError("Expected self.dtype() == output.dtype() to be true, but got false.")


def _check_narrow(shape: Shape, dim: int, start: int, length: int) -> None:
    """Raise the errors of `narrow_copy` that differ from `narrow`'s."""
    if dim >= len(shape):
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an enhancement request "
            "to PyTorch.)"
        )
    size = shape[wrap_dim(dim, len(shape))]
    if length < 0 and -size <= start <= size:
        first = start + size if start < 0 else start
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    if length < 0:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )


@op(method=True, tangent=LINEAR, out=_narrow_out)
def narrow_copy(self: Array, dim: int, start: int, length: int) -> Array:
    """Copy `length` slices along `dim` from `start` on.

    >>> import taper
    >>> taper.narrow_copy(taper.arange(5), 0, 1, 2)
    tensor([1, 2])
    """
    if self.ndim:
        _check_narrow(self.shape, dim, start, length)
    view: ndarray = parts.narrow(wrap(self), dim, start, length)._array
    return np.array(view, order="C")


@derivative(narrow_copy, wrt="self")
def narrow_copy_self(grad: Any, self_shape: Shape, dim: int, start: int, length: int) -> Any:
    return slice_backward(grad, self_shape, dim, start, start + length, 1)


@op(name="detach_copy", node="NotImplemented", method=False, out=same_dtype)
def detach_copy(self: Array) -> Array:
    """Copy; PyTorch records it, though without a derivative.

    >>> import taper
    >>> taper.detach_copy(taper.tensor([1.0]))
    tensor([1.])
    """
    return self.copy()


@derivative(detach_copy, wrt="self")
def detach_copy_self(grad):
    raise no_derivative("detach_copy")
