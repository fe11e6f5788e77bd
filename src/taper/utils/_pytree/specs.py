"""The structure of a tree, without its leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from taper.size import Size
from taper.utils._pytree.nodes import (
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    ConstantNode,
    is_structseq_class,
    node_of,
)


class TreeSpec:
    """The structure of a tree: what remains without the leaves."""

    __slots__ = ("_children", "_context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type = type
        self._context = context
        self._children = children_specs
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_nodes: int = 1 + sum(each.num_nodes for each in children_specs)

    @property
    def context(self) -> Any:
        return self._context

    @property
    def num_children(self) -> int:
        return len(self._children)

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def child(self, index: int) -> TreeSpec:
        """Return the structure of one child."""
        return self._children[index]

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
        children = [each._filled(leaves) for each in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of `tree` that stand where this structure has leaves."""
        if self.type is None:
            return [tree]
        kind = node_of(tree)
        if kind is None or kind.type is not self.type:
            raise ValueError(f"Node type mismatch; expected {self.type}, but got {type(tree)}.")
        children, context = kind.flatten_fn(tree)
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
        if self.type not in STANDARD_DICT_TYPES:
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
        name = self.type.__name__
        separator = ",\n" + " " * (indent + 2)
        return f"TreeSpec({name}, {self._context}, [{separator.join(children)}])"


def _keys(cls: Any, context: Any) -> list[Any]:
    keys: list[Any] = context[1] if cls is defaultdict else context
    return keys


class LeafSpec(TreeSpec):
    """The structure of a leaf.

    >>> from taper.utils import _pytree
    >>> _pytree.LeafSpec()
    *
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


LEAF = LeafSpec()
PyTreeSpec = TreeSpec


def checked(treespec: Any) -> TreeSpec:
    """Return a structure; anything else is refused."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "Expected `treespec` to be an instance of PyTreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec


# --- structures made by hand -----------------------------------------------------------------


def treespec_leaf() -> TreeSpec:
    """Return the structure of a leaf."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Return the structure of a tuple whose children have the given structures.

    >>> from taper.utils import _pytree
    >>> leaf = _pytree.treespec_leaf()
    >>> _pytree.treespec_tuple([leaf, leaf]).unflatten([1, 2])
    (1, 2)
    """
    children = list(iterable)
    if not all(isinstance(each, TreeSpec) for each in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (),
    /,
    **kwargs: TreeSpec,
) -> TreeSpec:
    """Return the structure of a dict whose values have the given structures."""
    given = dict(mapping, **kwargs)
    if not all(isinstance(each, TreeSpec) for each in given.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {given}.")
    return TreeSpec(dict, list(given), list(given.values()))


# --- structures as people read them ----------------------------------------------------------


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return a structure as the tree would be printed, with `*` for the leaves.

    >>> from taper.utils import _pytree
    >>> _pytree.treespec_pprint(_pytree.tree_structure({"a": (1, 2)}))
    "{'a': (*, *)}"
    """
    if treespec.is_leaf():
        return "*"
    cls, context = treespec.type, treespec.context
    children = [treespec_pprint(each) for each in treespec.children()]
    if cls in STANDARD_DICT_TYPES:
        return _dict_text(cls, context, children)
    if cls is namedtuple or is_structseq_class(cls):
        return _named_text(cls, context, children)
    listed = ", ".join(children)
    if cls is list:
        return f"[{listed}]"
    if cls in (tuple, Size):
        return f"({listed}{',' if len(children) == 1 else ''})"
    if cls is deque:
        return f"deque([{listed}]{'' if context is None else f', maxlen={context}'})"
    if isinstance(context, ConstantNode):
        return repr(context.value)
    if isinstance(context, list) and len(context) == 2 and isinstance(context[0], list):
        pairs = zip(context[0], children, strict=False)  # a dataclass: its fields
        return f"{cls.__name__}({', '.join(f'{name}={child}' for name, child in pairs)})"
    return f"{cls.__name__}({listed})"


def _dict_text(cls: Any, context: Any, children: list[str]) -> str:
    pairs = list(zip(_keys(cls, context), children, strict=True))
    if cls is OrderedDict:
        return "OrderedDict([" + ", ".join(f"({key!r}, {child})" for key, child in pairs) + "])"
    text = "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
    return text if cls is dict else f"defaultdict({context[0]!r}, {text})"


def _named_text(cls: Any, context: Any, children: list[str]) -> str:
    if cls is namedtuple:
        pairs = zip(context._fields, children, strict=True)
        return f"{context.__name__}({', '.join(f'{name}={child}' for name, child in pairs)})"
    pairs = zip(cls.__match_args__, children, strict=True)
    items = ",\n".join(f"{name}={child}" for name, child in pairs)
    return f"torch.return_types.{cls.__name__}(\n{items})"


# --- constants -------------------------------------------------------------------------------


def _is_constant_holder(spec: TreeSpec) -> bool:
    """Return whether a structure is that of a constant."""
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    """Return the constant that a structure holds."""
    return spec.unflatten([])
