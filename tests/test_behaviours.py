"""The page that maps behaviours to tests is complete and fresh."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def behaviours():
    path = ROOT / "tools" / "behaviours.py"
    specification = importlib.util.spec_from_file_location("behaviours", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_behaviour_has_a_test_or_is_named_as_later(behaviours):
    tests = set(behaviours.covered()) & set(behaviours.all_ids())
    later = set(behaviours.LATER)
    assert sorted(set(behaviours.all_ids()) - tests - later) == []
    assert sorted(tests & later) == []
    assert sorted(later - set(behaviours.all_ids())) == []


def test_the_page_is_fresh(behaviours):
    page = (ROOT / "docs" / "behaviours.md").read_text()
    assert page == behaviours.render(), "run: python tools/behaviours.py > docs/behaviours.md"
