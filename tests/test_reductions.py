"""What the rows of `opcases` cannot say about reductions: ties, NaN, precision, warnings, layouts.

The numbers are PyTorch 2.13's.
"""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest

import taper
from taper import return_types
from taper.arrays import reduction

NAN = float("nan")


def gradient(function, values):
    x = taper.tensor(values, requires_grad=True)
    result = function(x)
    (result if not isinstance(result, tuple) else result[0]).sum().backward()
    return x.grad.tolist()


# --- ties and NaN ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "amax"])
def test_full_reductions_share_the_gradient_among_ties(name):
    found = gradient(lambda x: getattr(x, name)(), [1.0, 3.0, 3.0, 3.0])
    assert found == pytest.approx([0.0, 1 / 3, 1 / 3, 1 / 3])


def test_amax_shares_the_gradient_of_each_row():
    assert gradient(lambda x: x.amax(1), [[2.0, 2.0], [1.0, 0.0]]) == [[0.5, 0.5], [1.0, 0.0]]


def test_max_along_a_dimension_gives_the_gradient_to_the_first():
    assert gradient(lambda x: x.max(0), [1.0, 3.0, 3.0]) == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_nan_is_shared_among_nans(name):
    assert gradient(lambda x: getattr(x, name)(), [1.0, NAN, 3.0, NAN]) == [0.0, 0.5, 0.0, 0.5]


def test_nanmedian_skips_nan():
    values = taper.tensor([1.0, NAN, 3.0, NAN, 1.0])
    found = values.nanmedian(0)
    assert (found.values.item(), found.indices.item()) == (1.0, 4)
    assert math.isnan(values.median().item())
    assert math.isnan(taper.tensor([NAN, NAN]).nanmedian().item())


def test_sort_treats_nan_as_the_largest_and_keeps_ties_in_order():
    values = taper.tensor([NAN, 2.0, NAN, 1.0, 2.0])
    assert values.sort().indices.tolist() == [3, 1, 4, 0, 2]
    assert values.sort(descending=True).indices.tolist() == [0, 2, 1, 4, 3]


def test_running_extrema_name_the_last_of_equal_elements():
    values = taper.tensor([2.0, 2.0, 1.0, 2.0])
    assert values.cummax(0).indices.tolist() == [0, 1, 1, 3]
    assert taper.tensor([1.0, NAN, 2.0]).cummax(0).indices.tolist() == [0, 1, 1]


def test_mode_is_the_smallest_of_the_most_frequent():
    found = taper.tensor([5, 4, 5, 4, 4, 5, 1]).mode()
    assert (found.values.item(), found.indices.item()) == (4, 4)


# --- zeros -----------------------------------------------------------------------------------


def test_gradients_of_products_with_zeros_are_exact():
    assert gradient(lambda x: x.prod(), [2.0, 0.0, 3.0]) == [0.0, 6.0, 0.0]
    assert gradient(lambda x: x.prod(), [2.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]
    assert gradient(lambda x: x.cumprod(0), [2.0, 0.0, 3.0]) == [1.0, 8.0, 0.0]


def test_second_gradients_of_products_with_zeros():
    x = taper.tensor([0.0, 3.0, 0.0, 2.0], requires_grad=True)
    (grad,) = taper.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = taper.autograd.grad(grad.sum(), x)
    assert second.tolist() == [6.0, 0.0, 6.0, 0.0]


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2, 3, math.inf, -math.inf, -1])
def test_norms_of_zeros_have_a_zero_gradient(order):
    assert gradient(lambda x: x.norm(order), [0.0, 0.0, 0.0]) == [0.0, 0.0, 0.0]


def test_inf_norm_shares_with_sign():
    found = gradient(lambda x: x.norm(math.inf), [0.0, 3.0, -3.0, 2.0])
    assert found == [0.0, 0.5, -0.5, 0.0]


def test_std_of_equal_values_has_a_zero_gradient():
    assert gradient(lambda x: x.std(), [2.0, 2.0, 2.0]) == [0.0, 0.0, 0.0]


# --- precision -------------------------------------------------------------------------------


def test_float16_is_added_in_float32():
    ones = taper.ones(70000, dtype=taper.float16)
    assert ones.mean().item() == 1.0
    assert taper.ones(5000, dtype=taper.float16).sum().item() == 5000.0
    assert ones.to(taper.bfloat16).sum().item() == 70144.0


@pytest.mark.parametrize("shape, dim", [((100003, 3), 0), ((3, 100003), 1), ((1000003,), 0)])
def test_float32_sums_are_as_exact_as_pairwise_ones(shape, dim):
    array = np.random.default_rng(0).random(shape, dtype=np.float32)
    exact = array.sum(dim, dtype=np.float64)
    for tensor in (taper.from_numpy(array), taper.from_numpy(np.asfortranarray(array))):
        assert np.abs(tensor.sum(dim).numpy() / exact - 1).max() < 1e-6
    whole = taper.from_numpy(array)
    assert whole.sum().item() == pytest.approx(array.sum(dtype=np.float64), rel=1e-6)
    assert whole.var().item() == pytest.approx(array.var(dtype=np.float64, ddof=1), rel=1e-5)
    assert whole.norm().item() == pytest.approx(np.linalg.norm(array.astype(float)), rel=1e-6)


def test_large_products_agree_with_logarithms():
    array = np.exp(np.random.default_rng(1).standard_normal(20000) * 0.01)
    expected = math.exp(np.log(array).sum())
    assert taper.from_numpy(array).prod().item() == pytest.approx(expected, rel=1e-9)


def test_running_sums_are_added_in_float64():
    values = taper.full((1000,), 0.1, dtype=taper.float32)
    assert values.cumsum(0)[-1].item() == np.float32(np.float64(np.float32(0.1)) * 1000)


def test_row_sums_equal_numpy():
    array = np.random.default_rng(2).standard_normal((20, 7)).astype(np.float32)
    expected = array.sum(1, keepdims=True)
    np.testing.assert_allclose(reduction.row_sums(array, 1), expected, rtol=1e-5)


# --- empty input, degrees of freedom ---------------------------------------------------------


def test_reductions_of_nothing():
    empty = taper.empty(0)
    assert empty.sum().item() == 0.0
    assert empty.prod().item() == 1.0
    assert math.isnan(empty.mean().item())
    assert empty.logsumexp(0).item() == -math.inf
    assert (empty.any().item(), empty.all().item()) == (False, True)
    assert math.isnan(empty.median().item())


def test_too_few_elements_for_a_variance_warn():
    with pytest.warns(UserWarning, match=r"^var\(\): degrees of freedom is <= 0"):
        assert math.isnan(taper.ones(1).var().item())
    with pytest.warns(UserWarning, match=r"^std\(\): degrees of freedom is <= 0"):
        assert taper.arange(3.0).std(correction=5).item() == math.inf


def test_the_warning_names_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        taper.ones(1).var()
    assert caught[0].filename == __file__


# --- results ---------------------------------------------------------------------------------


def test_named_results_look_as_in_pytorch():
    found = taper.tensor([1.0, 3.0, 2.0]).max(0)
    assert repr(found) == "torch.return_types.max(\nvalues=tensor(3.),\nindices=tensor(1))"
    values, indices = found
    assert values is found.values and indices is found[1]
    assert isinstance(found, tuple) and type(found) is return_types.max
    with pytest.raises(AttributeError):
        found.values = 1


def test_named_results_check_their_length_and_can_be_pickled():
    with pytest.raises(TypeError, match=r"max\(\) takes a 2-sequence \(1-sequence given\)"):
        return_types.max((1,))
    with pytest.raises(TypeError, match="constructor requires a sequence"):
        return_types.max(1)
    copy = pickle.loads(pickle.dumps(return_types.aminmax((1, 2))))
    assert type(copy) is return_types.aminmax and copy.max == 2


def test_out_returns_named_results():
    values, indices = taper.empty(0), taper.empty(0, dtype=taper.int64)
    found = taper.max(taper.tensor([[1.0, 2.0]]), 1, out=(values, indices))
    assert found.values is values and values.tolist() == [2.0]
    assert type(found) is return_types.max_out


def test_out_decides_the_dtype_of_a_sum():
    out = taper.empty(2, dtype=taper.int64)
    taper.sum(taper.tensor([[1.7, 2.7], [1.7, 2.7]]), 1, out=out)
    assert out.tolist() == [3, 3]
    with pytest.raises(
        RuntimeError, match="Expected out tensor to have dtype double, but got float"
    ):
        taper.sum(taper.ones(2), 0, dtype=taper.float64, out=taper.empty(()))


def test_integers_cannot_carry_a_gradient():
    x = taper.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
        x.sum(dtype=taper.int64)
    with taper.no_grad():
        assert x.sum(dtype=taper.int64).item() == 2


def test_a_summed_gradient_is_not_shared_memory():
    x = taper.ones(2, 3, requires_grad=True)
    x.sum().backward()
    x.grad[0, 0] = 5.0
    assert x.grad.tolist() == [[5.0, 1.0, 1.0], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_distinct_elements_have_no_derivative(name):
    x = taper.tensor([1.0, 2.0], requires_grad=True)
    found = getattr(x, name)()
    assert found.requires_grad
    with pytest.raises(NotImplementedError, match="the derivative for '.*' is not implemented"):
        found.sum().backward()
