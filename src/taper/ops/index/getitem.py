"""What stands in brackets: `x[...]` and `x[...] = value`, as PyTorch reads them.

Integers, slices, None and Ellipsis become views, one operator each, so that the graph shows the
same nodes as PyTorch's.  Tensors, lists, ranges and arrays become one `index` or `index_put_` at
the end.  Knows views and the operators of `index`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from taper.arrays.scalars import filler, type_name
from taper.arrays.strides import wrap_dim
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.state import NO_GRAD, local
from taper.autograd.views import bump_version, requires_grad
from taper.opdef import Array, op
from taper.opdef.operands import NUMBERS
from taper.ops.creation import nested_data
from taper.ops.creation.copy import copy_, fill_
from taper.ops.index.advanced import index, write_index
from taper.ops.shape.ones import alias, expand_to, unsqueeze, view_as_shape
from taper.ops.shape.parts import select_at, slice_dim
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_user

_LONG = np.dtype(np.int64)
LAST = 2**63 - 1  # the end of an open slice, as nodes show it

# --- reading an index ------------------------------------------------------------------------


def entries(index: Any) -> list[Any]:
    """Return the index as a list; a list that holds more than numbers counts as a tuple."""
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, (list, str)) and len(index) < 32:
        for each in index:
            if (
                each is None
                or each is Ellipsis
                or isinstance(each, (slice, Tensor, list, tuple, range, np.ndarray, str))
            ):
                warn_user(_NOT_A_TUPLE)
                return list(index)
    return [index]


_NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
    "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
    "tensor index, x[torch.tensor(seq)], which will result either in an error or a different "
    "result"
)


def as_entry(value: Any) -> Any:
    """Bring an entry into normal form: int, bool, slice, None, Ellipsis, or a Tensor.

    The Tensor has dimensions: 0-d integer tensors count as integers, 0-d masks as bools.
    """
    kind = type(value)
    if kind is int or kind is slice or value is None or value is Ellipsis or kind is bool:
        return value
    if isinstance(value, (np.ndarray, np.generic)) and not isinstance(value, np.bool_):
        if value.ndim == 0 and value.dtype.kind in "iu":
            return int(value)
        value = wrap(np.array(value))
    elif isinstance(value, (list, tuple, range)):
        if any(each is value for each in value):
            raise TypeError("new(): self-referential lists are incompatible")
        value = wrap(nested_data.read(list(value), None) if len(value) else np.empty(0, np.int64))
    elif isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    elif not isinstance(value, Tensor):
        if hasattr(value, "__index__") and not isinstance(value, np.bool_):
            return operator.index(value)
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type_name(value)})"
        )
    array = value._array
    if array.ndim == 0 and type(array) is np.ndarray:  # otherwise each example has its own
        if array.dtype == np.bool_ or array.dtype == np.uint8:
            return bool(array)
        if array.dtype.kind in "iu":
            return int(array)
    if array.dtype not in _INDEX_DTYPES:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return value


_INDEX_DTYPES = tuple(np.dtype(each) for each in (np.int64, np.int32, np.uint8, np.bool_))


def _items(source: Tensor, index: Any) -> list[Any]:
    """Return an index as entries in normal form; PyTorch counts them before it looks at them."""
    given = entries(index)
    try:
        return [as_entry(each) for each in given]
    except (IndexError, TypeError):
        _refuse_many(source, given)
        raise


def _refuse_many(source: Tensor, items: list[Any]) -> int:
    """Return how many dimensions entries stand for, or raise if the tensor has fewer."""
    wanted = sum(_taken_dims(each) for each in items)
    if wanted > source._array.ndim:
        raise IndexError(f"too many indices for tensor of dimension {source._array.ndim}")
    return wanted


def _taken_dims(entry: Any) -> int:
    """Count the dimensions that an entry stands for."""
    if entry is None or entry is Ellipsis or entry.__class__ is bool:
        return 0
    if isinstance(entry, Tensor) and entry._array.dtype.itemsize == 1:
        return entry._array.ndim
    return 1


def bounds(entry: slice) -> tuple[int, int, int]:
    """Return start, end and step of a slice, as nodes show them."""
    step = 1 if entry.step is None else _bound(entry.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    start = 0 if entry.start is None else _bound(entry.start)
    return start, LAST if entry.stop is None else _bound(entry.stop), step


def _bound(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None


def take_index(source: Tensor, dim: int, number: int, shown: int) -> Tensor:
    """Take the slice at one integer; `shown` is the entry's number, which messages give."""
    shape = source._array.shape
    if not shape and number:
        raise IndexError(f"index {number} is out of bounds for dimension {shown} with size 0")
    if not shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    size = shape[wrap_dim(dim, len(shape))]
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of bounds for dimension {shown} with size {size}")
    return select_at(source, dim, number)


class Reading:
    """Follows an index through a tensor: the view so far, and what is left for `index`."""

    __slots__ = ("advanced", "covered", "dim", "view")

    def __init__(self, view: Tensor) -> None:
        self.view = view
        self.dim = 0  # of the view: the next dimension to be indexed
        self.advanced: list[Tensor | None] = []
        self.covered = 0  # how many dimensions `advanced` stands for

    def leave(self, entry: Tensor, dims: int) -> None:
        """Leave the next dimensions to `index`."""
        self.advanced += [None] * (self.dim - self.covered)
        self.advanced.append(entry)
        self.dim += dims
        self.covered = self.dim


def read_index(source: Tensor, items: list[Any]) -> Reading:
    """Apply the entries that are views; a slice over a whole dimension makes none."""
    ndim = source._array.ndim
    wanted = _refuse_many(source, items)
    reading = Reading(source)
    for number, entry in enumerate(items):
        dim = reading.dim
        if entry is None:
            reading.view = unsqueeze(reading.view, dim)
            reading.dim += 1
            continue
        if entry is Ellipsis:
            reading.dim += ndim - wanted
        elif entry.__class__ is int:
            reading.view = take_index(reading.view, dim, entry, number)
        elif entry.__class__ is slice:
            reading.view = take_slice(reading.view, dim, entry)
            reading.dim += 1
        elif entry.__class__ is bool:
            reading.view = unsqueeze(reading.view, dim)
            reading.leave(wrap(np.zeros(int(entry), np.int64)), 1)
        else:
            reading.leave(entry, _taken_dims(entry))
    return reading


def take_slice(source: Tensor, dim: int, entry: slice) -> Tensor:
    """Take a slice, or the tensor itself if the slice is all of it."""
    start, end, step = bounds(entry)
    size = source._array.shape[wrap_dim(dim, source._array.ndim)]
    if start == 0 and step == 1 and end >= size:
        return source
    return slice_dim(source, dim, start, end, step)


# --- x[index] --------------------------------------------------------------------------------


def get_item(self: Tensor, index_given: Any) -> Tensor:
    """Read `x[index]`: a view for integers, slices, None and Ellipsis, else a copy."""
    kind = type(index_given)
    if kind is int:
        shape = self._array.shape
        if shape and -shape[0] <= index_given < shape[0]:
            return select_at(self, 0, index_given)
        return take_index(self, 0, index_given, 0)
    if kind is slice:
        if not self._array.ndim:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return slice_dim(self, 0, *bounds(index_given))
    if kind is tuple:
        if _is_plain(index_given):
            view = _plain_view(self, index_given)
            if view is not None:
                return view
    elif kind is Tensor:
        places = index_given._array
        if places.dtype is _LONG and places.ndim and self._array.ndim:
            return index(self, (index_given,))
    reading = read_index(self, _items(self, index_given))
    if reading.advanced:
        return index(reading.view, tuple(reading.advanced))
    return alias(self) if reading.view is self else reading.view


def _is_plain(items: tuple[Any, ...]) -> bool:
    """Tell whether there are only integers and slices."""
    for each in items:
        if each.__class__ is not int and each.__class__ is not slice:
            return False
    return True


@op(name="_plain_index", view=True, public=False, method=False)
def plain_index(self: Array, items: tuple[Any, ...]) -> Array:
    """Apply integers and slices at once, for a tensor that needs no graph."""
    return self[(*items, ...)]


def _plain_view(source: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """Make one view for several integers and slices; None if nodes must be made or it fails."""
    array = source._array
    if len(items) > array.ndim:
        return None
    for each in items:
        if each.__class__ is slice and each.step is not None and not each.step > 0:
            return None
    mode = local.state.mode
    if mode > NO_GRAD or (not mode and requires_grad(source)):
        return _view_by_view(source, items)
    try:
        view = plain_index(source, items)
    except (IndexError, TypeError):
        return None
    return view if view._array.size else _view_by_view(source, items)


def _view_by_view(source: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """Make the view with a node for each integer and each slice that cuts a dimension."""
    view = source
    dim = 0
    for number, each in enumerate(items):
        if each.__class__ is int:
            size = view._array.shape[dim]
            if -size <= each < size:
                view = select_at(view, dim, each)
            else:
                take_index(view, dim, each, number)  # raises
        else:
            if each.start is not None or each.stop is not None or each.step is not None:
                view = take_slice(view, dim, each)
            dim += 1
    return alias(source) if view is source else view


# --- x[index] = value ------------------------------------------------------------------------


def set_item(self: Tensor, index_given: Any, value: Any) -> None:
    """Write `x[index] = value`: a copy into the view, or `index_put_`."""
    kind = index_given.__class__
    if not isinstance(value, Tensor):
        plain = kind is int or (kind is tuple and _is_plain(index_given)) or kind is slice
        if plain and _set_number(self, index_given, value):
            return
        value = _number_tensor(self, value)
    if kind is bool:
        if not index_given:
            return
        index_given = None
    elif not self._array.ndim and (kind is int or kind is slice):
        get_item(self, index_given)  # raises
    reading = read_index(self, _items(self, index_given))
    view = reading.view
    if reading.advanced:
        value = _without_leading_ones(value)
        write_index(view, tuple(reading.advanced), value)
    elif value._array.shape == view._array.shape:
        copy_(view, value)
    elif value._array.ndim == 0:
        fill_(view, value)
    else:
        copy_(view, _fitted(value, view._array.shape))


def _set_number(target: Tensor, index_given: Any, value: Any) -> bool:
    """Write a number the quick way; return False where the general way must do it."""
    mode = local.state.mode
    if value.__class__ not in NUMBERS or mode > NO_GRAD or (not mode and requires_grad(target)):
        return False
    if (
        target._counter is INFERENCE_COUNTER
        or not target._array.ndim
        or target._change is not None
        or 0 in target._array.strides  # several elements in one place: the general way refuses that
    ):
        return False
    for each in index_given if index_given.__class__ is tuple else (index_given,):
        if each.__class__ is slice and each.step is not None and not each.step > 0:
            return False
    number = filler(value, target.dtype, single=True)
    try:
        target._array[index_given] = number
    except (IndexError, TypeError):
        return False
    bump_version(target)
    return True


def _number_tensor(target: Tensor, value: Any) -> Tensor:
    """Turn a number into a 0-d tensor of the target's dtype."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type_name(value)} to a {target.type()}")
    return wrap(np.array(filler(value, target.dtype, single=True), target._array.dtype))


def _without_leading_ones(value: Tensor, always: bool = False) -> Tensor:
    shape = value._array.shape
    start = 0
    while start < len(shape) and shape[start] == 1:
        start += 1
    return view_as_shape(value, shape[start:]) if start or always else value


def _fitted(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """View a value in the shape that is written."""
    value = _without_leading_ones(value, always=True)
    return value if value._array.shape == shape else expand_to(value, shape)


def delete_item(self: Tensor, index_given: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


def contains(self: Tensor, element: Any) -> bool:
    """Tell whether some element equals a value: `element in x`."""
    if isinstance(element, (Tensor, bool, int, float, complex)):
        equal: Any = self == element
        return bool(equal.any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


for _name, _method in {
    "__getitem__": get_item,
    "__setitem__": set_item,
    "__delitem__": delete_item,
    "__contains__": contains,
}.items():
    setattr(Tensor, _name, _method)
