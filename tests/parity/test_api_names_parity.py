"""The list of PyTorch's names that the coverage page is made from is PyTorch's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.filterwarnings("ignore")  # reading a deprecated name warns
def test_the_list_of_names_is_fresh():
    specification = importlib.util.spec_from_file_location("names", TOOLS / "oracle_names.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert (TOOLS / "api_names.txt").read_text() == module.render(), "run: tools/oracle_names.py"
