"""Two processes of PyTorch with gloo answer what the files in `tests/distributed/` say they do."""

from __future__ import annotations

import json

import pytest

from distributed.ask import HERE, asked

SHARDED = json.loads((HERE / "sharded_answers.json").read_text())
ANSWERS = {
    "checks": json.loads((HERE / "answers.json").read_text()),
    "ddp_checks": json.loads((HERE / "ddp_answers.json").read_text()),
    **SHARDED,
}


@pytest.mark.parametrize("program", ANSWERS)
def test_pytorch_still_answers_the_same(program):
    assert asked(program, "torch") == ANSWERS[program]
