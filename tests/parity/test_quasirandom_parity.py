"""`SobolEngine` beside PyTorch's: all coordinates that are provided."""

import pytest
import torch

import taper


@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 7}, {"scramble": True}])
@pytest.mark.parametrize("dimension", [1, 5, 1111])
def test_state_and_points(dimension, options):
    states = []
    for lib in (taper, torch):
        lib.manual_seed(3)
        engine = lib.quasirandom.SobolEngine(dimension, **options)
        points = [engine.draw(6), engine.fast_forward(100).draw(3, dtype=lib.float64)]
        states.append(
            (engine.sobolstate.tolist(), [each.tolist() for each in points], repr(engine))
        )
    assert states[0] == states[1]
