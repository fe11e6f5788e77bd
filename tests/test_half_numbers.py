"""Half precision and numbers: what is rounded first, and what is not.  Values are PyTorch's."""

from __future__ import annotations

import pytest

import taper

X = [0.3125, 0.7109375, 1.3359375, 2.6875, -3.390625]

# An expression, its values in bfloat16 and in float16.
ROWS = [
    (
        "x * 0.7",
        [0.21875, 0.498046875, 0.93359375, 1.8828125, -2.375],
        [0.21875, 0.49755859375, 0.93505859375, 1.880859375, -2.373046875],
    ),
    (
        "x * tensor(0.7)",
        [0.21875, 0.498046875, 0.93359375, 1.8828125, -2.375],
        [0.21875, 0.49755859375, 0.93505859375, 1.880859375, -2.373046875],
    ),
    (
        "tensor(0.7) * x",
        [0.21875, 0.498046875, 0.93359375, 1.8828125, -2.375],
        [0.21875, 0.497802734375, 0.935546875, 1.8818359375, -2.375],
    ),
    (
        "x / 0.7",
        [0.447265625, 1.015625, 1.90625, 3.84375, -4.84375],
        [0.446533203125, 1.015625, 1.908203125, 3.83984375, -4.84375],
    ),
    (
        "0.7 / x",
        [2.25, 0.984375, 0.5234375, 0.26171875, -0.2060546875],
        [2.240234375, 0.984375, 0.52392578125, 0.260498046875, -0.2064208984375],
    ),
    (
        "x.mul_(0.7)",
        [0.21875, 0.498046875, 0.93359375, 1.8828125, -2.375],
        [0.21875, 0.49755859375, 0.93505859375, 1.880859375, -2.373046875],
    ),
    (
        "x.add(x, alpha=0.7)",
        [0.53125, 1.2109375, 2.265625, 4.5625, -5.75],
        [0.53125, 1.208984375, 2.271484375, 4.5703125, -5.765625],
    ),
    (
        "x.abs() ** 0.7",
        [0.443359375, 0.7890625, 1.2265625, 2.0, 2.34375],
        [0.44287109375, 0.78759765625, 1.224609375, 1.998046875, 2.3515625],
    ),
    (
        "x ** 3",
        [0.030517578125, 0.357421875, 2.375, 19.375, -39.0],
        [0.030517578125, 0.359375, 2.384765625, 19.40625, -38.96875],
    ),
    (
        "0.7 ** x",
        [0.89453125, 0.77734375, 0.62109375, 0.3828125, 3.359375],
        [0.89453125, 0.7763671875, 0.62109375, 0.3837890625, 3.34765625],
    ),
]
CASES = [
    (text, dtype, values)
    for text, *both in ROWS
    for dtype, values in zip(("bfloat16", "float16"), both, strict=True)
]


@pytest.mark.parametrize(("text", "dtype", "values"), CASES)
def test_numbers_are_rounded_where_pytorch_rounds_them(text, dtype, values):
    x = taper.tensor(X, dtype=getattr(taper, dtype))
    assert eval(text, {"x": x, "tensor": taper.tensor}).tolist() == values


LINEAR = [case for case in CASES if case[0][:4] in ("x * ", "x / ")]


@pytest.mark.parametrize(("text", "dtype", "values"), LINEAR)
def test_gradients_meet_the_same_number(text, dtype, values):
    x = taper.tensor(X, dtype=getattr(taper, dtype), requires_grad=True)
    eval(text, {"x": x, "tensor": taper.tensor}).backward(x.detach())
    assert x.grad.tolist() == values
