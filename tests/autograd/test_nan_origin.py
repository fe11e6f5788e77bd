"""Anomaly mode looks at the forward pass too: the operation that makes the first NaN raises.

PyTorch's does not: there `log(-1)` passes, and so does the NaN loss that it leads to.
"""

from __future__ import annotations

import math

import pytest

pytestmark = [
    pytest.mark.taper_only,
    pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled"),
]


def test_n2_the_first_operation_that_makes_a_nan_raises(torch):
    x = torch.tensor([4.0, -1.0, 2.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        shifted = x * 2
        with pytest.raises(RuntimeError) as caught:
            torch.log(shifted)  # here
    lines = str(caught.value).split("\n")
    assert lines[0].startswith("log() made nan values out of finite inputs at ")
    assert lines[0].endswith("torch.log(shifted)  # here")
    assert lines[1] == "  input: shape [3], torch.float32, values from -2 to 8"
    assert len(lines) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_n2_infinities_are_found_in_every_dtype(torch, dtype):
    x = torch.ones(2, dtype=getattr(torch, dtype))
    zero = torch.zeros(2, dtype=getattr(torch, dtype))
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="made (inf|nan)") as e:
        x / zero
    assert "div()" in str(e.value) and "  other: shape [2]" in str(e.value)


def test_n2_values_that_were_given_as_infinite_are_no_anomaly(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        masked = x.masked_fill(torch.tensor([True, False]), -math.inf)
        weights = masked.softmax(0)
        weights[1].backward()
    assert weights.tolist() == [0.0, 1.0]


def test_n2_sums_that_overflow_only_in_the_check_are_fine(torch):
    with torch.autograd.detect_anomaly():
        y = torch.full((4,), 3e38) * 1.0
    assert torch.isfinite(y).all()


def test_n2_writes_in_place_are_checked(torch):
    x = torch.tensor([0.0, 1.0])
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        x.log_()
    text = str(caught.value)
    assert text.startswith("log() made infinite values out of finite inputs at ")
    assert "values from 0 to 1" in text


def test_n2_gradients_still_have_the_words_of_pytorch(torch):
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = x.sqrt() * 0.0
        with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"):
            with pytest.raises(
                RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"
            ):
                y.backward()


def test_n2_a_recorded_backward_is_not_a_forward_pass(torch):
    x = torch.tensor([0.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        y = x.sqrt()
        (grad,) = torch.autograd.grad(y, x, create_graph=True)
    assert grad.item() == math.inf


def test_n2_a_custom_function_is_named(torch):
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return torch.tensor([math.nan])

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.tensor([1.0], requires_grad=True)
    with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError) as caught:
        Careless.apply(x)
    text = str(caught.value)
    assert text.startswith("Careless() made nan values out of finite inputs at ")
    assert "  input 0: shape [1], torch.float32, values from 1 to 1" in text


def test_n6_without_the_check_nothing_is_looked_at(torch):
    with torch.autograd.detect_anomaly(check_nan=False):
        assert math.isnan(torch.log(torch.tensor(-1.0)).item())
    assert math.isnan(torch.log(torch.tensor(-1.0)).item())
