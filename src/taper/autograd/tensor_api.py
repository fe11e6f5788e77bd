"""The autograd side of Tensor: `requires_grad`, `grad`, `grad_fn`, `backward`, hooks, `detach`.

This module attaches it to the class, so that `tensor` need not know autograd.

Long because: users read the reference of each function here.
"""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from taper import dtypes
from taper.arrays.foreign import is_foreign
from taper.autograd.accumulate import AccumulateGrad, remember_former
from taper.autograd.backward import backward as run_backward
from taper.autograd.backward import of_a_loss
from taper.autograd.conjugate import look_at, memory_of, on_memory, show
from taper.autograd.cuts import cut_here, cut_of
from taper.autograd.handles import HookDict, RemovableHandle
from taper.autograd.meta import (
    ASK,
    INFERENCE_COUNTER,
    UNSET,
    DetachedCounter,
    ViewRecord,
)
from taper.autograd.meta import is_inference as made_in_inference
from taper.autograd.node import Node
from taper.autograd.overrides import Default, _disabled_torch_dispatch_impl
from taper.autograd.provenance import describe
from taper.autograd.saved import SavedValue
from taper.autograd.state import INFERENCE, local
from taper.autograd.transforms import mark_made, refuse_requires_grad, refuse_retain_grad
from taper.autograd.views import (
    alias_counter,
    can_stride,
    meta_of,
    replay,
    requires_grad,
    version_counter,
    wants_grad,
)
from taper.tensor import Tensor, element_strides, outline_of, storage_offset, wrap


def attach(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__qualname__ = f"Tensor.{function.__name__}"
    setattr(Tensor, function.__name__, function)
    return function


# --- requires_grad and leaves ----------------------------------------------------------------


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients are computed for this tensor."""
    return wants_grad(self)


def _set_requires_grad(self: Tensor, value: Any) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not self.is_leaf:
        raise RuntimeError(_ONLY_LEAVES if value else _ONLY_LEAVES + _USE_DETACH)
    set_leaf_flag(
        self, value, "only Tensors of floating point and complex dtype can require gradients"
    )


_ONLY_LEAVES = "you can only change requires_grad flags of leaf variables."
_USE_DETACH = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)


def set_leaf_flag(tensor: Tensor, value: bool, refusal: str) -> None:
    """Set the flag of a leaf, checked against its dtype."""
    if value:
        dtype = dtypes.FROM_NUMPY[_memory_or_outline(tensor).dtype]  # as nobody is to be asked here
        if not (dtype.is_floating_point or dtype.is_complex):
            raise RuntimeError(refusal)
        if made_in_inference(tensor._counter) and not local.state.mode & INFERENCE:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
    if tensor._view is not None:
        tensor._view.requires_grad = value
    else:
        tensor._requires_grad = value


def _memory_or_outline(tensor: Tensor) -> Any:
    return memory_of(tensor) if tensor._change is not None else outline_of(tensor)


@attach
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether autograd records what is computed from this leaf, in place.

    Args:
        requires_grad: True or False.

    Returns: the tensor itself.

    Example:
        >>> import taper
        >>> taper.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
    """
    if not isinstance(requires_grad, bool):
        raise TypeError(
            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
            f"{type(requires_grad).__name__}"
        )
    refuse_requires_grad()
    if self.is_leaf:
        set_leaf_flag(
            self, requires_grad, "only Tensors of floating point dtype can require gradients"
        )
    elif not requires_grad:
        raise RuntimeError(_ONLY_LEAVES + _USE_DETACH)
    return self


def _get_grad_fn(self: Tensor) -> Node | None:
    """The node that computed this tensor, None for a leaf."""
    if self._requires_grad is ASK:
        requires_grad(self)
    return self._grad_fn


def _is_leaf(self: Tensor) -> bool:
    """Whether no recorded operation made this tensor."""
    return _get_grad_fn(self) is None


def _output_nr(self: Tensor) -> int:
    return self._output_nr


# --- grad ------------------------------------------------------------------------------------


def _get_grad(self: Tensor) -> Tensor | None:
    """The accumulated gradient, None before the first backward."""
    meta = self._autograd_meta
    if meta is not None and meta.grad is not None:
        return meta.grad
    node = self._grad_fn
    if node is not None and not (meta is not None and meta.retains_grad):
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want "
            "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
            "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
            "the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more "
            f"information.\nIt was computed by {node._class_name()} at "
            f"{describe((node._code, node._offset))}",
            UserWarning,
            stacklevel=2,
        )
    return None


def _set_grad(self: Tensor, value: Any) -> None:
    if value is None:
        if self._autograd_meta is not None:
            self._autograd_meta.grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = _grad_dtype_of(self)
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_c_name(value.dtype)}' to a tensor "
            f"with grad_dtype '{wanted.scalar_type}'. The gradient must match the tensor's "
            "grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
            "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set "
            "grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    array, own = outline_of(value), outline_of(self)
    if is_foreign(array) or is_foreign(own):
        _refuse_other_device(self, value)
    if array.shape != own.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(array.shape)}' to a tensor of "
            f"size '{list(own.shape)}'. Please ensure that the gradient and the tensor are "
            "the same size"
        )
    meta = meta_of(self)
    meta.grad = value
    meta.odd_layout = array.strides != own.strides or not array.flags.forc


def _refuse_other_device(tensor: Tensor, grad: Tensor) -> None:
    mine, other = tensor.device.type, grad.device.type
    if mine != other:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{other}' to a tensor with device "
            f"type '{mine}'. Please ensure that the gradient and the tensor are on the same device"
        )


def _delete_grad(self: Tensor) -> None:
    _set_grad(self, None)


def _c_name(which: dtypes.dtype) -> str:
    """Return the C++ name of a dtype, by which PyTorch names a gradient's."""
    return _C_NAMES.get(which.scalar_type, which.scalar_type.lower())


_C_NAMES = {
    "Half": "c10::Half",
    "BFloat16": "c10::BFloat16",
    "ComplexFloat": "c10::complex<float>",
    "ComplexDouble": "c10::complex<double>",
    "Byte": "unsigned char",
    "Char": "signed char",
    "Short": "short int",
    "Long": "long int",
    "UInt16": "short unsigned int",
    "UInt32": "unsigned int",
    "UInt64": "long unsigned int",
}


def _grad_dtype_of(tensor: Tensor) -> dtypes.dtype | None:
    """Return the dtype of a tensor's gradient, None if any will do."""
    meta = tensor._autograd_meta
    if meta is None or meta.grad_dtype is UNSET:
        return tensor.dtype
    return meta.grad_dtype


def _get_grad_dtype(self: Tensor) -> dtypes.dtype | None:
    """The dtype in which gradients accumulate, None for the one they arrive in (§L6)."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return _grad_dtype_of(self)


def _set_grad_dtype(self: Tensor, value: Any) -> None:
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if not (value is None or isinstance(value, dtypes.dtype)):
        raise RuntimeError(
            f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}"
        )
    meta = meta_of(self)
    if meta.grad is not None and value is not None and meta.grad.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value.scalar_type}' because there is already a gradient "
            f"with dtype '{_c_name(meta.grad.dtype)}'. Please clear the gradient (.grad = None) "
            "before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype."
        )
    meta.grad_dtype = value
    node = meta.accumulator()
    if node is not None:
        node._dtype = None if value is None else value.numpy


@attach
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of a computed tensor in its `.grad`, as leaves do.

    Returns: nothing; a leaf keeps its gradient anyway.

    Example:
        >>> import taper
        >>> x = taper.ones(1, requires_grad=True)
        >>> y = x * 2
        >>> y.retain_grad()
        >>> (y * 3).backward()
        >>> y.grad
        tensor([3.])
    """
    refuse_retain_grad()
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    # As in PyTorch, a view without a history of its own counts as a leaf here, even if its base has
    # got one since: its history is not regenerated, and nothing is refused.
    if self._grad_fn is None or self.is_leaf or meta_of(self).retains_grad:
        return
    meta_of(self).retains_grad = True
    self._grad_fn._rarely().retained[self._output_nr] = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether the gradient of this non-leaf tensor is kept."""
    return self._autograd_meta is not None and self._autograd_meta.retains_grad


@attach
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of this tensor with respect to the leaves it was computed from.

    The gradients are added to the `.grad` of the leaves.

    Args:
        gradient: gradient with respect to this tensor; needed unless it has exactly one element.
        retain_graph: keep what the graph saved, for another pass; by default as `create_graph`.
        create_graph: record the pass itself, for gradients of gradients.
        inputs: tensors whose `.grad` receives gradients; by default all leaves.

    Returns: nothing.

    Example:
        >>> import taper
        >>> x = taper.tensor([2.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([4., 6.])
    """
    if gradient is inputs is None and not create_graph and of_a_loss(self, retain_graph):
        return
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# --- hooks -----------------------------------------------------------------------------------


@attach
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call a function whenever this tensor's gradient is computed.

    Args:
        hook: called as `hook(grad)`; what it returns, unless None, replaces the gradient.

    Returns: a handle whose `remove()` takes the hook away.

    Example:
        >>> import taper
        >>> x = taper.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * 3).backward()
        >>> x.grad
        tensor([30.])
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return _hooks_of(self).add(hook)


def _hooks_of(tensor: Tensor) -> HookDict:
    """Return the hooks of a tensor's position in the graph (§H9), or of a leaf."""
    node = tensor.grad_fn
    if node is None:
        meta = meta_of(tensor)
        if meta.hooks is None:
            meta.hooks = HookDict()
        return meta.hooks
    hooks = node._rarely().tensor_hooks
    if tensor._output_nr not in hooks:
        hooks[tensor._output_nr] = HookDict()
    return hooks[tensor._output_nr]


def _get_backward_hooks(self: Tensor) -> Any:
    node = self.grad_fn
    if node is None:
        return self._autograd_meta.hooks if self._autograd_meta is not None else None
    return node._extra.tensor_hooks.get(self._output_nr) if node._extra is not None else None


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    if self.grad_fn is None:
        meta_of(self).hooks = hooks
    else:
        self._grad_fn._rarely().tensor_hooks[self._output_nr] = hooks


@attach
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(self)` after a pass has added a gradient to this leaf's `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    meta = meta_of(self)
    if meta.post_accumulate_hooks is None:
        meta.post_accumulate_hooks = HookDict()
    return meta.post_accumulate_hooks.add(hook)


# --- versions, views, detach -----------------------------------------------------------------


def _version(self: Tensor) -> int:
    """How often this tensor's memory was written in place."""
    counter = self._counter
    if counter is INFERENCE_COUNTER:
        raise RuntimeError("Inference tensors do not track version counter.")
    if counter is None and self._grad_fn is None:
        return 0
    # The node that saved it may have handed the counter out.
    return int(version_counter(self).value)


def _cdata(self: Tensor) -> int:
    """A number that tells tensors apart while they live, also those that share memory."""
    return id(self)


def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of, None if it is no view."""
    return None if self._view is None else self._view.base


@attach
def _is_view(self: Tensor) -> bool:
    return self._view is not None


@attach
def _view_func(self: Tensor, new_base: Tensor) -> Tensor | None:
    """Return this view taken of another base; None if it is no view, or the layout differs.

    >>> import taper
    >>> taper.zeros(2, 3)[1]._view_func(taper.ones(2, 3))
    tensor([1., 1., 1.])
    """
    if not isinstance(new_base, Tensor):
        raise TypeError(
            "_view_func(): argument 'new_base' (position 1) must be Tensor, not "
            f"{type(new_base).__name__}"
        )
    base = self._base
    if base is None or _layout(base._array) != _layout(new_base._array):
        return None
    return self._view_func_unsafe(new_base)


@attach
def _view_func_unsafe(self: Tensor, new_base: Tensor) -> Tensor | None:
    """Do the work of `_view_func` without checking the layout of the base."""
    record = self._view
    if record is None:
        return None
    if not can_stride(self, record.base):
        return replay(record.replay, new_base)
    view: Tensor = new_base.as_strided(
        self._array.shape, element_strides(self._array), storage_offset(self._array)
    )
    return view


def _layout(array: Any) -> tuple[Any, ...]:
    return array.shape, element_strides(array), storage_offset(array)


@attach
def _use_count(self: Tensor) -> int:
    """Count who holds this tensor: nodes, views, and all of Python as one.

    >>> import taper
    >>> x = taper.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> x._use_count()
    2
    """
    count, is_leaf_of_a_graph = 1, False
    for holder in gc.get_referrers(self):
        if isinstance(holder, AccumulateGrad):
            is_leaf_of_a_graph = True
        elif isinstance(holder, (Node, ViewRecord, SavedValue)):
            count += _slots_with(self, holder)
        elif isinstance(holder, tuple):
            nodes = [each for each in gc.get_referrers(holder) if isinstance(each, Node)]
            # The edge holds the leaf instead of its AccumulateGrad.
            if any(each._edges is holder for each in nodes):
                is_leaf_of_a_graph = True
            elif nodes:
                count += sum(each is self for each in holder)
    return count + is_leaf_of_a_graph


def _slots_with(value: Any, holder: Any) -> int:
    slots = [each for kind in type(holder).__mro__ for each in getattr(kind, "__slots__", ())]
    return sum(getattr(holder, each, None) is value for each in set(slots))


@attach
def is_inference(self: Tensor) -> bool:
    """Return whether this tensor was made in inference mode."""
    return made_in_inference(self._counter)


@attach
def detach_(self: Tensor) -> Tensor:
    """Cut this tensor from its graph, in place: it becomes a leaf without gradient.

    Returns: the tensor itself; views cannot be cut in place.

    Example:
        >>> import taper
        >>> (taper.ones(2, requires_grad=True) * 2).detach_()
        tensor([2., 2.])
    """
    if local.state.mode & INFERENCE:
        return self  # PyTorch has no graph there
    if self._view is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution."
        )
    if self._counter is INFERENCE_COUNTER:
        return self  # there is no history to cut, and the flag stays
    if self._grad_fn is not None:
        self._counter = DetachedCounter(version_counter(self))
    self._grad_fn = None
    self._output_nr = 0
    self._requires_grad = False
    if self._autograd_meta is not None:
        self._autograd_meta.tangent = None
    return self


def _get_data(self: Tensor) -> Tensor:
    """The same memory without history and with a version counter of its own."""
    if self._change is None:  # 0.1 us less than `showing`
        tensor = wrap(self._array)
    else:
        tensor = on_memory(memory_of(self), self._change)
    tensor._requires_grad = cut_here("reading .data") if wants_grad(self) else cut_of(self)
    if made_in_inference(self._counter):
        tensor._counter = alias_counter()
    mark_made(tensor)
    return tensor


def _set_data(self: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if requires_grad(self) and not (value.dtype.is_floating_point or value.dtype.is_complex):
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    array = memory_of(value)
    if value.is_meta is not self.is_meta:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    same = array.dtype == self._array.dtype
    if not (same and array.shape == self._array.shape) and self._grad_fn is None:
        if wants_grad(self):
            remember_former(self, kept=same)
    if self._autograd_meta is not None:
        self._autograd_meta.odd_layout = True
    if value._change is self._change:
        look_at(self, array)
    else:
        version_counter(self)
        show(self, array, value._change)


def _deny_delete(text: str) -> Callable[[Tensor], None]:
    def deny(self: Tensor) -> None:
        raise RuntimeError(text)

    return deny


def _read_only(name: str, getter: Callable[[Tensor], Any]) -> property:
    """Return a property that raises PyTorch's error when it is set."""

    def refuse(self: Tensor, value: Any = None) -> None:
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return property(getter, refuse, refuse)


def _post_accumulate_grad_hooks(self: Tensor) -> Any:
    """The hooks that run after a gradient was added to this leaf's, None if there are none."""
    return None if self._autograd_meta is None else self._autograd_meta.post_accumulate_hooks


def _volatile(self: Tensor) -> bool:
    """False: the attribute of an old PyTorch, without effect."""
    warnings.warn(
        "volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2
    )
    return False


Tensor.__torch_function__ = vars(Default)["__torch_function__"]
setattr(Tensor, "__torch_dispatch__", _disabled_torch_dispatch_impl)  # noqa: B010 - a method

for _name, _property in {
    "requires_grad": property(
        _get_requires_grad, _set_requires_grad, _deny_delete("requires_grad must be a bool")
    ),
    "grad_fn": _read_only("grad_fn", _get_grad_fn),
    "is_leaf": _read_only("is_leaf", _is_leaf),
    "output_nr": _read_only("output_nr", _output_nr),
    "grad": property(_get_grad, _set_grad, _delete_grad),
    "_grad": property(_get_grad, _set_grad, _delete_grad),
    "grad_dtype": property(_get_grad_dtype, _set_grad_dtype),
    "retains_grad": _read_only("retains_grad", _retains_grad),
    "_version": _read_only("_version", _version),
    "_base": _read_only("_base", _base),
    "_cdata": _read_only("_cdata", _cdata),
    "_post_accumulate_grad_hooks": _read_only(
        "_post_accumulate_grad_hooks", _post_accumulate_grad_hooks
    ),
    "data": property(
        _get_data,
        _set_data,
        _deny_delete("Deleting tensor data is not allowed. Delete tensor instead!"),
    ),
    "_backward_hooks": property(
        _get_backward_hooks,
        _set_backward_hooks,
        _deny_delete("Deletion of _backwards_hooks not allowed!"),
    ),
    "volatile": property(_volatile),
}.items():
    setattr(Tensor, _name, _property)
