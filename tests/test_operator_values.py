"""Values, gradients and errors against what PyTorch printed, in `*_values.txt`.

`operator_values.txt` has operators, `program_values.txt` and `error_values.txt` what random
programs found.
"""

from pathlib import Path

import pytest

import taper
from program_texts import programs_of, text_of

FILES = sorted(Path(__file__).parent.glob("*_values.txt"))


@pytest.mark.parametrize(("program", "expected"), [p for f in FILES for p in programs_of(f)])
def test_values_are_those_of_pytorch(program, expected):
    assert text_of(taper, program) == expected
