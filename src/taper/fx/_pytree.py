"""Nested arguments as a flat list, by a form that is known before: for programs with trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.utils._pytree import TreeSpec
from taper.utils._pytree.nodes import node_of

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_flatteners: dict[Any, Callable[[Any, TreeSpec], list[Any]]] = {}


def register_pytree_flatten_spec(
    cls: Any,
    flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]],
    flatten_fn_exact_match_spec: Any = None,
) -> None:
    """Say how the children of an object of a class are found, if its form is known.

    >>> from taper.fx import _pytree
    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> _pytree.register_pytree_flatten_spec(Pair, lambda pair, form: [pair.a, pair.b])
    """
    _flatteners[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a tree that has the form `spec`.

    >>> from taper.fx._pytree import tree_flatten_spec
    >>> from taper.utils._pytree import tree_flatten
    >>> form = tree_flatten([0, {"a": 0}])[1]
    >>> tree_flatten_spec([1, {"a": 2}], form)
    [1, 2]
    """
    if spec.is_leaf():
        return [pytree]
    children = _children_of(pytree, spec)
    leaves: list[Any] = []
    for child, form in zip(children, spec.children(), strict=False):
        leaves.extend(tree_flatten_spec(child, form))
    return leaves


def _children_of(tree: Any, spec: TreeSpec) -> list[Any]:
    if spec.type in _flatteners:
        return _flatteners[spec.type](tree, spec)
    if issubclass(spec.type, dict):
        return [tree[key] for key in spec.context]
    if issubclass(spec.type, list | tuple):
        return [tree[number] for number in range(len(spec.children()))]
    node = node_of(tree)
    if node is None:
        raise RuntimeError(
            f"{type(tree)} does not have a flatten_fn_spec associated with it. Please register one "
            "with torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your "
            "model, make sure that any custom pytrees have been registered before loading it."
        )
    return list(node.flatten_fn(tree)[0])
