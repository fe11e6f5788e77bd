"""The second interface of transforms against torchvision.

`transform_v2_expressions.txt` holds an expression in each line, run on both after the same seed.
"""

from __future__ import annotations

import importlib

import pytest
import torch

import taper.vision.transforms.v2
from box_transforms import lines
from parity.transform_probe import THEIR_TRANSFORMS, compare, lines_of
from vision.test_tv_tensors import EXPECTED, assert_same_lines


@pytest.mark.parametrize("line", lines_of("transform_v2_expressions.txt"))
def test_same_as_torchvision(line):
    compare(line)


def test_all_names_are_there_or_said_to_be_missing():
    for name in dir(THEIR_TRANSFORMS.v2):
        if not name.startswith("_"):
            try:
                assert getattr(taper.vision.transforms.v2, name) is not None
            except NotImplementedError as error:
                assert name in str(error)


@pytest.mark.filterwarnings("ignore:RandomErasing")
def test_recorded_lines_about_boxes_are_torchvisions():
    kinds = importlib.import_module("torchvision.tv_tensors")
    assert_same_lines(lines(torch, kinds, THEIR_TRANSFORMS.v2), EXPECTED)
