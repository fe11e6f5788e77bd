"""Storages: the memory that tensors look at, as bytes or as elements of one dtype.

A storage is a view of the memory, made on request; tensors do not hold it.  So two calls of
`untyped_storage()` give equal objects, not the same one.
"""

from __future__ import annotations

import mmap
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.foreign import ForeignArray, device_of, on_host, place_of
from taper.arrays.memory import BYTE, all_bytes, on_bytes
from taper.arrays.scalars import array_of_elements, element, stored
from taper.arrays.shared_memory import Segment, bytes_of, keeper_of, mapped_bytes
from taper.arrays.strides import owner_of
from taper.device import CPU, device, usable
from taper.tensor import Tensor, wrap
from taper.userwarning import warn_once


class _Common:
    """The common part of both kinds of storage; `_memory` is the flat array of bytes."""

    __slots__ = ("_memory",)

    _memory: np.ndarray
    is_cuda = False
    is_sparse = False

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    @property
    def device(self) -> device:
        """Where the memory is."""
        return device_of(self._memory)

    @property
    def _cdata(self) -> int:
        memory = self._memory
        return id(memory.storage) if isinstance(memory, ForeignArray) else memory.ctypes.data

    def data_ptr(self) -> int:
        """Return the address of the first byte."""
        memory = self._memory
        if isinstance(memory, ForeignArray):
            return memory.address
        return memory.ctypes.data if memory.size else 0

    def _text(self) -> str:
        """Return the elements in lines, where there are any to be shown."""
        if self.device.type == "meta":
            return "..."
        return " " + "\n ".join(str(each) for each in self.tolist())  # type: ignore[attr-defined]

    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self._memory.size

    def get_device(self) -> int:
        """Return the number of the memory's device; -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Return False: there is no accelerator to pin memory for."""
        return False

    def is_shared(self) -> bool:
        """Return whether other processes see, or can get, the same memory."""
        return is_shared(self._memory)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """Return a copy on the GPU, or the storage itself if it is there."""
        where = usable("cuda", "cuda")
        if self.device == where:
            return self
        moved = on_memory(place_of(where).from_ndarray(self._memory, where))
        return (
            TypedStorage(wrap_storage=moved, dtype=self.dtype)
            if isinstance(self, TypedStorage)
            else moved
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return False
        return self._cdata == other._cdata and self.nbytes() == other.nbytes()

    def __hash__(self) -> int:
        return hash(self._cdata)


class StorageBase(_Common):
    """The base of memory without a dtype.

    >>> import taper
    >>> issubclass(taper.UntypedStorage, taper.StorageBase)
    True
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError(
                "Cannot directly construct StorageBase; subclass it and then construct that"
            )
        return super().__new__(cls)


class UntypedStorage(StorageBase):
    """Memory as a sequence of bytes.

    >>> import taper
    >>> taper.tensor([1, 2], dtype=taper.int8).untyped_storage().tolist()
    [1, 2]
    """

    __slots__ = ("filename",)

    filename: str | None  # of a storage that lies in a file

    def __init__(self, data: Any = 0, *, device: Any = None) -> None:
        where = usable(device, "UntypedStorage")
        self.filename = None
        if isinstance(data, int | np.integer):
            self._memory = _zeros(int(data), where)
        else:
            self._memory = array_of_elements(list(data), dtypes.uint8)

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Return the first bytes of a file as a storage.

        Args:
            filename: the file.
            shared: whether what is written goes to the file, which is made or made longer if need
                be; else the file stays as it is.
            nbytes: how many bytes.

        >>> import taper, tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(bytes([1, 2, 3]))
        ...     file.flush()
        ...     taper.UntypedStorage.from_file(file.name, nbytes=2).tolist()
        [1, 2]
        """
        if not isinstance(filename, str):
            raise TypeError(f"argument 1 must be str, not {type(filename).__name__}")
        storage = on_memory(mapped_bytes(filename, bool(shared), nbytes))
        storage.filename = filename
        return storage

    def size(self) -> int:
        """Return the size in bytes."""
        return self._memory.size

    __len__ = size

    def element_size(self) -> int:
        """Return 1: elements are bytes."""
        return 1

    def untyped(self) -> UntypedStorage:
        """Return the storage itself."""
        return self

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError("Trying to slice with a step of {index.step}, but only 1 is ok")
            return on_memory(self._memory[index])
        return int(self._memory[_checked(index, len(self))])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._memory[index] = element(value, dtypes.uint8)

    def __iter__(self) -> Iterator[int]:
        return iter(self._memory.tolist())

    def tolist(self) -> list[int]:
        """Return the bytes as a list of integers."""
        return self._memory.tolist()

    def fill_(self, value: Any) -> UntypedStorage:
        """Set every byte."""
        self._memory.fill(element(value, dtypes.uint8))
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> UntypedStorage:
        """Copy all bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size mismatch: expected {self.nbytes()} bytes, got {source.nbytes()}"
            )
        self._memory[...] = source._memory
        return self

    def clone(self) -> UntypedStorage:
        """Return a copy with its own memory."""
        return on_memory(self._memory.copy())

    def cpu(self) -> UntypedStorage:
        """Return a copy on the CPU, or the storage itself if it is there."""
        return on_memory(on_host(self._memory)) if self.device.type == "cuda" else self

    def resize_(self, size: int) -> UntypedStorage:
        """Change the size in bytes of a storage that no tensor looks at.

        Differs: the memory of a tensor cannot move; use `Tensor.resize_`.
        """
        if size == self._memory.size:
            return self
        if self._memory.base is not None:
            raise NotImplementedError(
                "the storage of a tensor cannot be resized: use resize_() of the tensor"
            )
        fresh = np.zeros(size, BYTE)
        kept = min(size, self._memory.size)
        fresh[:kept] = self._memory[:kept]
        self._memory = fresh
        return self

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes of a storage that no tensor looks at into memory that processes share.

        Differs: the memory of a tensor cannot move; use `Tensor.share_memory_`.
        """
        if is_shared(self._memory):
            return self
        if self._memory.base is not None:
            raise NotImplementedError(
                "the storage of a tensor cannot move: use share_memory_() of the tensor"
            )
        self._memory = shared_memory(self._memory)
        return self

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        known = memo.get(id(self))
        if known is None:
            known = memo[id(self)] = on_memory(copied_memory(self._memory, memo))
        return known

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_untyped, (self._memory.tobytes(),)

    def __repr__(self) -> str:
        kind = f"torch.storage.UntypedStorage(device={self.device})"
        return f"{self._text()}\n[{kind} of size {len(self)}]"


class TypedStorage(_Common):
    """Memory as a sequence of elements of one dtype; deprecated in PyTorch.

    >>> import taper
    >>> taper.TypedStorage([1.0, 2.0], dtype=taper.float32).tolist()
    [1.0, 2.0]
    """

    __slots__ = ("dtype",)

    dtype: dtypes.dtype

    def __init__(
        self, data: Any = 0, *, wrap_storage: Any = None, dtype: Any = None, device: Any = None
    ) -> None:
        usable(device, "TypedStorage")
        self.dtype = dtypes.default.float if dtype is None else dtype
        if wrap_storage is not None:
            self._memory = wrap_storage._memory
        elif isinstance(data, UntypedStorage):
            self._memory = data._memory
        elif isinstance(data, int | np.integer):
            self._memory = np.zeros(int(data) * self.dtype.itemsize, BYTE)
        else:
            self._memory = array_of_elements(list(data), self.dtype).view(BYTE)

    @property
    def _elements(self) -> np.ndarray:
        return self._memory.view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return on_memory(self._memory)

    def size(self) -> int:
        """Return the number of elements."""
        return self._memory.size // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.dtype.itemsize

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements[_checked(index, len(self))].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[index] = stored(element(value, self.dtype), self.dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as Python numbers."""
        return self._elements.tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element."""
        self._elements.fill(stored(element(value, self.dtype), self.dtype))
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Copy all elements of another storage, converted if its dtype differs."""
        if isinstance(source, UntypedStorage) or source.dtype is self.dtype:
            self.untyped().copy_(source)
        else:
            self._elements[...] = source._elements
        return self

    def clone(self) -> TypedStorage:
        """Return a copy with its own memory."""
        return TypedStorage(wrap_storage=self.untyped().clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """Return a copy on the CPU, or the storage itself if it is there."""
        if self.device.type != "cuda":
            return self
        return TypedStorage(wrap_storage=on_memory(on_host(self._memory)), dtype=self.dtype)

    def type(self) -> str:
        """Return PyTorch's name of the legacy class: 'torch.FloatStorage'."""
        return f"torch.{self.dtype.scalar_type}Storage"

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements; see `UntypedStorage.resize_`."""
        self._memory = self.untyped().resize_(size * self.dtype.itemsize)._memory
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=self.untyped().__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_typed, (self._memory.tobytes(), self.dtype)

    def __repr__(self) -> str:
        kind = f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        return f"{self._text()}\n[{kind} of size {len(self)}]"


def _conversion(which: dtypes.dtype) -> Any:
    def convert(self: Any) -> TypedStorage:
        elements = self._elements if isinstance(self, TypedStorage) else self._memory
        converted = elements.astype(which.numpy).view(BYTE)
        return TypedStorage(wrap_storage=on_memory(converted), dtype=which)

    convert.__doc__ = f"The elements as a new storage of {which!r}."
    return convert


class LegacyStorage(type):
    """The class of `FloatStorage` and the like, which make TypedStorages of one dtype."""

    dtype: dtypes.dtype

    def __call__(cls, data: Any = 0, *, wrap_storage: Any = None, device: Any = None) -> Any:
        return TypedStorage(data, wrap_storage=wrap_storage, dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


LEGACY: dict[str, LegacyStorage] = {}
"""`FloatStorage`, `LongStorage` ...: under their names in the `torch` namespace."""


def _zeros(nbytes: int, where: device) -> np.ndarray:
    if where is CPU:
        return np.zeros(nbytes, BYTE)
    found: np.ndarray = place_of(where).filled((nbytes,), 0, BYTE, where)
    return found


def on_memory(memory: np.ndarray) -> UntypedStorage:
    """Return the storage on a flat array of bytes."""
    storage = object.__new__(UntypedStorage)
    storage._memory = memory
    storage.filename = None
    return storage


def _checked(index: Any, length: int) -> int:
    position = operator.index(index)
    if not -length <= position < length:
        raise IndexError(f"index {position} out of range for storage of size {length}")
    return position


def _rebuild_untyped(data: bytes) -> UntypedStorage:
    return on_memory(np.frombuffer(bytearray(data), BYTE))


def _rebuild_typed(data: bytes, which: dtypes.dtype) -> TypedStorage:
    return TypedStorage(wrap_storage=_rebuild_untyped(data), dtype=which)


# Tensors and their storages.


def storage_of(tensor: Tensor) -> UntypedStorage:
    """Return all the memory that the tensor's elements lie in."""
    return on_memory(all_bytes(tensor._array))


def typed_storage_of(tensor: Tensor) -> TypedStorage:
    """Return `Tensor.storage()`, which PyTorch deprecates."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )
    return TypedStorage(wrap_storage=storage_of(tensor), dtype=tensor.dtype)


def tensor_on(
    storage: Any,
    which: dtypes.dtype,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Tensor:
    """Return a tensor on the memory of a storage; `offset` and `strides` count elements."""
    return wrap(on_bytes(storage._memory, which.numpy, offset, shape, strides))


def copied_memory(memory: np.ndarray, memo: dict[Any, Any]) -> np.ndarray:
    """Return a copy of a storage's bytes, made once in a `deepcopy`, so that sharing stays."""
    copies = memo.setdefault("taper", {})
    key = (on_memory(memory)._cdata, memory.size)
    if key not in copies:
        copies[key] = memory.copy()
    return copies[key]


def is_shared(array: np.ndarray) -> bool:
    """Return whether other processes can see the memory: a shared segment or a mapped file."""
    if isinstance(array, ForeignArray):
        return False
    base = owner_of(array).base
    mapped = isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap)
    return mapped or keeper_of(array) is not None


def shared_memory(memory: np.ndarray) -> np.ndarray:
    """Return a copy of flat bytes in memory that other processes can see."""
    shared = bytes_of(Segment(memory.size), 0, memory.size)
    shared[...] = memory
    return shared


def shared_copy(array: np.ndarray) -> np.ndarray:
    """Return the same elements, with their whole storage, in memory that processes share."""
    memory = all_bytes(array)
    offset = array.ctypes.data - memory.ctypes.data if array.size else 0
    return np.ndarray(array.shape, array.dtype, shared_memory(memory), offset, array.strides)


_CONVERSIONS = {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "complex_float": dtypes.complex64,
    "complex_double": dtypes.complex128,
}

_DOC = """Storages of {which!r}.

    >>> import taper, warnings
    >>> warnings.simplefilter("ignore")
    >>> taper.{name}([1, 0]).dtype
    {which!r}
    """

for _name, _which in _CONVERSIONS.items():
    setattr(_Common, _name, _conversion(_which))
    _class = f"{_which.scalar_type}Storage"
    _doc = _DOC.format(which=_which, name=_class)
    _members = {"dtype": _which, "__module__": "taper", "__doc__": _doc}
    LEGACY[_class] = LegacyStorage(_class, (), _members)
