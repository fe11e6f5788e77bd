"""Stand-ins: tensors of a followed call that nobody has computed yet (see `following`).

Owns: the class.  A stand-in answers questions about its shape from the record.  Whoever reads its
elements has them computed first; whoever asks for its history gets an ordinary tensor: all slots of
the class are properties, so that there is no way past them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.strides import wrap_dim
from taper.autograd.overrides import _disabled_torch_function_impl
from taper.device import CPU
from taper.device import device as Device
from taper.size import Size, of_shape
from taper.tensor import Tensor, wrap

_SLOTS = ("_array", "_autograd_meta", "_counter", "_grad_fn", "_output_nr", "_requires_grad",
          "_view")  # fmt: skip
_raw: dict[str, Any] = {name: Tensor.__dict__[name] for name in _SLOTS}
# Native code takes what it does not know in this slot for no record at all.
_record = _raw["_autograd_meta"]
_class: Any = object.__dict__["__class__"]


class Record:
    """What a stand-in knows: who follows, which object it is, its array once there is one."""

    __slots__ = ("array", "follower", "object")

    def __init__(self, follower: Any, thing: Any) -> None:
        self.follower, self.object = follower, thing
        self.array: np.ndarray | None = None


class StandIn(Tensor):
    """A tensor whose elements, and whose history, do not exist yet."""

    __slots__ = ()

    __torch_function__ = _disabled_torch_function_impl
    __class__ = property(lambda self: Tensor)

    @property
    def shape(self) -> Size:
        return of_shape(record_of(self).object.value.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.FROM_NUMPY[record_of(self).object.value.dtype]

    @property
    def ndim(self) -> int:
        return len(record_of(self).object.value.shape)

    @property
    def device(self) -> Device:
        return CPU

    @property
    def requires_grad(self) -> bool:
        return bool(record_of(self).object.flag)

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        ordinary(self).requires_grad = flag

    @property  # type: ignore[misc]
    def is_leaf(self) -> bool:
        return not record_of(self).object.flag

    def size(self, dim: int | None = None) -> Any:
        shape = of_shape(record_of(self).object.value.shape)
        return shape if dim is None else shape[wrap_dim(dim, len(shape))]

    def dim(self) -> int:
        return len(record_of(self).object.value.shape)

    ndimension = dim

    def numel(self) -> int:
        return self.shape.numel()

    nelement = numel

    def __len__(self) -> int:
        shape = record_of(self).object.value.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return int(shape[0])

    def __repr__(self) -> str:
        return repr(_shown(self))

    def __format__(self, spec: str) -> str:
        return format(_shown(self), spec)


def _shown(tensor: Any) -> Tensor:
    """A tensor that looks like the one it stands for: the node is that of the recording."""
    array = tensor._array  # this may make it an ordinary one
    if not is_stand_in(tensor):
        found: Tensor = tensor
        return found
    thing = record_of(tensor).object
    twin = wrap(array)
    twin._requires_grad = thing.flag
    twin._grad_fn = thing.shown
    return twin


def is_stand_in(tensor: Any) -> bool:
    """Whether a tensor is still one."""
    return type(tensor) is StandIn


def record_of(tensor: Any) -> Record:
    """The record of a stand-in."""
    found: Record = _record.__get__(tensor)
    return found


def ordinary(tensor: Any) -> Any:
    """The same tensor, with elements and history."""
    if type(tensor) is StandIn:
        _record.__get__(tensor).follower.leave()
        if type(tensor) is StandIn:
            raise RuntimeError("the captured call that was to compute this tensor has failed")
    return tensor


def stand_in(record: Record) -> Any:
    """Return a new stand-in."""
    made: Any = object.__new__(StandIn)
    _record.__set__(made, record)
    return made


def become(tensor: Any, other: Tensor) -> None:
    """Let a stand-in be the tensor that it stands for."""
    for name in _SLOTS:
        slot = _raw[name]
        slot.__set__(tensor, slot.__get__(other))
    _class.__set__(tensor, Tensor)


def _read_array(tensor: Any) -> np.ndarray:
    record = _record.__get__(tensor)
    if record.array is None:
        record.follower.compute()
        if type(tensor) is StandIn and record.array is None:
            ordinary(tensor)
        if type(tensor) is not StandIn:
            found: np.ndarray = _raw["_array"].__get__(tensor)
            return found
    array: np.ndarray = record.array
    return array


def _guard(name: str) -> property:
    slot = _raw[name]

    def read(tensor: Any) -> Any:
        return slot.__get__(ordinary(tensor))

    def write(tensor: Any, value: Any) -> None:
        slot.__set__(ordinary(tensor), value)

    if name == "_array":
        read = _read_array
    elif name == "_requires_grad":
        read = lambda tensor: _record.__get__(tensor).object.flag  # noqa: E731
    return property(read, write)


for _name in _SLOTS:
    setattr(StandIn, _name, _guard(_name))
