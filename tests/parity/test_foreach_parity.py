"""Operators over lists against PyTorch: values, nodes, saved values, gradients, errors."""

from __future__ import annotations

import pytest
import torch as pytorch

from both_packages import assert_same
from foreach_programs import (
    BINARY,
    EXPRESSIONS,
    OTHERS,
    UNARY,
    binary,
    unary,
    unary_in_place,
    written,
)


@pytest.mark.parametrize("name", UNARY)
def test_one_list(name):
    assert_same(pytorch, unary(name))
    assert_same(pytorch, unary_in_place(name))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", BINARY)
def test_a_list_and_another_argument(name, other):
    assert_same(pytorch, binary(name, other))
    if other == "()" or (name in ("maximum", "minimum") and other != "other"):
        return  # in place PyTorch crashes, or has no derivative
    # With numbers PyTorch records other nodes in place than `add_` and its kin do.
    with_numbers = name in ("add", "sub", "mul", "div", "maximum", "minimum")
    graph = other == "other" or not with_numbers
    assert_same(pytorch, binary(name, other, True), graph=graph)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression(text):
    assert_same(pytorch, written(text))
