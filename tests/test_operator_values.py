"""Values, gradients and errors of operators against what PyTorch printed: `operator_values.txt`."""

from pathlib import Path

import pytest

import taper
from program_texts import programs_of, text_of

FILE = Path(__file__).with_name("operator_values.txt")


@pytest.mark.parametrize(("program", "expected"), programs_of(FILE))
def test_values_are_those_of_pytorch(program, expected):
    assert text_of(taper, program) == expected
