"""Runs a program as Python would: as `__main__`, with its own argv, path, exit code and traceback.

Owns: the `__main__` module of the program, and which part of a traceback is shown.  From here on
this process belongs to the program: nothing is restored when it ends.
"""

from __future__ import annotations

import builtins
import io
import os
import pkgutil
import runpy
import sys
from importlib.machinery import SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

INTERRUPTED = 130


def run_script(path: str, arguments: list[str]) -> int:
    """Run a file, or a folder or archive with a `__main__`, as `python path` would."""
    sys.argv[:] = [path, *arguments]
    main = _fresh_main()
    if pkgutil.get_importer(path) is not None:
        _set_first_path(os.path.abspath(path))
        return _run(_run_module, "__main__", False)
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    return _run(_run_file, os.path.abspath(path), main)


def run_module(name: str, arguments: list[str]) -> int:
    """Run a module as `python -m name` would."""
    sys.argv[:] = ["-m", *arguments]
    _fresh_main()
    _set_first_path(os.getcwd())
    return _run(_run_module, name, True)


def _fresh_main() -> ModuleType:
    # Pickle and multiprocessing find the program's classes in this module.
    main = ModuleType("__main__")
    vars(main).update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    return main


def _set_first_path(folder: str) -> None:
    # Python has put the folder of the command that started us there, or nothing with `-P`.
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = [folder]


def _run_file(path: str, main: ModuleType) -> None:
    loader: Any = SourceFileLoader("__main__", path)
    if path.endswith(".pyc"):
        loader = SourcelessFileLoader("__main__", path)
    code = _code(path, loader)
    vars(main).update(__file__=path, __loader__=loader, __cached__=None)
    exec(code, vars(main))


def _code(path: str, loader: Any) -> CodeType:
    if path.endswith(".pyc"):
        return loader.get_code("__main__")
    with io.open_code(path) as file:
        return compile(file.read(), path, "exec", dont_inherit=True)


def _run_module(name: str, is_named: bool) -> None:
    # What the interpreter itself calls for `-m` and for folders.
    run: Any = runpy._run_module_as_main  # type: ignore[attr-defined]
    run(name, is_named)


def _run(start: Any, *arguments: Any) -> int:
    """Run a program and return its exit code; show its traceback without our own frames."""
    try:
        start(*arguments)
    except SystemExit:
        raise
    except BaseException as error:
        _show(error)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _show(error: BaseException) -> None:
    """Do what the interpreter does with an exception that is not caught."""
    error.__traceback__ = _without_ours(error.__traceback__)
    sys.last_type, sys.last_value = type(error), error
    sys.last_traceback = error.__traceback__
    sys.excepthook(type(error), error, error.__traceback__)


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback
