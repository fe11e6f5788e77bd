"""Two processes of PyTorch with gloo answer what the files of `tests/distributed` say they do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from process_runs import ROOT, by_hand

HERE = ROOT / "tests" / "distributed"


@pytest.mark.parametrize(
    ("program", "known"), [("checks", "answers"), ("ddp_checks", "ddp_answers")]
)
def test_pytorch_still_answers_the_same(program, known, tmp_path):
    results = by_hand(HERE / f"{program}.py", 2, "torch", str(tmp_path))
    assert [code for code, _ in results] == [0, 0], results
    answers = json.loads((HERE / f"{known}.json").read_text())
    for rank in range(2):
        assert json.loads(Path(tmp_path, f"{rank}.json").read_text()) == answers[rank]


@pytest.mark.parametrize("count", [1, 2])
def test_pytorch_learns_the_same(count, tmp_path):
    path = tmp_path / "curves.json"
    words = ("torch", str(path), *(["whole"] if count == 1 else []))
    results = by_hand(HERE / "curves.py", count, *words)
    assert all(code == 0 for code, _ in results), results
    known = json.loads((HERE / "curves.json").read_text())["whole" if count == 1 else str(count)]
    for model, losses in json.loads(path.read_text()).items():
        assert losses == pytest.approx(known[model], abs=1e-6)
