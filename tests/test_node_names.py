"""Nodes have PyTorch's names (appendix A of the behaviours)."""

from __future__ import annotations

import warnings

import pytest

import taper
import taper.nn
from node_names import NODE_NAMES, operands


@pytest.mark.parametrize("expression", NODE_NAMES)
def test_the_last_step_has_the_name(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # meshgrid, interpolate and others have advice
        result = eval(expression, operands(taper))
    name = None if result.grad_fn is None else type(result.grad_fn).__name__
    assert str(name) == NODE_NAMES[expression]
