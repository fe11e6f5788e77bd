"""The examples in docstrings print what they say.

Modules are imported as the package imports them: pytest's own collection would import the
operators a second time, and an operator can be declared only once.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import taper
from taper.opdef import composites, registry
from taper.ops import load_all

load_all()
MODULES = [
    each.name
    for each in pkgutil.walk_packages(taper.__path__, "taper.")
    if not each.name.endswith("__main__")
]


def failures(examples: list[doctest.DocTest]) -> str:
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    output: list[str] = []
    for example in examples:
        runner.run(example, out=output.append)
    return "".join(output)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    module = importlib.import_module(name)
    found = doctest.DocTestFinder(recurse=True).find(module, module.__name__)
    assert failures([each for each in found if each.examples]) == ""


@pytest.mark.parametrize("entry", list(registry.values()), ids=lambda entry: entry.name)
def test_examples_of_an_operator(entry):
    """Generated functions belong to no module, so the finder does not see them."""
    parsed = doctest.DocTestParser().get_doctest(entry.doc, {}, entry.name, None, None)
    assert failures([parsed]) == ""


def test_public_functions_have_an_example():
    """All but the in-place twins, which say whose twin they are."""
    docs = {entry.name: entry.doc for entry in registry.values() if entry.public}
    docs |= {name: function.__doc__ or "" for name, function in composites.items()}
    assert sorted(name for name, doc in docs.items() if ">>>" not in doc and name[-1] != "_") == []
