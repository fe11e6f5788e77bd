"""Tensors from data: nested sequences, numbers, arrays, buffers and other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.memory import adopt, bytes_at
from taper.arrays.native import native
from taper.arrays.scalars import type_name
from taper.autograd.state import local
from taper.autograd.views import requires_grad as needs_grad
from taper.device import CPU, usable
from taper.dlpack import from_dlpack
from taper.factory import check_differentiable, finish, options, refuse, refuse_pinning
from taper.opdef import composite
from taper.ops.creation.copy import clone, to
from taper.ops.creation.nested_data import read
from taper.storage import TypedStorage, UntypedStorage
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_once, warn_user


def _dtype(function: str, dtype: Any) -> dtypes.dtype | None:
    if dtype is None or type(dtype) is dtypes.dtype:
        return dtype
    return dtypes.as_dtype(dtype, function, "dtype")


def _warn_copy(wanted: str) -> None:
    warn_user(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
        "or sourceTensor.detach().clone().requires_grad_(True), rather than "
        f"{wanted}(sourceTensor)."
    )


def _fresh(data: Any, which: dtypes.dtype | None) -> np.ndarray:
    """Make an array with the elements of arrays, numbers or nested sequences."""
    if isinstance(data, np.ndarray):
        return _converted(_checked(data), which, copy=True)
    if _exports(data):
        return _converted(from_dlpack(data)._array, which, copy=True)
    if isinstance(data, (np.datetime64, np.timedelta64)):
        dtypes.of_array(np.asarray(data))
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _stored_elements(data, which)
    return read(data, which)


def _stored_elements(data: Any, which: dtypes.dtype | None) -> np.ndarray:
    """View the memory of a storage as a dtype, by default that of Python's numbers."""
    typed = isinstance(data, TypedStorage)
    if which is None:
        which = dtypes.default.float if typed or not len(data) else dtypes.int64
    if typed and data.dtype is not which:
        raise RuntimeError(
            f"Expected a Storage of type {which.scalar_type} or an UntypedStorage, but got "
            f"{data.dtype.scalar_type}"
        )
    memory = data.untyped()._memory
    whole = memory.nbytes - memory.nbytes % which.itemsize
    if which is dtypes.bool_:
        return memory != 0
    return np.frombuffer(memory[:whole].tobytes(), which.numpy).copy()


def _exports(data: Any) -> bool:
    """Tell whether the data are an array of another library that speaks DLPack."""
    return hasattr(data, "__dlpack__") and not isinstance(data, np.generic)


def _converted(array: np.ndarray, which: dtypes.dtype | None, copy: bool) -> np.ndarray:
    if which is None or which.numpy == array.dtype:
        return clone(wrap(array))._array if copy else array
    converted: Tensor = to(wrap(array), which)
    return converted._array


def _moved(data: Tensor, which: dtypes.dtype | None, where: Any) -> np.ndarray:
    """Return a copy of the array of a tensor, on a device."""
    array = data._array
    if where != data.device:
        return to(wrap(array), where, which)._array
    return _converted(array, which, copy=True)


@composite(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor with a copy of the given data.

    Args:
        data: a number, a nested sequence of numbers, a NumPy array or a tensor.
        dtype: dtype of the result; by default that of the data, Python floats in the default dtype.
        device, pin_memory: where elements are stored; none can be pinned.
        requires_grad: whether autograd records what is computed from the result.

    Returns: a new leaf tensor without history.

    Example:
        >>> import taper
        >>> taper.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
    """
    where = usable(device, "tensor")
    if pin_memory is not False:
        refuse_pinning("tensor", pin_memory)
    if requires_grad is not False and requires_grad is not True:
        refuse("tensor", "requires_grad", 0, "bool", requires_grad)
    which = _dtype("tensor", dtype)
    if isinstance(data, Tensor):
        _warn_copy("torch.tensor")
        where = data.device if device is None and where is CPU else where
        return finish(_moved(data, which, where), requires_grad)
    return finish(_fresh(data, which), requires_grad, where)


@composite(public=False)
def new_tensor(
    input: Tensor,
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
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
    if input.is_neg() or input.is_conj():
        key = "Negative" if input.is_neg() else "Conjugate"
        raise RuntimeError(f"DispatchKey {key} doesn't correspond to a device")
    which, where = options("new_tensor", dtype, None, device, pin_memory, input.dtype, input)
    if isinstance(data, Tensor):
        _warn_copy("tensor.new_tensor")
        return finish(_moved(data, which, where), requires_grad)
    return finish(_fresh(data, which), requires_grad, where)


@composite(method=False, quick="as_it_is(data, dtype, device)")
def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Turn data into a tensor, sharing memory and history where that is possible.

    Args:
        data: a tensor, a NumPy array, a number or a nested sequence of numbers.
        dtype: dtype of the result; by default that of the data.
        device: only the CPU is provided.

    Returns: `data` itself if it is such a tensor already, a tensor on its memory if it is an array,
        else a new one.

    Example:
        >>> import numpy, taper
        >>> taper.as_tensor(numpy.array([1, 2]))
        tensor([1, 2])
    """
    where = usable(device, "as_tensor")
    which = _dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        where = data.device if device is None and where is CPU else where
        return to(data, where, data.dtype if which is None else which)
    if isinstance(data, np.ndarray):
        return finish(_converted(_adopted(data), which, copy=False), False, where)
    if _exports(data):
        return finish(_converted(from_dlpack(data)._array, which, copy=False), False, where)
    return finish(_fresh(data, which), False, where)


@composite(method=False)
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Turn `obj` into a tensor; `copy` demands or forbids a copy, None copies where needed.

    Also reads objects with DLPack, or with the buffer protocol, whose bytes become the elements.

    >>> import taper
    >>> taper.asarray([1, 2])
    tensor([1, 2])
    """
    where = usable(device, "asarray")
    which = _dtype("asarray", dtype)
    found = _aliased(obj, which)
    if found is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return finish(_fresh(obj, which), bool(requires_grad), where)
    if device is not None or (where is not CPU and not isinstance(obj, Tensor)):
        found = to(found, where)
    if which is not None and which is not found.dtype:
        if copy is False:
            raise ValueError(
                f"can't alias tensor with dtype '{found.dtype.scalar_type}' into dtype "
                f"'{which.scalar_type}'."
            )
        found = to(found, which)
    elif copy:
        found = clone(found)
    return _with_flag(found, obj, requires_grad)


def _aliased(obj: Any, which: dtypes.dtype | None) -> Tensor | None:
    """Make a tensor on the memory of an object; None if it has none to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.ndarray):
        return finish(_adopted(obj))
    if isinstance(obj, np.generic):
        return finish(np.array(obj))
    if _exports(obj) or type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtypes.default.float if which is None else which)


def _with_flag(found: Tensor, obj: Any, requires_grad: bool | None) -> Tensor:
    """Set `requires_grad` of what `asarray` found, by default to that of `obj`."""
    if requires_grad is None:
        requires_grad = isinstance(obj, Tensor) and needs_grad(obj)
        if requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior "
                "and silence this warning."
            )
    if not requires_grad:
        return found.detach() if needs_grad(found) else found
    check_differentiable(found._array.dtype)
    return found if needs_grad(found) else found.requires_grad_()


# Arrays.


def _checked(array: np.ndarray) -> np.ndarray:
    """Return the array with one of our dtype objects; raise if PyTorch could not view it."""
    which = dtypes.of_array(array)
    itemsize = array.itemsize
    if array.size:
        for step in array.strides:
            if step < 0:
                raise ValueError(
                    "At least one stride in the given numpy array is negative, and tensors with "
                    "negative strides are not currently supported. (You can probably work around "
                    "this by making a copy of your array  with array.copy().) "
                )
            if step % itemsize:
                raise ValueError(
                    "given numpy array strides not a multiple of the element byte size. Copy the "
                    "numpy array to reallocate the memory."
                )
    # Equal dtypes need not be the same object, as with `numpy.longlong`.
    return array if array.dtype is which.numpy else array.view(which.numpy)


def _adopted(array: np.ndarray) -> np.ndarray:
    known = _checked(array)
    if not known.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You "
            "may want to copy the array to protect its data or make it writable before "
            "converting it to a tensor. This type of warning will be suppressed for the rest of "
            "this program."
        )
    return adopt(known)


def from_numpy(ndarray: np.ndarray, /) -> Tensor:
    """Make a tensor on the memory of a NumPy array: writes to one are seen in the other.

    Args:
        ndarray: a NumPy array of a dtype that tensors have.

    Returns: a tensor of the same shape and dtype.

    Differs from PyTorch: a tensor on a read-only array stays read-only; PyTorch would write.

    Example:
        >>> import numpy, taper
        >>> taper.from_numpy(numpy.array([1.0, 2.0], numpy.float32))
        tensor([1., 2.])
    """
    if native is not None:
        quick: Tensor | None = native.on_array(local.state, ndarray)
        if quick is not None:
            return quick
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    return finish(_adopted(ndarray))


@composite(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Make a tensor on the memory of an object with the buffer protocol.

    `count` is in elements, `offset` in bytes.

    >>> import taper
    >>> taper.frombuffer(bytearray([1, 0, 2, 0]), dtype=taper.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    which = dtypes.as_dtype(dtype, "frombuffer", "dtype")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not view.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    count = _checked_count(view.nbytes, which.itemsize, count, offset)
    if view.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable "
            "tensors. This means you can write to the underlying (supposedly non-writable) "
            "buffer using the tensor. You may want to copy the buffer to protect its data or "
            "make it writable before converting it to a tensor. This type of warning will be "
            "suppressed for the rest of this program."
        )
    flat = np.frombuffer(view, np.uint8, count * which.itemsize, offset)
    memory = bytes_at(flat, flat.ctypes.data, flat.size, view.readonly)
    return finish(memory.view(which.numpy), requires_grad)


def _checked_count(length: int, size: int, count: int, offset: int) -> int:
    """Compute how many elements of `size` bytes to read from a buffer of `length` bytes."""
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    rest = length - offset
    if count < 0 and rest % size:
        raise ValueError(
            f"buffer length ({rest} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({size})"
        )
    if count * size > rest:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) "
            f"must not be greater than actual buffer length ({length} bytes)"
        )
    return count if count > 0 else rest // size
