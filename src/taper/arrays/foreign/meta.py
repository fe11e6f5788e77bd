"""MetaArray: an array without elements, which knows shape, strides and dtype (`device="meta"`).

Kernels are called with meta arrays as they are with ndarrays, so that the shape of a result falls
out of the kernel itself: views by NumPy on a stand-in that is never read, element-wise functions,
products and reductions by the rules in `meta_ufuncs` and `meta_functions`.  A kernel that asks for
a value fails, and is run once more on memory of that form (`meta_place`).  Must not know Tensor.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from taper.arrays import strides as geometry
from taper.arrays.foreign import ARRAYS, ForeignArray, is_foreign
from taper.device import META

_MOST_ELEMENTS = 2**30
"""How many elements a kernel may be run on that cannot do without values.

They are zeros, which take no memory until somebody writes there."""

_LARGEST_DIAGONAL = 2**16


def no_data(*_: Any, **__: Any) -> Any:
    """Refuse to read."""
    raise NotImplementedError("Cannot copy out of meta tensor; no data!")


class MetaStorage:
    """What views of the same memory, which is not there, have in common."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class MetaArray(ForeignArray):
    """An array of which only shape, strides and dtype are known."""

    __slots__ = ("dtype", "offset", "shape", "storage", "strides")

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    storage: MetaStorage

    device = META
    address = 0
    base = None

    def __init__(
        self, shape: Any, strides: Any, dtype: np.dtype[Any], storage: Any = None, offset: int = 0
    ) -> None:
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype
        self.offset = offset
        if storage is None:
            elements = geometry.extent(
                self.shape, tuple([each // dtype.itemsize for each in strides])
            )
            storage = MetaStorage(elements * dtype.itemsize)
        self.storage = storage

    # --- what it is like -----------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Any:
        by_rows = _lies_in(self.shape, self.strides, self.itemsize)
        turned = _lies_in(self.shape[::-1], self.strides[::-1], self.itemsize)
        return types.SimpleNamespace(
            c_contiguous=by_rows,
            contiguous=by_rows,
            f_contiguous=turned,
            fortran=turned,
            forc=by_rows or turned,
            writeable=True,
            aligned=True,
            owndata=False,
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, strides={self.strides}, dtype={self.dtype})"

    # --- views ---------------------------------------------------------------------------------

    @property
    def ghost(self) -> np.ndarray:
        """An ndarray of the same form, for questions of geometry: it must never be read."""
        return as_strided(np.zeros(1, self.dtype), self.shape, self.strides)

    def seen(self, change: Callable[[np.ndarray], Any]) -> Any:
        """Return the view that NumPy makes of an array of this form."""
        before = self.ghost
        return self._on(before, change(before))

    def _on(self, before: np.ndarray, after: Any) -> Any:
        if isinstance(after, (list, tuple)):
            return [self._on(before, each) for each in after]
        moved = after.__array_interface__["data"][0] - before.__array_interface__["data"][0]
        if not self.size:  # NumPy gives such arrays any address
            moved = 0
        return MetaArray(after.shape, after.strides, after.dtype, self.storage, self.offset + moved)

    def strided(
        self, shape: Any, strides: Any, offset: int = 0, dtype: np.dtype[Any] | None = None
    ) -> MetaArray:
        return MetaArray(shape, strides, dtype or self.dtype, self.storage, self.offset + offset)

    def transpose(self, *axes: Any) -> MetaArray:
        return self.seen(lambda array: array.transpose(*axes))

    def swapaxes(self, one: int, other: int) -> MetaArray:
        return self.seen(lambda array: array.swapaxes(one, other))

    def squeeze(self, axis: Any = None) -> MetaArray:
        return self.seen(lambda array: array.squeeze(axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
        return self.seen(lambda array: array.diagonal(offset, axis1, axis2))

    @property
    def T(self) -> MetaArray:
        return self.transpose()

    @property
    def mT(self) -> MetaArray:
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> MetaArray:
        return self.seen(lambda array: array.real) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> MetaArray:
        if self.dtype.kind == "c":
            return self.seen(lambda array: array.imag)
        return fresh(self.shape, self.dtype)

    def view(self, dtype: Any = None) -> MetaArray:
        if dtype is None or (isinstance(dtype, type) and issubclass(dtype, np.ndarray)):
            return self
        return self.seen(lambda array: array.view(dtype))

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> MetaArray:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        if order == "F":
            return self.T.reshape(tuple(wanted)[::-1]).T
        wanted = tuple([int(each) for each in wanted])
        if -1 in wanted:
            rest = math.prod([each for each in wanted if each != -1])
            found = self.size // rest if rest else 0
            wanted = tuple([found if each == -1 else each for each in wanted])
        if math.prod(wanted) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {wanted}")
        itemsize = self.itemsize
        steps = tuple([each // itemsize for each in self.strides])
        found = geometry.view_strides(self.shape, steps, wanted)
        if found is None:
            return fresh(wanted, self.dtype)
        return self.strided(wanted, [each * itemsize for each in found])

    def ravel(self, order: str = "C") -> MetaArray:
        return fresh((self.size,), self.dtype) if order == "K" else self.reshape(-1, order=order)

    def flatten(self, order: str = "C") -> MetaArray:
        return fresh((self.size,), self.dtype)

    def __getitem__(self, index: Any) -> MetaArray:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(each, (*ARRAYS, list)) for each in parts):
            return fresh(picked_shape(self.shape, parts), self.dtype)
        found = self.seen(lambda array: array[(*parts, ...) if ... not in parts else parts])
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        target = self[index].shape
        given = np.shape(value)
        while len(given) > len(target) and given[0] == 1:
            given = given[1:]
        np.broadcast_to(_FLAG, given) if given == target else _refuse_spread(given, target)

    def __iter__(self) -> Any:
        return (self[nr] for nr in range(len(self)))

    # --- copies --------------------------------------------------------------------------------

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **_: Any) -> MetaArray:
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return fresh_like(self, dtype, order)

    def copy(self, order: str = "C") -> MetaArray:
        return fresh_like(self, self.dtype, order)

    def fill(self, _: Any) -> None:
        """Change nothing."""

    def byteswap(self, inplace: bool = False) -> MetaArray:
        return self if inplace else self.copy()

    # --- what needs elements -------------------------------------------------------------------

    __bool__ = __float__ = __int__ = __index__ = __complex__ = __array__ = no_data
    tolist = tobytes = tofile = dump = no_data

    def item(self, *_: Any) -> Any:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def __getattr__(self, name: str) -> Any:
        """Return a method that NumPy has as a function, too: `sum`, `any`, `clip`, `take` ..."""
        function = getattr(np, name, None)
        if function is None or not hasattr(np.ndarray, name):
            raise AttributeError(f"'MetaArray' object has no attribute '{name}'")
        return types.MethodType(function, self)


_FLAG = np.zeros((), bool)


def _refuse_spread(given: tuple[int, ...], target: tuple[int, ...]) -> None:
    if np.broadcast_shapes(given, target) != target:
        raise ValueError(f"could not broadcast input array from shape {given} into shape {target}")


def _lies_in(shape: Sequence[int], strides: Sequence[int], step: int) -> bool:
    """Return whether the elements lie one after the other, the last dimension's innermost."""
    if 0 in shape:
        return True
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


def fresh(shape: Any, dtype: Any) -> MetaArray:
    """Return a new row-major array."""
    dtype = np.dtype(dtype)
    return MetaArray(shape, geometry.row_major(tuple(shape), dtype.itemsize), dtype)


def fresh_like(array: Any, dtype: np.dtype[Any], order: str = "K") -> MetaArray:
    """Return a new array of the shape of another, in its order of dimensions or row-major."""
    if order in ("C", "A") or in_rows(array):
        return fresh(array.shape, dtype)
    if order == "F":
        return fresh(array.shape[::-1], dtype).T
    steps = tuple([abs(each) // array.itemsize for each in array.strides])
    found = geometry.preserved_strides(array.shape, steps)
    return MetaArray(array.shape, [each * dtype.itemsize for each in found], dtype)


def in_rows(array: Any) -> bool:
    """Return whether an array is row-major."""
    return bool(_lies_in(array.shape, array.strides, array.itemsize))


def picked_shape(shape: tuple[int, ...], parts: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the shape that indexing with arrays gives; the arrays' own shape comes where they are.

    If something else stands between them it comes first, as in NumPy.
    """
    parts = tuple([np.asarray(each) if isinstance(each, list) else each for each in parts])
    used = sum([_dims_of(each) for each in parts])
    everything = (slice(None),) * (len(shape) - used)
    if ... in [each for each in parts if each is ...]:
        place = next(nr for nr, each in enumerate(parts) if each is ...)
        parts = (*parts[:place], *everything, *parts[place + 1 :])
    else:
        parts = (*parts, *everything)
    kept: list[Any] = []  # lengths, and None where arrays are
    shapes: list[Any] = []
    dim = 0
    for each in parts:
        if each is None:
            kept.append(1)
        elif isinstance(each, slice):
            kept.append(len(range(*each.indices(shape[dim]))))
            dim += 1
        else:
            array = each if isinstance(each, ARRAYS) else np.asarray(each)
            shapes.append(_index_shape(array))
            kept.append(None)
            dim += _dims_of(array)
    common = np.broadcast_shapes(*shapes)
    first, last = kept.index(None), len(kept) - kept[::-1].index(None)
    if None in kept[first:last] and any(each is not None for each in kept[first:last]):
        first = last = 0
    before = [each for each in kept[:first] if each is not None]
    return (*before, *common, *[each for each in kept[first:] if each is not None])


def _dims_of(part: Any) -> int:
    """Return how many dimensions one part of an index uses up."""
    if part is None or part is ...:
        return 0
    return part.ndim if isinstance(part, ARRAYS) and part.dtype.kind == "b" else 1


def _index_shape(array: Any) -> tuple[int, ...]:
    if array.dtype.kind != "b":
        return tuple(array.shape)
    return no_data() if is_foreign(array) else (int(np.count_nonzero(array)),)


# --- memory in its place ----------------------------------------------------------------------


def stand_in(value: Any, ones: bool = False) -> Any:
    """Return an ndarray of the form of a meta array: of zeros, with ones on the diagonal."""
    if isinstance(value, (list, tuple)):
        return type(value)([stand_in(each, ones) for each in value])
    if not is_foreign(value):
        return value
    if value.size > _MOST_ELEMENTS:
        no_data()
    steps = tuple([each // value.itemsize for each in value.strides])
    steps = tuple([abs(each) for each in steps])
    make = np.ones if ones else np.zeros
    memory = make(max(geometry.extent(value.shape, steps), 1), value.dtype)
    bytewise = [each * value.itemsize for each in steps]
    made: np.ndarray = np.ndarray(value.shape, value.dtype, memory, 0, bytewise)
    is_small = made.size <= _LARGEST_DIAGONAL
    if made.ndim > 1 and is_small and made.dtype.kind not in "biu" and 0 not in steps:
        shorter = range(min(made.shape[-2:]))
        made[..., shorter, shorter] = 1  # a matrix that can be inverted
    return made


def forgotten(value: Any) -> Any:
    """Return a meta array of the form of an ndarray; of several, several."""
    if isinstance(value, (list, tuple)):
        return type(value)([forgotten(each) for each in value])
    if isinstance(value, (np.ndarray, np.generic)):
        return MetaArray(value.shape, value.strides, value.dtype)
    return value
