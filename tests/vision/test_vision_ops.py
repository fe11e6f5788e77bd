"""Boxes, their losses, and the small modules of `taper.vision.ops`."""

from __future__ import annotations

import pytest

import taper
from taper import nn
from taper.vision import ops

BOXES = taper.tensor([[0.0, 0, 10, 10], [1.0, 1, 11, 11], [0.0, 0, 2, 2], [20.0, 20, 30, 31]])
OTHERS = taper.tensor([[0.0, 0, 5, 10], [1.0, 1, 2, 3]])


def test_overlaps_of_all_pairs():
    expected = [[0.5, 0.02], [0.31579, 0.02], [0.08, 0.2], [0.0, 0.0]]
    taper.testing.assert_close(
        ops.box_iou(BOXES, OTHERS), taper.tensor(expected), atol=1e-4, rtol=0
    )
    assert ops.box_iou(BOXES.long(), OTHERS.long()).dtype is taper.float32


@pytest.mark.parametrize(
    ("function", "row"),
    [
        (ops.generalized_box_iou, [-0.8280, -0.8713]),
        (ops.distance_box_iou, [-0.4979, -0.6344]),
        (ops.complete_box_iou, [-0.4988, -0.6353]),
    ],
)
def test_overlaps_with_a_term_for_distance(function, row):
    found = function(BOXES, OTHERS)[3]
    taper.testing.assert_close(found, taper.tensor(row), atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("function", "losses"),
    [
        (ops.generalized_box_iou_loss, [0.5, 0.98]),
        (ops.distance_box_iou_loss, [0.53125, 1.1613]),
        (ops.complete_box_iou_loss, [0.5345, 1.1630]),
    ],
)
def test_losses_of_boxes(function, losses):
    boxes = BOXES[:2].clone().requires_grad_()
    taper.testing.assert_close(function(boxes, OTHERS), taper.tensor(losses), atol=1e-4, rtol=0)
    function(boxes, OTHERS, reduction="sum").backward()
    assert bool(boxes.grad.isfinite().all()) and bool(boxes.grad.any())
    assert function(boxes, OTHERS, "mean").item() == pytest.approx(sum(losses) / 2, abs=1e-4)
    with pytest.raises(ValueError, match="Invalid Value for arg 'reduction': 'bogus"):
        function(boxes, OTHERS, "bogus")


def test_formats_of_boxes():
    for fmt in ("xywh", "cxcywh"):
        there = ops.box_convert(BOXES, "xyxy", fmt)
        assert taper.equal(ops.box_convert(there, fmt, "xyxy"), BOXES)
        assert taper.equal(ops.box_area(there, fmt), ops.box_area(BOXES))
    assert ops.box_convert(BOXES, "xyxy", "cxcywh")[3].tolist() == [25.0, 25.5, 10.0, 11.0]
    with pytest.raises(ValueError, match="for given in_fmt x and out_fmt y"):
        ops.box_convert(BOXES, "x", "y")
    with pytest.raises(NotImplementedError, match="no rotated boxes"):
        ops.box_area(BOXES, "xywhr")


def test_nms_keeps_the_best_of_boxes_that_overlap():
    scores = taper.tensor([0.5, 0.9, 0.6, 0.1])
    assert ops.nms(BOXES, scores, 0.5).tolist() == [1, 2, 3]
    assert ops.nms(BOXES, scores, 0.9).tolist() == [1, 2, 0, 3]
    assert ops.nms(BOXES[:0], scores[:0], 0.5).tolist() == []
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        ops.nms(BOXES[0], scores, 0.5)


def test_nms_within_classes():
    scores = taper.tensor([0.5, 0.9, 0.6, 0.1])
    classes = taper.tensor([0, 1, 0, 0])
    assert ops.batched_nms(BOXES, scores, classes, 0.5).tolist() == [1, 2, 0, 3]


def test_boxes_of_pictures():
    assert ops.clip_boxes_to_image(BOXES, (8, 9))[3].tolist() == [9.0, 8.0, 9.0, 8.0]
    assert ops.remove_small_boxes(BOXES, 5).tolist() == [0, 1, 3]
    masks = taper.zeros(2, 4, 5, dtype=taper.bool)
    masks[0, 1:3, 2:4] = True
    assert ops.masks_to_boxes(masks).tolist() == [[2.0, 1.0, 3.0, 2.0], [0.0] * 4]


def test_focal_loss_of_right_answers_is_small():
    logits, targets = taper.tensor([4.0, -4.0, 4.0]), taper.tensor([1.0, 0.0, 0.0])
    losses = ops.sigmoid_focal_loss(logits, targets).tolist()
    assert losses[0] < 1e-5 and losses[1] < 1e-5 and losses[2] > 2
    with pytest.raises(ValueError, match=r"alpha must be in the range \[0,1\] or -1"):
        ops.sigmoid_focal_loss(logits, targets, alpha=2)


def test_convolution_with_normalisation_and_activation():
    layer = ops.Conv2dNormActivation(3, 4, kernel_size=5, dilation=(2, 3))
    assert layer[0].padding == (4, 6) and layer[0].bias is None
    assert layer(taper.zeros(2, 3, 9, 9)).shape == (2, 4, 9, 9)
    assert len(ops.Conv3dNormActivation(3, 4, activation_layer=None)) == 2
    with pytest.warns(UserWarning, match="Don't use ConvNormActivation directly"):
        ops.misc.ConvNormActivation(3, 4)


def test_frozen_batch_norm_is_batch_norm_in_evaluation():
    taper.manual_seed(0)
    norm = nn.BatchNorm2d(3)
    norm(taper.randn(4, 3, 2, 2))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = taper.randn(1, 3, 2, 2)
    taper.testing.assert_close(frozen(x), norm.eval()(x))
    assert list(frozen.parameters()) == []


def test_stochastic_depth_leaves_out_samples_and_keeps_the_mean():
    taper.manual_seed(0)
    result = ops.stochastic_depth(taper.ones(200, 2), 0.5, "row")
    assert set(result.flatten().tolist()) == {0.0, 2.0}
    assert taper.equal(result[:, 0], result[:, 1])
    assert len(set(ops.stochastic_depth(taper.ones(9, 2), 0.5, "batch").flatten().tolist())) == 1
    with pytest.raises(ValueError, match="mode has to be either 'batch' or 'row', but got x"):
        ops.StochasticDepth(0.5, "x")(taper.ones(1))


X = taper.arange(32.0).reshape(1, 2, 4, 4)


def test_regions_are_given_as_rows_or_for_each_picture():
    rows = taper.tensor([[0.0, 0.5, 0.5, 3.5, 2.5]])
    for function in (ops.roi_align, ops.roi_pool):
        assert taper.equal(function(X, rows, 2), function(X, [rows[:, 1:]], 2))
        assert function(X, [taper.zeros(0, 4)], (2, 3)).shape == (0, 2, 2, 3)
        with pytest.raises(AssertionError, match="not correct as Tensor"):
            function(X, rows[:, 1:], 2)
        with pytest.raises(AssertionError, match=r"not correct as List\[Tensor"):
            function(X, [rows], 2)


def test_parts_that_have_channels_of_their_own():
    x = taper.arange(64.0).reshape(1, 4, 4, 4).requires_grad_()
    box = [taper.tensor([[0.0, 0.0, 4.0, 4.0]])]
    # Means of a quarter each: of the first channel top left, of the last bottom right.
    larger = nn.functional.pad(x, (0, 1, 0, 1))  # the last row and column belong to no part
    assert ops.ps_roi_pool(larger, box, 2).flatten().tolist() == [2.5, 20.5, 42.5, 60.5]
    found = ops.ps_roi_align(x, box, 2, sampling_ratio=2)
    assert found.flatten().tolist() == [2.5, 20.5, 42.5, 60.5]
    found.sum().backward()
    assert x.grad.sum(dim=(2, 3)).flatten().tolist() == [1.0, 1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        ops.ps_roi_pool(X, box, 2)


def test_gradients_of_regions_by_differences():
    x = taper.rand(1, 4, 5, 6, dtype=taper.float64, requires_grad=True)
    boxes = [taper.tensor([[0.3, 0.4, 4.1, 3.7], [-3.0, 1.0, 2.0, 9.0]], dtype=taper.float64)]
    for function in (ops.roi_align, ops.roi_pool, ops.ps_roi_align, ops.ps_roi_pool):
        assert taper.autograd.gradcheck(lambda x, f=function: f(x, boxes, 2, 0.9), (x,))


def test_deformed_convolution_without_moves_is_a_convolution():
    taper.manual_seed(0)
    layer = ops.DeformConv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2).double()
    x = taper.randn(2, 4, 9, 8, dtype=taper.float64)
    expected = nn.functional.conv2d(x, layer.weight, layer.bias, 2, 1, 2, 2)
    offset = taper.zeros(2, 36, *expected.shape[-2:], dtype=taper.float64)
    taper.testing.assert_close(layer(x, offset), expected)
    mask = taper.full((2, 18, *expected.shape[-2:]), 0.5, dtype=taper.float64)
    half = layer(x, offset, mask) - layer.bias.reshape(-1, 1, 1)
    taper.testing.assert_close(half * 2, expected - layer.bias.reshape(-1, 1, 1))
    # A move by one pixel is that of the picture.
    offset[:, 1::2] = 1.0
    moved = nn.functional.conv2d(
        nn.functional.pad(x[..., 1:], (0, 1)), layer.weight, layer.bias, 2, 1, 2, 2
    )
    taper.testing.assert_close(layer(x, offset)[..., 1:], moved[..., 1:])
    assert repr(layer) == (
        "DeformConv2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 2), "
        "groups=2)"
    )


def test_gradients_of_a_deformed_convolution_by_differences():
    taper.manual_seed(1)
    options = {"dtype": taper.float64, "requires_grad": True}
    x, weight = taper.randn(1, 2, 4, 4, **options), taper.randn(2, 2, 2, 2, **options)
    offset, mask = taper.randn(1, 8, 3, 3, **options), taper.rand(1, 4, 3, 3, **options)

    def convolve(x, offset, weight, mask):
        return ops.deform_conv2d(x, offset, weight, mask=mask)

    assert taper.autograd.gradcheck(convolve, (x, offset, weight, mask))
    with pytest.raises(RuntimeError, match="offset tensor at dimension 1 is not valid"):
        ops.deform_conv2d(x, offset[:, :3], weight)


def test_dropped_squares_keep_the_mean():
    taper.manual_seed(0)
    x = taper.ones(8, 4, 12, 12)
    dropped = ops.drop_block2d(x, 0.3, 3)
    assert dropped.mean().item() == pytest.approx(1.0, abs=1e-3)
    assert 0.1 < (dropped == 0).float().mean().item() < 0.5
    assert ops.DropBlock3d(0.5, 2).eval()(taper.ones(1, 1, 4, 4, 4)).sum() == 64
    with pytest.raises(ValueError, match="input should be 4 dimensional. Got 3 dimensions"):
        ops.drop_block2d(x[0], 0.5, 2)


def test_names_that_are_nowhere():
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        ops.bogus
