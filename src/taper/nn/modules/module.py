"""Module: the base of all layers and models.

Puts together the parts (`registration`, `calls`, `statedict`) and owns what concerns the whole
tree at once: conversion, training mode, gradients, and `repr`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Self

from taper import dtypes
from taper.autograd.grad_mode import no_grad
from taper.device import device as as_device
from taper.nn.modules import calls, registration
from taper.nn.modules.calls import (
    Calls,
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from taper.nn.modules.registration import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from taper.nn.modules.statedict import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from taper.nn.modules.statedict import StateDict, _IncompatibleKeys
from taper.nn.parameter import Parameter, is_lazy
from taper.ops.creation.copy import refuse_to, to_arguments
from taper.ops.creation.filled import empty_like
from taper.tensor import Tensor
from taper.userwarning import warn_user

if TYPE_CHECKING:
    from taper.dtypes import dtype as DType
    from taper.types import Device


def _is_builtin_in_pytorch(function: FunctionType) -> bool:
    """Return whether a function, found in the body of a class, is one of the operator table."""
    module = function.__module__
    return module in _HOMES or module.startswith("taper.ops.")


# Under their own names, and under those that `compat` gives them.
_HOMES = {"taper", "torch", "taper.nn.functional", "torch.nn.functional"}


class Module(StateDict, Calls):
    """Hold parameters, buffers and submodules, and compute with them in `forward`.

    Base of all layers and models. A subclass calls `super().__init__()`, assigns parameters and
    submodules as attributes, which registers them, and defines `forward`; calling the module runs
    `forward` and the hooks around it.

    Attributes:
        training: whether the module is in training mode (`train()`, `eval()`).

    Example:
        >>> import taper
        >>> from taper import nn
        >>> class Twice(nn.Module):
        ...     def forward(self, x):
        ...         return x * 2
        >>> Twice()(taper.ones(2))
        tensor([2., 2.])
    """

    dump_patches: bool = False

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Keep functions of the operator table that a class names from becoming methods.

        `activation = torch.tanh` in a class body: PyTorch's function is a builtin, which an
        instance does not bind.
        """
        super().__init_subclass__(**keywords)
        for name, value in list(vars(cls).items()):
            if type(value) is FunctionType and _is_builtin_in_pytorch(value):
                setattr(cls, name, staticmethod(value))

    # --- conversion --------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of all parameters, their gradients and all buffers by `fn` of them.

        Parameters stay the same objects, so optimizers keep working.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        param: Any
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                applied = fn(param if is_lazy(param) else param.data)
                grad = param.grad
                applied_grad: Any = None if grad is None else fn(grad.data)
            if applied.is_meta is not param.is_meta:  # what has no elements cannot get some
                param = self._parameters[name] = Parameter(applied, param.requires_grad)
                param.grad = applied_grad
                continue
            param.data = applied
            if grad is not None:
                grad.data = applied_grad
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, children first, and on the module itself.

        >>> from taper import nn
        >>> model = nn.Sequential(nn.ReLU()).apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert dtype or device of the module in place; integer tensors keep their dtype.

        Called as `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                    f"dtype={dtype}"
                )
            if dtype.is_complex:
                warn_user(
                    "Complex modules are a new feature under active development whose design may "
                    "change, and some modules might not work as expected when using complex "
                    "tensors as parameters or buffers. Please file an issue at "
                    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                    "complex module does not work as expected."
                )

        def converted(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if tensor.is_meta and device is not None and as_device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty()"
                    " instead of torch.nn.Module.to() when moving module from meta to a different "
                    "device."
                )
            return tensor.to(
                device=device,
                dtype=wanted,
                non_blocking=non_blocking,
                memory_format=memory_format if tensor.ndim in (4, 5) else None,
            )

        return self._apply(converted)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying: the values are arbitrary afterwards."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a type such as taper.float64."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating point parameters and buffers to float32."""
        return self._to_floating(dtypes.float32)

    def double(self) -> Self:
        """Convert floating point parameters and buffers to float64."""
        return self._to_floating(dtypes.float64)

    def half(self) -> Self:
        """Convert floating point parameters and buffers to float16."""
        return self._to_floating(dtypes.float16)

    def bfloat16(self) -> Self:
        """Convert floating point parameters and buffers to bfloat16."""
        return self._to_floating(dtypes.bfloat16)

    def _to_floating(self, dtype: Any) -> Self:
        return self._apply(
            lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor
        )

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Device = None) -> Self:
        """Move to a CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Move the tensors to memory shared between processes."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Capture the module's `forward`, as `taper.compile` does; its arguments change nothing."""
        self.forward = sys.modules["taper"].capture(self.forward)

    # --- training ----------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode for the whole tree; layers such as Dropout behave accordingly."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode for the whole tree."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        param: Any
        for param in self.parameters():
            grad = param.grad
            if grad is None:
                continue
            if set_to_none:
                param.grad = None
                continue
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()

    # --- repr --------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what stands between the parentheses of the `repr`; subclasses define it.

        >>> from taper import nn
        >>> nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        if not children and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        body = "\n  ".join(extra_lines + children)
        return f"{self._get_name()}(\n  {body}\n)"

    def _repr_html_(self) -> str:
        # late: only notebooks ask
        text: str = importlib.import_module("taper.viz.notebook").module_html(self)
        return text


def _parse_to(
    *args: Any,
    device: Device = None,
    dtype: DType | None = None,
    non_blocking: bool = False,
    tensor: Tensor | None = None,
    memory_format: Any = None,
) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the arguments of `to`."""
    if args and dtype is not None and isinstance(args[0], dtypes.dtype):
        raise refuse_to((*args, dtype))
    if args:
        found = to_arguments(args)
        device, dtype = found[0] or device, found[1] or dtype
        non_blocking = found[2] or non_blocking
        if found[3]:
            raise RuntimeError(".to() does not accept copy argument")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    return device, dtype, non_blocking, memory_format


def indented(text: str) -> str:
    """Move all lines but the first two columns to the right."""
    return _addindent(text, 2)


# Libraries write `super(torch.nn.Module, self).__setattr__(...)` to get past the rules of
# assignment; so the rules must stand on Module itself, with nothing of Module behind them.
for _name in ("__getattr__", "__setattr__", "__delattr__", "__dir__", "__setstate__"):
    setattr(Module, _name, vars(registration.Registration)[_name])
    delattr(registration.Registration, _name)


def _addindent(s_: str, numSpaces: int) -> str:
    """Move all lines but the first to the right; programs that print models use this."""
    return s_.replace("\n", "\n" + " " * numSpaces)


# PyTorch's names of the hooks of all modules.
_global_parameter_registration_hooks = registration.parameter_registration_hooks
_global_buffer_registration_hooks = registration.buffer_registration_hooks
_global_module_registration_hooks = registration.module_registration_hooks
_global_backward_hooks = calls.global_backward_hooks
_global_backward_pre_hooks = calls.global_backward_pre_hooks
_global_forward_hooks = calls.global_forward_hooks
_global_forward_hooks_always_called = calls.global_forward_hooks_always_called
_global_forward_hooks_with_kwargs = calls.global_forward_hooks_with_kwargs
_global_forward_pre_hooks = calls.global_forward_pre_hooks

__all__ = [
    "Module",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
