"""Attention in C agrees with its twin over shapes, layouts and masks, and on two threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.ops.attention import scaled

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")


def _random_case(seed: int) -> tuple[list[np.ndarray], np.ndarray | None, bool]:
    """Query, key, value, the output's gradient; mask; whether it is causal."""
    draw = np.random.default_rng(seed)
    batch, kept, shared = (int(draw.integers(1, most)) for most in (4, 3, 4))
    rows, keys = (int(draw.choice([1, 3, 64, 65, 130])) for _ in range(2))
    width = int(draw.choice([1, 4, 16, 33]))
    arrays = []
    for heads, length in ((kept * shared, rows), (kept, keys), (kept, keys), (kept * shared, rows)):
        between = draw.integers(2)  # heads before rows in memory, or between them
        shape = (batch, length, heads, width) if between else (batch, heads, length, width)
        made = draw.standard_normal(shape).astype(np.float32)
        arrays.append(made.swapaxes(1, 2) if between else made)
    masks = [
        None,
        draw.standard_normal((rows, keys)).astype(np.float32),
        np.where(draw.random((batch, 1, rows, keys)) < 0.3, -np.inf, 0).astype(np.float32),
        draw.standard_normal((batch, kept * shared, rows, 1)).astype(np.float32),
    ]
    causal = bool(draw.integers(2))
    return arrays, None if causal else masks[draw.integers(4)], causal


def _run(
    arrays: list[np.ndarray], mask: np.ndarray | None, causal: bool, scale: float | None = None
) -> list[Any]:
    inputs = [taper.from_numpy(each).requires_grad_() for each in arrays[:3]]
    added = None if mask is None else taper.from_numpy(mask)
    output = taper.nn.functional.scaled_dot_product_attention(
        *inputs, attn_mask=added, is_causal=causal, scale=scale, enable_gqa=True
    )
    output.backward(taper.from_numpy(arrays[3]))
    return [output.detach(), *[each.grad for each in inputs]]


@pytest.mark.parametrize("seed", range(60))
def test_the_twin_agrees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _random_case(seed)
    found = _run(*case)
    monkeypatch.setattr(scaled, "native", None)
    for ours, twin in zip(found, _run(*case), strict=True):
        assert ours.stride() == twin.stride()
        np.testing.assert_allclose(ours.numpy(), twin.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [-0.7, 0.0, 1.5])
@pytest.mark.parametrize("causal", [False, True])
def test_any_factor_and_many_heads_of_many_keys(
    scale: float, causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(4)
    arrays = [draw.standard_normal((2, 8, 290, 8)).astype(np.float32) for _ in range(4)]
    found = _run(arrays, None, causal, scale)
    monkeypatch.setattr(scaled, "native", None)
    for ours, twin in zip(found, _run(arrays, None, causal, scale), strict=True):
        np.testing.assert_allclose(ours.numpy(), twin.numpy(), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("shape", [(1, 3, 400, 24), (3, 8, 65, 16)])
@pytest.mark.parametrize("causal", [False, True])
def test_two_threads_give_the_same_bits(shape: tuple[int, ...], causal: bool) -> None:
    draw = np.random.default_rng(3)
    arrays = [draw.standard_normal(shape).astype(np.float32) for _ in range(4)]
    case = (arrays, None, causal)
    before = taper.get_num_threads()
    results = []
    for count in (1, 2):
        taper.set_num_threads(count)
        results.append([each.numpy().tobytes() for each in _run(*case)])
    taper.set_num_threads(before)
    assert results[0] == results[1]


def test_rows_that_see_nothing_give_zero_and_no_gradient() -> None:
    x = taper.ones(1, 1, 3, 2, requires_grad=True)
    mask = taper.tensor([[True, False, True], [False, False, False], [True, True, True]])
    y = taper.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    assert y.tolist() == [[[[1, 1], [0, 0], [1, 1]]]]
    y.sum().backward()
    assert bool(taper.isfinite(x.grad).all())


def test_what_is_no_number_stays_so() -> None:
    x = taper.ones(1, 1, 3, 2)
    x[0, 0, 1, 0] = float("nan")
    y = taper.nn.functional.scaled_dot_product_attention(x, taper.ones(1, 1, 3, 2), x)
    assert taper.isnan(y).all(-1).tolist() == [[[False, True, False]]]
    assert taper.isnan(y[..., 0]).tolist() == [[[True, True, True]]]


def test_arguments_that_do_not_fit_are_refused() -> None:
    good = [np.ones((2, 3, 4, 5), np.float32) for _ in range(4)]
    sums = np.ones((2, 3, 4, 1), np.float32)
    rest = (None, False, 1.0)
    assert native.attend(*good, sums, *rest) is True
    for place, wrong in (
        (0, np.ones((2, 3, 4, 5))),
        (1, np.ones((2, 2, 4, 5), np.float32)),
        (2, np.ones((2, 3, 9, 5), np.float32)),
        (3, np.ones((2, 3, 4, 10), np.float32)[..., ::2]),
        (1, np.ones((2, 3, 5, 4), np.float32).swapaxes(2, 3)),
        (0, np.ones((3, 4, 5), np.float32)),
        (2, None),
    ):
        given = [*good]
        given[place] = wrong  # type: ignore[call-overload]
        assert native.attend(*given, sums, *rest) is None
    assert native.attend(*good, sums, np.ones((2, 3, 4, 9), np.float32), False, 1.0) is None
    assert native.attend(*good, np.ones((2, 3, 4), np.float32), *rest) is None
    assert native.attend(*good, sums, None, False, "x") is None
    with pytest.raises(TypeError):
        native.attend(*good)
