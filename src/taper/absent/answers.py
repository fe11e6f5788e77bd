"""How a module answers for what is not there: PyTorch's refusals, and answers that get their names.

Owns: the errors of PyTorch without a device.  Knows no module that answers.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn, ParamSpec

from taper.gpu import state

Asked = ParamSpec("Asked")

# The modules of this room whose functions are answers, to be bound to names elsewhere.
_SHARED = ("taper.absent.devices", "taper.absent.compilers")


def refused(error: Callable[Asked, NoReturn]) -> Callable[Asked, Any]:
    """An answer that is an error; a lambda says which arguments the function takes.

    Its type says nothing of the error, so that what stands behind a call is no dead code for type
    checkers, which do not know that there is no device.
    """
    error.__doc__ = "Refused: there is nothing behind this name on this machine."
    return error


def own(module: dict[str, Any]) -> None:
    """Give a module answers of its own: functions with its name and those it has bound them to."""
    for name, value in list(module.items()):
        if isinstance(value, FunctionType) and (
            value.__name__ == "<lambda>" or value.__module__ in _SHARED
        ):
            module[name] = _copy(value, name, module["__name__"])


# The functions of `taper.cuda` that have a real answer where there is a GPU.
_PRESENT = frozenset(
    """is_available is_bf16_supported is_tf32_supported device_count is_initialized init _lazy_init
    current_device set_device get_device_name get_device_capability get_device_properties
    get_arch_list can_device_access_peer synchronize ipc_collect memory_allocated
    max_memory_allocated memory_reserved max_memory_reserved reset_peak_memory_stats
    reset_accumulated_memory_stats empty_cache mem_get_info set_per_process_memory_fraction
    memory_stats memory_stats_as_nested_dict memory_summary get_allocator_backend manual_seed
    manual_seed_all seed seed_all initial_seed get_rng_state set_rng_state get_rng_state_all
    set_rng_state_all current_stream default_stream""".split()
)


def answer_where_there(module: dict[str, Any], present: str) -> None:
    """Let functions give the answer of the module `present` where there is a GPU."""
    for name in _PRESENT & module.keys():
        if not hasattr(module[name], "__wrapped__"):
            module[name] = _either(name, module[name], present)


def _either(name: str, absent: Callable[..., Any], present: str) -> Callable[..., Any]:
    @functools.wraps(absent)
    def function(*args: Any, **options: Any) -> Any:
        if not state.device_count():
            return absent(*args, **options)
        # late: only programs with a GPU need the answers
        return getattr(importlib.import_module(present), name)(*args, **options)

    return function


def _copy(function: FunctionType, name: str, module: str) -> FunctionType:
    code = function.__code__.replace(co_name=name, co_qualname=name)
    made = FunctionType(
        code, function.__globals__, name, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__annotations__ = function.__annotations__
    made.__doc__, made.__module__ = function.__doc__, module
    return made


def refused_class(name: str, module: str, sentence: str, base: type = object) -> type:
    """A class that can be imported, asked for and inherited from, and says why it cannot be made.

    >>> from taper.absent.answers import refused_class
    >>> Engine = refused_class("Engine", "examples", "Engine needs steam: use Motor")
    >>> isinstance(3, Engine)
    False
    """

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        raise NotImplementedError(sentence)

    doc = f"Refused: {sentence}."
    return type(name, (base,), {"__init__": __init__, "__module__": module, "__doc__": doc})


def refused_function(name: str, module: str, sentence: str) -> Callable[..., Any]:
    """A function that can be imported, and says when it is called what to use instead."""

    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(sentence)

    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, f"Refused: {sentence}."
    return function


class Block:
    """A `with` block that changes nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        return None


# --- PyTorch's errors ------------------------------------------------------------------------


def not_compiled(device: str) -> NoReturn:
    """What most functions of CUDA and XPU say."""
    raise AssertionError(f"Torch not compiled with {device} enabled")


def not_in_c(name: str) -> NoReturn:
    """What functions say that go to PyTorch's C++ part without asking first."""
    raise AttributeError(f"module 'torch._C' has no attribute {name!r}")


def dummy(name: str) -> NoReturn:
    """What classes say that PyTorch's C++ part would have."""
    raise RuntimeError(f"Tried to instantiate dummy base class {name}")


def without_backend(function: str, device: str) -> NoReturn:
    """What a function of PyTorch's C++ part says that a backend would answer."""
    raise RuntimeError(f"Cannot execute {function}() without {device} backend.")
