"""Sparse tensors answer what PyTorch answers: values, layouts, nodes, gradients, errors."""

from __future__ import annotations

import pytest

import taper
from sparse_answers import answer, answers


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "expected"), answers())
def test_answer(expression, expected):
    assert answer(taper, expression) == expected
