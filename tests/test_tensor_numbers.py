"""Tensors without dimensions where a number is wanted; all values are PyTorch's (issue 16, B3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.nn import functional as F

X = taper.arange(6.0).reshape(2, 3)
PLACES = taper.tensor([[0, 1, 0]])


@pytest.mark.parametrize("two", [taper.tensor(2.0), taper.tensor(2), np.float32(2)], ids=repr)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda two: taper.add(X, X, alpha=two), [[0, 3, 6], [9, 12, 15]]),
        (lambda two: X.clone().add_(X, alpha=two), [[0, 3, 6], [9, 12, 15]]),
        (lambda two: taper.sub(X, X, alpha=two), [[0, -1, -2], [-3, -4, -5]]),
        (lambda two: F.pad(X, (1, 0), value=two), [[2, 0, 1, 2], [2, 3, 4, 5]]),
        (lambda two: X.scatter(0, PLACES, value=two), [[2, 1, 2], [3, 2, 5]]),
        (lambda two: taper.scatter(X, 0, PLACES, value=two), [[2, 1, 2], [3, 2, 5]]),
        (lambda two: taper.addcmul(X, X, X, value=two), [[0, 3, 10], [21, 36, 55]]),
        (lambda two: F.hardshrink(X, two), [[0, 0, 0], [3, 4, 5]]),
        (lambda two: F.smooth_l1_loss(X, X + 1, beta=two), 0.25),
        (lambda two: taper.nan_to_num(X, two), [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_a_tensor_without_dimensions_is_a_number(two: Any, call: Any, expected: Any):
    assert call(two).tolist() == expected


def test_renorm_takes_both_numbers_as_tensors():
    found = taper.renorm(X, taper.tensor(2.0), 0, taper.tensor(2.0))
    expected = [[0.0, 0.8944272, 1.7888544], [0.8485281, 1.1313708, 1.4142135]]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "other", [taper.tensor([2.0]), taper.tensor(2.0, requires_grad=True)], ids=["one-d", "leaf"]
)
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda two: taper.add(X, X, alpha=two), r"add\(\): argument 'alpha' must be Number"),
        (lambda two: X.clone().add_(X, alpha=two), r"add_\(\): argument 'alpha' must be Number"),
        (
            lambda two: taper.addcmul(X, X, X, value=two),
            r"addcmul\(\): argument 'value' must be ",
        ),
        (
            lambda two: taper.renorm(X, two, 0, 1.0),
            r"'p' \(position 2\) must be Number, not Tensor",
        ),
        (lambda two: F.elu(X, two), r"'alpha' \(position 2\) must be Number, not Tensor"),
        (
            lambda two: taper.dist(X, X, two),
            r"dist\(\): argument 'p' \(position 3\) must be",
        ),
        (lambda two: F.pad(X, (1, 0), value=two), r"'value' \(position 4\) must be float, not Ten"),
    ],
)
def test_a_tensor_with_dimensions_or_a_gradient_is_none(other: Any, call: Any, text: str):
    with pytest.raises(TypeError, match=text):
        call(other)


def test_a_saved_number_is_plain():
    x = taper.ones(2, requires_grad=True)
    y = taper.add(x, x, alpha=taper.tensor(3.0))
    assert y.grad_fn._saved_alpha == 3.0
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
