"""Two processes that divide states and parameters see what PyTorch 2.13 with gloo shows."""

from __future__ import annotations

import json
from functools import cache

import pytest

from distributed.ask import HERE, asked

# What PyTorch answered (`ask.py`); tests/parity/test_processes_parity.py asks it again.
ANSWERS = json.loads((HERE / "sharded_answers.json").read_text())


@cache
def seen(program: str) -> list[dict[str, str]]:
    return asked(program, "taper")


@pytest.mark.parametrize(
    ("program", "name"), [(program, name) for program in ANSWERS for name in ANSWERS[program][0]]
)
def test_both_ranks_see_what_pytorch_shows(program, name):
    for rank in range(2):
        assert seen(program)[rank][name] == ANSWERS[program][rank][name]
