"""Names of variables in generated code: legal, and each given once.

Owns: `_Namespace` and the names that every generated program knows.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections import defaultdict
from typing import Any, NamedTuple

import taper
from taper.fx import _pytree as fx_pytree
from taper.utils import _pytree as pytree


class _CustomBuiltin(NamedTuple):
    """A name that generated code uses, with the line that imports it elsewhere."""

    import_str: str
    obj: Any


_custom_builtins: dict[str, _CustomBuiltin] = {}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin("torch", "import torch", taper)
_register_custom_builtin("device", "from torch import device", taper.device)
_register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
_register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


def _snake_case(s: str) -> str:
    """Write a name in small letters, with `_` before each capital that follows a small one."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", s).lower()


class _Namespace:
    """The names of one program.

    >>> from taper.fx.graph import _Namespace
    >>> names = _Namespace()
    >>> [names.create_name(each, None) for each in ("x", "x", "sum", "a.b", "1st")]
    ['x', 'x_1', 'sum_1', 'a_b', '_1st']
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: Any) -> str:
        """Return a new name like `candidate`, or the one that `obj` has already.

        Args:
            candidate: the name that is wished.
            obj: what is named; None for a variable of its own.
        """
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = candidate, 0
        suffix = re.fullmatch(r"(.*)_([1-9]\d*)", candidate)
        if suffix is not None:
            base, number = suffix.group(1), int(suffix.group(2))
        number = number or self._base_count[base]
        while candidate in self._used_names or _is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Say that a name that was created belongs to an object."""
        if self._obj_to_name.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} not found in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def _is_taken(name: str, obj: Any) -> bool:
    """Return whether Python or generated code means something else by a name."""
    if name in keyword.kwlist:
        return True
    if hasattr(builtins, name):
        return getattr(builtins, name) is not obj
    return name in _custom_builtins and _custom_builtins[name].obj is not obj
