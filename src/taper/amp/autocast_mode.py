"""Blocks and functions that run with autocast, and custom functions that take part in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from taper import cuda, dtypes
from taper.amp import state
from taper.amp.state import get_autocast_dtype, is_autocast_enabled
from taper.autograd.disturbances import to_the_end
from taper.device import device
from taper.tensor import Tensor
from taper.userwarning import warn_user

__all__ = ["autocast", "custom_fwd", "custom_bwd"]

_SUPPORTED = (dtypes.bfloat16, dtypes.float16)


def _check_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


class _Before:
    """What was set before a block."""

    __slots__ = ("cache_enabled", "dtype", "enabled", "is_open")

    def __init__(self, enabled: bool, dtype: dtypes.dtype, cache_enabled: bool) -> None:
        self.enabled, self.dtype, self.cache_enabled = enabled, dtype, cache_enabled
        self.is_open = False  # the block has been counted


class autocast:
    """Let operators choose the dtype of their floating-point tensors, in a block or function.

    Products and convolutions run in `dtype`; operators that would lose too much by that, such as
    losses, run in float32.  Call `backward` after the block: gradients get the dtypes of the
    forward pass by themselves.

    Args:
        device_type: "cpu" (or another type of device, which has no effect here).
        dtype: bfloat16, the default, or float16.
        enabled: whether autocast is on in the block.
        cache_enabled: keep the cast copies of weights until the outermost block ends.

    >>> import taper
    >>> x, weight = taper.ones(1, 2), taper.ones(3, 2, requires_grad=True)
    >>> with taper.autocast("cpu"):
    ...     y = taper.nn.functional.linear(x, weight)
    >>> y
    tensor([[2., 2., 2.]], dtype=torch.bfloat16, grad_fn=<MmBackward0>)
    >>> y.sum().backward()
    >>> weight.grad.dtype
    torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        _check_type(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        self._type = device(device_type).type
        if self._type not in state.FIRST_DTYPES:
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        if self._type == "privateuseone":
            raise NotImplementedError("there is no custom device; use device_type='cpu'")
        if self._type == "cuda" and enabled and not cuda.is_available():
            warn_user("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        elif self._type != "cuda" and enabled and self.fast_dtype not in _SUPPORTED:
            name = self._type.upper()
            warn_user(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            enabled = False
        self._enabled = enabled
        found = state.settings().cache_enabled
        self._cache_enabled = found if cache_enabled is None else cache_enabled

    def __enter__(self) -> autocast:
        state.check_block(self._enabled, self.fast_dtype, self._cache_enabled)
        found, name = state.settings(), self._type
        before = _Before(is_autocast_enabled(name), found.dtypes[name], found.cache_enabled)
        try:
            found.entered.setdefault(self, []).append(before)
            found.dtypes[name], found.cache_enabled = self.fast_dtype, self._cache_enabled
            found.nesting += 1
            before.is_open = True
            state.switch(name, self._enabled)
        except BaseException:  # Ctrl-C, above all: there will be no __exit__
            to_the_end(functools.partial(self._leave, before))
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        before = None
        try:
            before = state.settings().entered[self][-1]
            self._leave(before)
        except KeyboardInterrupt:
            self._leave(before or state.settings().entered[self][-1])
            raise

    def _leave(self, before: _Before) -> None:
        """Put back what was set before the block; may be called again after an interruption."""
        found, name = state.settings(), self._type
        found.dtypes[name], found.cache_enabled = before.dtype, before.cache_enabled
        if before.is_open:
            found.nesting -= 1
            before.is_open = False
        if not found.nesting:
            state.clear_autocast_cache()
        state.switch(name, before.enabled)
        stack = found.entered.get(self)
        if stack and stack[-1] is before:
            del stack[-1]
        if not stack:
            found.entered.pop(self, None)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n    with "
                "torch.autocast(device_type=...):\n        output = model(input)"
            )

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return run


# --- custom functions ------------------------------------------------------------------------


def _cast(value: Any, device_type: str, dtype: dtypes.dtype) -> Any:
    """Return a value with its floating-point tensors in another dtype; float64 stays."""
    if isinstance(value, Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if eligible and value.dtype is not dtypes.float64 else value
    if isinstance(value, str | np.ndarray):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(each, device_type, dtype)
            for key, each in value.items()
        }
    if isinstance(value, Iterable):
        each_cast = (_cast(each, device_type, dtype) for each in value)
        return type(value)(each_cast) if isinstance(value, list | tuple) else each_cast
    return value


def custom_fwd(
    fwd: Any = None, *, device_type: str, cast_inputs: dtypes.dtype | None = None
) -> Any:
    """Decorate `forward` of a custom function, so that `custom_bwd` knows how it ran.

    Args:
        fwd: the function.
        device_type: "cpu" or another type of device.
        cast_inputs: a dtype: in an autocast block floating-point tensors arrive in it, and autocast
            is off in `forward`.

    >>> import taper
    >>> class Product(taper.autograd.Function):
    ...     @staticmethod
    ...     @taper.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, left, right):
    ...         ctx.save_for_backward(left, right)
    ...         return left @ right
    ...     @staticmethod
    ...     @taper.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         left, right = ctx.saved_tensors
    ...         return grad @ right.T, left.T @ grad
    >>> left, right = taper.ones(1, 2, requires_grad=True), taper.ones(2, 1)
    >>> with taper.autocast("cpu"):
    ...     y = Product.apply(left, right)
    >>> y.backward()
    >>> left.grad
    tensor([[1., 1.]])
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._fwd_autocast_dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        context._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            given = _cast(args, device_type, cast_inputs)
            return fwd(*given, **_cast(kwargs, device_type, cast_inputs))

    return run


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate `backward` of a custom function: autocast is set as it was in `forward`.

    `forward` must be decorated with `custom_fwd`.

    Args:
        bwd: the function.
        device_type: "cpu" or another type of device.

    >>> import taper
    >>> class Product(taper.autograd.Function):
    ...     @staticmethod
    ...     @taper.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, left, right):
    ...         ctx.save_for_backward(left, right)
    ...         return left @ right
    ...     @staticmethod
    ...     @taper.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         left, right = ctx.saved_tensors
    ...         return grad @ right.T, left.T @ grad
    >>> left, right = taper.ones(1, 2, requires_grad=True), taper.ones(2, 1)
    >>> with taper.autocast("cpu"):
    ...     Product.apply(left, right).sum().backward()
    >>> left.grad
    tensor([[1., 1.]])
    """
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def run(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        with autocast(
            device_type, enabled=context._fwd_used_autocast, dtype=context._fwd_autocast_dtype
        ):
            return bwd(*args, **kwargs)

    return run
