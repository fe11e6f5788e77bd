"""The pickle inside a checkpoint: objects under PyTorch's names, storages by reference.

The result is what PyTorch writes, so that PyTorch can read it.  Owns how tensors are taken apart;
knows no file format around the pickle.
"""

from __future__ import annotations

import codecs
import io
import pickle
import struct
import sys
from collections import OrderedDict
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from taper import dtypes
from taper.arrays.memory import all_bytes
from taper.autograd.conjugate import flags_of, memory_of
from taper.autograd.views import requires_grad
from taper.compat.aliases import public_name
from taper.compat.paths import public_module
from taper.device import layout, memory_format, strided
from taper.files.locations import location_tag
from taper.nn.parameter import Parameter
from taper.pickling import meta_arguments, warn_if_has_hooks
from taper.storage import TypedStorage, UntypedStorage, on_memory
from taper.tensor import Tensor, element_strides


class Named:
    """Something of PyTorch's that is written by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """Do nothing: pickle only wants the functions it names to be callable."""


_REBUILD = Named("torch._utils", "_rebuild_tensor_v2")
_REBUILD_WITH_DTYPE = Named("torch._utils", "_rebuild_tensor_v3")
_REBUILD_META = Named("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_PARAMETER = Named("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_WITH_STATE = Named("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_SPARSE = Named("torch._utils", "_rebuild_sparse_tensor")
_REBUILD_FROM_TYPE = Named("torch._tensor", "_rebuild_from_type_v2")
_GET_LAYOUT = Named("torch.serialization", "_get_layout")

# PyTorch has no storage class for these dtypes: they are written as bytes, with their dtype.
_WITHOUT_STORAGE_CLASS = (dtypes.uint16, dtypes.uint32, dtypes.uint64, *dtypes.FLOAT8)
_UNTYPED = Named("torch.storage", "UntypedStorage")
_STORAGE_CLASSES = {
    each: Named("torch", f"{each.scalar_type}Storage")
    for each in dtypes.FROM_NUMPY.values()
    if each not in _WITHOUT_STORAGE_CLASS
}


_CONTAINERS = (bytes, bytearray, str, tuple, list, dict, set, frozenset)
_PLAIN: dict[Any, str] = {
    **{each: each.__name__ for each in (bool, float, *_CONTAINERS)},
    type(None): "none",
    int: "long",
    type: "type",
    pickle.PickleBuffer: "picklebuffer",
}


class Written(NamedTuple):
    """A storage that the pickle refers to: its key, its bytes and its number of elements."""

    key: str
    memory: np.ndarray
    numel: int
    itemsize: int


class CheckpointPickler(pickle._Pickler):
    """Pickles one object and collects the storages of its tensors, in the order of first use."""

    # Attributes that the base class has but its type information lacks.
    proto: int
    save: Any
    write: Any
    memoize: Any

    def __init__(self, protocol: int, legacy: bool = False) -> None:
        self.buffer = io.BytesIO()
        super().__init__(self.buffer, protocol)
        self.storages: dict[Any, Written] = {}
        self._seen_as: dict[int, Any] = {}
        self._kept: list[Any] = []  # objects that are looked up by their address must stay alive
        self._legacy = legacy

    def persistent_id(self, obj: Any) -> Any:
        """Write storages by reference."""
        if isinstance(obj, TypedStorage):
            dtype: dtypes.dtype | None = obj.dtype
        elif isinstance(obj, UntypedStorage):
            dtype = None
        else:
            return None
        written = self._reference(obj._memory, dtype)
        kind = _UNTYPED if dtype is None else _STORAGE_CLASSES[dtype]
        reference = ("storage", kind, written.key, location_tag(obj), written.numel)
        return (*reference, None) if self._legacy else reference

    def _reference(self, memory: np.ndarray, dtype: dtypes.dtype | None) -> Written:
        address = memory.ctypes.data
        # Storages without memory have no address of their own: each counts as another one.
        place: Any = (address, memory.size) if memory.size else object()
        if memory.size:
            if self._seen_as.setdefault(address, dtype) is not dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as "
                    "different types"
                )
        written = self.storages.get(place)
        if written is None:
            itemsize = 1 if dtype is None else dtype.itemsize
            key = str(len(self.storages))
            written = Written(key, memory, memory.size // itemsize, itemsize)
            self.storages[place] = written
            self._kept.append(memory)
        return written

    def reducer_override(self, obj: Any) -> Any:
        """Take apart what plain pickle would write differently."""
        kind = type(obj)
        if isinstance(obj, Tensor):
            if kind is Parameter:
                return _reduce_parameter(obj)
            return _reduce_tensor(obj) if obj.layout is strided else _reduce_sparse(obj)
        if kind is dtypes.dtype or kind is Named:
            return obj.name
        if kind is layout:
            return _GET_LAYOUT, (repr(obj),)
        if kind is memory_format:
            raise TypeError("cannot pickle 'torch.memory_format' object")
        if kind is bytes and not obj and self.proto < 3:
            # Plain pickle names the class, which no checkpoint may do.
            return codecs.encode, ("", "latin1")
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of a class or function; those of taper under PyTorch's names."""
        place = _place_of(obj)
        if place is None:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        module, name = place
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    # A table of its own: dill replaces entries of the base class's by functions that want a
    # pickler of dill's.
    dispatch: ClassVar[Any] = {
        **{kind: getattr(pickle._Pickler, f"save_{name}") for kind, name in _PLAIN.items()},
        FunctionType: save_global,
    }


def _place_of(obj: Any) -> tuple[str, str] | None:
    """Return PyTorch's module and name of an object; None if it is not ours to name."""
    kind = type(obj)
    if kind is Named:
        return obj.module, obj.name
    if kind is dtypes.dtype:
        return "torch", obj.name
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    public = public_module(module, name) if isinstance(obj, type) else public_name(module)
    if public == module:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not obj:
        raise pickle.PicklingError(f"Can't pickle {obj!r}: it's not found as {module}.{name}")
    return public, name


def _reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Return a tensor as storage, offset, shape, strides and flags."""
    warn_if_has_hooks(tensor)
    array = memory_of(tensor)
    if tensor.is_meta:
        return _REBUILD_META, meta_arguments(tensor)
    dtype, memory = dtypes.FROM_NUMPY[array.dtype], all_bytes(array)
    offset = (array.ctypes.data - memory.ctypes.data) // array.itemsize if array.size else 0
    arguments: tuple[Any, ...] = (
        offset,
        tuple(array.shape),
        element_strides(array),
        requires_grad(tensor) is True,
        OrderedDict(),
    )
    flags = flags_of(tensor)
    if dtype in _WITHOUT_STORAGE_CLASS:
        function, arguments = _REBUILD_WITH_DTYPE, (on_memory(memory), *arguments, dtype)
    else:
        storage = TypedStorage(wrap_storage=on_memory(memory), dtype=dtype)
        function, arguments = _REBUILD, (storage, *arguments, *([flags] if flags else []))
    kind = tensor.__class__
    if kind is Tensor and not tensor.__dict__:
        return function, arguments
    return _REBUILD_FROM_TYPE, (function, kind, arguments, dict(tensor.__dict__))


def _reduce_sparse(tensor: Any) -> tuple[Any, ...]:
    """Return a sparse tensor as layout, indices, elements and shape; as in PyTorch no flag."""
    warn_if_has_hooks(tensor)
    _, (kind, parts) = tensor.__reduce_ex__(2)
    if getattr(tensor, "_is_param", False):
        return _REBUILD_PARAMETER, (tensor.detach(), requires_grad(tensor) is True, OrderedDict())
    return _REBUILD_SPARSE, (kind, parts)


def _reduce_parameter(parameter: Tensor) -> tuple[Any, ...]:
    warn_if_has_hooks(parameter)
    arguments: tuple[Any, ...] = (parameter.data, requires_grad(parameter) is True, OrderedDict())
    if parameter.__dict__:
        return _REBUILD_PARAMETER_WITH_STATE, (*arguments, dict(parameter.__dict__))
    return _REBUILD_PARAMETER, arguments


def pickled(obj: Any, protocol: int, legacy: bool = False) -> tuple[bytes, list[Written]]:
    """Return the pickle of an object, and the storages it refers to."""
    pickler = CheckpointPickler(protocol, legacy)
    pickler.dump(obj)
    return pickler.buffer.getvalue(), list(pickler.storages.values())


def plain(obj: Any, protocol: int) -> bytes:
    """Return the pickle of an object that has no tensors."""
    return pickled(obj, protocol)[0]


def count(numel: int) -> bytes:
    """Return a number of elements as old files store it before the elements."""
    return struct.pack("<q", numel)
