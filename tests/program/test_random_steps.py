"""Random training steps, captured, end with the bits of eager mode."""

from __future__ import annotations

from typing import Any

import pytest

import taper
from random_steps import run


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, taper.Tensor):
        return found.dtype is expected.dtype and taper.equal(
            found.nan_to_num(7.5) if found.is_floating_point() else found,
            expected.nan_to_num(7.5) if expected.is_floating_point() else expected,
        )
    return type(found) is type(expected) and found == expected


@pytest.mark.filterwarnings("ignore:8 kinds of calls")
@pytest.mark.parametrize("seed", range(60))
def test_a_captured_step_ends_with_the_bits_of_eager_mode(seed: int) -> None:
    expected, _ = run(seed, lambda step: step)
    found, captured = run(seed, lambda step: taper.capture(step, exact=True))
    assert [same(one, other) for one, other in zip(found, expected, strict=True)] == [True] * len(
        expected
    )
    assert "replayed" in captured.explain(), captured.explain()
