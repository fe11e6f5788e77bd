"""Copying and pickling tensors: `copy`, `deepcopy`, `pickle`.

A tensor is rebuilt from its storage, so that views stay views of the same memory within one
`deepcopy`.  History is never copied: the copy is a leaf.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from taper.arrays.foreign import is_foreign, place_of
from taper.arrays.memory import all_bytes, on_bytes
from taper.autograd.conjugate import change_of, flags_of, memory_of, showing
from taper.autograd.overrides import watch
from taper.autograd.tensor_api import _get_backward_hooks, set_leaf_flag
from taper.autograd.views import meta_of, requires_grad
from taper.device import META
from taper.factory import NO_INTEGER_GRADIENTS, finish, inferred
from taper.storage import TypedStorage, copied_memory, storage_of
from taper.tensor import Tensor, element_strides, storage_offset, wrap
from taper.userwarning import warn_user


def _offset(array: Any, memory: Any) -> int:
    if is_foreign(array):
        return storage_offset(array)
    if not array.size:
        return 0
    offset: int = (array.ctypes.data - memory.ctypes.data) // array.itemsize
    return offset


# --- pickle ----------------------------------------------------------------------------------


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn for each hook that pickling would lose."""
    for hook in (_get_backward_hooks(tensor) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn_user(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning"
            )


def unserializable_hook(f: Any) -> Any:
    """Mark a hook whose loss in pickling needs no warning."""
    f.__torch_unserializable__ = True
    return f


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Return a leaf on the memory of a storage."""
    array = on_bytes(
        storage._memory, storage.dtype.numpy, storage_offset, tuple(size), tuple(stride)
    )
    made = inferred(showing(array, change_of(metadata or {})))
    if requires_grad:
        set_leaf_flag(made, True, NO_INTEGER_GRADIENTS)
    return made


def meta_arguments(tensor: Tensor) -> tuple[Any, ...]:
    """Return what a pickle holds of a meta tensor: dtype, shape, strides, requires_grad."""
    array = memory_of(tensor)
    return tensor.dtype, tensor.shape, element_strides(array), requires_grad(tensor) is True


def _rebuild_meta_tensor_no_storage(
    dtype: Any, size: Any, stride: Any, requires_grad: bool
) -> Tensor:
    """Return a new meta tensor."""
    array = place_of(META).empty(tuple(size), tuple(stride), dtype.numpy, META)
    return finish(array, requires_grad)


def _rebuild_from_type_v2(
    function: Any, new_type: type[Tensor], arguments: tuple[Any, ...], state: Any
) -> Any:
    """Return a rebuilt tensor in its class and with its Python attributes."""
    made = function(*arguments)
    made.__class__ = new_type
    watch(made)
    if state:
        made.__dict__.update(state)
    return made


def reduce_tensor(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Take a tensor apart for pickle: storage, offset, shape, strides, requires_grad."""
    warn_if_has_hooks(self)
    array = memory_of(self)
    if self.is_meta:
        return _rebuild_meta_tensor_no_storage, meta_arguments(self)
    storage = TypedStorage(wrap_storage=storage_of(wrap(array)), dtype=self.dtype)
    flags = flags_of(self)
    arguments: tuple[Any, ...] = (
        storage,
        _offset(array, storage._memory),
        tuple(array.shape),
        element_strides(array),
        requires_grad(self),
        OrderedDict(),
        *([flags] if flags else []),
    )
    if self.__class__ is Tensor and not self.__dict__:
        return _rebuild_tensor_v2, arguments
    state = dict(self.__dict__)
    return _rebuild_from_type_v2, (_rebuild_tensor_v2, self.__class__, arguments, state)


# --- deepcopy --------------------------------------------------------------------------------


def require_leaf(tensor: Tensor) -> None:
    """Raise for a tensor that was computed: `deepcopy` does not copy its history."""
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )


def deepcopy_tensor(self: Tensor, memo: dict[Any, Any]) -> Any:
    """Return a leaf with a copy of the storage, of the gradient and of the Python attributes."""
    if id(self) in memo:
        return memo[id(self)]
    require_leaf(self)
    array = self._array  # computed, if it is a conjugate
    memory = all_bytes(array)
    made = finish(
        on_bytes(
            copied_memory(memory, memo),
            array.dtype,
            _offset(array, memory),
            array.shape,
            element_strides(array),
        )
    )
    if self.__class__ is not Tensor:
        made.__class__ = self.__class__
        watch(made)
    if requires_grad(self):
        set_leaf_flag(made, True, NO_INTEGER_GRADIENTS)
    memo[id(self)] = made
    meta = self._autograd_meta
    if meta is not None and meta.grad is not None:
        meta_of(made).grad = copy.deepcopy(meta.grad, memo)
    if self.__dict__:
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


Tensor.__reduce_ex__ = reduce_tensor  # type: ignore[assignment,method-assign]
Tensor.__deepcopy__ = deepcopy_tensor  # type: ignore[assignment,method-assign]
