"""`taper.jit`: programs that mention TorchScript run as Python, with the same meaning.

Marks and questions work; a scripted function or module is the Python one.  Functions that would
give a program without Python (tracing, saving, loading) say what to use instead.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, Final, NoReturn

__all__ = [
    "Attribute",
    "Final",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]


def is_scripting() -> bool:
    """Return False: programs are Python.

    >>> import taper
    >>> taper.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Return False: nothing is traced."""
    return False


# --- marks -----------------------------------------------------------------------------------


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """Return the function, module or class itself: it runs as Python.

    >>> import taper
    >>> @taper.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(taper.ones(2))
    tensor([2., 2.])
    """
    return obj


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method itself."""
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function itself."""
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method itself."""
    return fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function itself, or a decorator if there is none."""
    return drop if callable(drop) else functools.partial(_itself)


def _itself(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def interface(obj: Any) -> Any:
    """Return the class itself."""
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Do the work of Python's `isinstance`."""
    return builtins.isinstance(obj, target_type)


class Attribute:
    """A value with a type."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


# --- programs without Python -----------------------------------------------------------------


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"torch.jit.{name}: programs are Python. {instead}")


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("trace", "Call the function or module itself.")


def trace_module(mod: Any, inputs: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("trace_module", "Call the module itself.")


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("freeze", "Use module.eval().requires_grad_(False).")


def optimize_for_inference(mod: Any, other_methods: Any = None) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("optimize_for_inference", "Use module.eval() under torch.inference_mode().")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("save", "Save the state_dict with torch.save.")


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> NoReturn:
    """Refused: programs are Python."""
    _refuse("load", "Load a state_dict with torch.load into a module of the program.")
