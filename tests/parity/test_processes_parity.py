"""Processes of PyTorch with gloo answer what the files in `tests/distributed/` say they do."""

from __future__ import annotations

import json

import pytest

from distributed.ask import HERE, asked
from process_runs import by_hand


def known(name):
    return json.loads((HERE / f"{name}.json").read_text())


ANSWERS = {
    "checks": known("answers"),
    "ddp_checks": known("ddp_answers"),
    **known("sharded_answers"),
}


@pytest.mark.parametrize("program", ANSWERS)
def test_pytorch_still_answers_the_same(program):
    assert asked(program, "torch") == ANSWERS[program]


@pytest.mark.parametrize("count", [1, 2])
def test_pytorch_learns_the_same(count, tmp_path):
    path = tmp_path / "curves.json"
    words = ("torch", str(path), *(["whole"] if count == 1 else []))
    results = by_hand(HERE / "curves.py", count, *words)
    assert all(code == 0 for code, _ in results), results
    expected = known("curves")["whole" if count == 1 else str(count)]
    for model, losses in json.loads(path.read_text()).items():
        assert losses == pytest.approx(expected[model], abs=1e-6)
