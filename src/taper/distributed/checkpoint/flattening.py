"""Nested dictionaries as one dictionary with dotted names, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from taper.tensor import Tensor

Path = tuple[str | int, ...]


def _is_open(value: Any) -> bool:
    """Return whether a list holds tensors or dictionaries, so that it is taken apart."""
    if isinstance(value, list | tuple):
        return any(_is_open(each) for each in value)
    return isinstance(value, Tensor | Mapping)


def flatten(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """Return the leaves by dotted names, and the way to each.

    >>> flatten({"a": {"b": 1}, "c": [1, 2]})
    ({'a.b': 1, 'c': [1, 2]}, {'a.b': ('a', 'b'), 'c': ('c',)})
    """
    leaves: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def visit(value: Any, path: Path) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                visit(each, (*path, str(key)))
        elif isinstance(value, list | tuple) and _is_open(value):
            for place, each in enumerate(value):
                visit(each, (*path, place))
        else:
            name = ".".join(map(str, path))
            if name in leaves:
                raise ValueError(f"duplicated flatten key {name}")
            leaves[name], paths[name] = value, path

    visit(state_dict, ())
    return leaves, paths


def put(state_dict: Any, path: Path, value: Any) -> None:
    """Put a leaf where a path leads; the way must be there."""
    *way, last = path
    place = state_dict
    for key in way:
        place = place[_key_of(place, key)]
    place[_key_of(place, last)] = value


def _key_of(place: Any, key: Any) -> Any:
    """Return the key whose text is on the path: keys may be numbers."""
    if isinstance(place, Mapping) and key not in place:
        return next((each for each in place if str(each) == key), key)
    return key
