"""What `load(weights_only=False)` lets a file name besides: classes that hold plain data.

They are classes of the standard library and of NumPy whose construction runs nothing: programs keep
their options, paths, times and NumPy numbers beside the weights.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from taper.files import numpy_values
from taper.files.refusals import failed
from taper.files.safe_globals import names_of

_MOMENTS = (datetime.date, datetime.datetime, datetime.time, datetime.timedelta)
_FACTORIES = (int, float, str, list, dict, set, tuple)


def _default_dict(reader: Any, factory: Any = None) -> defaultdict[Any, Any]:
    if factory is not None and not any(factory is each for each in _FACTORIES):
        raise failed("the factory of a defaultdict must be a type of plain data")
    return defaultdict(factory)


def _path(reader: Any, *parts: Any) -> pathlib.PurePath:
    if not all(type(each) is str for each in parts):
        raise failed("a path is made of texts")
    reader.charge(sum(map(len, parts)))
    return pathlib.Path(*parts)


def _moment(kind: type) -> Callable[..., Any]:
    def make(reader: Any, *arguments: Any) -> Any:
        return kind(*arguments)

    return make


def _namespace(kind: type) -> Callable[..., Any]:
    def make(reader: Any) -> Any:
        return kind()

    return make


def _refused(reader: Any, *arguments: Any) -> Any:
    raise failed("a type of plain data may be named, not called")


NAMES: dict[str, Any] = {
    **names_of((np.ndarray, np.dtype, *numpy_values.CALLS)),
    "argparse.Namespace": argparse.Namespace,
    "types.SimpleNamespace": SimpleNamespace,
    "collections.defaultdict": defaultdict,
    **{f"pathlib.{name}": pathlib.Path for name in ("Path", "PosixPath", "WindowsPath")},
    **{f"pathlib._local.{name}": pathlib.Path for name in ("Path", "PosixPath", "WindowsPath")},
    **{f"datetime.{each.__name__}": each for each in _MOMENTS},
    **{f"builtins.{each.__name__}": each for each in (*_FACTORIES, bool)},
}

CALLS: dict[Any, Callable[..., Any]] = {
    defaultdict: _default_dict,
    pathlib.Path: _path,
    **{each: _moment(each) for each in _MOMENTS},
    **{each: _namespace(each) for each in (argparse.Namespace, SimpleNamespace)},
    **{each: _refused for each in (*_FACTORIES, bool)},
}
