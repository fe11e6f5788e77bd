"""The texts in `operator_values.txt` are PyTorch's own."""

from pathlib import Path

import pytest
import torch

from program_texts import programs_of, text_of

FILE = Path(__file__).parents[1] / "operator_values.txt"


@pytest.mark.parametrize(("program", "expected"), programs_of(FILE))
def test_pytorch_gives_the_text(program, expected):
    assert text_of(torch, program) == expected
