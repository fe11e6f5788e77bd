"""Sharded training: the loss curve of one process, and 1/n of its memory."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from process_runs import by_hand

PROGRAM = Path(__file__).with_name("sharded_training.py")


@pytest.mark.parametrize("count", [2, 4])
def test_losses_are_those_of_one_process_and_memory_is_divided(count):
    with TemporaryDirectory() as folder:
        results = by_hand(PROGRAM, count, folder)
        assert [code for code, _ in results] == [0] * count, results
        seen = [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(count)]
    for each in seen:
        inside, after = each.pop("resident")
        assert inside > 0.9 and after < 0.05
        for name, found in each.items():
            assert found["difference"] < 1e-5, name
            assert found["fell"] > 0, name
            assert found["share"] < 1.1 / count, name
            assert found["away"] and found["rooms"] > 0, name
