"""Trees taken apart, made again and mapped over; also with the way to each leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from taper.utils._pytree.nodes import KeyPath, node_of
from taper.utils._pytree.specs import LEAF, TreeSpec, checked

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure."""
    leaves: list[Any] = []
    return leaves, _collect(tree, leaves, is_leaf)


def _collect(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if kind is None:
        leaves.append(tree)
        return LEAF
    children, context = kind.flatten_fn(tree)
    specs = [_collect(each, leaves, is_leaf) for each in children]
    return TreeSpec(kind.type, context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a structure with the given leaves."""
    return checked(treespec).unflatten(leaves)


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
    return (is_leaf is not None and is_leaf(tree)) or node_of(tree) is None


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


def map_only(
    type_or_types_or_pred: Any, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator: the function is called for values of some types, others stay unchanged.

    >>> from taper.utils import _pytree
    >>> _pytree.map_only(int)(lambda number: -number)("a")
    'a'
    """
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda each: func(each) if chosen(each) else each


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
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


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


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """Return the leaves of `tree` for the leaves of a deeper structure; None if it does not fit.

    A leaf of `tree` that meets a subtree of the structure stands for all leaves of it.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    kind = node_of(tree)
    if treespec.is_leaf() or kind is None or kind.type is not treespec.type:
        return None
    children, context = kind.flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children(), strict=True):
        leaves = _broadcast_to_and_flatten(child, spec, is_leaf)
        if leaves is None:
            return None
        found += leaves
    return found


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of all arguments."""
    return tree_leaves([*args, *kwargs.values()])


# --- trees with the way to each leaf ---------------------------------------------------------


def _generate_key_paths(
    path: KeyPath, tree: PyTree, is_leaf: IsLeaf = None
) -> Iterator[tuple[KeyPath, Any]]:
    kind = None if is_leaf is not None and is_leaf(tree) else node_of(tree)
    if kind is None:
        yield path, tree
        return
    if kind.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in kind.flatten_with_keys_fn(tree)[0]:
        yield from _generate_key_paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each with the keys that lead to it.

    >>> from taper.utils import _pytree
    >>> [(_pytree.keystr(path), leaf) for path, leaf in _pytree.tree_leaves_with_path({"a": [5]})]
    [("['a'][0]", 5)]
    """
    return list(_generate_key_paths((), tree, is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves of a tree with the keys that lead to them, and its structure."""
    structure = tree_structure(tree, is_leaf)
    return tree_leaves_with_path(tree, is_leaf), structure


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """As `tree_map`; `func` gets the keys that lead to a leaf first."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(each) for each in rests]
    return spec.unflatten(
        [func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)]
    )


def keystr(kp: KeyPath) -> str:
    """Return the way to a leaf as a program would write it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what lies at the end of a way."""
    for key in kp:
        obj = key.get(obj)
    return obj
