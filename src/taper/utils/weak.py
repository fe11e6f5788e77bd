"""Dictionaries by identity with weak keys: tensors, whose `==` compares elements, can be keys."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from taper.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals another one to the same object, and hashes as its id."""

    __slots__ = ("_id",)

    def __new__(cls, key: Any, callback: Callable[..., Any] | None = None) -> WeakIdRef:
        return super().__new__(cls, key, callback)

    def __init__(self, key: Any, callback: Callable[..., Any] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return self is other or (mine is not None and mine is theirs)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary by identity that does not keep its keys alive.

    >>> import taper
    >>> from taper.utils.weak import WeakTensorKeyDictionary
    >>> x = taper.ones(2)
    >>> names = WeakTensorKeyDictionary({x: "x"})
    >>> names[x]
    'x'
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:
        self.data: dict[Any, Any] = {}
        self.ref_type = ref_type
        table = weakref.ref(self)

        def forget(reference: Any) -> None:
            owner = table()
            if owner is not None:
                owner.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # not weakly referable, so never a key
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Return another dictionary with the same keys and values."""
        made = WeakIdKeyDictionary(ref_type=self.ref_type)
        made.update(self.items())
        return made

    def keyrefs(self) -> list[Any]:
        """Return the weak references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor.

    >>> import taper
    >>> from taper.utils.weak import TensorWeakRef
    >>> x = taper.ones(2)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
