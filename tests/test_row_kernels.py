"""softmax and its kin in C: close to the truth, equal to the twins and on every thread, strict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.ops.activation import softmax as operators

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

# Shapes and the dimension: rows, strips of columns; short, long, uneven; more than one chunk.
SHAPES = [
    ((1,), 0),
    ((5, 5), 1),
    ((5, 5), 0),
    ((7, 15), 1),
    ((3, 16), 1),
    ((300, 10), 1),
    ((301, 65), 1),
    ((40, 1000), -1),
    ((3, 9001), 1),
    ((2, 200, 3), 1),
    ((3, 70, 9, 15), 1),
    ((130, 400), 0),
    ((2, 3, 4, 5), 2),
    ((1, 1, 6), 2),
]
FUNCTIONS = [taper.softmax, taper.log_softmax]


def values(shape: tuple[int, ...], scale: float = 3.0) -> np.ndarray:
    return np.random.default_rng(5).normal(0, scale, shape).astype(np.float32)


def truth(x: np.ndarray, grad: np.ndarray, dim: int, logarithm: bool) -> tuple[np.ndarray, ...]:
    """The result and the gradient, in double precision."""
    wide, grad = x.astype(np.float64), grad.astype(np.float64)
    powers = np.exp(wide - wide.max(dim, keepdims=True))
    share = powers / powers.sum(dim, keepdims=True)
    if logarithm:
        return np.log(share), grad - share * grad.sum(dim, keepdims=True)
    return share, share * (grad - (grad * share).sum(dim, keepdims=True))


def both(x: np.ndarray, grad: np.ndarray, dim: int, function: Callable) -> tuple[np.ndarray, ...]:
    """The result and the gradient of an operator."""
    leaf = taper.from_numpy(x).requires_grad_()
    y = function(leaf, dim)
    y.backward(taper.from_numpy(grad))
    return y.detach().numpy(), leaf.grad.numpy()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_results_and_gradients_are_close_to_the_truth_and_to_the_twin(
    shape: tuple[int, ...], dim: int, function: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, grad = values(shape), values(shape, 1.0)
    found = both(x, grad, dim, function)
    wanted = truth(x, grad, dim, function is taper.log_softmax)
    monkeypatch.setattr(operators, "_natively", operators._nothing)
    twin = both(x, grad, dim, function)
    for ours, exact, theirs in zip(found, wanted, twin, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=4e-6, atol=4e-6)
        np.testing.assert_allclose(ours, theirs, rtol=8e-6, atol=8e-6)


def test_a_small_share_is_exact_to_four_units() -> None:
    x = np.round(values((64, 100), 15.0) * 8) / 8  # differences are exact
    found, wanted = taper.softmax(taper.from_numpy(x), 1).numpy(), truth(x, x, 1, False)[0]
    large = wanted > 2e-38
    assert (np.abs(found - wanted)[large] < 5e-7 * wanted[large]).all()
    assert (found[~large] <= 2.1e-38).all()


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (40, 3), (3, 40)])
def test_infinities_and_nan(shape: tuple[int, ...]) -> None:
    dim = 0 if shape[0] == 3 else 1
    masked = np.zeros(shape, np.float32)
    np.moveaxis(masked, dim, 0)[1:] = -np.inf
    found = taper.softmax(taper.from_numpy(masked), dim).numpy()
    np.testing.assert_array_equal(found, np.exp(masked))
    found = taper.log_softmax(taper.from_numpy(masked), dim).numpy()
    np.testing.assert_array_equal(found, masked)
    for number in (np.nan, np.inf):
        spoilt = masked.copy()
        np.moveaxis(spoilt, dim, 0)[0] = number
        for function in FUNCTIONS:
            found = np.moveaxis(function(taper.from_numpy(spoilt), dim).numpy(), dim, 0)
            assert np.isnan(found[0]).all()
            if number != number:
                assert np.isnan(found).all()
    nothing = taper.full(shape, -np.inf)
    assert taper.softmax(nothing, dim).isnan().all()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("shape", "dim"), [((900, 65), 1), ((9, 9000), 1), ((5, 64, 24, 24), 1)])
def test_threads_do_not_change_a_bit(shape: tuple[int, ...], dim: int, function: Callable) -> None:
    x, before = values(shape), taper.get_num_threads()
    results = []
    for count in (1, 2):
        taper.set_num_threads(count)
        results.append(both(x, x, dim, function))
    taper.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert one.tobytes() == two.tobytes()


def test_a_row_has_one_value_wherever_it_stands() -> None:
    x = values((1000, 33))
    whole = native.softmax(True, 1, x)
    for row in (0, 1, 123, 124, 999):
        assert native.softmax(True, 1, x[row : row + 1]).tobytes() == whole[row].tobytes()


def test_cross_entropy_of_many_rows() -> None:
    x, target = values((700, 65)), np.random.default_rng(1).integers(0, 65, 700)
    leaf = taper.from_numpy(x).requires_grad_()
    loss = taper.nn.functional.cross_entropy(leaf, taper.from_numpy(target))
    loss.backward()
    logs = truth(x, x, 1, True)[0]
    wanted = np.exp(logs)
    wanted[np.arange(700), target] -= 1
    assert loss.item() == pytest.approx(-logs[np.arange(700), target].mean(), rel=1e-6)
    np.testing.assert_allclose(leaf.grad.numpy(), wanted / 700, atol=1e-9, rtol=1e-6)


def test_operands_that_do_not_fit_are_left_to_the_twin() -> None:
    x = values((3, 4))
    for axis, *others in (
        (2, x),
        (-1, x),
        (True, x),
        (0, x[:0]),
        (0, x[:, ::2]),
        (0, x.T),
        (0, x.astype(np.float64)),
        (0, [1.0]),
        (0, x, None),
        (0, x, x[:2]),
        (0, x, x.astype(np.float64)),
        (0, np.float32(1).reshape(())),
    ):
        assert native.softmax(False, axis, *others) is None
    for wrong in ((), (True, 0), (True, "x", x), (True, 0, x, x, x)):
        with pytest.raises(TypeError):
            native.softmax(*wrong)
