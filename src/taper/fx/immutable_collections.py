"""Lists and dictionaries that refuse to change: the arguments of a node.

Owns: the two classes.  A node counts who uses it, so its arguments change only as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from taper.utils import _pytree

__all__ = ["immutable_dict", "immutable_list"]

_HELP = (
    " object does not support mutation. If you are attempting to modify the kwargs or args of a "
    "torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n    node.args = new_args\n"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}'{_HELP}".rstrip("\n"))


class immutable_list(list[Any]):
    """A list that cannot change.

    >>> from taper.fx.immutable_collections import immutable_list
    >>> immutable_list([1, 2])
    [1, 2]
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __setitem__ = __iadd__ = __imul__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (immutable_list, (tuple(self),))


class immutable_dict(dict[Any, Any]):
    """A dictionary that cannot change.

    >>> from taper.fx.immutable_collections import immutable_dict
    >>> immutable_dict({"dim": 0})
    {'dim': 0}
    """

    clear = pop = popitem = setdefault = update = _refuse
    __delitem__ = __setitem__ = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (immutable_dict, (tuple(self.items()),))


def _values_of_list(values: immutable_list) -> tuple[list[Any], Any]:
    return list(values), None


def _list_of(values: Iterable[Any], context: Any) -> immutable_list:
    return immutable_list(values)


def _values_of_dict(values: immutable_dict) -> tuple[list[Any], Any]:
    return list(values.values()), list(values.keys())


def _dict_of(values: Iterable[Any], context: Any) -> immutable_dict:
    return immutable_dict(zip(context, values, strict=True))


_pytree.register_pytree_node(immutable_list, _values_of_list, _list_of)
_pytree.register_pytree_node(immutable_dict, _values_of_dict, _dict_of)
