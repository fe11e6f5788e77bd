"""Structures of trees as texts: JSON that PyTorch reads, and the way back.

A text may come from elsewhere: a name in it stands for something that this program has imported or
registered itself, and nothing is imported for it.
"""

from __future__ import annotations

import enum
import json
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from functools import lru_cache
from typing import Any

from taper.utils._pytree.nodes import (
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    SerializedNode,
)
from taper.utils._pytree.specs import LEAF, TreeSpec, checked

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


def _imported(module: str, path: str) -> Any:
    """Return something of a module that the program has imported."""
    found: Any = sys.modules.get(module)
    if found is None:
        raise ValueError(f"treespec_loads: {module} is not imported; import it first")
    for name in path.split("."):
        found = getattr(found, name)
    return found


# --- contexts --------------------------------------------------------------------------------


def _defaultdict_serialize(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(written: Any) -> list[Any]:
    factory = _imported(written["default_factory_module"], written["default_factory_name"])
    if not callable(factory):
        raise TypeError(f"treespec_loads: {factory!r} makes no default values")
    return [factory, written["dict_context"]]


def _namedtuple_serialize(cls: Any) -> str:
    written = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if written is None:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return written.name


def _namedtuple_deserialize(name: Any) -> Any:
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a "
            "serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Give a class of named tuples a name in texts; trees include it anyway."""
    _add(cls, serialized_type_name)


def _add(cls: Any, name: str, dump: Any = None, load: Any = None) -> None:
    SUPPORTED_SERIALIZED_TYPES[cls] = SerializedNode(cls, name, dump, load)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


for _cls in (tuple, list, dict, OrderedDict, deque):
    _add(_cls, f"{_cls.__module__}.{_cls.__name__}")
_add(defaultdict, "collections.defaultdict", _defaultdict_serialize, _defaultdict_deserialize)
_add(namedtuple, "collections.namedtuple", _namedtuple_serialize, _namedtuple_deserialize)


class EnumEncoder(json.JSONEncoder):
    """Writes members of enumerations by name."""

    def default(self, o: Any) -> Any:
        """Return what stands for an object that JSON does not know."""
        if isinstance(o, enum.Enum):
            cls = type(o)
            return {
                "__enum__": True,
                "fqn": f"{cls.__module__}:{cls.__qualname__}",
                "name": o.name,
            }
        return super().default(o)


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """Return the member of an enumeration that a dict of `EnumEncoder` stands for."""
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    cls = _imported(module, path)
    if not (isinstance(cls, type) and issubclass(cls, enum.Enum)):
        raise TypeError(f"treespec_loads: {obj['fqn']} is no enumeration")
    return cls[obj["name"]]


# --- structures ------------------------------------------------------------------------------


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Return a structure as a text.

    >>> from taper.utils import _pytree
    >>> text = _pytree.treespec_dumps(_pytree.tree_structure([1, 2]))
    >>> _pytree.treespec_loads(text).unflatten(["a", "b"])
    ['a', 'b']
    """
    spec = checked(treespec)
    if protocol is None:
        protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    _check_protocol(protocol)
    return json.dumps((protocol, _written(spec)), cls=EnumEncoder)


def _check_protocol(protocol: Any) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: "
            f"[{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )


def _written(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from error
    children = [_written(each) for each in spec.children()]
    return {"type": known.name, "context": context, "children_spec": children}


@lru_cache
def treespec_loads(serialized: str) -> TreeSpec:
    """Return the structure that a text of `treespec_dumps` stands for."""
    protocol, written = json.loads(serialized)
    _check_protocol(protocol)
    return _read(written)


def _read(written: dict[str, Any]) -> TreeSpec:
    name = written["type"]
    if name is None and written["context"] is None and not written["children_spec"]:
        return LEAF
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    if cls not in SUPPORTED_NODES:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    load = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    if load is not None:
        context = load(written["context"])
    else:
        context = json.loads(written["context"], object_hook=enum_object_hook)
    return TreeSpec(cls, context, [_read(each) for each in written["children_spec"]])


pytree_to_str = treespec_dumps
str_to_pytree = treespec_loads
