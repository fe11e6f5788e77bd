"""Tensors from what a checkpoint says about them, after checking it.

Sizes, strides and offsets are numbers that somebody wrote into a file: each is compared with the
storage before a view is made.  Knows storages and tensors; must not know pickles or files.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from types import MemberDescriptorType
from typing import Any, NoReturn

import numpy as np

from taper import dtypes
from taper.arrays.memory import BYTE, on_bytes
from taper.autograd.conjugate import change_of, showing
from taper.autograd.overrides import watch
from taper.factory import inferred
from taper.files.refusals import failed
from taper.nn.parameter import Parameter
from taper.storage import TypedStorage
from taper.tensor import Tensor

MOST_DIMENSIONS = 64
_LARGEST = (1 << 63) - 1


def integers(values: Any, what: str, most: int = MOST_DIMENSIONS) -> tuple[int, ...]:
    """Return a tuple or list of integers as a tuple; refuse more than `most` unseen."""
    if not isinstance(values, (tuple, list)):
        raise failed(f"{what} must be a tuple, but got {type(values)}")
    if len(values) > most:
        raise RuntimeError(f"a tensor has at most {most} dimensions, not {len(values)}")
    for each in values:
        if type(each) is not int:
            raise failed(f"{what} must be integers, but got {type(each)}")
    return tuple(values)


def checked_view(
    storage: Any, dtype: dtypes.dtype, offset: Any, size: Any, stride: Any
) -> np.ndarray:
    """Return an array of a shape on a storage; raise unless all of it lies in the storage."""
    if not isinstance(storage, TypedStorage):
        raise failed(f"a tensor must lie on a storage, but got {type(storage)}")
    if type(offset) is not int:
        raise failed(f"a storage offset must be an integer, but got {type(offset)}")
    shape, strides = integers(size, "sizes"), integers(stride, "strides")
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if min(shape, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(max(length, 1) for length in shape) * dtype.itemsize > _LARGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    if min(strides, default=0) < 0 or max(strides, default=0) * dtype.itemsize > _LARGEST:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    return on_bytes(storage._memory, dtype.numpy, offset, shape, strides)


def check_truth_values(memory: np.ndarray) -> None:
    """Refuse bytes that are no truth values: NumPy relies on there being none."""
    if memory.size and memory.view(BYTE).max() > 1:
        raise RuntimeError("a storage of bool holds bytes that are neither 0 nor 1")


def tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    backward_hooks: Any = None,
    metadata: Any = None,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Return a leaf on a storage; `metadata` says whether it conjugates the elements."""
    if type(requires_grad) is not bool:
        raise failed(f"requires_grad must be a bool, but got {type(requires_grad)}")
    if dtype is None:
        dtype = storage.dtype if isinstance(storage, TypedStorage) else dtypes.uint8
    array = checked_view(storage, dtype, offset, size, stride)
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    made = inferred(showing(array, change_of(_flags(metadata, dtype))))
    made._requires_grad = requires_grad
    return made


def _flags(metadata: Any, dtype: dtypes.dtype) -> dict[str, bool]:
    """Return whether the elements are conjugates, and negatives, of those in the storage."""
    if metadata is None:
        return {}
    if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
        raise failed("the metadata of a tensor may only have 'conj' and 'neg'")
    if any(type(each) is not bool for each in metadata.values()):
        raise failed("the metadata of a tensor must be truth values")
    if dtype is dtypes.bool_ and metadata.get("neg"):
        raise failed("truth values have no negatives")
    return metadata if dtype.is_complex else {**metadata, "conj": False}


def parameter(data: Any, requires_grad: Any, backward_hooks: Any, state: Any = None) -> Parameter:
    """Return a Parameter on the memory of a tensor, with its Python attributes."""
    if not isinstance(data, Tensor) or type(requires_grad) is not bool:
        raise failed("a Parameter is rebuilt from a tensor and a bool")
    if requires_grad and not (data.dtype.is_floating_point or data.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    made: Parameter = Parameter(data, requires_grad)
    set_attributes(made, state)
    return made


def of_type(made: Any, kind: Any, state: Any) -> Any:
    """Return a rebuilt tensor in its class and with its Python attributes."""
    if not isinstance(made, Tensor):
        raise failed(f"a tensor must be rebuilt, but got {type(made)}")
    if kind is not made.__class__:
        made.__class__ = kind
        watch(made)
    set_attributes(made, state)
    return made


def set_attributes(target: Any, state: Any) -> None:
    """Set Python attributes; `state` is what pickle keeps of an object: a dict, perhaps slots.

    The user's own class must declare the slots: those of taper hold memory and history.
    """
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    for attributes in (state, slots):
        if attributes is not None and not isinstance(attributes, dict):
            refuse_state(target, attributes)
        for name in attributes or ():
            if type(name) is not str:
                refuse_state(target, attributes)
            if _is_reserved(target, name) or (attributes is slots and not _is_slot(target, name)):
                raise failed(f"a file may not set {name[:100]!r} of {type(target)}")
    if state:
        if not hasattr(target, "__dict__"):
            refuse_state(target, state)
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _is_reserved(target: Any, name: str) -> bool:
    """Return whether a name means something to Python, to tensors or to dicts."""
    if name.startswith("__") and name.endswith("__"):
        return True
    if isinstance(target, Tensor):
        return hasattr(Tensor, name)
    return isinstance(target, OrderedDict) and hasattr(OrderedDict, name)


def _is_slot(target: Any, name: str) -> bool:
    descriptor = getattr(type(target), name, None)
    if not isinstance(descriptor, MemberDescriptorType):
        return False
    return descriptor.__objclass__.__module__.partition(".")[0] not in ("taper", "torch")


def refuse_state(target: Any, state: Any) -> NoReturn:
    """Raise the error of a state that is not attributes."""
    raise failed(f"the state of {type(target)} must be a dict of attributes, not {type(state)}")
