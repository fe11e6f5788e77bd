"""The autograd tests on PyTorch: what they expect of taper is what PyTorch does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch as real_torch

FOLDER = Path(__file__).parents[1] / "autograd"


@pytest.fixture
def torch():
    return real_torch


def _load(path: Path):
    name = f"autograd_on_pytorch_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


for _path in sorted(FOLDER.glob("test_*.py")):
    for _name, _value in vars(_load(_path)).items():
        if _name.startswith("test_") and "taper_only" not in {
            mark.name for mark in getattr(_value, "pytestmark", [])
        }:
            globals()[_name] = _value
