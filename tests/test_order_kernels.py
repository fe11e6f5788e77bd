"""Native sorting, top k, running sums, triangles and added rows: equal to their twins, strict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays import reduction
from taper.arrays.native import native
from taper.ops.index import advanced, embedding
from taper.ops.reduction import cumulative, order
from taper.ops.shape import triangle

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")


def random_rows(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    shape = (*draw.integers(1, 5, int(draw.integers(0, 3))), int(draw.integers(1, 900)))
    array = draw.normal(0, 10, shape).astype(draw.choice(["f4", "f8", "i4", "i8"]))
    if seed % 2:
        array = np.round(array)  # equal elements keep their order
    if seed % 3 == 0 and array.dtype.kind == "f":
        array[draw.random(shape) < 0.2] = draw.choice([np.nan, -np.nan, np.inf, -np.inf, -0.0])
    if seed % 7 == 0:
        array = (array * 10**6).astype(array.dtype)
    return array


def twin(monkeypatch: pytest.MonkeyPatch, module: Any, function: Any, *arguments: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(module, "native", None)
        return function(*arguments)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("descending", [False, True])
def test_order_is_that_of_the_twin(
    seed: int, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = random_rows(seed)
    given = (array, array.ndim - 1, descending)
    wanted = twin(monkeypatch, order, order.order_along, *given)
    found = order.order_along(*given)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    k = min(5, array.shape[-1])
    np.testing.assert_array_equal(native.top_rows(array, k, descending), wanted[..., :k])


@pytest.mark.parametrize("seed", range(20))
def test_running_sums_are_those_of_the_twin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    array = random_rows(seed)
    for dim in range(array.ndim):
        given = (np.add, array, dim, None)
        wanted = twin(monkeypatch, cumulative, cumulative._accumulated, *given)
        found = cumulative._accumulated(*given)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 4, 4), (1, 1), (300, 200)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "?", "c8", "f2"])
@pytest.mark.parametrize("diagonal", [0, 1, -2, 9, -9, 10**25])
def test_triangles_are_those_of_numpy(shape: Any, dtype: str, diagonal: int) -> None:
    array = np.random.default_rng(1).integers(1, 9, shape).astype(dtype)
    if abs(diagonal) > 2**62:
        assert native.triangle(array, diagonal, True) is None
        return
    for function in (np.tril, np.triu):
        found = triangle._triangle(function, "name", array, diagonal)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, function(array, diagonal))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 200])
def test_rows_are_added_in_order(
    kind: type, dtype: type, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(2)
    grad = draw.normal(size=(4, 90, width)).astype(dtype)
    indices = draw.integers(0, 7, (4, 90)).astype(kind)
    backward = embedding.embedding_dense_backward.op.kernel
    for padding in (-1, 3):
        given = (grad, indices, 7, padding, False)
        wanted = twin(monkeypatch, reduction, backward, *given)
        np.testing.assert_array_equal(backward(*given), wanted)
        assert padding < 0 or not wanted[padding].any()
    targets = [draw.normal(size=(7, width)).astype(dtype)] * 2
    targets = [each.copy() for each in targets]
    advanced.add_at(targets[0], (indices,), grad)
    twin(monkeypatch, reduction, advanced.add_at, targets[1], (indices,), grad)
    np.testing.assert_array_equal(*targets)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    draw = np.random.default_rng(3)
    array = draw.normal(size=(70, 900)).astype(np.float32)
    rows = draw.integers(0, 9, 70)
    before = taper.get_num_threads()
    results = []
    try:
        for threads in (1, 2):
            taper.set_num_threads(threads)
            target = np.zeros((9, 900), np.float32)
            assert native.add_rows(target, rows, array, -1)
            results.append(
                (
                    target,
                    native.order_rows(array, False),
                    native.top_rows(array, 7, True),
                    native.running_sums(array, 1),
                    native.running_sums(array, 0),
                    native.triangle(array, 0, True),
                )
            )
    finally:
        taper.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_not_plain_is_left_to_the_twin() -> None:
    plain = np.ones((4, 6), np.float32)
    for array in (plain[:, ::2], plain.T, plain[:0], np.ones(()), [1.0], plain.astype(np.float16)):
        assert native.order_rows(array, False) is None
        assert native.top_rows(array, 1, True) is None
        assert native.running_sums(array, 0) is None
    assert native.top_rows(plain, 7, True) is None
    assert native.top_rows(plain, 0, True) is None
    assert native.top_rows(np.ones(100), 65, True) is None
    assert native.running_sums(plain, 2) is None
    assert native.running_sums(plain, -1) is None
    assert native.triangle(plain[0], 0, True) is None
    assert native.triangle(plain.T, 0, True) is None


def test_rows_that_do_not_fit_change_nothing() -> None:
    target = np.zeros((3, 2), np.float32)
    rows, values = np.array([0, 2]), np.ones((2, 2), np.float32)
    frozen = target.copy()
    frozen.flags.writeable = False
    for given in (
        (target, np.array([0, 3]), values),
        (target, np.array([0, -1]), values),
        (target, rows, values[:1]),
        (target, rows, values.T),
        (target, rows, values.astype(np.float64)),
        (target, rows.astype(np.uint8), values),
        (target, rows[:0], values[:0]),
        (target[:, ::2], rows, values[:, :1].copy()),
        (target, rows, target[:2]),
        (frozen, rows, values),
    ):
        assert native.add_rows(*given, -1) is None
        assert not target.any()
    for call in (
        native.running_sums,
        native.order_rows,
        native.top_rows,
        native.triangle,
        native.add_rows,
    ):
        with pytest.raises(TypeError):
            call(target)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "c8"])
@pytest.mark.parametrize("shape", [(7,), (3, 50), (2, 3, 9), (40, 900)])
def test_elements_are_picked_and_written_along_rows(shape: tuple, dtype: str) -> None:
    draw = np.random.default_rng(4)
    array = draw.integers(0, 99, shape).astype(dtype)
    places = draw.integers(0, shape[-1], (*shape[:-1], 11))
    found = native.pick_along(array, places)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, np.take_along_axis(array, places, -1))
    values = draw.integers(0, 99, places.shape).astype(dtype)
    for add in (False, True):
        target, wanted = array.copy(), array.copy()
        done = native.scatter_along(target, places, values, add)
        assert done or (add and dtype not in ("f4", "f8"))
        for where in np.ndindex(*places.shape) if done else ():
            place = (*where[:-1], places[where])
            wanted[place] = wanted[place] + values[where] if add else values[where]
        np.testing.assert_array_equal(target, wanted)


def test_places_that_do_not_fit_are_left_to_the_twin() -> None:
    array, places = np.ones((2, 3), np.float32), np.array([[0, 2], [1, 1]])
    values = np.full((2, 2), 5, np.float32)
    for wrong in (places + 1, places - 1, places.T, places[:1], places[0], places.astype("i4")):
        assert native.pick_along(array, wrong) is None
        assert native.scatter_along(array, wrong, values, True) is None
    for other in (values.T, values[:1], values.astype("f8"), 5.0, None, array[:, :2]):
        assert native.scatter_along(array, places, other, False) is None
    assert native.scatter_along(array[:, ::2], places, values, False) is None
    assert native.pick_along(array[:, ::2], places) is None
    assert native.pick_along(array.astype("f2"), places) is None
    assert (array == 1).all()


def random_view(seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    ndim = int(draw.integers(1, 5))
    shape = tuple(int(each) for each in draw.choice([1, 3, 16, 17, 40, 70], ndim))
    kinds = ["f4", "f8", "i4", "i8", "c8", "f2", "u1", "c16"]
    array = draw.integers(0, 200, shape).astype(draw.choice(kinds))
    array = array.transpose(draw.permutation(ndim))
    steps = draw.choice([1, -1, 2], ndim, p=[0.7, 0.2, 0.1])
    array = array[tuple([slice(None, None, int(step)) for step in steps])]
    repeated = draw.random(ndim) < 0.1
    first = array[tuple([slice(0, 1) if each else slice(None) for each in repeated])]
    return np.broadcast_to(first, array.shape)


@pytest.mark.parametrize("seed", range(160))
def test_a_copy_across_memory_has_the_same_elements(seed: int) -> None:
    source = random_view(seed)
    order = np.random.default_rng(seed).permutation(source.ndim) if seed % 2 else range(source.ndim)
    shape = [source.shape[dim] for dim in order]
    around = np.zeros([length + seed % 3 for length in shape], source.dtype)
    target = around[tuple([slice(0, length) for length in shape])].transpose(np.argsort(order))
    if native.copy_across(target, source) is None:
        assert not target.any()
        inner = [length for length in source.shape if length > 1][-1:]
        assert seed % 6 or not inner or inner[0] < 16 or source.itemsize == 16
    else:
        np.testing.assert_array_equal(target, source)
        target[...] = 0
        assert not around.any()  # nothing was written beside it


def test_which_copies_are_left_to_the_twin() -> None:
    square = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    before = square.copy()
    target = np.zeros((32, 32), np.float32)
    assert native.copy_across(target, square.T)
    np.testing.assert_array_equal(target, square.T)
    assert native.copy_across(target, square[::-1, ::-1])
    np.testing.assert_array_equal(target, square[::-1, ::-1])
    assert native.copy_across(target, square)
    np.testing.assert_array_equal(target, square)
    assert native.copy_across(target.T, square)
    np.testing.assert_array_equal(target.T, square)
    wide = np.zeros((32, 64), np.float32)
    assert native.copy_across(wide[:, 16:48], square)
    np.testing.assert_array_equal(wide[:, 16:48], square)
    assert not wide[:, :16].any() and not wide[:, 48:].any()
    for given in (
        (square, square.T),  # the same memory
        (square[:16], square[8:24]),
        (wide[:, ::2], square),
        (wide[::-1, :32], square),
        (np.broadcast_to(target[:1], (32, 32)), square),
        (target, square.T.astype(np.int32)),
        (target[:16], square.T),
        (target, square.astype(">f4")),
        ([1], square.T),
    ):
        assert native.copy_across(*given) is None
    np.testing.assert_array_equal(square, before)
    frozen = target.copy()
    frozen.flags.writeable = False
    assert native.copy_across(frozen, square.T) is None


def test_a_tensor_may_be_overwritten_by_its_own_transpose() -> None:
    x = taper.arange(40.0 * 40).reshape(40, 40)
    wanted = x.numpy().T.copy()
    x.copy_(x.t().clone())
    np.testing.assert_array_equal(x.numpy(), wanted)
    np.testing.assert_array_equal(x.t().contiguous().numpy(), wanted.T)
    np.testing.assert_array_equal(x.flip(0, 1).numpy(), wanted[::-1, ::-1])
