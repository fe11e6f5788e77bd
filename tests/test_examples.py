"""The scripts of `examples/`, written for PyTorch, run under `taper run`."""

import math

import pytest

from example_runs import ARGUMENTS, EXAMPLES, TAPER, TESTED_ELSEWHERE, curve, run

CONVENTION = ["--seed", "--steps", "--log-every"]


def test_every_example_is_listed():
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    assert scripts == set(ARGUMENTS) | TESTED_ELSEWHERE


@pytest.mark.parametrize("script", sorted(ARGUMENTS))
def test_it_says_only_torch(script):
    assert "taper" not in (EXAMPLES / script).read_text().replace("taper run", "")


@pytest.mark.parametrize("script", sorted(ARGUMENTS))
def test_its_losses_are_finite(script, tmp_path):
    arguments = [*ARGUMENTS[script].split(), "--steps", "3", "--log-every", "1"]
    steps = curve(run(TAPER, script, arguments, tmp_path))
    assert [step["step"] for step in steps] == [1, 2, 3]
    assert all(math.isfinite(step["loss"]) for step in steps)


@pytest.mark.parametrize("script", sorted(ARGUMENTS))
def test_it_explains_itself(script, tmp_path):
    text = run(TAPER, script, ["--help"], tmp_path)
    assert text.startswith(f"usage: {script} ")
    assert all(option in text for option in CONVENTION)


@pytest.mark.parametrize("script", sorted(ARGUMENTS))
def test_the_table_of_examples_names_it(script):
    assert f"[{script}]({script})" in (EXAMPLES / "README.md").read_text()
