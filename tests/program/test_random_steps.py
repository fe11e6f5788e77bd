"""Random training programs, captured, end as in eager mode: to the bit, or as far as rounding goes.

`tests/random_steps.py` compares more of them: `python tests/random_steps.py --count 300`.
"""

from __future__ import annotations

import pytest

from random_steps import differences


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_a_captured_program_ends_with_the_bits_of_eager_mode(seed: int) -> None:
    found, captured = differences(seed, exact=True)
    assert found == []
    assert "replayed" in captured.explain(), captured.explain()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40, 70))
def test_a_fused_program_differs_by_rounding_alone(seed: int) -> None:
    found, _ = differences(seed, exact=False)
    assert found == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(70, 80))
def test_a_program_that_keeps_its_losses_ends_with_the_bits_of_eager_mode(seed: int) -> None:
    found, _ = differences(seed, exact=True, tells=1 + seed % 2)
    assert found == []
