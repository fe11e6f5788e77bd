"""A name that is missing is named, with its rank, the reason and what to use instead."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import taper
from taper import compat
from taper.compat import explanations, left_out

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def torch():
    with compat.installed():
        names: dict = {}
        exec("import torch", names)
        yield names["torch"]


def raised(statement: str) -> Exception:
    with pytest.raises((AttributeError, ImportError)) as caught:
        exec(statement, {})
    return caught.value


@pytest.mark.parametrize(
    ("statement", "kind", "words"),
    [
        ("import torch; torch.foo", AttributeError, ["module 'torch' has no attribute 'foo'"]),
        ("from torch import foo", ImportError, ["cannot import name 'foo' from 'torch'"]),
        ("import torch.foo", ModuleNotFoundError, ["No module named 'torch.foo'"]),
        ("import torch.foo.bar", ModuleNotFoundError, ["No module named 'torch.foo'"]),
        (
            "import torch; torch.quantize_per_channel",
            AttributeError,
            ["on purpose", "docs/coverage.md", "Instead: "],
        ),
        ("from torch import quantize_per_tensor", ImportError, ["on purpose", "bfloat16"]),
        ("import torch.package", ModuleNotFoundError, ["on purpose", "state_dict"]),
        ("import torch.export.passes", ModuleNotFoundError, ["torch.export out"]),
        ("import torch; torch.export.save", AttributeError, ["'export'", "on purpose"]),
        ("import torch.nn as nn; nn.Lineer", AttributeError, ["Nearest: torch.nn.Linear"]),
        ("from torch.nn.functional import rellu", ImportError, ["torch.nn.functional.relu"]),
        ("import torch; torch.nn.Lineer", AttributeError, ["no public name of PyTorch 2.13"]),
        ("import torchvision.nothing", ModuleNotFoundError, ["'torchvision.nothing'"]),
    ],
)
def test_what_is_said(torch, statement, kind, words):
    error = raised(statement)
    assert type(error) is kind
    assert [word for word in words if word not in str(error)] == []


def test_errors_carry_what_python_puts_on_them(torch):
    attribute = raised("import torch; torch.foo")
    assert (attribute.name, attribute.obj) == ("foo", taper)
    assert raised("from torch import foo").name == "torch"
    assert raised("import torch.foo").name == "torch.foo"


def test_a_name_that_is_not_built_yet(torch, monkeypatch):
    monkeypatch.delattr(taper, "add")
    assert "taper does not have it yet; rank 21 in torch" in str(raised("import torch; torch.add"))


def test_an_error_inside_the_library_is_not_taken_for_a_missing_name(torch, monkeypatch):
    def broken(name):
        def inner():
            raise AttributeError("a bug")

        inner()

    explained = compat.attributes.Explained()
    module = type(sys)("taper.broken")
    module.__getattr__ = broken
    explained.add(module)
    with pytest.raises(AttributeError, match=r"^a bug$"):
        module.anything


def test_questions_are_cheap_and_quiet(torch):
    assert not hasattr(torch, "foo")
    assert getattr(torch, "foo", None) is None
    assert "foo" not in dir(torch)
    assert not hasattr(torch.nn, "__wrapped__")


def test_the_data_is_fresh():
    sys.path.insert(0, str(TOOLS))
    try:
        specification = importlib.util.spec_from_file_location(
            "proxy_names", TOOLS / "proxy_names.py"
        )
        tool = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(tool)
        wanted = "\n".join(tool.lines()) + "\n"
    finally:
        sys.path.remove(str(TOOLS))
        sys.modules.pop("coverage", None)
    shipped = Path(explanations.__file__).with_name("names.txt").read_text()
    assert shipped == wanted, "run: make docs"


def test_every_subject_says_what_to_use_instead():
    subjects = {
        entry.subject.partition(":")[0]
        for area in explanations.known_names().values()
        for entry in area.values()
        if entry.subject
    }
    assert subjects <= set(explanations.INSTEAD)


def test_modules_that_are_left_out_are_not_there():
    there = [
        name
        for name in left_out.MODULES
        if importlib.util.find_spec(name.replace("torch", "taper", 1)) is not None
    ]
    assert there == []
