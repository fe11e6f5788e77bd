"""`torch.utils._python_dispatch`: modes that see operators below autograd, and wrapper subclasses.

The work is done in `taper.ops.dispatching`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from taper.autograd import interception
from taper.autograd.state import local
from taper.ops.dispatching import Dispatcher, close_mode, open_mode, open_modes
from taper.tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """See every operator of a block below autograd, and do its work or let it be done.

    While `__torch_dispatch__` runs, the mode is off, and those outside of it are on.

    >>> import taper
    >>> from taper.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x, weight = taper.ones(1, 2), taper.ones(3, 2)
    >>> with Log():
    ...     _ = taper.nn.functional.linear(x, weight).relu()
    aten.t.default
    aten.mm.default
    aten.relu.default
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Do the work of `func`; a mode defines it."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        open_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        close_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode; the older way to write one."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Return whether the mode belongs to the machinery: no."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that lets every operator do its own work."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """Return the innermost open mode, None if there is none."""
    found = open_modes()
    return found[-1] if found else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    """Return the open modes, the innermost last."""
    return open_modes()


def _len_torch_dispatch_stack() -> int:
    """Count the open modes."""
    return len(open_modes())


def _push_mode(mode: Any) -> None:
    """Open a mode."""
    open_mode(mode)


def _pop_mode(mode_key: Any = None) -> Any:
    """Close the innermost mode and return it."""
    return close_mode()


@contextmanager
def _pop_mode_temporarily(mode_key: Any = None) -> Iterator[Any]:
    """Take the innermost mode off during the block."""
    mode = close_mode()
    try:
        yield mode
    finally:
        open_mode(mode)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Take all modes off during the block."""
    state = local.state
    before = state.interceptors
    modes = open_modes()
    interception._set(state, tuple(e for e in before if type(e) is not Dispatcher))
    try:
        yield modes
    finally:
        interception._set(state, before)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Return whether a mode sees the operators of this thread."""
    return bool(open_modes())


def any_torch_dispatch_mode_on_stack(*, include_infra_modes: bool = True) -> bool:
    """Return whether a mode sees the operators of this thread."""
    return bool(open_modes())


# --- tensors that are made of others ---------------------------------------------------------


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Return whether a tensor is made of others and says how to take it apart.

    >>> import taper
    >>> from taper.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(taper.ones(2))
    False
    """
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Return whether tensors of a class are made of others and say how to take them apart."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[[str, Any], Any], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """Return a tensor made of others with each of them replaced by `callback(name, part)`."""
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(parts, context, size, stride)
    if made.shape != size:
        raise AssertionError(
            f"Expected return value from {type(t)}__tensor_unflatten__() to have shape equal to "
            f"{size}, but got: {made.shape}"
        )
    return made


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """Return what an operator on wrapper subclasses shall return: what it wrote, itself.

    An operator that writes in place, or into `out=`, returns that very tensor; results of views
    stay as they are.

    >>> import taper
    >>> from taper.utils._python_dispatch import return_and_correct_aliasing
    >>> x = taper.ones(1)
    >>> return_and_correct_aliasing(taper.ops.aten.add_.Tensor, (x, 1), {}, x + 1) is x
    True
    """
    if kwargs and kwargs.get("out") is not None:
        return kwargs["out"]
    if func._opname.endswith("_") and not func._opname.endswith("__"):
        return args[0]
    return out
