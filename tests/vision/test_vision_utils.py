"""Grids of pictures, files, and drawing; sums of pixels are recorded from torchvision 0.28."""

from __future__ import annotations

import io

import pytest

import taper
from taper.vision import utils

BOXES = taper.tensor([[2.0, 3, 10, 12], [5.0, 5, 25, 18]])


def black():
    return taper.zeros(3, 20, 30, dtype=taper.uint8)


def test_grids():
    pictures = taper.arange(5 * 3 * 4 * 6).reshape(5, 3, 4, 6).float()
    grid = utils.make_grid(pictures, nrow=2, pad_value=-1.0)
    assert grid.shape == (3, 20, 18)
    assert taper.equal(grid[:, 2:6, 2:8], pictures[0])
    assert taper.equal(grid[:, 8:12, 10:16], pictures[3])
    assert float(grid[0, 0, 0]) == -1.0
    assert taper.equal(utils.make_grid(list(pictures)), utils.make_grid(pictures))
    assert utils.make_grid(pictures[0, 0]).shape == (3, 4, 6)
    assert utils.make_grid(pictures[:, :1]).shape == (3, 8, 42)


def test_grids_are_normalised_on_request():
    pictures = taper.tensor([[[[1.0, 3.0]]], [[[5.0, 7.0]]]])
    kept = pictures.clone()
    whole = utils.make_grid(pictures, padding=0, normalize=True)
    each = utils.make_grid(pictures, padding=0, normalize=True, scale_each=True)
    ranged = utils.make_grid(pictures, padding=0, normalize=True, value_range=(3, 5))
    taper.testing.assert_close(whole[0], taper.tensor([[0, 1 / 3, 2 / 3, 1]]))
    assert each[0].tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert ranged[0].tolist() == [[0.0, 0.0, 1.0, 1.0]]
    assert taper.equal(pictures, kept)
    with pytest.raises(TypeError, match="value_range has to be a tuple"):
        utils.make_grid(pictures, normalize=True, value_range=3)
    with pytest.raises(TypeError, match="tensor or list of tensors expected, got <class 'int'>"):
        utils.make_grid(3)


def test_files():
    image = pytest.importorskip("PIL.Image", reason="files of pictures need Pillow")
    file = io.BytesIO()
    utils.save_image(taper.tensor([[[0.0, 1.0]], [[0.5, 0.5]], [[2.0, -1.0]]]), file, "png")
    picture = image.open(io.BytesIO(file.getvalue()))
    assert [picture.getpixel((0, 0)), picture.getpixel((1, 0))] == [(0, 128, 255), (255, 128, 0)]


def test_files_without_pillow_say_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="PIL")

    monkeypatch.setattr("taper.vision.pillow.importlib.import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=r"pip install tapergrad\[vision\]"):
        utils.save_image(taper.zeros(3, 2, 2), io.BytesIO(), "png")


def test_boxes():
    pytest.importorskip("PIL", reason="boxes are drawn by Pillow")
    assert int(utils.draw_bounding_boxes(black(), BOXES).long().sum()) == 10494
    filled = utils.draw_bounding_boxes(black(), BOXES, colors="red", width=2, fill=True)
    assert int(filled.long().sum()) == 61368
    assert utils.draw_bounding_boxes(black()[:1], BOXES).shape == (3, 20, 30)
    in_floats = utils.draw_bounding_boxes(black().float(), BOXES)
    assert in_floats.dtype is taper.float32 and float(in_floats.max()) == pytest.approx(127 / 255)
    with pytest.warns(UserWarning, match="boxes doesn't contain any box. No box was drawn"):
        utils.draw_bounding_boxes(black(), BOXES[:0])
    with pytest.raises(ValueError, match="Number of boxes \\(2\\) and labels \\(1\\) mismatch"):
        utils.draw_bounding_boxes(black(), BOXES, labels=["a"])
    with pytest.raises(ValueError, match="but got 1 < 2."):
        utils.draw_bounding_boxes(black(), BOXES, colors=["red"])
    with pytest.raises(ValueError, match="Pass individual images, not batches"):
        utils.draw_bounding_boxes(black()[None], BOXES)


def test_masks():
    masks = taper.zeros(2, 20, 30, dtype=taper.bool)
    masks[0, :5] = True
    masks[1, 3:9, 2:4] = True
    assert int(utils.draw_segmentation_masks(black(), masks).long().sum()) == 1000
    colours = [(255, 0, 0), (1, 2, 3)]
    mixed = utils.draw_segmentation_masks(black() + 100, masks, alpha=0.5, colors=colours)
    assert int(mixed.long().sum()) == 174858
    with pytest.raises(ValueError, match="The masks must be of dtype bool. Got torch.float32"):
        utils.draw_segmentation_masks(black(), masks.float())


def test_points():
    pytest.importorskip("PIL", reason="points are drawn by Pillow")
    points = taper.tensor([[[3.0, 4], [10, 12]], [[5, 6], [7, 8]]])
    drawn = utils.draw_keypoints(black(), points, [(0, 1)], "red", radius=1, width=2)
    assert int(drawn.long().sum()) == 18360
    hidden = taper.tensor([[False, False], [False, False]])
    assert int(utils.draw_keypoints(black(), points, colors="red", visibility=hidden).sum()) == 0


def test_flow_is_refused():
    with pytest.raises(NotImplementedError, match="no pictures of optical flow"):
        utils.flow_to_image(taper.zeros(2, 3, 3))
