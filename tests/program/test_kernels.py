"""Kernels that stand for calls in captured programs: same results, and the errors of the call."""

from __future__ import annotations

import pytest

import taper
from taper.arrays.native import native

pytestmark = pytest.mark.skipif(native is None, reason="kernels are native")


def fitted(reduction: str, dtype: taper.dtype, **options: object) -> tuple[object, object]:
    """A captured step of a linear layer, and what it does eagerly to another with equal weights."""
    functions = []
    for captured in (True, False):
        weight = taper.linspace(-1, 1, 12, dtype=dtype).reshape(3, 4).clone().requires_grad_()

        def step(x: taper.Tensor, y: taper.Tensor, weight: taper.Tensor = weight) -> object:
            weight.grad = None
            rows = taper.log_softmax(x @ weight, 1)
            loss = taper.nn.functional.nll_loss(rows, y, reduction=reduction, **options)
            loss.backward()
            return loss, weight.grad

        functions.append(taper.capture(step) if captured else step)
    return tuple(functions)


@pytest.mark.parametrize("dtype", [taper.float32, taper.float64])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_losses_and_gradients_are_those_of_eager_mode(reduction: str, dtype: taper.dtype) -> None:
    captured, eager = fitted(reduction, dtype)
    for nr in range(4):
        x = taper.arange(15, dtype=dtype).reshape(5, 3) * 0.1 + nr
        y = (taper.arange(5) + nr) % 4
        for found, expected in zip(captured(x, y), eager(x, y), strict=True):
            taper.testing.assert_close(found, expected)
    assert captured._entries[0].replays == 2
    steps = captured._entries[0].runner.plan.steps
    assert [each[1][3] for each in steps if each[0] == 2 and each[1][3]] == [
        "nll_loss",
        "nll_loss_backward",
    ]


def test_a_target_out_of_range_raises_the_error_of_the_call() -> None:
    captured, _ = fitted("mean", taper.float32)
    x = taper.ones(2, 3)
    for _ in range(3):
        captured(x, taper.tensor([0, 3]))
    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        captured(x, taper.tensor([0, 4]))
    assert captured._entries[0].replays == 2


def test_a_target_to_be_ignored_is_left_to_the_call() -> None:
    captured, eager = fitted("mean", taper.float32)
    x = taper.arange(6.0).reshape(2, 3)
    for target in ([0, 3], [1, 1], [2, 0], [-100, 2]):
        y = taper.tensor(target)
        for found, expected in zip(captured(x, y), eager(x, y), strict=True):
            taper.testing.assert_close(found, expected)
    assert captured._entries[0].replays == 2


def test_where_every_bit_counts_no_kernel_stands_for_a_call() -> None:
    def loss(x: taper.Tensor, y: taper.Tensor) -> taper.Tensor:
        return taper.nn.functional.nll_loss(x, y)

    captured = taper.capture(loss, exact=True)
    for _ in range(3):
        captured(taper.ones(2, 3), taper.tensor([0, 1]))
    assert not any(each[1][3] for each in captured._entries[0].runner.plan.steps if each[0] == 2)
