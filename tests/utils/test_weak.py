"""`utils.weak`: dictionaries by identity that let their keys go."""

from __future__ import annotations

import pytest

import taper
from taper.utils.weak import TensorWeakRef, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_told_apart_by_identity_and_may_go():
    x, y = taper.ones(2), taper.ones(2)
    names = WeakTensorKeyDictionary({x: "x", y: "y"})
    assert (names[x], names[y], len(names), taper.ones(2) in names) == ("x", "y", 2, False)
    assert all(each is key for each, key in zip(names, (x, y), strict=True))
    del x
    assert len(names) == 1 and names.pop(y) == "y"
    with pytest.raises(KeyError):
        names[y]


def test_a_copy_has_the_same_keys():
    x = taper.ones(2)
    assert WeakTensorKeyDictionary({x: 1}).copy()[x] == 1


def test_references():
    x = taper.ones(2)
    reference = TensorWeakRef(x)
    assert reference() is x and WeakIdRef(x) == WeakIdRef(x)
    del x
    assert reference() is None
    with pytest.raises(AssertionError, match="expected torch.Tensor"):
        TensorWeakRef(3)
