"""The examples in docstrings print what they say, and everything public has one.

Modules are imported as the package imports them: pytest's own collection would import the operators
a second time, and an operator can be declared only once.
"""

from __future__ import annotations

import doctest
import enum
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import taper
from public_namespaces import SHOWN, public_names
from taper.opdef import composites, registry
from taper.ops import load_all

load_all()
NEED_A_GPU = {f"taper.gpu.{name}" for name in ("cupy_runtime", "kernels", "products")}
MODULES = [
    each.name
    for each in pkgutil.walk_packages(taper.__path__, "taper.")
    if not each.name.endswith("__main__") and each.name not in NEED_A_GPU
]


def found_in(module_name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(module_name)
    found = doctest.DocTestFinder(recurse=True).find(module, module_name)
    return [each for each in found if each.examples]


def of_text(text: str, name: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(text, {}, name, None, None)


def docs_of_operators() -> dict[str, str]:
    """Return docs of generated functions, which belong to no module that the finder sees."""
    docs = {name: entry.doc for name, entry in registry.items()}
    for entry in registry.values():
        in_place = entry.lazy_functions.get("inplace")
        if in_place is not None:
            docs[f"{entry.name} in place"] = inspect.getdoc(in_place) or ""
    return docs


OPERATORS = docs_of_operators()


def failures(examples: list[doctest.DocTest]) -> str:
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    output: list[str] = []
    for example in examples:
        runner.run(example, out=output.append)
    return "".join(output)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    assert failures(found_in(name)) == ""


@pytest.mark.parametrize("name", list(OPERATORS))
def test_examples_of_an_operator(name):
    assert failures([of_text(OPERATORS[name], name)]) == ""


def test_operators_and_composites_have_an_example():
    docs = {entry.name: entry.doc for entry in registry.values() if entry.public}
    docs |= {name: function.__doc__ or "" for name, function in composites.items()}
    assert sorted(name for name, doc in docs.items() if ">>>" not in doc) == []


def public(namespace: str) -> Iterator[tuple[str, Any]]:
    """Yield functions and classes of a namespace; exceptions and enumerations are not called."""
    module = importlib.import_module(namespace)
    for name in public_names(module):
        value = getattr(module, name)
        home = str(getattr(value, "__module__", ""))
        ours = home.startswith("taper")
        read = isinstance(value, type) and issubclass(value, BaseException | enum.Enum)
        if namespace == "taper.vision.models" and not home.endswith("._api"):
            continue  # forty networks: the example of `get_model` stands for all
        if ours and callable(value) and not read:
            yield name, value


@functools.cache
def docs_that_are_run() -> frozenset[str]:
    of_modules = {inspect.cleandoc(each.docstring) for name in MODULES for each in found_in(name)}
    return frozenset(of_modules.union(OPERATORS.values()))


@pytest.mark.parametrize("namespace", SHOWN)
def test_public_functions_and_classes_have_an_example(namespace):
    """All do but those that refuse to do anything, and say so in their first word."""
    docs = {name: value.__doc__ or "" for name, value in public(namespace)}
    assert docs
    silent = [name for name, doc in docs.items() if ">>>" not in doc and doc[:7] != "Refused"]
    assert sorted(silent) == []


@pytest.mark.parametrize("namespace", SHOWN)
def test_examples_of_functions_that_no_module_holds(namespace):
    """These are made by other functions, so the finder does not see them either."""
    docs = {inspect.cleandoc(value.__doc__ or ""): name for name, value in public(namespace)}
    rest = {doc: name for doc, name in docs.items() if doc not in docs_that_are_run()}
    assert failures([of_text(doc, name) for doc, name in rest.items()]) == ""
