"""Tensors that know what they show, and transforms of them; numbers from torchvision."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

import taper
from box_transforms import lines
from taper.vision import tv_tensors
from taper.vision.transforms import v2

EXPECTED = (Path(__file__).parents[1] / "box_transforms.txt").read_text().splitlines()
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def assert_same_lines(found, expected):
    assert [NUMBER.sub("#", line) for line in found] == [NUMBER.sub("#", line) for line in expected]
    for ours, theirs in zip(found, expected, strict=True):
        pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
        assert all(float(a) == pytest.approx(float(b), rel=1e-4, abs=2e-3) for a, b in pairs), ours


@pytest.mark.filterwarnings("ignore:RandomErasing")
def test_transforms_of_boxes_masks_and_points_are_torchvisions():
    assert_same_lines(lines(taper, tv_tensors, v2), EXPECTED)


def make_boxes():
    return tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(10, 12))


def test_functions_give_plain_tensors_and_a_few_keep_the_kind():
    boxes = make_boxes()
    assert type(boxes + 1) is taper.Tensor and type(boxes[0]) is taper.Tensor
    for each in (boxes.clone(), boxes.to(taper.float64), boxes.detach(), copy.deepcopy(boxes)):
        assert type(each) is tv_tensors.BoundingBoxes
        assert each.canvas_size == (10, 12) and each.format is tv_tensors.BoundingBoxFormat.XYXY
    with tv_tensors.set_return_type("TVTensor"):
        assert (boxes * 2).canvas_size == (10, 12)
    assert type(boxes * 2) is taper.Tensor
    assert repr(boxes) == (
        "BoundingBoxes([[1, 2, 3, 4]], format=BoundingBoxFormat.XYXY, canvas_size=(10, 12), "
        "clamping_mode=soft)"
    )
    assert tv_tensors.wrap(taper.zeros(1, 4), like=boxes, canvas_size=(1, 1)).canvas_size == (1, 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tv_tensors.Image(taper.zeros(3)), ValueError, "Tensor must be 2D or higher"),
        (lambda: tv_tensors.Video(taper.zeros(3, 3, 3)), ValueError, "^$"),
        (lambda: tv_tensors.set_return_type("x"), ValueError, "return_type must be 'TVTensor'"),
        (
            lambda: tv_tensors.BoundingBoxes(
                taper.zeros(1, 1, 4), format="XYXY", canvas_size=(1, 1)
            ),
            ValueError,
            "Expected a 1D or 2D tensor, got 3D",
        ),
        (lambda: v2.RandomIoUCrop()(taper.zeros(3, 4, 4)), TypeError, "and bounding boxes"),
        (lambda: v2.SanitizeBoundingBoxes()(make_boxes()), ValueError, "labels_getter"),
        (lambda: v2.functional.clamp_bounding_boxes(taper.zeros(1, 4)), ValueError, "have to be"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
