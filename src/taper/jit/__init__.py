"""`taper.jit`: programs that mention TorchScript run as Python, which is what it means the same as.

Marks and questions work; a scripted function or module is the Python one.  What would give a
program without Python (tracing, saving, loading) says what to use instead.
"""

from __future__ import annotations

import builtins
from typing import Any, Final, NoReturn

from taper.absent import compilers
from taper.absent.answers import own, refused, refused_class
from taper.first_use import on_first_use
from taper.futures import Future
from taper.nn.modules.module import Module

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TracedModule",
    "TracerWarning",
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

is_scripting = compilers.not_at_work
is_tracing = compilers.not_at_work


# --- marks -----------------------------------------------------------------------------------


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """The function, module or class itself: it runs as Python.

    >>> import taper
    >>> @taper.jit.script
    ... def double(x):
    ...     return x * 2
    >>> double(taper.ones(2))
    tensor([2., 2.])
    """
    return obj


script_method = compilers.itself
script_if_tracing = compilers.itself
export = compilers.itself
unused = compilers.itself


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself, or without one a decorator."""
    return drop if callable(drop) else compilers.itself


def interface(obj: Any) -> Any:
    """The class itself.

    >>> import taper
    >>> taper.jit.is_scripting(), taper.jit.interface(int) is int
    (False, True)
    """
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value itself."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance`."""
    return builtins.isinstance(obj, target_type)


class Attribute:
    """A value with a type."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


# --- what programs ask for ---------------------------------------------------------------------


class Error(RuntimeError):
    """An error inside a program without Python; nothing raises it."""


class ScriptWarning(Warning):
    """A warning about a program that is scripted; nothing gives it."""


class TracerWarning(Warning):
    """A warning about a program that is traced; nothing gives it."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Do nothing: there are none."""


class ScriptModule(Module):
    """A module whose methods are marked with `script_method`; it runs as Python.

    >>> import taper
    >>> class Double(taper.jit.ScriptModule):
    ...     @taper.jit.script_method
    ...     def forward(self, x):
    ...         return x * 2
    >>> Double()(taper.ones(2))
    tensor([2., 2.])
    """


class RecursiveScriptModule(ScriptModule):
    """What scripting a module gives in PyTorch; here that is the module itself."""


class TracedModule(ScriptModule):
    """What tracing a module gives in PyTorch; nothing is one."""


TopLevelTracedModule = TracedModule
_NO_PROGRAMS = "programs are Python: call the function or module itself"
ScriptFunction = refused_class("ScriptFunction", __name__, f"ScriptFunction: {_NO_PROGRAMS}")
CompilationUnit = refused_class("CompilationUnit", __name__, f"CompilationUnit: {_NO_PROGRAMS}")

_overload = compilers.itself
_overload_method = compilers.itself


# --- programs without Python -----------------------------------------------------------------


def _refuse(name: str, instead: str) -> NoReturn:
    raise NotImplementedError(f"torch.jit.{name}: programs are Python. {instead}")


trace = refused(
    lambda func, example_inputs=None, *args, **kwargs: _refuse(
        "trace", "Call the function or module itself."
    )
)
trace_module = refused(
    lambda mod, inputs, *args, **kwargs: _refuse("trace_module", "Call the module itself.")
)
freeze = refused(
    lambda mod, preserved_attrs=None, optimize_numerics=True: _refuse(
        "freeze", "Use module.eval().requires_grad_(False)."
    )
)
optimize_for_inference = refused(
    lambda mod, other_methods=None: _refuse(
        "optimize_for_inference", "Use module.eval() under torch.inference_mode()."
    )
)
save = refused(
    lambda m, f, _extra_files=None: _refuse("save", "Save the state_dict with torch.save.")
)
load = refused(
    lambda f, map_location=None, _extra_files=None: _refuse(
        "load", "Load a state_dict with torch.load into a module of the program."
    )
)

_get_trace_graph = refused(
    lambda f, args=(), kwargs=None, *more, **options: _refuse(
        "_get_trace_graph", "Use taper.viz.graph of a result."
    )
)

own(globals())

__getattr__, __dir__ = on_first_use(globals(), ("annotations",))
