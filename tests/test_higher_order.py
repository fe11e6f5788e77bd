"""Control flow as functions of functions: `taper._higher_order_ops`; numbers are PyTorch's."""

from __future__ import annotations

import importlib

import pytest

import taper
from taper._higher_order_ops import cond, map, scan, while_loop
from taper._higher_order_ops.associative_scan import associative_scan


@pytest.fixture
def x():
    return taper.arange(1.0, 7.0).reshape(3, 2).requires_grad_()


def weighted(result):
    """Go back from a result with a gradient that tells its elements apart."""
    (result * taper.arange(1.0, 1 + result.numel()).reshape(result.shape)).sum().backward()


def test_associative_scan_combines_each_element_with_all_before_it(x):
    result = associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")
    assert result.tolist() == [[1, 2], [4, 6], [9, 12]]
    assert type(result.grad_fn).__name__ == "PermuteBackward0"
    weighted(result)
    assert x.grad.tolist() == [[9, 12], [8, 10], [5, 6]]


def test_associative_scan_from_the_end(x):
    result = associative_scan(taper.mul, x, 1, reverse=True, combine_mode="generic")
    assert result.tolist() == [[2, 2], [12, 4], [30, 6]]
    weighted(result)
    assert x.grad.tolist() == [[2, 3], [12, 13], [30, 31]]


def test_associative_scan_of_trees_of_every_length():
    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    for count in range(1, 10):  # PyTorch's answers are those of the loop
        rows = taper.arange(1.0, 1.0 + count) / 4
        factors, sums = associative_scan(combine, (rows, rows), 0, combine_mode="generic")
        factor, total = 1.0, 0.0
        for nr, row in enumerate(rows.tolist()):
            factor, total = factor * row, row * total + row
            assert factors[nr].item() == pytest.approx(factor)
            assert sums[nr].item() == pytest.approx(total)


def test_associative_scan_calls_its_function_on_single_elements():
    seen = []

    def combine(left, right):
        seen.append(left["k"].shape)
        return {"k": left["k"] + right["k"]}

    rows = {"k": taper.arange(1.0, 7.0).reshape(3, 2)}
    result = associative_scan(combine, rows, -1, combine_mode="generic")
    assert result["k"].tolist() == [[1, 3], [3, 7], [5, 11]]
    assert set(seen) == {(3,)}


@pytest.mark.parametrize(
    ("arguments", "mode", "error", "text"),
    [
        ((3, 0), "generic", ValueError, "Combine_fn must be a callable, but got 3"),
        ((taper.add, 0), "no", ValueError, "must either 'pointwise' or 'generic', but got no"),
        ((taper.add, 0), "pointwise", ValueError, "all input tensors need to be on CUDA or XPU"),
        ((taper.add, 5), "generic", IndexError, r"expected to be in range of \[-2, 1\], but got 5"),
        ((lambda a, b: (a, b), 0), "generic", AssertionError, "wrong number of arguments"),
    ],
)  # fmt: skip
def test_associative_scan_refuses(x, arguments, mode, error, text):
    combine, dim = arguments
    with pytest.raises(error, match=text):
        associative_scan(combine, x, dim, combine_mode=mode)


def test_scan_carries_along(x):
    carried, results = scan(lambda total, y: (total + y, total * y), taper.zeros(2), x)
    assert carried.tolist() == [9, 12]
    assert results.tolist() == [[0, 0], [3, 8], [20, 36]]
    weighted(results)
    assert x.grad.tolist() == [[34, 52], [28, 44], [20, 36]]


def test_scan_from_the_end_and_along_another_dimension(x):
    def step(total, y):
        return total + y, total * y

    carried, results = scan(step, taper.zeros(2), x.detach(), reverse=True)
    assert carried.tolist() == [9, 12]
    assert results.tolist() == [[8, 20], [15, 24], [0, 0]]
    carried, results = scan(step, taper.zeros(3), x.detach(), dim=1)
    assert carried.tolist() == [3, 7, 11]
    # PyTorch: the results of a walk along dim 1 are stacked along dim 1
    assert results.tolist() == [[0, 2], [0, 12], [0, 30]]


def test_map_cond_and_while_loop(x):
    weighted(map(lambda row: row * row, x))
    assert x.grad.tolist() == [[2, 8], [18, 32], [50, 72]]
    assert cond(x.sum() > 3, taper.neg, taper.exp, (x,)).tolist() == (-x).tolist()
    assert cond(False, lambda: 1, lambda: 2) == 2
    with pytest.raises(RuntimeError, match=r"Expected pred to be bool or tensor, but got a\."):
        cond("a", taper.neg, taper.exp, (x,))
    doubled = while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * 2), (taper.tensor(0), x))
    assert [each.tolist() for each in doubled] == [3, (x * 8).tolist()]


def test_the_functions_stand_before_their_modules():
    package = importlib.import_module("taper._higher_order_ops")
    assert callable(package.associative_scan)
    assert callable(package.map)
