"""Two processes of PyTorch with gloo answer what `tests/distributed/answers.json` says they do."""

from __future__ import annotations

import json
from pathlib import Path

from process_runs import ROOT, by_hand

HERE = ROOT / "tests" / "distributed"


def test_pytorch_still_answers_the_same(tmp_path):
    results = by_hand(HERE / "checks.py", 2, "torch", str(tmp_path))
    assert [code for code, _ in results] == [0, 0], results
    answers = json.loads((HERE / "answers.json").read_text())
    for rank in range(2):
        assert json.loads(Path(tmp_path, f"{rank}.json").read_text()) == answers[rank]
