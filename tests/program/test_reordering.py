"""Relu after a max pool in captured programs: the values and gradients of eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.nn import functional as F

pytestmark = pytest.mark.skipif(native is None, reason="programs are not lowered")


def both_ways(step: Any, x: Any, exact: bool = False) -> tuple[Any, list[str]]:
    """Compare result and gradient with eager mode's; returns the program and its instructions."""
    captured = taper.capture(step, strict=True, exact=exact)
    for _ in range(4):
        x.grad = None
        wanted = step(), x.grad.numpy().copy()
        x.grad = None
        found = captured(), x.grad.numpy().copy()
        np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy())
        np.testing.assert_array_equal(found[1], wanted[1])
    program = captured._entries[0].runner.trace.program
    assert captured.explain() == captured.explain()  # each instruction has a note
    names = [each.name for each in program.instructions if not each.is_again]
    return captured, [each for each in names if "relu" in each.lower() or "ool" in each]


FIRST = [
    *("max_pool2d_with_indices", "relu"),
    *("ReluBackward0", "MaxPool2DWithIndicesBackward0"),
]
AS_WRITTEN = [
    *("relu", "max_pool2d_with_indices"),
    *("MaxPool2DWithIndicesBackward0", "ReluBackward0"),
]


@pytest.mark.parametrize("dtype", [taper.float32, taper.float64])
@pytest.mark.parametrize(
    "settings", [(2,), (3, 2, 1), (3, 1, 1), ((2, 3), (1, 2)), (2, 3, 0, 2), (3, 2, 1, 1, True)]
)
@pytest.mark.parametrize("exact", [True, False])
def test_relu_goes_behind_the_pool(settings: Any, dtype: Any, exact: bool) -> None:
    taper.manual_seed(0)
    x = taper.randn(2, 3, 11, 13, dtype=dtype)
    x[0, 0], x[1, 2, 2:5], x[1, 0, 3] = -1.0, 0.5, float("nan")  # nothing, ties, and no number
    x[0, 1, 4, 4] = float("inf")
    x.requires_grad_()
    grad = taper.randn(F.max_pool2d(x, *settings).shape, dtype=dtype)

    def step() -> Any:
        out = F.max_pool2d(taper.relu(x * 1.0), *settings)
        out.backward(grad)
        return out.detach()

    assert both_ways(step, x, exact)[1] == (AS_WRITTEN if exact else FIRST)


@pytest.mark.parametrize("reader", ["again", "returned", "written", "pool written", "view"])
def test_relu_stays_where_others_need_it(reader: str) -> None:
    taper.manual_seed(0)
    x = taper.randn(2, 3, 8, 8, requires_grad=True)

    def step() -> Any:
        y = taper.relu(x * 1.0)
        out = F.max_pool2d(y, 2)
        more = y.sum() if reader == "again" else y[0].sum() if reader == "view" else 0.0
        if reader == "pool written":
            out = out.clone().mul_(2.0)
        (out.sum() + more).backward()
        if reader == "written":
            with taper.no_grad():
                y.add_(1.0)
        return y.detach().clone() if reader == "returned" else out.detach()

    _, names = both_ways(step, x)
    assert names[:2] == (FIRST if reader == "pool written" else AS_WRITTEN)[:2]


def test_forward_alone() -> None:
    x = taper.randn(2, 3, 8, 8)
    captured = taper.capture(lambda: F.max_pool2d(taper.relu(x - 0.5), 2), strict=True)
    for _ in range(4):
        wanted = F.max_pool2d(taper.relu(x - 0.5), 2)
        np.testing.assert_array_equal(captured().numpy(), wanted.numpy())
