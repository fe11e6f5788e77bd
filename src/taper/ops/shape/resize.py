"""Other memory for a tensor, in place: resize_, resize_as_, set_."""

from __future__ import annotations

from typing import Any

import numpy as np

from taper import dtypes
from taper.arrays.reduction import no_forward_mode
from taper.arrays.strides import Shape, format_strides, is_dense, row_major
from taper.autograd.accumulate import remember_former
from taper.autograd.conjugate import look_at, memory_of, resize
from taper.autograd.duals import tangent
from taper.autograd.meta import INFERENCE_COUNTER
from taper.autograd.probes import Unimplemented
from taper.autograd.state import DUAL, INFERENCE, local
from taper.autograd.views import (
    bump_version,
    check_inplace,
    rebase_history,
    refuse_inference,
    requires_grad,
    wants_grad,
)
from taper.device import CPU, preserve_format
from taper.dtypes import C_NAMES
from taper.factory import allocate, check_memory_format, fill_uninitialised, refuse, refuse_size
from taper.opdef import composite
from taper.ops.shape.reshape import sizes
from taper.ops.shape.strided import strided_view
from taper.storage import TypedStorage, UntypedStorage, tensor_on
from taper.tensor import Tensor, element_strides


def _resized(tensor: Tensor, shape: Shape, strides: Shape) -> Tensor:
    """Give a tensor another shape, with the elements that its storage holds in order."""
    inference = tensor._counter is INFERENCE_COUNTER or local.state.mode & INFERENCE
    if not inference and requires_grad(tensor):
        raise RuntimeError("cannot resize variables that require grad")
    if local.state.mode & DUAL and tangent(tensor) is not None:
        raise RuntimeError("cannot resize variables that has a forward grad")
    array = memory_of(tensor)
    if array.shape == shape:
        return tensor
    refuse_inference(tensor, local.state)
    if shape and min(shape) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    refuse_size(shape, array.dtype)
    fresh = resize(tensor, shape, strides)
    fill_uninitialised(fresh)
    bump_version(tensor)
    return tensor


@composite(public=False)
def resize_(self: Tensor, *shape: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Change the shape in place; a larger tensor has undefined elements at its end.

    >>> import taper
    >>> taper.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    wanted = sizes("resize_", "size", shape if size is None else (size,))
    check_memory_format("resize_", memory_format)
    if memory_format is None or memory_format is preserve_format:
        strides = row_major(wanted)
    else:
        strides = format_strides(wanted, memory_format._name)
    return _resized(self, wanted, strides)


@composite(name="resize_as_")
def resize_as_(input: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """Give a tensor the shape of another, in place.

    >>> import taper
    >>> taper.resize_as_(taper.arange(6), taper.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if not isinstance(the_template, Tensor):
        refuse("resize_as_", "the_template", 1, "Tensor", the_template)
    check_memory_format("resize_as_", memory_format)
    array = the_template._array
    strides = row_major(array.shape)
    if memory_format is preserve_format:
        given = element_strides(array)
        strides = given if is_dense(array.shape, given) else strides
    elif memory_format is not None:
        strides = format_strides(array.shape, memory_format._name)
    return _resized(input, array.shape, strides)


@composite(public=False)
def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Let a tensor view the memory of another tensor, or of a storage.

    >>> import taper
    >>> taper.zeros(3).set_(taper.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    tensors = [self, source] if isinstance(source, Tensor) else [self]
    if source is not None and getattr(source, "device", CPU) != self.device:
        raise RuntimeError(
            f'Attempted to set the storage of a tensor on device "{self.device}" to a storage on '
            f'different device "{source.device}".  This is no longer allowed; the devices must '
            "match."
        )
    own = self._array.dtype
    if isinstance(source, Tensor):
        _refuse_kind(memory_of(source).dtype, own)
    recorded = _is_recorded(self, tensors)
    if source is None:
        array = allocate((0,), own, None, self.device)
    elif isinstance(source, (UntypedStorage, TypedStorage)):
        shape = (source.nbytes() // own.itemsize,) if size is None else tuple(size)
        strides = row_major(shape) if stride is None else tuple(stride)
        array = tensor_on(source, self.dtype, storage_offset, shape, strides)._array
    elif not isinstance(source, Tensor):
        raise TypeError(
            f"set_() received an invalid combination of arguments - got ({type(source).__name__})"
            + _SET_FORMS
        )
    else:
        array = memory_of(source)
        if size is not None:
            strides = row_major(tuple(size)) if stride is None else tuple(stride)
            array = strided_view.op.kernel(array, tuple(size), strides, storage_offset)
    if self._grad_fn is None and wants_grad(self):
        remember_former(self, kept=False)
        self._autograd_meta.odd_layout = True
    look_at(self, array)
    bump_version(self)
    if recorded:
        rebase_history(
            self, Unimplemented("derivative for set_ is not implemented", tensors, [self])
        )
    return self


def _refuse_kind(given: np.dtype[Any], own: np.dtype[Any]) -> None:
    if given != own:
        names = [C_NAMES[dtypes.FROM_NUMPY[each]] for each in (given, own)]
        raise RuntimeError(
            f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}"
        )


def _is_recorded(target: Tensor, tensors: list[Tensor]) -> bool:
    if local.state.mode & DUAL and any(tangent(each) is not None for each in tensors):
        raise no_forward_mode("set_")
    return check_inplace(target, any(map(wants_grad, tensors)), local.state)


_SET_FORMS = """, but expected one of:
 * ()
 * (torch.Storage source)
 * (torch.Storage source, int storage_offset, tuple of ints size, tuple of ints stride = None)
 * (Tensor source)
 * (Tensor source, int storage_offset, tuple of ints size, tuple of ints stride = None)
"""
