"""Small programs with the text that PyTorch gives for them, as files hold them.

A file has blocks that `---` separates: a comment with the ids that it stands for, statements and
one last expression, and after a line `=>` the text of its value, or of the error.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_SEPARATOR = "\n---\n"
_RESULT = "\n=>\n"


def programs_of(path: Path) -> list[Any]:
    """Return the program and the text of each block, as parameters named by their first line."""
    found = []
    for block in path.read_text().strip("\n").split(_SEPARATOR):
        program, _, expected = block.partition(_RESULT)
        name = program.partition("\n")[0].removeprefix("# ")
        found.append(pytest.param(program, expected, id=name))
    return found


def text_of(torch: Any, program: str) -> str:
    """Return what a program gives on a package, as text."""
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "tensor": torch.tensor}
    names |= {"np": np, "math": math, "inf": math.inf, "nan": math.nan}
    statements, _, expression = program.rpartition("\n")
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(statements, names)
            return _shown(eval(expression, names))
        except Exception as error:
            return f"{type(error).__name__}: {error}".rstrip()
        finally:
            torch.use_deterministic_algorithms(False)


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list) and type(value).__name__ != "Size":
        return "\n".join(_shown(each) for each in value)
    return repr(value)
