"""The containers that trees are made of: taking each apart, making it again, naming its keys."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from taper.size import Size

# --- the key of a child ----------------------------------------------------------------------


class _Key:
    """How a container names one of its children."""

    __slots__ = ()

    def _value(self) -> Any:
        names: tuple[str, ...] = self.__slots__
        return getattr(self, names[0])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._value() == other._value())

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._value()))

    def __repr__(self) -> str:
        names: tuple[str, ...] = self.__slots__
        return f"{type(self).__name__}({names[0]}={self._value()!r})"

    def __str__(self) -> str:
        return f"[{self._value()!r}]"

    def get(self, parent: Any) -> Any:
        """Return the child of a container."""
        return parent[self._value()]


class SequenceKey(_Key):
    """The place of a child in a list or tuple.

    >>> from taper.utils import _pytree
    >>> _pytree.keystr((_pytree.MappingKey("a"), _pytree.SequenceKey(1)))
    "['a'][1]"
    """

    __slots__ = ("idx",)

    def __init__(self, idx: int) -> None:
        self.idx = idx


class MappingKey(_Key):
    """The key of a child in a dict."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key


class GetAttrKey(_Key):
    """The name of a child that is an attribute."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        """Return the attribute of an object."""
        return getattr(parent, self.name)


KeyEntry = _Key
KeyPath = tuple[_Key, ...]


# --- the containers --------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How a container is taken apart, with and without keys of its children, and made again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def _list_flatten(values: Any) -> tuple[list[Any], None]:
    return list(values), None


def _list_flatten_with_keys(values: Any) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(nr), each) for nr, each in enumerate(values)], None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


_tuple_flatten = _list_flatten
_tuple_flatten_with_keys = _list_flatten_with_keys


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _dict_flatten(mapping: Any) -> tuple[list[Any], list[Any]]:
    return list(mapping.values()), list(mapping)


def _dict_flatten_with_keys(mapping: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    return [(MappingKey(key), each) for key, each in mapping.items()], list(mapping)


def _dict_unflatten(values: Iterable[Any], keys: Any) -> dict[Any, Any]:
    return dict(zip(keys, values, strict=True))


_ordereddict_flatten = _odict_flatten = _dict_flatten
_ordereddict_flatten_with_keys = _dict_flatten_with_keys


def _ordereddict_unflatten(values: Iterable[Any], keys: Any) -> OrderedDict[Any, Any]:
    return OrderedDict(zip(keys, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(mapping: Any) -> tuple[list[Any], list[Any]]:
    return list(mapping.values()), [mapping.default_factory, list(mapping)]


def _defaultdict_flatten_with_keys(mapping: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    pairs, keys = _dict_flatten_with_keys(mapping)
    return pairs, [mapping.default_factory, keys]


def _defaultdict_unflatten(values: Iterable[Any], context: Any) -> defaultdict[Any, Any]:
    return defaultdict(context[0], zip(context[1], values, strict=True))


def _deque_flatten(values: Any) -> tuple[list[Any], Any]:
    return list(values), values.maxlen


def _deque_flatten_with_keys(values: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    return _list_flatten_with_keys(values)[0], values.maxlen


def _deque_unflatten(values: Iterable[Any], limit: Any) -> deque[Any]:
    return deque(values, maxlen=limit)


def _namedtuple_flatten(values: Any) -> tuple[list[Any], Any]:
    # All classes of named tuples are one kind of container: the class is the context.
    return list(values), type(values)


def _namedtuple_flatten_with_keys(values: Any) -> tuple[list[tuple[GetAttrKey, Any]], Any]:
    pairs = zip(map(GetAttrKey, type(values)._fields), values, strict=True)
    return list(pairs), type(values)


def _namedtuple_unflatten(values: Iterable[Any], cls: Any) -> Any:
    return cls(*values)


def _size_unflatten(values: Iterable[Any], context: Any) -> Size:
    return Size(values)


for _cls, _name in (
    (tuple, "tuple"),
    (list, "list"),
    (dict, "dict"),
    (OrderedDict, "ordereddict"),
    (defaultdict, "defaultdict"),
    (deque, "deque"),
    (namedtuple, "namedtuple"),
):
    SUPPORTED_NODES[_cls] = NodeDef(
        _cls,
        globals()[f"_{_name}_flatten"],
        globals()[f"_{_name}_unflatten"],
        globals()[f"_{_name}_flatten_with_keys"],
    )
SUPPORTED_NODES[Size] = NodeDef(Size, _list_flatten, _size_unflatten, _list_flatten_with_keys)

STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


# --- which container a value is --------------------------------------------------------------


def is_namedtuple_class(cls: Any) -> bool:
    """Return whether a class was made by `collections.namedtuple` or `typing.NamedTuple`.

    >>> from taper.utils import _pytree
    >>> _pytree.is_namedtuple_class(tuple), _pytree.is_namedtuple_class(_pytree.NodeDef)
    (False, True)
    """
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(each) is str for each in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Return whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_namedtuple(obj: object) -> bool:
    """Return whether an object is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: Any) -> bool:
    """Return whether a class is one of `return_types` or of C's sequences with names."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
    )


def is_structseq_instance(obj: object) -> bool:
    """Return whether an object is a sequence with names."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Return whether an object is a sequence with names, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree: Any) -> Any:
    """Return what a value is looked up by: its class, or `namedtuple` for all named tuples."""
    cls = type(tree)
    if cls in SUPPORTED_NODES or not issubclass(cls, tuple):
        return cls
    if cls.__bases__ == (tuple,) and is_namedtuple_class(cls):
        return namedtuple
    if hasattr(cls, "n_sequence_fields"):
        _add_struct_sequence(cls)
    return cls


def _add_struct_sequence(cls: Any) -> None:
    names = cls.__match_args__
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        _list_flatten,
        lambda found, _: cls(list(found)),
        lambda each: (list(zip(map(GetAttrKey, names), each, strict=True)), None),
    )


def node_of(tree: Any) -> NodeDef | None:
    """Return the definition of a container, None for a leaf."""
    found = SUPPORTED_NODES.get(type(tree))
    if found is None and isinstance(tree, tuple):
        return SUPPORTED_NODES.get(_get_node_type(tree))
    return found


# --- containers of the program's own ---------------------------------------------------------


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Let trees include a container class of yours.

    Args:
        cls: the class.
        flatten_fn: gives the children and what else is needed to make the container again.
        unflatten_fn: makes the container from children and that context.
        serialized_type_name: the name of the class in texts of `treespec_dumps`.
        to_dumpable_context: makes a context fit for JSON.
        from_dumpable_context: the way back.
        flatten_with_keys_fn: as `flatten_fn`, with a key beside each child.

    >>> from taper.utils import _pytree
    >>> class Pair:
    ...     def __init__(self, first, second):
    ...         self.first, self.second = first, second
    >>> _pytree.register_pytree_node(
    ...     Pair, lambda pair: ([pair.first, pair.second], None), lambda found, _: Pair(*found)
    ... )
    >>> _pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


class SerializedNode(NamedTuple):
    """How the class and context of a container are written as JSON."""

    type: Any
    name: str
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


SUPPORTED_SERIALIZED_TYPES: dict[Any, SerializedNode] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}


def _private_register_pytree_node(
    cls: Any,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None,
) -> None:
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.",
            stacklevel=3,
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SUPPORTED_SERIALIZED_TYPES[cls] = SerializedNode(
            cls, serialized_type_name, to_dumpable_context, from_dumpable_context
        )
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_register_pytree_node = _private_register_pytree_node


def _deregister_pytree_node(cls: Any) -> None:
    del SUPPORTED_NODES[cls]
    written = SUPPORTED_SERIALIZED_TYPES.pop(cls, None)
    if written is not None:
        del SERIALIZED_TYPE_TO_PYTHON_TYPE[written.name]


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let trees include a dataclass; its fields are the children.

    Args:
        cls: the dataclass; any class whose constructor takes `field_names`.
        field_names: the children; default: all fields of a dataclass.
        drop_field_names: fields that are lost when a tree is taken apart.
        serialized_type_name: the name of the class in texts of `treespec_dumps`.

    >>> import dataclasses
    >>> from taper.utils import _pytree
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> _pytree.register_dataclass(Point)
    >>> _pytree.tree_map(lambda value: value * 2, Point(1, 2))
    Point(x=2, y=4)
    """
    names = _field_names(cls, field_names, drop_field_names or [])

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        present = [(name, getattr(obj, name)) for name in names]
        missing = [name for name, value in present if value is None]
        values = [value for _, value in present if value is not None]
        return values, [[name for name, value in present if value is not None], missing]

    def with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Any]:
        values, context = flatten(obj)
        return list(zip(map(GetAttrKey, context[0]), values, strict=True)), context

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        given, missing = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(missing))

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )


def _field_names(cls: Any, field_names: list[str] | None, dropped: list[str]) -> list[str]:
    import dataclasses  # late: few programs register one

    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
        return field_names
    fields = [each.name for each in dataclasses.fields(cls) if each.init]
    if field_names is None:
        return [name for name in fields if name not in dropped]
    missing = set(fields) - set(field_names) - set(dropped)
    if missing:
        raise ValueError(
            "field_names does not include all dataclass fields.\n"
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in "
            "the pytree, please add them to `field_names`, otherwise please add them to "
            "`drop_field_names`.\n"
        )
    unknown = set(field_names) - set(fields)
    if unknown:
        raise ValueError(
            "field_names does not include all dataclass fields.\n"
            f"Unexpected fields in `field_names`: {unknown}. Please remove these fields, or add "
            "them to `drop_field_names`.\n"
        )
    return field_names


class ConstantNode(NamedTuple):
    """The context of a constant: the value itself."""

    value: Any


CONSTANT_NODES: set[type] = set()


def register_constant(cls: Any) -> None:
    """Let trees include a class as a constant: a container without children.

    >>> from taper.utils import _pytree
    >>> class Mode(str): pass
    >>> _pytree.register_constant(Mode)
    >>> _pytree.tree_leaves([1, Mode("fast")])
    [1]
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    _private_register_pytree_node(
        cls,
        lambda value: ([], ConstantNode(value)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda value: ([], ConstantNode(value)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: Any) -> bool:
    """Return whether a class was registered as a constant."""
    return isinstance(cls, type) and cls in CONSTANT_NODES
