"""DLPack: sharing memory with other array libraries through capsules.

NumPy writes the capsules.  It does not know bfloat16, so that is exported as 16-bit integers, and
the type code in the capsule is corrected afterwards.  Capsules of other libraries are read here,
field by field with checks, because their memory is used without further checks.
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.memory import bytes_at, extent
from taper.arrays.strides import row_major
from taper.autograd.views import requires_grad
from taper.device import usable
from taper.factory import finish, refuse
from taper.gpu.state import device_count, start
from taper.tensor import Tensor

DLDeviceType = enum.IntEnum(
    "DLDeviceType",
    {
        "kDLCPU": 1,
        "kDLCUDA": 2,
        "kDLCUDAHost": 3,
        "kDLOpenCL": 4,
        "kDLVulkan": 7,
        "kDLMetal": 8,
        "kDLVPI": 9,
        "kDLROCM": 10,
        "kDLROCMHost": 11,
        "kDLExtDev": 12,
        "kDLCUDAManaged": 13,
        "kDLOneAPI": 14,
        "kDLWebGPU": 15,
        "kDLHexagon": 16,
        "kDLMAIA": 17,
    },
)
"""DLPack's numbers of device types."""

_CPU, _CUDA, _CUDA_HOST = 1, 2, 3
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}

# (type code, bits) -> dtype
_DTYPES = {
    (_BFLOAT if each is dtypes.bfloat16 else _KINDS[each.numpy.kind], 8 * each.itemsize): each
    for each in dtypes.COMPUTED
}
_READ_ONLY = 1
_MOST_DIMENSIONS = 64


class _Version(ctypes.Structure):
    _fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("version", _Version),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_FORMS: tuple[tuple[bytes, Any], ...] = (
    (b"dltensor_versioned", _ManagedVersioned),
    (b"dltensor", _Managed),
)
# A capsule refers to its name by address, so these must live as long as any capsule.
_USED_NAMES = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.argtypes, _set_name.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _opened(capsule: Any) -> tuple[bytes, Any, int]:
    """Return the name, the structure and the address of a capsule that is still unused."""
    for name, form in _FORMS:
        if _is_valid(capsule, name):
            address = _pointer(capsule, name)
            return name, form.from_address(address), address
    raise RuntimeError(
        "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed "
        "only once, so you might have already constructed a tensor from it once."
    )


# --- export ----------------------------------------------------------------------------------


def __dlpack__(  # noqa: N807 - its name shows in the errors of calls
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a capsule on the tensor's memory, or on a copy if that is demanded."""
    if requires_grad(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_cuda:
        return start().to_dlpack(self._array.copy() if copy else self._array, stream, max_version)
    if stream is not None:
        if type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None:
        _check_device(dl_device, copy)
    if copy is not None and not isinstance(copy, bool):
        refuse("_to_dlpack", "copy", 0, "bool", copy)
    if self.is_meta:
        raise BufferError("Cannot pack tensors on meta")
    versioned = max_version is not None and max_version[0] >= 1
    return _capsule(self._array.copy() if copy else self._array, versioned)


def _check_device(dl_device: Any, copy: bool | None) -> None:
    if not isinstance(dl_device, tuple):
        refuse("_to_dlpack", "dl_device", 0, "tuple of ints", dl_device)
    kind, index = dl_device
    if kind != _CPU:
        name = {2: "cuda", 8: "mps", 10: "hip", 14: "xpu"}.get(int(kind), "privateuseone")
        if copy is False:
            raise ValueError(
                f"cannot move (i.e. copy=False) tensor from cpu to {name}:{index} without copying."
            )
        usable(name, "_to_dlpack")


def _capsule(array: np.ndarray, versioned: bool) -> Any:
    known = array.dtype is not dtypes.bfloat16.numpy
    shown = array if known else array.view(np.uint16)
    try:
        capsule = shown.__dlpack__(max_version=(1, 0)) if versioned else shown.__dlpack__()
    except TypeError:  # NumPy 2.0 has no versions, and an older capsule is always allowed
        capsule = shown.__dlpack__()
    if not known:
        _opened(capsule)[1].tensor.code = _BFLOAT
    return capsule


def dlpack_device(self: Tensor) -> tuple[Any, int]:
    """Return the type and number of the device, for `Tensor.__dlpack_device__`."""
    return DLDeviceType(_CUDA if self.is_cuda else _CPU), 0


def to_dlpack(tensor: Tensor, /) -> Any:
    """Return the tensor's memory as an unversioned capsule; `from_dlpack` takes tensors directly.

    >>> import taper
    >>> taper.from_dlpack(taper.to_dlpack(taper.tensor([1, 2])))
    tensor([1, 2])
    """
    if not isinstance(tensor, Tensor):
        refuse("_to_dlpack", "data", 1, "Tensor", tensor)
    return _capsule(tensor._array, versioned=False)


# --- import ----------------------------------------------------------------------------------


class _Owner:
    """Holds the foreign structure; its deleter runs when the last array on its memory is gone."""

    __slots__ = ("_address", "_deleter")

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._deleter = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._deleter is not None:
            self._deleter(self._address)


def _geometry(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...], dtypes.dtype]:
    """Return checked shape, strides in bytes and dtype of a foreign tensor."""
    if tensor.device_type not in (_CPU, _CUDA_HOST):
        raise BufferError(f"Unsupported device_type: {tensor.device_type}")
    which = _DTYPES.get((tensor.code, tensor.bits))
    if which is None or tensor.lanes != 1:
        raise BufferError(
            f"Unsupported dtype: code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes"
        )
    ndim = tensor.ndim
    if not 0 <= ndim <= _MOST_DIMENSIONS or (ndim and not tensor.shape):
        raise BufferError(f"a DLPack tensor cannot have {ndim} dimensions")
    shape = tuple(tensor.shape[dim] for dim in range(ndim))
    if min(shape, default=0) < 0:
        raise BufferError(f"a DLPack tensor cannot have the shape {list(shape)}")
    if tensor.strides:
        strides = tuple(tensor.strides[dim] * which.itemsize for dim in range(ndim))
    else:
        strides = row_major(shape, which.itemsize)
    if 0 not in shape and min(strides, default=0) < 0:
        raise BufferError("tensors with negative strides are not supported: make a copy first")
    if 0 not in shape and not tensor.data:
        raise BufferError("a DLPack tensor with elements has no memory")
    return shape, strides, which


def _consumed(capsule: Any) -> Tensor:
    """Return a tensor on the memory of a capsule, which is used up by it."""
    name, managed, address = _opened(capsule)
    if name == b"dltensor_versioned" and managed.version.major > 1:
        raise BufferError(
            f"DLPack version {managed.version.major}.{managed.version.minor} is not supported"
        )
    shape, strides, which = _geometry(managed.tensor)
    readonly = name == b"dltensor_versioned" and bool(managed.flags & _READ_ONLY)
    _set_name(capsule, _USED_NAMES[name])
    owner = _Owner(address, managed.deleter)
    if 0 in shape:
        return finish(np.empty(shape, which.numpy))
    start = managed.tensor.data + managed.tensor.byte_offset
    memory = bytes_at(owner, start, extent(shape, strides, which.itemsize), readonly)
    return finish(np.ndarray(shape, which.numpy, memory, 0, strides))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor on the memory of an array of another library, or of a DLPack capsule.

    Args:
        ext_tensor: an object with `__dlpack__`, or a capsule.
        device: the device to use.
        copy: True copies, False refuses to copy, None copies only if necessary.

    >>> import numpy, taper
    >>> taper.from_dlpack(numpy.array([1, 2]))
    tensor([1, 2])
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise AssertionError(
                "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
            )
        return _consumed(ext_tensor)
    usable(device, "from_dlpack")
    kind = ext_tensor.__dlpack_device__()[0]
    if int(kind) == _CUDA and device_count():
        return finish(start().from_dlpack(ext_tensor))
    options: dict[str, Any] = {"max_version": (1, 0)}
    if copy is not None:
        options["copy"] = copy
    try:
        capsule = ext_tensor.__dlpack__(**options)
    except TypeError:  # the exporter is older than versions
        options.pop("max_version")
        capsule = ext_tensor.__dlpack__(**options)
    return _consumed(capsule)


Tensor.__dlpack__ = __dlpack__  # type: ignore[assignment,method-assign]
Tensor.__dlpack_device__ = dlpack_device  # type: ignore[assignment,method-assign]
