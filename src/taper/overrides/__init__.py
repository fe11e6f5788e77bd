"""`taper.overrides`: classes and modes that do the work of functions, `__torch_function__`.

Functions, methods and properties ask the classes of their arguments, and the open modes, as
`overridable.py` describes.  Here is what programs call: to ask from a function of their own, to
write a mode, and to find out which functions ask.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from taper.autograd import detours
from taper.autograd import overrides as asking
from taper.autograd.overrides import asked_of, enabled, silent, switch
from taper.overrides import overridable
from taper.tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

# What a mode calls is called by whoever has asked the mode.
detours.handler_files.add(__file__)


# --- asking from a function of one's own -----------------------------------------------------


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether the class of one of the values, or a mode, handles functions itself.

    >>> import taper
    >>> taper.overrides.has_torch_function((taper.ones(2), 3))
    False
    """
    if isinstance(relevant_args, Tensor) or not hasattr(relevant_args, "__iter__"):
        if isinstance(relevant_args, Tensor):
            relevant_args = ()
        else:
            raise TypeError("expected a sequence")
    return bool(asking.modes()) or bool(not switch.off and asked_of(relevant_args, silent))


def has_torch_function_unary(value: Any) -> bool:
    """Do the work of `has_torch_function` for one value.

    >>> import taper
    >>> taper.overrides.has_torch_function_unary(taper.ones(2))
    False
    """
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Do the work of `has_torch_function` for several values.

    >>> import taper
    >>> taper.overrides.has_torch_function_variadic(taper.ones(2), 3)
    False
    """
    return has_torch_function(values)


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Any = None) -> list[Any]:
    """Return a value of each class to ask, subclasses before their base classes."""
    return [] if switch.off else asked_of(relevant_args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let the innermost mode, or the first class that wants to, do the work of `public_api`.

    >>> import taper
    >>> class Loud:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__.upper()
    >>> def double(x):
    ...     if taper.overrides.has_torch_function((x,)):
    ...         return taper.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(Loud())
    'DOUBLE'
    """
    asked = _get_overloaded_args(relevant_args)
    types = tuple(map(type, asked))
    mode = asking.modes()[-1] if asking.modes() else None
    answer = asking.answer(public_api, types, asked, args, kwargs)
    if answer is not NotImplemented:
        return answer
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise overridable.no_implementation(name, list(types), mode)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Return a decorator for functions that ask the values which `dispatcher` picks.

    >>> import taper
    >>> class Logged:
    ...     @classmethod
    ...     def __torch_function__(cls, function, types, args=(), kwargs=None):
    ...         return f"asked for {function.__name__}"
    >>> @taper.overrides.wrap_torch_function(lambda value: (value,))
    ... def double(value):
    ...     return 2 * value
    >>> double(taper.ones(1)), double(Logged())
    (tensor([2.]), 'asked for double')
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def redispatch_function(function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Call a function so that classes are asked about it again.

    >>> import taper
    >>> taper.overrides.redispatch_function(taper.neg, (), (taper.ones(1),))
    tensor([-1.])
    """
    with enabled():
        return function(*args, **(kwargs or {}))


def enable_reentrant_dispatch() -> Any:
    """Return a block in which classes and modes are asked again, for code inside of a handler.

    >>> import taper
    >>> with taper.overrides.enable_reentrant_dispatch():
    ...     taper.ones(1) + 1
    tensor([2.])
    """
    return enabled()


# --- modes -----------------------------------------------------------------------------------


class TorchFunctionMode:
    """See every function, method and property of a block, and do its work or let it be done.

    While `__torch_function__` runs, the mode is off, and those outside of it are on.

    >>> import taper
    >>> class Log(taper.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(taper.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = taper.ones(2).sum()
    torch.ones
    torch.Tensor.sum
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Do the work of `func`; a mode defines it."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a mode; the older way to write one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that lets every function do its own work.

    >>> import taper
    >>> with taper.overrides.BaseTorchFunctionMode():
    ...     taper.ones(2)
    tensor([1., 1.])
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> Any:
    """Return the innermost open mode, None if there is none."""
    return switch.modes[-1] if switch.modes else None


def _get_current_function_mode_stack() -> list[Any]:
    """Return the open modes, the innermost last."""
    return list(switch.modes)


def _push_mode(mode: Any) -> None:
    """Open a mode."""
    overridable.enter_block()
    switch.modes = (*switch.modes, mode)


def _pop_mode() -> Any:
    """Close the innermost mode and return it."""
    mode = switch.modes[-1]
    switch.modes = switch.modes[:-1]
    overridable.leave_block()
    return mode


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """Take the innermost mode off during the block."""
    with asking.without_innermost() as mode:
        yield mode


# --- which functions -------------------------------------------------------------------------


def is_tensor_like(inp: Any) -> bool:
    """Return whether a value is a tensor or of a class with `__torch_function__`.

    >>> import taper
    >>> taper.overrides.is_tensor_like(taper.ones(2)), taper.overrides.is_tensor_like(3)
    (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@functools.lru_cache(maxsize=1)
def _names() -> dict[Any, str]:
    """Return the name of each function that asks."""
    found: dict[Any, str] = {}
    for each in overridable.askers().values():
        if isinstance(each, overridable.Asker) and not each.name.endswith("__delete__"):
            found.setdefault(each.func, each.name)
    return found


@functools.lru_cache(maxsize=1)
def _silent_methods() -> dict[Any, str]:
    """Return the names of the methods that do not ask, or ask under another name."""
    members = vars(Tensor).items()
    return {
        each: f"torch.Tensor.{name}" for name, each in members if isinstance(each, FunctionType)
    }


def resolve_name(f: Any) -> str | None:
    """Return the name of a function that asks: where users find it.

    >>> import taper
    >>> taper.overrides.resolve_name(taper.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    if hasattr(f, "overloadpacket") or hasattr(f, "_qualified_op_name"):
        return str(f)
    if not callable(f):
        return None
    return _names().get(f) or _silent_methods().get(f)


def _is_listed(name: str) -> bool:
    last = name.removesuffix(".__get__").rpartition(".")[2]
    if name.endswith("__set__") or name.startswith("torch.autograd."):
        return False
    if name.startswith("torch.Tensor."):
        return last not in _UNLISTED_METHODS
    return last not in _UNLISTED


_UNLISTED = overridable.MAKERS | set(
    "_assert as_strided can_cast elu_ fftfreq fill grouped_mm hardsigmoid hardswish hardtanh_ "
    "leaky_relu_ normal promote_types rand_like randint_like randn_like rrelu_ selu_ sym_float "
    "sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum "
    "result_type rfftfreq sigmoid tanh upsample upsample_bilinear upsample_nearest vander".split()
)
_UNLISTED_METHODS = frozenset(
    "__delattr__ __delitem__ __dir__ __setattr__ _conj _conj_physical _neg_view new new_empty "
    "new_empty_strided new_full new_ones new_tensor new_zeros stride unflatten".split()
)


@functools.lru_cache(maxsize=1)
def _listed() -> dict[Any, str]:
    return {func: name for func, name in _names().items() if _is_listed(name)}


def get_overridable_functions() -> dict[Any, list[Any]]:
    """Return the functions that ask, for each namespace that holds them.

    >>> import taper
    >>> len(taper.overrides.get_overridable_functions()[taper.Tensor]) > 400
    True
    """
    spaces = {
        f"torch.{name}": importlib.import_module(f"taper.{name}")  # late: loaded on first use
        for name in ("linalg", "fft", "special", "nn.functional")
    }
    found: dict[Any, list[Any]] = {}
    for func, name in _listed().items():
        if name.endswith("__get__"):
            found[func.__self__] = [func]
            continue
        space = name.rpartition(".")[0]
        where: Any = Tensor if space == "torch.Tensor" else spaces.get(space, sys.modules["taper"])
        found.setdefault(where, []).append(func)
    return found


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """Return for each function that asks one with the same parameters, which returns -1.

    >>> import taper
    >>> taper.overrides.get_testing_overrides()[taper.add](1, 2)
    -1
    """
    return {func: _stand_in(func, name) for func, name in _listed().items()}


def _stand_in(func: Any, name: str) -> Callable[..., Any]:
    try:
        given = inspect.signature(func)
    except (TypeError, ValueError):
        given = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])
    if name.endswith("__get__"):
        given = inspect.Signature(
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        )

    def stand_in(*args: Any, **kwargs: Any) -> int:
        given.bind(*args, **kwargs)
        return -1

    stand_in.__name__ = name.rpartition(".")[2]
    stand_in.__signature__ = given  # type: ignore[attr-defined]
    return stand_in


@functools.lru_cache(maxsize=1)
def _tensor_methods() -> frozenset[Any]:
    return frozenset(
        func
        for func, name in _names().items()
        if name.startswith("torch.Tensor.") and not name.endswith("__set__")
    )


def is_tensor_method_or_property(func: Any) -> bool:
    """Return whether a function is a method of Tensor, or reads a property.

    >>> import taper
    >>> taper.overrides.is_tensor_method_or_property(taper.Tensor.add)
    True
    """
    return func in _tensor_methods() or getattr(func, "__name__", None) == "__get__"


def get_default_nowrap_functions() -> set[Any]:
    """Return the functions whose results stay plain tensors.

    >>> import taper
    >>> taper.Tensor.grad.__get__ in taper.overrides.get_default_nowrap_functions()
    True
    """
    return set(asking.Default.plain_results)


def get_ignored_functions() -> set[Any]:
    """Return public functions that ask no class; modes may still see them.

    >>> import taper
    >>> taper.zeros in taper.overrides.get_ignored_functions()
    True
    """
    public = vars(sys.modules["taper"])
    listed = _listed()
    found = {
        each for each in public.values() if isinstance(each, FunctionType) and each not in listed
    }
    found |= {func for func, name in _names().items() if not _is_listed(name)}
    return found | {Tensor.as_subclass, Tensor.__hash__, Tensor.__iter__}
