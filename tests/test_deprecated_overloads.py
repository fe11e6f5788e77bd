"""Numbers before the tensors, as programs wrote until PyTorch 1.4."""

from __future__ import annotations

import warnings

import pytest

import taper
from taper import userwarning

MATRIX, ONES, VECTOR = taper.arange(4.0).reshape(2, 2), taper.ones(2, 2), taper.ones(2)


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda a, b, v: taper.add(a, 2, b), [[2, 3], [4, 5]]),
        (lambda a, b, v: a.add_(-0.5, b), [[-0.5, 0.5], [1.5, 2.5]]),
        (lambda a, b, v: a.sub_(2, b), [[-2, -1], [0, 1]]),
        (lambda a, b, v: a.add(2, 3), [[6, 7], [8, 9]]),
        (lambda a, b, v: a.add_(taper.tensor(2.0), b), [[2, 3], [4, 5]]),
        (lambda a, b, v: a.addcmul_(0.5, a, b), [[0, 1.5], [3, 4.5]]),
        (lambda a, b, v: a.addcdiv_(-1, a, b), [[0, 0], [0, 0]]),
        (lambda a, b, v: taper.addcmul(a, 2, b, b, out=taper.empty(2, 2)), [[2, 3], [4, 5]]),
        (lambda a, b, v: taper.addmm(2, a, 3, b, b), [[6, 8], [10, 12]]),
        (lambda a, b, v: a.addmm_(2, b, b), [[2, 4], [6, 8]]),
        (lambda a, b, v: a.addmm(2, 3, b, b), [[6, 8], [10, 12]]),
        (lambda a, b, v: taper.addmv(2, v, 3, a, v), [5, 17]),
        (lambda a, b, v: a.addr_(2, 3, v, v), [[3, 5], [7, 9]]),
    ],
)
def test_numbers_may_stand_before_tensors(call, expected):
    assert call(MATRIX.clone(), ONES, VECTOR).tolist() == expected


def test_gradients_flow_through():
    x = taper.ones(2, requires_grad=True)
    taper.ones(2).add(3, x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_numbers_behind_tensors_are_too_many_arguments():
    with pytest.raises(TypeError, match=r"^add\(\) takes 2 positional arguments but 3 were given$"):
        taper.add(MATRIX, ONES, 2)
    with pytest.raises(TypeError, match=r"takes 3 positional arguments but 5 were given"):
        taper.addmm(MATRIX, ONES, ONES, 2, 3)


def test_the_first_in_a_process_warns(monkeypatch):
    monkeypatch.setattr(userwarning, "_given", set())
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        MATRIX.clone().add_(-0.5, ONES)
        taper.addcmul(MATRIX, 2, ONES, ONES)
    assert [str(each.message) for each in given] == [
        "This overload of add_ is deprecated:\n\tadd_(Number alpha, Tensor other)\n"
        "Consider using one of the following signatures instead:\n"
        "\tadd_(Tensor other, *, Number alpha = 1)"
    ]
