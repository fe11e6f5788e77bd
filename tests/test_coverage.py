"""The page about which of PyTorch's names exist is fresh, and its counts are right."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import taper

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def coverage():
    path = ROOT / "tools" / "coverage.py"
    specification = importlib.util.spec_from_file_location("taper_coverage", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_page_is_fresh(coverage):
    page = (ROOT / "docs" / "coverage.md").read_text()
    assert page == coverage.render(), "run: make docs"


def test_the_data_has_the_ranked_names(coverage):
    names = coverage.known_names()
    assert [each.name for each in names["torch"] if each.rank == 1] == ["manual_seed"]
    assert sum(each.rank is not None for each in names["torch"]) == 300
    assert sum(each.rank is not None for each in names["torch.nn.functional"]) == 118
    assert {each.name for each in names["torch.Tensor"]} >= {"backward", "grad", "T"}


def test_what_everybody_needs_is_there(coverage):
    needed = [each for each in coverage.missing()["torch"] if each.rank and each.rank <= 200]
    assert needed == []


@pytest.mark.parametrize(
    ("name", "kind", "there"),
    [
        ("add", "function", True),
        ("add", "value", False),  # PyTorch's would be no function
        ("float32", "value", True),
        ("float32", "function", False),
        ("Tensor", "class", True),
        ("no_such_name", "function", False),
    ],
)
def test_a_name_counts_only_as_the_same_sort_of_thing(coverage, name, kind, there):
    assert coverage.is_there(taper, coverage.Name("torch", name, kind, None)) is there


def test_an_area_that_taper_lacks_has_nothing(coverage):
    assert coverage.counterpart("torch.no_such_module") is None
    assert not coverage.is_there(None, coverage.Name("torch.x", "add", "function", None))


@pytest.mark.parametrize(
    ("area", "name", "subject"),
    [
        ("torch", "resize_as_sparse_", "sparse"),
        ("torch.Tensor", "q_scale", "quantized"),
        ("torch", "ScriptModule", "TorchScript"),
        ("torch", "cudnn_convolution", "other devices"),
        ("torch.nn.functional", "linear", None),
    ],
)
def test_a_reason_is_given_where_there_is_one(coverage, area, name, subject):
    reason = coverage.reason(coverage.Name(area, name, "function", None))
    assert reason is None if subject is None else reason.startswith(subject)
