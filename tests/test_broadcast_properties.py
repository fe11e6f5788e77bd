"""Properties of promotion and broadcasting, over shapes and dtypes that hypothesis chooses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import taper

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
DTYPES += ["float64", "complex64", "complex128"]
dtypes = st.sampled_from(DTYPES)
shapes = mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)


def of(dtype, shape):
    return taper.ones(shape, dtype=getattr(taper, dtype))


@settings(max_examples=200, deadline=None)
@given(dtypes, dtypes, shapes)
def test_the_result_dtype_is_result_type_and_the_shape_is_the_broadcast(first, second, both):
    assume("float16" not in (first, second) or "complex" not in first + second)  # complex32
    a, b = of(first, both.input_shapes[0]), of(second, both.input_shapes[1])
    result = a + b
    assert result.dtype == taper.result_type(a, b) == taper.result_type(b, a)
    assert tuple(result.shape) == both.result_shape
    assert (b + a).dtype == result.dtype


@settings(max_examples=200, deadline=None)
@given(dtypes, st.sampled_from([True, 2, 1.5, 1j]))
def test_numbers_never_raise_the_dtype_within_their_category(dtype, number):
    a = of(dtype, (2,))
    if dtype == "float16" and isinstance(number, complex):
        return  # complex32 does not exist here
    result = a * number
    kinds = {bool: 0, int: 1, float: 2, complex: 3}
    if kinds[type(number)] <= a.dtype.category:
        assert result.dtype == a.dtype
    else:
        assert result.dtype.category == kinds[type(number)]


@settings(max_examples=200, deadline=None)
@given(shapes, st.integers(0, 2**31))
def test_gradients_have_the_shape_of_their_input(both, seed):
    rng = np.random.default_rng(seed)
    a, b = (
        taper.from_numpy(np.array(rng.standard_normal(shape))).requires_grad_()
        for shape in both.input_shapes
    )
    (a * b).sum().backward()
    assert a.grad.shape == a.shape and b.grad.shape == b.shape
    wide = np.broadcast_to(b.detach().numpy(), both.result_shape)
    lead = wide.ndim - a.ndim
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(a.shape) if n == 1 and wide.shape[lead + i] != 1
    )
    expected = wide.sum(axis=axes, keepdims=True).reshape(tuple(a.shape))
    np.testing.assert_allclose(a.grad.numpy(), expected)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.data())
def test_shapes_that_do_not_fit_are_refused_and_nothing_changes(shape, data):
    dim = data.draw(st.integers(0, len(shape) - 1))
    other = list(shape)
    other[dim] += 3
    a, b = taper.ones(shape), taper.ones(other)
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        a + b
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        a.add_(b)
    assert a._version == 0 and a.sum().item() == np.prod(shape)
