"""LSTM and GRU in C agree with their twins, packed and reversed ones too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taper
from taper.arrays import recurrent
from taper.arrays.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the native module is not built")


def _case(seed: int, mode: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    size, inputs = (int(draw.choice([1, 5, 16, 33])) for _ in range(2))
    sizes = np.sort(draw.integers(1, 20, int(draw.integers(1, 9))))[::-1].tolist()
    if draw.integers(2):
        sizes = [sizes[0]] * len(sizes)

    def array(*shape: int) -> np.ndarray:
        return draw.standard_normal(shape).astype(np.float32)

    gates, bias = recurrent.GATES[mode], bool(draw.integers(2))
    weights = [array(gates * size, inputs), array(gates * size, size)]
    weights += [array(gates * size) if bias else None for _ in range(2)]  # type: ignore[misc]
    grads = [array(sum(sizes), size), array(sizes[0], size), array(sizes[0], size)]
    return {
        "rows": array(sum(sizes), inputs),
        "weights": weights,
        "hx": array(sizes[0], size),
        "cx": array(sizes[0], size) if mode == recurrent.LSTM else None,
        "steps": recurrent.steps_of(tuple(sizes), bool(draw.integers(2))),
        "grads": [each if draw.integers(3) else None for each in grads],
        "mode": mode,
    }


def _run(case: dict[str, Any]) -> list[np.ndarray]:
    names = ("rows", "weights", "hx", "cx", "steps", "mode")
    found = recurrent.forward(*[case[name] for name in names])
    given = (case["rows"], case["weights"], case["hx"], case["cx"], found[3], case["steps"])
    needs = [True] * 3 + [case["weights"][2] is not None] * 2 + [True, case["cx"] is not None]
    back = recurrent.backward(case["grads"], *given, case["mode"], needs)
    return [*found[:3], *[each for each in back if each is not None]]


@pytest.mark.parametrize("mode", [recurrent.LSTM, recurrent.GRU], ids=["lstm", "gru"])
@pytest.mark.parametrize("seed", range(40))
def test_the_twin_agrees(seed: int, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(seed, mode)
    found = _run(case)
    monkeypatch.setattr(recurrent, "native", None)
    for ours, twin in zip(found, _run(case), strict=True):
        np.testing.assert_allclose(ours, twin, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("mode", [recurrent.LSTM, recurrent.GRU], ids=["lstm", "gru"])
def test_two_threads_give_the_same_bits(mode: int) -> None:
    case, results, before = _case(7, mode), [], taper.get_num_threads()
    for count in (1, 2):
        taper.set_num_threads(count)
        results.append([each.tobytes() for each in _run(case)])
    taper.set_num_threads(before)
    assert results[0] == results[1]


def test_arguments_that_do_not_fit_are_refused() -> None:
    starts, counts = np.array([0, 3]), np.array([3, 2])
    good = {
        "state": np.ones((3, 4), np.float32),
        "cell": np.ones((3, 4), np.float32),
        "gates": np.ones((5, 16), np.float32),
        "cells": np.ones((5, 4), np.float32),
        "output": np.ones((5, 4), np.float32),
        "weight": np.ones((16, 4), np.float32),
        "bias": np.ones((1, 16), np.float32),
    }
    assert native.lstm(starts, counts, *good.values()) is True
    for wrong in (np.array([0, 4]), np.array([-1, 3]), np.array([0]), np.array([0.0, 3.0]), None):
        assert native.lstm(wrong, counts, *good.values()) is None
    for wrong in (np.array([4, 1]), np.array([3, 0]), np.array([3, 3])):
        assert native.lstm(starts, wrong, *good.values()) is None
    for name in good:
        some = good[name]
        for wrong in (None, some[0], some[:, 1:], some.astype(float), some[:, ::-1]):
            assert native.lstm(starts, counts, *{**good, name: wrong}.values()) is None
    with pytest.raises(TypeError):
        native.gru(starts, counts)
