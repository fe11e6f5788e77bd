"""`x[index]` and `x[index] = value` for any mixture of indices, against NumPy.

NumPy counts integers among the advanced indices, PyTorch does not.  So the reference takes the
integers first, one dimension after the other, and leaves the rest to NumPy.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import taper

CALM = settings(max_examples=200, deadline=None)


@st.composite
def indexed(draw):
    """Return a shape, and an index for it with arrays instead of tensors."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    together = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))
    entries = []
    left = list(shape)
    while left and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(["int", "slice", "none", "array", "mask", "dots", "list"]))
        size = left[0]
        if kind == "none":
            entries.append(None)
        elif kind == "dots" and not any(each is Ellipsis for each in entries):
            entries.append(Ellipsis)
            left = left[draw(st.integers(0, len(left))) :]
        elif kind == "int":
            entries.append(draw(st.integers(-size, size - 1)))
            left = left[1:]
        elif kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            entries.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
            left = left[1:]
        elif kind == "mask":
            bits = draw(st.lists(st.booleans(), min_size=size, max_size=size))
            entries.append(np.array(bits, bool))
            left = left[1:]
        elif kind in ("array", "list"):
            count = math.prod(together)
            numbers = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
            array = np.array(numbers, np.int64).reshape(together)
            as_list = kind == "list" and array.ndim == 1
            entries.append(array.tolist() if as_list else array)
            left = left[1:]
    if any(each is Ellipsis for each in entries):
        entries += [slice(None)] * len(left)  # otherwise the dots would take these dimensions
    return shape, tuple(entries)


def without_dots(entries, ndim):
    """Return the index with Ellipsis written out; None if it has too many dimensions."""
    taken = sum(each is not None and each is not Ellipsis for each in entries)
    result = []
    for each in entries:
        result.extend([slice(None)] * (ndim - taken) if each is Ellipsis else [each])
    return result


def reference(array, entries):
    """Return NumPy's view or copy, integers first."""
    rest = []
    dim = 0
    for each in without_dots(entries, array.ndim):
        if isinstance(each, int):
            array = array[(slice(None),) * dim + (each, ...)]
            continue
        rest.append(each)
        dim += each is not None
    return array, tuple(rest)


def as_tensors(entries):
    made = tuple([taper.tensor(e) if isinstance(e, np.ndarray) else e for e in entries])
    return made[0] if len(made) == 1 and not isinstance(made[0], list) else made


def expected_of(array, entries):
    part, rest = reference(array, entries)
    try:
        return part[rest]
    except IndexError:
        return None


@given(indexed())
@CALM
def test_reading_gives_what_numpy_gives(case):
    shape, entries = case
    array = np.arange(float(math.prod(shape))).reshape(shape)
    tensor, index = taper.tensor(array), as_tensors(entries)
    expected = expected_of(array, entries)
    if expected is None:
        with pytest.raises(IndexError, match="shape mismatch: indexing tensors"):
            tensor[index]
        return
    found = tensor[index]
    assert tuple(found.shape) == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)
    basic = not any(isinstance(each, np.ndarray | list) for each in entries)
    assert found._is_view() == basic
    if not basic:
        assert found.is_contiguous()


@given(indexed())
@CALM
def test_the_gradient_goes_back_to_the_places_that_were_read(case):
    shape, entries = case
    numbers = np.arange(math.prod(shape)).reshape(shape)
    places = expected_of(numbers, entries)
    assume(places is not None)
    x = taper.tensor(numbers * 0.5, requires_grad=True)
    weights = np.arange(1.0, places.size + 1).reshape(places.shape)
    found = x[as_tensors(entries)]
    (grad,) = taper.autograd.grad((found * taper.tensor(weights)).sum(), x, create_graph=True)
    expected = np.zeros(math.prod(shape))
    np.add.at(expected, places.ravel(), weights.ravel())
    np.testing.assert_allclose(grad.detach().numpy().ravel(), expected)
    # The second derivative of a linear function is zero, and the graph of the first shows it.
    assert not grad.requires_grad


@given(indexed(), st.sampled_from(["number", "full", "last", "first"]))
@CALM
def test_writing_changes_what_numpy_changes(case, kind):
    shape, entries = case
    array = np.arange(float(math.prod(shape))).reshape(shape)
    tensor, index = taper.tensor(array), as_tensors(entries)
    part, rest = reference(array, entries)
    target = expected_of(array, entries)
    assume(target is not None)
    value = -np.arange(1.0, target.size + 1).reshape(target.shape)
    if kind == "number":
        value = np.float64(-1.5)
    elif kind == "last" and value.ndim:
        value = value[..., :1]
    elif kind == "first" and value.ndim:
        value = value[:1][0] if len(value) else value
    repeated = places_of(shape, entries)
    if len(set(repeated)) < len(repeated) and kind != "number":
        return  # which of several values stays is not defined
    part[rest] = value
    tensor[index] = float(value) if kind == "number" else taper.tensor(value)
    np.testing.assert_array_equal(tensor.numpy(), array)


def places_of(shape, entries):
    places = expected_of(np.arange(math.prod(shape)).reshape(shape), entries)
    return places.ravel().tolist()


@given(indexed())
@CALM
def test_writing_splits_the_gradient_between_old_and_new(case):
    shape, entries = case
    places = expected_of(np.arange(math.prod(shape)).reshape(shape), entries)
    assume(places is not None and len(set(places.ravel().tolist())) == places.size)
    x = taper.ones(shape, dtype=taper.float64, requires_grad=True)
    value = taper.ones(places.shape, dtype=taper.float64, requires_grad=True)
    y = x * 1.0
    y[as_tensors(entries)] = value
    weights = np.arange(1.0, math.prod(shape) + 1)
    (y.reshape(-1) * taper.tensor(weights)).sum().backward()
    kept = weights.copy()
    kept[places.ravel()] = 0.0
    np.testing.assert_array_equal(x.grad.numpy().ravel(), kept)
    if places.size:
        np.testing.assert_array_equal(value.grad.numpy(), weights[places])


@given(indexed())
@CALM
def test_a_value_that_does_not_fit_is_refused_and_nothing_changes(case):
    shape, entries = case
    array = np.arange(float(math.prod(shape))).reshape(shape)
    tensor, index = taper.tensor(array), as_tensors(entries)
    target = expected_of(array, entries)
    assume(target is not None)
    wrong = (2, *[length + 2 for length in target.shape])
    with pytest.raises(RuntimeError):
        tensor[index] = taper.zeros(wrong, dtype=taper.float64)
    np.testing.assert_array_equal(tensor.numpy(), array)
    assert tensor._version == 0


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 2),
    st.data(),
)
@CALM
def test_gather_and_scatter_are_transposes(shape, dim, data):
    """<gather(x), y> = <x, scatter_add(y)> for all x and y."""
    dim %= len(shape)
    lengths = [data.draw(st.integers(1, n)) if d != dim else 3 for d, n in enumerate(shape)]
    count = math.prod(lengths)
    numbers = st.lists(st.integers(0, shape[dim] - 1), min_size=count, max_size=count)
    index = taper.tensor(np.array(data.draw(numbers)).reshape(lengths))
    x = taper.arange(float(math.prod(shape)), dtype=taper.float64).reshape(shape)
    y = taper.arange(1.0, count + 1, dtype=taper.float64).reshape(lengths)
    left = (x.gather(dim, index) * y).sum()
    right = (taper.zeros_like(x).scatter_add(dim, index, y) * x).sum()
    assert left.item() == pytest.approx(right.item())


@given(st.integers(1, 5), st.lists(st.integers(0, 4), min_size=0, max_size=8))
@CALM
def test_index_add_counts_what_index_select_repeats(size, numbers):
    index = taper.tensor([number % size for number in numbers], dtype=taper.int64)
    ones = taper.ones(len(numbers), 2)
    counts = taper.zeros(size, 2).index_add(0, index, ones)
    expected = np.bincount(index.numpy(), minlength=size)
    np.testing.assert_array_equal(counts[:, 0].numpy(), expected)
    x = taper.arange(float(size)).requires_grad_()
    x.index_select(0, index).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)
