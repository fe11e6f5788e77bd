"""The list of names that the coverage page is made from is PyTorch's; taper has no other names."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from public_namespaces import SHOWN, public_names

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.filterwarnings("ignore")  # reading a deprecated name warns
def test_the_list_of_names_is_fresh():
    specification = importlib.util.spec_from_file_location("names", TOOLS / "oracle_names.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert (TOOLS / "api_names.txt").read_text() == module.render(), "run: tools/oracle_names.py"


# taper's own packages, and names that PyTorch has elsewhere.
OWN = ("taper.files", "taper.vision", "taper.viz")
ELSEWHERE = {
    # of `from __future__`; of `torch.cuda`; taper's own
    "taper": {"annotations", "empty_cache", "memory_stats"}
    | {"CaptureError", "Captured", "capture", "explain"},
    "taper.autograd": {"GradcheckError"},  # a module that a function of its name hides
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SHOWN if not name.startswith(OWN)])
def test_no_helper_is_public(name):
    """Every public name is PyTorch's; modules are there because they were imported."""
    ours = importlib.import_module(name)
    theirs = importlib.import_module(name.replace("taper", torch.__name__, 1))
    names = [each for each in public_names(ours) if not isinstance(getattr(ours, each), ModuleType)]
    known = ELSEWHERE.get(name, set())
    assert [each for each in names if not hasattr(theirs, each) and each not in known] == []
