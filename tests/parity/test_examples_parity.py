"""The scripts of `examples/` have one loss curve on taper and on PyTorch, from the same seed."""

import pytest

from example_runs import ARGUMENTS, PYTORCH, TAPER, curve, run

STEPS = 50
TOLERANCE = 1e-4


@pytest.mark.parametrize("script", sorted(ARGUMENTS))
def test_the_loss_curves_are_equal(script, tmp_path):
    curves = []
    for name, library in {"taper": TAPER, "pytorch": PYTORCH}.items():
        folder = tmp_path / name
        folder.mkdir()
        arguments = [*ARGUMENTS[script].split(), "--steps", str(STEPS), "--log-every", "1"]
        curves.append(curve(run(library, script, arguments, folder)))
    ours, theirs = curves
    assert [step["step"] for step in theirs] == list(range(1, STEPS + 1))
    assert ours == [pytest.approx(step, rel=TOLERANCE, abs=0) for step in theirs]
