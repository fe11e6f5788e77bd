"""CudaArray: an ndarray whose elements are on the device.

It is NumPy's own array as far as shape, strides, dtype, views and owners go: these are computed by
NumPy, from an address that the processor must never read.  Everything that would read is taken
over here: functions and ufuncs through NumPy's protocols (`dispatch`, `ufuncs`), methods one by
one.  `tests/cuda/fake.py` puts the address into memory that may not be read, so that a way that was
forgotten shows itself at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from taper.arrays.foreign import ForeignArray
from taper.arrays.native import native
from taper.arrays.strides import is_dense, reshaped
from taper.device import device
from taper.gpu import state

new_array = np.ndarray.__new__
_plain_getitem = np.ndarray.__getitem__
_VIEWS = (int, slice, type(None), type(Ellipsis))


CUDA = device("cuda", 0)
"""The device of all arrays here."""


class CudaArray(np.ndarray, ForeignArray):
    """Numbers in the memory of a GPU."""

    __slots__ = ()

    device: Any = CUDA
    place: Any  # set by `place`

    # --- what foreign arrays have ----------------------------------------------------------------

    @property
    def address(self) -> int:  # type: ignore[override]
        return address(self) if self.size else 0

    @property
    def offset(self) -> int:  # type: ignore[override]
        return address(self) - root_block(self).address if self.size else 0

    @property
    def storage(self) -> Any:
        return root_block(self)

    def strided(self, shape: Any, strides: Any, offset: int = 0, dtype: Any = None) -> Any:
        return strided(self, shape, strides, dtype, offset)

    # --- NumPy's protocols ---------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "__call__" and not options:  # the quickest way, without a look-up
            found = state.runtime.elementwise(ufunc, inputs, None)
            if found is not NotImplemented:
                return found
        return run_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return run_function(function, args, options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
            "to host memory first."
        )

    # --- parts ---------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        if key.__class__ is not tuple:
            key = (key,)
        ellipsis = False
        for each in key:
            kind = each.__class__
            if kind not in _VIEWS:
                if isinstance(each, np.integer):
                    continue
                return run("getitem", self, key)
            ellipsis = ellipsis or each is Ellipsis
        # With an ellipsis NumPy gives a view for a single element, too.
        return _plain_getitem(self, key if ellipsis else (*key, Ellipsis))

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is Ellipsis or (key.__class__ is slice and key == slice(None)):
            run("assign", self, value)
            return
        keys = key if key.__class__ is tuple else (key,)
        if all([each.__class__ in _VIEWS or isinstance(each, np.integer) for each in keys]):
            run("assign", self[key], value)
        else:
            run("setitem", self, key, value)

    def __len__(self) -> int:
        return np.ndarray.__len__(self)

    def __iter__(self) -> Any:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[index] for index in range(self.shape[0])])

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    # --- copies and forms ----------------------------------------------------------------------

    def copy(self, order: Any = "C") -> Any:
        return run("copy", self, order)

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy("K")

    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: Any = True,
        copy: Any = True,
    ) -> Any:
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return run("astype", self, dtype, order)

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        if len(shape) == 1:
            shape = shape[0]
        if copy:
            return reshaped(self.copy(), shape, order)
        try:
            return reshaped(self, shape, order)
        except ValueError as error:
            if "copy" not in str(error) or copy is False:
                raise
        return reshaped(self.copy(order), shape, order)

    def ravel(self, order: Any = "C") -> Any:
        if order == "K":  # as it lies: a view, if that has no gaps
            steps = tuple([step // self.itemsize for step in self.strides])
            whole = self if is_dense(self.shape, steps) else self.copy("K")
            return strided(whole, (self.size,), (self.itemsize,))
        if order == "A":
            order = "F" if self.flags.fnc else "C"
        return self.reshape(-1, order=order)

    def flatten(self, order: Any = "C") -> Any:
        return self.copy(order).ravel(order)

    def view(self, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], type) and issubclass(args[0], np.ndarray):
            return np.ndarray.view(self)  # another class of arrays means nothing on the device
        return np.ndarray.view(self, *args, **options)

    @property
    def real(self) -> Any:
        return _part(self, "real") if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        run("assign", self.real, value)

    @property
    def imag(self) -> Any:
        if self.dtype.kind == "c":
            return _part(self, "imag")
        return empty(self.shape, self.dtype, 0)

    @imag.setter
    def imag(self, value: Any) -> None:
        run("assign", self.imag, value)

    @property
    def flat(self) -> Any:
        return self.reshape(-1)

    def fill(self, value: Any) -> None:
        run("assign", self, value)

    def item(self, *index: Any) -> Any:
        if index:
            return self[index if len(index) > 1 else index[0]].item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return to_host(self).item()

    def tolist(self) -> Any:
        return to_host(self).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return to_host(self).tobytes(order)

    def __bool__(self) -> bool:
        return bool(to_host(self))

    def __int__(self) -> int:
        return int(to_host(self))

    def __index__(self) -> int:
        return to_host(self).__index__()

    def __float__(self) -> float:
        return float(to_host(self))

    def __complex__(self) -> complex:
        return complex(to_host(self))

    def __repr__(self) -> str:
        return f"CudaArray({to_host(self)!r})"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        return to_device, (to_host(self),)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": None if self.flags.c_contiguous else self.strides,
            "data": (address(self), False),
            "version": 3,
        }


if native is not None:
    native.know_device_class(CudaArray)


def _part(array: Any, name: str) -> Any:
    """The real or the imaginary parts of complex numbers: every second number."""
    half = np.dtype(f"f{array.itemsize // 2}")
    offset = half.itemsize if name == "imag" else 0
    return strided(array, array.shape, array.strides, half, offset)


def _method(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return run_function(function, (self, *args), options)

    method.__name__ = name
    return method


def _in_place(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Any, *args: Any, **options: Any) -> None:
        run("assign", self, run_function(function, (self, *args), options))

    return method


def _refused(name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{name} is not there for arrays on the device")

    return method


for _name in (
    "all any argmax argmin argpartition argsort choose clip compress cumprod cumsum dot max mean "
    "min nonzero prod repeat round searchsorted std sum take trace var"
).split():
    setattr(CudaArray, _name, _method(_name))
for _name in ("sort", "partition"):
    setattr(CudaArray, _name, _in_place(_name))
for _name in "byteswap dump dumps put resize setfield getfield tofile to_device __dlpack__".split():
    setattr(CudaArray, _name, _refused(_name))
CudaArray.conj = CudaArray.conjugate = _method("conjugate")  # type: ignore[method-assign]


# --- making arrays ---------------------------------------------------------------------------


def address_in_python(array: Any) -> int:
    """Where the first element lies."""
    found: int = array.__array_interface__["data"][0]
    return found


address = getattr(native, "address_of", None) or address_in_python


def root_block(array: Any) -> Any:
    """The block whose room an array looks at."""
    base = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base


def new_in_python(kind: Any, shape: Sequence[int], dtype: np.dtype) -> Any:
    """A new array on the device, row by row."""
    nbytes = math.prod(shape) * dtype.itemsize
    return new_array(kind, shape, dtype, state.runtime.pool.take(nbytes))


_new = getattr(native, "device_empty", None) or new_in_python


def empty(shape: tuple[int, ...], dtype: np.dtype, filled: Any = None) -> Any:
    """A new array on the device, row by row, filled with a number unless that is None."""
    made = _new(CudaArray, shape, dtype)
    if filled is not None:
        run("assign", made, filled)
    return made


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: np.dtype) -> Any:
    """A new array with strides, which count bytes and are not negative."""
    reach = dtype.itemsize + sum(
        (length - 1) * step for length, step in zip(shape, strides, strict=True)
    )
    block = state.runtime.pool.take(0 if 0 in shape else reach)
    return new_array(CudaArray, tuple(shape), dtype, block, 0, tuple(strides))


def strided(
    array: Any, shape: Sequence[int], strides: Sequence[int], dtype: Any = None, offset: int = 0
) -> Any:
    """Another look at the room of an array: strides and offset count bytes."""
    block = root_block(array)
    start = address(array) - block.address + offset if array.size else 0
    return new_array(CudaArray, tuple(shape), dtype or array.dtype, block, start, tuple(strides))


def to_device(array: Any) -> Any:
    """A copy of an array of the processor's on the device, laid out alike."""
    array = np.asanyarray(array)
    if array.__class__ is CudaArray:
        return array
    return run("upload", array)


def to_host(array: Any) -> Any:
    """A copy of an array on the device in the processor's memory, laid out alike."""
    if array.__class__ is not CudaArray:  # whatever else is given beside arrays
        return array
    return run("download", array)


def run(name: str, *args: Any) -> Any:
    """Do what the room `gpu` has under a name."""
    return _ways[name](*args)


# Filled by `dispatch` and `ufuncs`, which need this module.
_ways: dict[str, Any] = {}


def run_ufunc(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    return _ways["ufunc"](ufunc, method, inputs, options)


def run_function(function: Any, args: Any, options: Any) -> Any:
    return _ways["function"](function, args, options)
