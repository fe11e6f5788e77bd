"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator for functions, generators and coroutines.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator
from typing import Any

from taper.autograd.state import INFERENCE, NO_GRAD, local


def is_grad_enabled() -> bool:
    """Whether operations are being recorded on this thread."""
    return not local.state.mode & NO_GRAD


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on for this thread."""
    return bool(local.state.mode & INFERENCE)


class _Mode:
    """A context manager that changes bits of the thread's mode and puts them back."""

    _bits = NO_GRAD

    def __init__(self) -> None:
        self._before: list[int] = []

    def _wanted(self) -> int:
        raise NotImplementedError

    def _clone(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> Any:
        state = local.state
        self._before.append(state.mode & self._bits)
        state.mode = (state.mode & ~self._bits) | self._wanted()
        return None

    def __exit__(self, *exception: object) -> None:
        state = local.state
        state.mode = (state.mode & ~self._bits) | self._before.pop()

    def __call__(self, function: Any) -> Any:
        return decorated(self._clone, function)


def decorated(make: Callable[[], _Mode], function: Any) -> Any:
    """`function` run under the mode that `make` gives; a generator is under it at every step (M3)."""
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions. You should "
            "only decorate functions or methods. To preserve the current behavior of class "
            "decoration, you can directly decorate the `__init__` method and nothing else.",
            FutureWarning,
            stacklevel=3,
        )
        original = function

        @functools.wraps(original, updated=())
        def construct(*args: Any, **kwargs: Any) -> Any:
            with make():
                return original(*args, **kwargs)

        return construct
    if inspect.isgeneratorfunction(function):
        return _decorated_generator(make, function)
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_coroutine(*args: Any, **kwargs: Any) -> Any:
            with make():
                return await function(*args, **kwargs)

        return run_coroutine

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return run


def _decorated_generator(make: Callable[[], _Mode], function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        with make():
            generator = function(*args, **kwargs)
        step: Callable[[], Any] = functools.partial(next, generator)
        while True:
            try:
                with make():
                    value = step()
            except StopIteration as stop:
                return stop.value
            try:
                request = yield value
            except GeneratorExit:
                with make():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
            else:
                step = functools.partial(generator.send, request)

    return run


class _OptionalCall(_Mode):
    """A mode that also decorates without parentheses."""

    def __new__(cls, function: Any = None) -> Any:
        if function is None:
            return super().__new__(cls)
        return decorated(cls, function)

    def __init__(self, function: Any = None) -> None:
        super().__init__()


class no_grad(_OptionalCall):  # noqa: N801 - PyTorch's name
    """Do not record operations; results do not require grad.

    >>> import taper
    >>> x = taper.ones(2, requires_grad=True)
    >>> with taper.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def _wanted(self) -> int:
        return NO_GRAD


class enable_grad(_OptionalCall):  # noqa: N801 - PyTorch's name
    """Record operations, also inside `no_grad`."""

    def _wanted(self) -> int:
        return 0


class set_grad_enabled(_Mode):  # noqa: N801 - PyTorch's name
    """Switch recording on or off: at once, for a block, or for a decorated function."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = bool(mode)
        self.prev = is_grad_enabled()
        state = local.state
        self._before.append(state.mode & NO_GRAD)
        state.mode = (state.mode & ~NO_GRAD) | self._wanted()

    def _wanted(self) -> int:
        return 0 if self.mode else NO_GRAD

    def _clone(self) -> _Mode:
        return set_grad_enabled(self.mode)

    def __enter__(self) -> None:
        return None  # took effect at construction

    def __exit__(self, *exception: object) -> None:
        state = local.state
        before = self._before[-1]
        state.mode = (state.mode & ~NO_GRAD) | before

    def __call__(self, function: Any) -> Any:
        self.__exit__()  # as a decorator it acts around calls only (M2)
        return decorated(self._clone, function)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"


class inference_mode(_Mode):  # noqa: N801 - PyTorch's name
    """`no_grad` that also skips views and versions: its tensors cannot be used by autograd later."""

    _bits = NO_GRAD | INFERENCE

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return decorated(cls, mode)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.mode = mode

    def _wanted(self) -> int:
        return NO_GRAD | INFERENCE if self.mode else 0

    def _clone(self) -> _Mode:
        return inference_mode(self.mode)
