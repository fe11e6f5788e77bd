"""What an embedding does beyond a look-up: padding, frequencies, norms.

Row tests cannot say it: with these options the gradient is not the derivative.
"""

from __future__ import annotations

import pytest

import taper
from taper.nn.functional import embedding

NUMBERS = [0, 1, 1, 2]


def table():
    return taper.tensor([[3.0, 4.0], [0.5, 0.0], [1.0, 1.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[1.0, 2.0], [8.0, 10.0], [7.0, 8.0]]),
        ({"padding_idx": 1}, [[1.0, 2.0], [0.0, 0.0], [7.0, 8.0]]),
        ({"padding_idx": -1}, [[1.0, 2.0], [8.0, 10.0], [0.0, 0.0]]),
        ({"scale_grad_by_freq": True}, [[1.0, 2.0], [4.0, 5.0], [7.0, 8.0]]),
        ({"padding_idx": 1, "scale_grad_by_freq": True}, [[1.0, 2.0], [0.0, 0.0], [7.0, 8.0]]),
    ],
)
def test_gradient_of_the_table(options, expected):
    weight = table()
    weights = taper.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    (embedding(taper.tensor(NUMBERS), weight, **options) * weights).sum().backward()
    assert weight.grad.tolist() == expected


def test_second_gradient_is_pytorchs():
    weight = table()
    found = embedding(taper.tensor(NUMBERS), weight, scale_grad_by_freq=True)
    (first,) = taper.autograd.grad((found * found).sum(), weight, create_graph=True)
    assert first.tolist() == [[6.0, 8.0], [1.0, 0.0], [2.0, 2.0]]
    assert first.grad_fn.name() == "EmbeddingDenseBackwardBackward0"
    (second,) = taper.autograd.grad((first * first).sum(), weight)
    assert second.tolist() == [[24.0, 32.0], [4.0, 0.0], [8.0, 8.0]]


def test_rows_that_are_looked_up_are_scaled_down_in_place():
    weight = table()
    found = embedding(taper.tensor([0, 1, 1]), weight, max_norm=1.0)
    assert taper.allclose(found, taper.tensor([[0.6, 0.8], [0.5, 0.0], [0.5, 0.0]]))
    assert taper.allclose(weight[0], taper.tensor([0.6, 0.8]))
    assert weight[2].tolist() == [1.0, 1.0]
    assert weight._version == 1 and weight.is_leaf


def test_the_norm_can_be_chosen():
    weight = table().detach()
    embedding(taper.tensor([0, 2]), weight, max_norm=1.0, norm_type=1.0)
    assert taper.allclose(weight, taper.tensor([[3 / 7, 4 / 7], [0.5, 0.0], [0.5, 0.5]]))


def test_sparse_gradient_has_a_row_for_each_index():
    weight = table()
    embedding(taper.tensor(NUMBERS), weight, sparse=True).sum().backward()
    assert weight.grad.is_sparse
    assert weight.grad._nnz() == taper.tensor(NUMBERS).numel()
