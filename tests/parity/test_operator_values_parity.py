"""The texts in `*_values.txt` are PyTorch's own."""

from pathlib import Path

import pytest
import torch

from program_texts import programs_of, text_of

FILES = sorted(Path(__file__).parents[1].glob("*_values.txt"))


@pytest.mark.parametrize(("program", "expected"), [p for f in FILES for p in programs_of(f)])
def test_pytorch_gives_the_text(program, expected):
    assert text_of(torch, program) == expected
