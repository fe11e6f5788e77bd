"""Products of two matrices natively: every size and layout, against sums in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import taper
from taper.arrays.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")

LAYOUTS = [(False, False), (True, False), (False, True), (True, True)]


def drawn(
    rows: int, columns: int, turned: bool, draw: np.random.Generator, dtype: type = np.float32
) -> np.ndarray:
    """Draw a matrix whose columns lie in one piece if `turned`, with gaps between them."""
    shape = (columns, rows) if turned else (rows, columns)
    values = draw.standard_normal((shape[0], shape[1] + 3)).astype(dtype)[:, : shape[1]]
    return values.T if turned else values


def product(left: np.ndarray, right: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """Multiply natively: it must not decline."""
    found = native.product(left, right) if bias is None else native.product(left, right, bias)
    assert isinstance(found, np.ndarray)
    return found


def assert_near(found: np.ndarray, left: np.ndarray, right: np.ndarray, bias: np.ndarray) -> None:
    """Compare with doubles: a sum of n products may be wrong by the square root of n roundings."""
    wanted = left.astype(np.float64) @ right.astype(np.float64) + bias
    sizes = np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64) + np.abs(bias)
    bound = np.finfo(left.dtype).eps * max(4.0, left.shape[1] ** 0.5)
    assert (np.abs(found - wanted) <= bound * sizes).all()


@pytest.mark.parametrize("turned", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_any_size(turned: tuple[bool, bool], dtype: type) -> None:
    draw = np.random.default_rng(5)
    fixed = [(97, 129, 95), (12, 700, 128), (5, 513, 1000), (401, 33, 240), (2, 2000, 400)]
    sizes = [*fixed, *draw.integers(2, 200, (30, 3)).tolist()]
    for rows, inner, columns in sizes:
        left = drawn(rows, inner, turned[0], draw, dtype)
        right = drawn(inner, columns, turned[1], draw, dtype)
        bias = draw.standard_normal(columns).astype(dtype)
        assert_near(product(left, right), left, right, np.zeros(columns))
        assert_near(product(left, right, bias), left, right, bias)


@pytest.mark.parametrize("turned", LAYOUTS)
@pytest.mark.parametrize(
    "sizes", [(768, 128, 384), (64, 900, 1000), (900, 300, 64), (301, 600, 95)]
)
def test_threads_and_pieces_do_not_change_a_bit(
    turned: tuple[bool, bool], sizes: tuple[int, int, int]
) -> None:
    rows, inner, columns = sizes
    draw = np.random.default_rng(6)
    left, right = drawn(rows, inner, turned[0], draw), drawn(inner, columns, turned[1], draw)
    bias = draw.standard_normal(columns).astype(np.float32)
    before = taper.get_num_threads()
    found = []
    for count in (1, 2, 3):
        taper.set_num_threads(count)
        found.append(product(left, right, bias).tobytes())
    taper.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("turned", LAYOUTS)
def test_what_is_not_finite_stays_in_its_row_and_column(turned: tuple[bool, bool]) -> None:
    draw = np.random.default_rng(7)
    left, right = drawn(150, 70, turned[0], draw), drawn(70, 127, turned[1], draw)
    left[149, 3], right[5, 126] = np.nan, np.inf
    found = product(left, right)
    assert np.isnan(found[149]).all()
    assert not np.isfinite(found[:, 126]).any()
    assert np.isfinite(found[:149, :126]).all()


@pytest.mark.parametrize("turned", LAYOUTS)
def test_nothing_is_written_beside_a_result(turned: tuple[bool, bool]) -> None:
    draw = np.random.default_rng(8)
    left, right = drawn(111, 90, turned[0], draw), drawn(90, 143, turned[1], draw)
    room = np.full((113, 160), 7, np.float32)
    np.matmul(left, right, out=room[1:112, 9:152])
    assert_near(room[1:112, 9:152], left, right, np.zeros(143))
    room[1:112, 9:152] = 7
    assert (room == 7).all()
