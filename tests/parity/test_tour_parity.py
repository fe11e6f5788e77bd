"""The scripts of the tour print on PyTorch what its pages say, as they do on taper."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples" / "tour").glob("*.py"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_it_prints_the_same_on_pytorch(path):
    page = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as printed, torch.random.fork_rng():
        names = runpy.run_path(str(path), run_name="__main__")
    assert names["torch"] is torch
    block = re.escape(f"/{path.name})\n\n```python\n") + r".*?```\n\n```text\n(.*?)```\n"
    assert printed.getvalue() == re.search(block, page, re.DOTALL)[1]
