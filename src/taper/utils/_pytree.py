"""Trees of Python containers, which `taper.func` and others accept instead of single tensors.

A tree is a value made of tuples, lists, dicts, named tuples and the like; everything else is a
leaf, even None.  Knows no Tensor; `register_pytree_node` adds other container types.

>>> from taper.utils import _pytree
>>> leaves, spec = _pytree.tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves
[1, 2, 3]
>>> _pytree.tree_unflatten([value * 10 for value in leaves], spec)
{'a': 10, 'b': (20, 30)}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from taper.size import Size

PyTree = Any
IsLeaf = Callable[[Any], bool] | None


class NodeDef(NamedTuple):
    """How a container is taken apart, made again, and written with given texts for its children."""

    flatten: Callable[[Any], tuple[list[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    text: Callable[[list[str], Any], str]


def _dict_text(children: list[str], keys: Any) -> str:
    pairs = zip(keys, children, strict=True)
    return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"


def _ordered_text(children: list[str], keys: Any) -> str:
    pairs = zip(keys, children, strict=True)
    return "OrderedDict([" + ", ".join(f"({key!r}, {child})" for key, child in pairs) + "])"


def _default_text(children: list[str], context: Any) -> str:
    return f"defaultdict({context[0]!r}, {_dict_text(children, context[1])})"


def _deque_text(children: list[str], limit: Any) -> str:
    ending = "" if limit is None else f", maxlen={limit}"
    return f"deque([{', '.join(children)}]{ending})"


def _tuple_text(children: list[str], context: Any) -> str:
    return f"({', '.join(children)}{',' if len(children) == 1 else ''})"


def _named_text(children: list[str], cls: Any) -> str:
    pairs = zip(cls._fields, children, strict=True)
    return f"{cls.__name__}({', '.join(f'{name}={child}' for name, child in pairs)})"


SUPPORTED_NODES: dict[Any, NodeDef] = {
    tuple: NodeDef(lambda each: (list(each), None), lambda found, _: tuple(found), _tuple_text),
    list: NodeDef(
        lambda each: (list(each), None),
        lambda found, _: list(found),
        lambda children, _: f"[{', '.join(children)}]",
    ),
    dict: NodeDef(
        lambda each: (list(each.values()), list(each)),
        lambda found, keys: dict(zip(keys, found, strict=True)),
        _dict_text,
    ),
    OrderedDict: NodeDef(
        lambda each: (list(each.values()), list(each)),
        lambda found, keys: OrderedDict(zip(keys, found, strict=True)),
        _ordered_text,
    ),
    defaultdict: NodeDef(
        lambda each: (list(each.values()), [each.default_factory, list(each)]),
        lambda found, context: defaultdict(context[0], zip(context[1], found, strict=True)),
        _default_text,
    ),
    deque: NodeDef(
        lambda each: (list(each), each.maxlen),
        lambda found, limit: deque(found, maxlen=limit),
        _deque_text,
    ),
    Size: NodeDef(lambda each: (list(each), None), lambda found, _: Size(found), _tuple_text),
}

# The class of a named tuple is its context, since all of them are one kind of container.
_NAMED = NodeDef(lambda each: (list(each), type(each)), lambda found, cls: cls(*found), _named_text)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Let trees include a container class of yours; the other options are accepted and unused.

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

    def text(children: list[str], context: Any) -> str:
        return f"{cls.__name__}({', '.join(children)})"

    SUPPORTED_NODES[cls] = NodeDef(flatten_fn, unflatten_fn, text)


def _kind_of(tree: Any) -> NodeDef | None:
    """Return the definition of a container, None for a leaf."""
    cls = type(tree)
    found = SUPPORTED_NODES.get(cls)
    if found is None and issubclass(cls, tuple):
        if cls.__bases__ == (tuple,) and hasattr(cls, "_fields"):
            return _NAMED
        if hasattr(cls, "n_sequence_fields"):
            found = SUPPORTED_NODES[cls] = _struct_sequence(cls)
    return found


def _struct_sequence(cls: Any) -> NodeDef:
    """Return the definition of a class of `return_types`."""

    def text(children: list[str], context: Any) -> str:
        pairs = zip(cls.__match_args__, children, strict=True)
        items = ",\n".join(f"{name}={child}" for name, child in pairs)
        return f"torch.return_types.{cls.__name__}(\n{items})"

    return NodeDef(lambda each: (list(each), None), lambda found, _: cls(list(found)), text)


def _node_type(tree: Any, kind: NodeDef) -> Any:
    return NamedTuple if kind is _NAMED else type(tree)


class TreeSpec:
    """The structure of a tree: what remains without the leaves."""

    __slots__ = ("_children", "_context", "_kind", "num_leaves", "num_nodes", "type")

    def __init__(self, cls: Any, context: Any, children: list[TreeSpec], kind: Any = None) -> None:
        self.type = cls
        self._context = context
        self._children = children
        self._kind: Any = kind if kind is not None or cls is None else SUPPORTED_NODES[cls]
        self.num_leaves: int = 1 if cls is None else sum(each.num_leaves for each in children)
        self.num_nodes: int = 1 + sum(each.num_nodes for each in children)

    @property
    def context(self) -> Any:
        return self._context

    @property
    def num_children(self) -> int:
        return len(self._children)

    def children(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return list(self._children)

    def is_leaf(self) -> bool:
        """Return whether this stands for a leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Return the tree of this structure with the given leaves."""
        given = leaves if isinstance(leaves, list | tuple) else list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._filled(iter(given))

    def _filled(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return self._kind.unflatten([each._filled(leaves) for each in self._children], self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` that stand where this structure has leaves."""
        if self.type is None:
            return [tree]
        kind = _kind_of(tree)
        if kind is None or _node_type(tree, kind) is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        children, context = kind.flatten(tree)
        if len(children) != len(self._children):
            raise ValueError(
                f"Node arity mismatch; expected {len(self._children)}, but got {len(children)}."
            )
        children = self._matched(children, context)
        return [
            each
            for spec, child in zip(self._children, children, strict=True)
            for each in spec.flatten_up_to(child)
        ]

    def _matched(self, children: list[Any], context: Any) -> list[Any]:
        """Return the children of another container in this one's order: dicts match by key."""
        if self.type not in (dict, OrderedDict, defaultdict):
            if context != self._context:
                raise ValueError(
                    f"Node context mismatch; expected {self._context!r}, but got {context!r}."
                )
            return children
        keys, own = _keys(self.type, context), _keys(self.type, self._context)
        if set(keys) != set(own):
            raise ValueError(
                f"Node keys mismatch; missing key(s): {set(own) - set(keys)}; extra key(s): "
                f"{set(keys) - set(own)}."
            )
        by_key = dict(zip(keys, children, strict=True))
        return [by_key[key] for key in own]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self._context == other._context
            and self._children == other._children
        )

    def __hash__(self) -> int:
        return hash((self.type, repr(self._context), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        children = [each.__repr__(indent + 2) for each in self._children]
        name = "namedtuple" if self._kind is _NAMED else self.type.__name__
        separator = ",\n" + " " * (indent + 2)
        return f"TreeSpec({name}, {self._context}, [{separator.join(children)}])"


def _keys(cls: Any, context: Any) -> list[Any]:
    keys: list[Any] = context[1] if cls is defaultdict else context
    return keys


_LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return _LEAF


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure."""
    leaves: list[Any] = []
    return leaves, _collect(tree, leaves, is_leaf)


def _collect(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _kind_of(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = kind.flatten(tree)
    specs = [_collect(each, leaves, is_leaf) for each in children]
    return TreeSpec(_node_type(tree, kind), context, specs, kind)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a structure with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Return the leaves, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree.

    >>> from taper.utils import _pytree
    >>> _pytree.tree_leaves([1, {"a": 2}])
    [1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a value is a leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _kind_of(tree) is None


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Return a tree of the same structure with `func` of each leaf (and of the others' values).

    >>> from taper.utils import _pytree
    >>> _pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(each) for each in rests]
    return spec.unflatten([func(*each) for each in zip(leaves, *others, strict=True)])


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call `func` for each leaf and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chooser(wanted: Any) -> Callable[[Any], bool]:
    """Return a predicate from a type, several types, or a predicate."""
    if callable(wanted) and not isinstance(wanted, type):
        return wanted
    return lambda each: isinstance(each, wanted)


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Map `func` over the leaves of some types; the others stay unchanged.

    >>> from taper.utils import _pytree
    >>> _pytree.tree_map_only(int, lambda number: -number, (1, "a"))
    (-1, 'a')
    """
    chosen = _chooser(type_or_types_or_pred)
    return tree_map(lambda each: func(each) if chosen(each) else each, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call `func` for the leaves of some types and return the tree itself."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves satisfy `pred`."""
    return all(pred(each) for each in tree_iter(tree, is_leaf))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether some leaf satisfies `pred`."""
    return any(pred(each) for each in tree_iter(tree, is_leaf))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether all leaves of some types satisfy `pred`."""
    chosen = _chooser(type_or_types)
    return all(pred(each) for each in tree_iter(tree, is_leaf) if chosen(each))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Return whether some leaf of some types satisfies `pred`."""
    chosen = _chooser(type_or_types)
    return any(pred(each) for each in tree_iter(tree, is_leaf) if chosen(each))


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as the tree would be printed, with `*` for the leaves.

    >>> from taper.utils import _pytree
    >>> _pytree.treespec_pprint(_pytree.tree_structure({"a": (1, 2)}))
    "{'a': (*, *)}"
    """
    if treespec.is_leaf():
        return "*"
    children = [treespec_pprint(each) for each in treespec.children()]
    text: str = treespec._kind.text(children, treespec.context)
    return text


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """Return the leaves of `tree` for the leaves of a deeper structure; None if it does not fit.

    A leaf of `tree` that meets a subtree of the structure stands for all leaves of it.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = _kind_of(tree)
    if treespec.is_leaf() or kind is None or _node_type(tree, kind) is not treespec.type:
        return None
    children, context = kind.flatten(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children(), strict=True):
        leaves = _broadcast_to_and_flatten(child, spec, is_leaf)
        if leaves is None:
            return None
        found += leaves
    return found
