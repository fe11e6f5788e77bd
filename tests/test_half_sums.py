"""Sums of many float16 and bfloat16 numbers: added in float32 where PyTorch 2.13 does so.

In bfloat16 a running sum of ones ends at 256, in float16 at 2048; the numbers are PyTorch's.
"""

from __future__ import annotations

import pytest

import taper
from taper.nn import functional as F

MANY = 4096
HALVES = (taper.bfloat16, taper.float16)


def gradient(shape, dtype, function):
    x = taper.ones(shape, dtype=dtype, requires_grad=True)
    function(x).sum().backward()
    return x.grad.reshape(-1)[0].item()


def ones(dtype, *shape):
    return taper.ones(*shape, dtype=dtype)


ZEROS = taper.zeros(MANY, dtype=taper.int64)
GRADIENTS = {
    "a bias that is broadcast": ((4,), lambda x: ones(x.dtype, MANY, 4) + x),
    "a factor of a matrix": ((MANY, 1), lambda x: ones(x.dtype, MANY, MANY) * x),
    "a factor of all": ((), lambda x: ones(x.dtype, MANY) * x),
    "linear's bias": ((2,), lambda x: F.linear(ones(x.dtype, MANY, 3), ones(x.dtype, 2, 3), x)),
    "expand": ((1,), lambda x: x.expand(MANY)),
    "where": ((1,), lambda x: taper.where(ZEROS == 0, x, x.detach())),
    "repeat": ((1,), lambda x: x.repeat(MANY)),
    "gather": ((1,), lambda x: x.gather(0, ZEROS)),
    "as_strided": ((1,), lambda x: x.as_strided((MANY,), (0,))),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_what_is_used_often_are_added_in_float32(name, dtype):
    assert gradient(GRADIENTS[name][0], dtype, GRADIENTS[name][1]) == MANY


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_scatters_and_the_trace_add_in_float32(dtype):
    source = ones(dtype, MANY)
    start = taper.zeros(1, dtype=dtype)
    assert start.scatter_add(0, ZEROS, source).item() == MANY
    assert start.scatter_reduce(0, ZEROS, source, "sum").item() == MANY
    assert start.scatter_reduce(0, ZEROS, source, "mean").item() == 1
    assert start.scatter(0, ZEROS, 1.0, reduce="add").item() == MANY
    assert taper.eye(MANY, dtype=dtype).trace().item() == MANY
    many = ones(dtype, MANY, 2)
    assert taper.zeros(2, 2, dtype=dtype).index_add(0, ZEROS, many)[0].tolist() == [MANY, MANY]


@pytest.mark.parametrize(("dtype", "most"), [(taper.bfloat16, 256), (taper.float16, 2048)])
def test_single_elements_are_added_as_they_are(dtype, most):
    source, start = ones(dtype, MANY), taper.zeros(1, dtype=dtype)
    assert start.index_add(0, ZEROS, source).item() == most
    assert start.index_put((ZEROS,), source, accumulate=True).item() == most
    assert gradient((2, 1), dtype, lambda x: F.embedding(ZEROS, x)) == most
    assert gradient((1,), dtype, lambda x: x[ZEROS]) == most
