"""Appendix C on PyTorch: it does what `tests/test_subgradients.py` expects of taper."""

from __future__ import annotations

import pytest
import torch

from subgradient_cases import PAIRS, POINTS, assert_same, pair_of_slopes, slopes


@pytest.mark.parametrize(("expression", "points", "expected"), POINTS)
def test_at_a_point(expression, points, expected):
    assert_same(slopes(torch, expression, points), expected)


@pytest.mark.parametrize(("expression", "first", "second", "expected"), PAIRS)
def test_at_a_pair_of_points(expression, first, second, expected):
    assert_same(pair_of_slopes(torch, expression, first, second), expected)
