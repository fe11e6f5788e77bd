"""Views of any shape and stride: values, memory, gradients, and which views exist at all."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taper

CALM = settings(max_examples=150, deadline=None)

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=3).map(tuple)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["transpose", "slice", "select", "unsqueeze", "squeeze", "expand", "diagonal", "unfold"]
        ),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    max_size=4,
)


def both(tensor, array, step):
    """Return one view of a tensor, and NumPy's equivalent of an array."""
    kind, a, b = step
    ndim = array.ndim
    if kind == "unsqueeze":
        dim = a % (ndim + 1)
        return tensor.unsqueeze(dim), np.expand_dims(array, dim)
    if kind == "expand":
        times = 1 + b % 3
        return tensor.expand(times, *tensor.shape), np.broadcast_to(array, (times, *array.shape))
    if ndim == 0:
        return tensor, array
    dim, other = a % ndim, b % ndim
    if kind == "transpose":
        return tensor.transpose(dim, other), array.swapaxes(dim, other)
    if kind == "slice":
        cut = (slice(None),) * dim + (slice(b % 3, None, 1 + b % 2),)
        return tensor[cut], array[cut]
    if kind == "select" and array.shape[dim]:
        index = b % array.shape[dim]
        return tensor.select(dim, index), array[(slice(None),) * dim + (index, ...)]
    if kind == "squeeze":
        return tensor.squeeze(), array.squeeze()
    if kind == "diagonal" and ndim > 1:
        return tensor.diagonal(b - 2, 0, 1), array.diagonal(b - 2, 0, 1)
    if kind == "unfold" and array.shape[dim] >= 2:
        windows = np.lib.stride_tricks.sliding_window_view(array, 2, dim)
        return tensor.unfold(dim, 2, 1), windows
    return tensor, array


def chain(shape, steps, dtype=np.float64):
    """Return a tensor, an array of the same numbers, and both after the same views."""
    array = np.arange(math.prod(shape), dtype=dtype).reshape(shape)
    tensor = taper.tensor(array)
    view, expected = tensor, array
    for step in steps:
        if view.dim() < 5:
            view, expected = both(view, expected, step)
    return tensor, view, expected


@given(SHAPES, STEPS)
@CALM
def test_views_show_what_numpy_shows(shape, steps):
    _, view, expected = chain(shape, steps)
    assert tuple(view.shape) == expected.shape
    np.testing.assert_array_equal(view.numpy(), expected)
    assert all(step >= 0 for step in view.stride())


@given(SHAPES, STEPS)
@CALM
def test_views_share_the_memory_and_the_version_of_their_root(shape, steps):
    tensor, view, expected = chain(shape, steps)
    assert view is tensor or view._base is tensor
    tensor += 100.0
    np.testing.assert_array_equal(view.numpy(), expected + 100.0)
    assert view._version == tensor._version == 1


@given(SHAPES, STEPS)
@CALM
def test_the_gradient_of_a_view_lies_where_the_view_looks(shape, steps):
    leaf, _, places = chain(shape, steps)
    leaf.requires_grad_()
    view, array = leaf, leaf.detach().numpy()
    for step in steps:
        if view.dim() < 5:
            view, array = both(view, array, step)
    weights = np.arange(1.0, view.numel() + 1).reshape(tuple(view.shape))
    (view * taper.tensor(weights)).sum().backward()
    expected = np.zeros(math.prod(shape))
    np.add.at(expected, places.astype(int).ravel(), weights.ravel())
    np.testing.assert_allclose(leaf.grad.numpy().ravel(), expected)


@given(SHAPES, STEPS, st.data())
@CALM
def test_view_exists_where_numpy_needs_no_copy(shape, steps, data):
    _, view, expected = chain(shape, steps)
    size = expected.size
    divisors = [n for n in range(1, size + 1) if size % n == 0] if size else [0]
    first = data.draw(st.sampled_from(divisors))
    second = size // first if first else data.draw(st.integers(0, 3))
    wanted = data.draw(st.permutations([first, second]))
    if size == 0:
        assert tuple(view.view(wanted).shape) == tuple(wanted)
        return
    reference = expected.reshape(wanted)
    if not np.may_share_memory(reference, expected):  # NumPy 2.0 has no way to forbid the copy
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            view.view(wanted)
        result = view.reshape(wanted)
        assert result._base is None
    else:
        np.testing.assert_array_equal(view.view(wanted).numpy(), reference)
        result = view.reshape(wanted)
        assert result._is_view()
    np.testing.assert_array_equal(result.numpy(), expected.reshape(wanted))


@given(SHAPES, STEPS)
@CALM
def test_as_strided_makes_any_view_again_from_its_root(shape, steps):
    tensor, view, expected = chain(shape, steps)
    again = tensor.as_strided(view.shape, view.stride(), view.storage_offset())
    np.testing.assert_array_equal(again.numpy(), expected)


@given(SHAPES, STEPS)
@CALM
def test_copies_own_their_memory_and_keep_the_values(shape, steps):
    tensor, view, expected = chain(shape, steps)
    for copy in (view.clone(), view.contiguous().clone(), view.to(taper.float32).to(taper.float64)):
        np.testing.assert_array_equal(copy.numpy(), expected)
        assert copy._base is None
        copy.zero_()
    np.testing.assert_array_equal(view.numpy(), expected)
    assert tensor._version == 0
    assert view.contiguous().is_contiguous()


@given(SHAPES, st.integers(1, 4), st.integers(-3, 2))
@CALM
def test_what_is_split_can_be_joined_again(shape, parts, dim):
    tensor = taper.arange(float(math.prod(shape))).reshape(shape)
    if not shape or not -len(shape) <= dim < len(shape):
        return
    for name in ("split", "chunk", "tensor_split"):
        pieces = getattr(tensor, name)(parts, dim)
        assert taper.equal(taper.cat(pieces, dim), tensor)
        assert all(each._base is not None for each in pieces)
    if shape[dim]:
        assert taper.equal(taper.stack(tensor.unbind(dim), dim), tensor)


@given(SHAPES, STEPS)
@CALM
def test_order_can_be_undone(shape, steps):
    _, view, expected = chain(shape, steps)
    dims = tuple(range(view.dim()))
    assert taper.equal(view.flip(dims).flip(dims), view)
    np.testing.assert_array_equal(view.flip(dims).numpy(), np.flip(expected, dims))
    if dims:
        assert taper.equal(view.roll(2, 0).roll(-2, 0), view)
    assert taper.equal(view.permute(dims[::-1]).permute(dims[::-1]), view)
