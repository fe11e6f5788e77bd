"""Pooling, resizing, sampling and padding against PyTorch: values, graphs, layouts, errors."""

from __future__ import annotations

import types
import warnings
import zlib

import numpy as np
import pytest
import torch

import taper
import taper.nn

# Each line is run on both libraries; `x(2, 3)` makes the same random tensor in both.
VALUES = """
F.max_pool1d(x(2, 3, 11), 4, 3, 2, 2, True)
F.max_pool2d(x(2, 3, 9, 7), (3, 2), (2, 1), (1, 0), (2, 3), True, return_indices=True)
F.max_pool2d(x(2, 3, 19, 17), 4, 3, 2, 2, return_indices=True)
F.max_pool2d((x(2, 3, 9, 7) * 3).round(), 3, 1, 1, return_indices=True)
F.max_pool2d((x(2, 3, 9, 7) * 30).to(torch.int8), 3, 1, 1)
F.max_pool2d(torch.tensor([[[nan, 1, 2], [3, nan, 1], [5, 2, -inf]]]), 2, 1, return_indices=True)
F.max_pool2d(torch.full((1, 1, 4, 4), -inf), 3, 2, 1, return_indices=True)
F.max_pool2d(x(2, 3, 8, 8).to(memory_format=torch.channels_last), 2, return_indices=True)
F.max_pool2d(x(2, 3, 8, 8).transpose(2, 3), 2)
F.max_pool3d(x(2, 3, 8, 8, 8).to(memory_format=torch.channels_last_3d), 2)
F.avg_pool2d(x(2, 3, 9, 7), 3, 2, 1, True, False)
F.avg_pool2d((x(2, 3, 9, 7) * 30).long(), 3, 2, 1, divisor_override=-5)
F.avg_pool2d(x(2, 3, 8, 8).to(memory_format=torch.channels_last), 2)
F.avg_pool2d(torch.tensor([[[nan, 1.0, 2.0], [3.0, nan, 1.0], [5.0, 2.0, -inf]]]), 2, 1)
F.lp_pool2d(x(2, 3, 8, 8), 2, (2, 3))
F.lp_pool1d(x(2, 3, 8), inf, 2)
F.adaptive_avg_pool2d(x(2, 3, 120, 130), (7, 9))
F.adaptive_avg_pool2d(torch.tensor([[[nan, 1.0, 2.0], [3.0, 4.0, 1.0], [5.0, 2.0, -inf]]]), 2)
F.adaptive_max_pool2d(torch.tensor([[[nan, 1, 2], [3, nan, 1], [5, 2, -inf]]]), 2, True)
F.fractional_max_pool2d(x(2, 3, 18, 19), (2, 3), (7, 9), return_indices=True)
F.fractional_max_pool2d(x(3, 18, 19), 2, output_ratio=(0.5, 0.7))
F.fractional_max_pool2d(x(2, 3, 18, 19).double(), 2, 5)
F.fractional_max_pool3d(x(2, 2, 8, 9, 10), 2, (3, 4, 5), return_indices=True)
F.max_unpool2d(*F.max_pool2d(x(2, 3, 9, 9), 3, 2, 1, return_indices=True), 3, 2, 1)
F.max_unpool3d(*F.max_pool3d(x(2, 3, 4, 4, 4), 2, return_indices=True), 2)
F.interpolate(x(2, 3, 120, 130), size=(75, 240), mode="bilinear")
F.interpolate(x(2, 3, 120, 130), size=(75, 240), mode="bicubic", antialias=True)
F.interpolate(x(2, 3, 8, 8), size=(1, 1), mode="bicubic", align_corners=True)
F.interpolate(x(2, 3, 1, 1), size=(5, 4), mode="bilinear", align_corners=True)
F.interpolate(torch.tensor([[[[1.0, nan], [inf, 2.0]]]]), scale_factor=2, mode="bilinear")
F.interpolate(torch.tensor([[[[1.0, nan], [inf, 2.0]]]]), size=(2, 5), mode="bilinear")
F.interpolate(torch.tensor([[[[1.0, nan], [inf, 2.0]]]]), size=2, mode="bicubic")
F.interpolate((x(2, 3, 8, 8) * 40 + 128).to(torch.uint8), scale_factor=1.7, mode="bilinear")
F.interpolate((x(2, 3, 8, 8) * 40 + 128).to(torch.uint8), 5, mode="bicubic")
F.interpolate((x(2, 3, 8, 8) * 40 + 128).to(torch.uint8), 5, mode="lanczos", antialias=True)
F.interpolate(x(2, 3, 8, 8).to(memory_format=torch.channels_last), scale_factor=2)
F.upsample(x(2, 3, 8, 8), 3)
F.upsample_nearest(x(2, 3, 8, 8), 3)
F.upsample_bilinear(x(2, 3, 8, 8), scale_factor=2)
F.grid_sample(x(2, 3, 8, 8), x(2, 4, 4, 2))
F.grid_sample(x(1, 1, 4, 4), torch.tensor([[[[nan, 0.0], [inf, 0], [-1e20, 0.0]]]]), "bicubic")
F.grid_sample(torch.full((1, 1, 4, 4), inf), x(1, 3, 3, 2) * 0.9, "bilinear", "zeros", False)
F.affine_grid(x(2, 2, 3), (2, 3, 1, 1), align_corners=True)
F.affine_grid(x(2, 3, 4), (2, 3, 4, 5, 3))
F.pad(x(1, 2, 3, 4), (0, 2, -1, 1), "reflect")
F.pad(x(1, 2, 3, 4, 5), (-1, 2, 2, -1, 0, 0), "replicate")
F.pad(x(1, 2, 3, 4), (0, 2, -1, 1), "circular")
F.pad(x(2, 3, 8, 8).to(memory_format=torch.channels_last), (1, 1, 1, 1), "reflect")
F.pixel_shuffle(x(2, 8, 3, 3).to(memory_format=torch.channels_last), 2)
"""

ERRORS = """
F.max_pool2d(x(8, 8), (1, 2, 3))
F.max_pool2d(x(2, 3, 8, 8), -1, -1, dilation=-1)
F.max_pool2d(x(2, 3, 8, 8), 2, padding=2, dilation=3)
F.max_pool2d(x(2, 3, 8, 8), 2, 2, 0, 1, 3)
F.max_pool2d(x(2, 3, 8, 8), (2, "a"))
F.max_pool2d(x(2, 3, 8, 8) > 0, 2)
F.max_pool2d(3, 2)
F.max_pool1d(x(2, 3, 8).long(), 2)
F.max_pool1d(x(2, 3, 8), 2, (2, 2), return_indices=True)
F.max_pool3d(x(2, 3, 8, 8, 8), 2, padding=2, dilation=3)
F.avg_pool1d(x(2, 3, 8), 2, 2, (2, 2))
F.avg_pool2d(x(2, 3, 8, 8).int(), 2)
F.avg_pool2d(x(2, 3, 8, 8), 2, divisor_override=1.5)
F.avg_pool3d(x(2, 3, 8, 8, 8).half(), 2)
F.adaptive_avg_pool3d(x(2, 3, 8, 8, 8), -1)
F.adaptive_avg_pool2d(x(8, 8), (2, 2))
F.adaptive_max_pool2d(x(2, 3, 8, 8), (2.5, 2))
F.fractional_max_pool2d(x(2, 3, 8, 8), 2, 3, _random_samples=torch.zeros(1, 3, 2))
F.fractional_max_pool3d(x(2, 3, 8, 8, 8).int(), 2, 3)
F.max_unpool3d(x(2, 3, 4, 4, 4), torch.zeros(2, 3, 4, 4, 4).long(), 2, 0)
F.interpolate(x(2, 3, 8), (2.5,))
F.interpolate(x(2, 3, 8, 8, 8), 2, mode="bicubic")
F.interpolate(x(2, 3, 8, 8), 2, mode="lanczos")
F.interpolate(x(2, 3, 8, 8).half(), 5, mode="bilinear", antialias=True)
F.interpolate(x(2, 3, 8, 8).int(), 5)
F.grid_sample(x(2, 3, 8, 8).double(), x(2, 4, 4, 2), align_corners=False)
F.grid_sample(x(2, 3, 8, 8).half(), x(2, 4, 4, 2), align_corners=False)
F.affine_grid(x(2, 2, 3), (3, 3, 4, 4), align_corners=True)
F.pad(x(1, 2, 3, 4) > 0, (1, 1, 1, 1), "reflect")
F.pad(x(2, 3, 0, 4), (1, 1, 1, 1), "replicate")
F.pad(x(2, 3, 4), (-3, -3), "reflect")
F.pad(x(2, 3, 4), 1)
F.channel_shuffle(x(1, 6, 3, 3), 2.5)
"""

MODULES = """
nn.MaxPool1d(3, 2, 1)
nn.MaxPool2d((3, 2), (2, 1), (1, 0), return_indices=True, ceil_mode=True)
nn.MaxPool3d(3, dilation=2)
nn.MaxUnpool1d(3)
nn.MaxUnpool2d(3, 2, 1)
nn.MaxUnpool3d((3, 2, 1))
nn.AvgPool1d((3,), 2)
nn.AvgPool2d(3, 2, 1, True, False, 5)
nn.AvgPool3d(3)
nn.LPPool1d(2, 3)
nn.LPPool2d(2, 3, 2)
nn.LPPool3d(1.5, (3, 2, 1), ceil_mode=True)
nn.AdaptiveAvgPool1d(3)
nn.AdaptiveAvgPool2d((3, None))
nn.AdaptiveAvgPool3d((3, 2, 1))
nn.AdaptiveMaxPool1d(3)
nn.AdaptiveMaxPool2d((3, None), True)
nn.AdaptiveMaxPool3d(2)
nn.FractionalMaxPool2d(3, output_size=(2, 3))
nn.FractionalMaxPool3d(3, output_ratio=0.5)
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 3, 0.5)
nn.FractionalMaxPool3d(2, output_ratio=(0.5, 1.5, 0.5))
nn.Upsample()
nn.Upsample(scale_factor=2)
nn.Upsample((3, 4), mode="bilinear", align_corners=True)
nn.Upsample(scale_factor=(2, 3), recompute_scale_factor=True)
nn.UpsamplingNearest2d(scale_factor=2)
nn.UpsamplingBilinear2d(3)
nn.ConstantPad1d(2, 3.5)
nn.ConstantPad2d((1, 2, 3, 4), 0)
nn.ConstantPad3d(1, 1)
nn.ZeroPad1d(2)
nn.ZeroPad2d((1, 2, 3, 4))
nn.ZeroPad3d(1)
nn.ReflectionPad1d(2)
nn.ReflectionPad2d([1, 2, 0, 1])
nn.ReflectionPad3d(1)
nn.ReplicationPad1d((2, 1))
nn.ReplicationPad2d(2)
nn.ReplicationPad3d(1)
nn.CircularPad1d(2)
nn.CircularPad2d((1, 2, 0, 1))
nn.CircularPad3d(1)
nn.PixelShuffle(2)
nn.PixelUnshuffle(2)
nn.ChannelShuffle(3)
"""

CALLS = """
nn.MaxPool2d(2, 1, return_indices=True)(x(1, 2, 5, 5))
nn.MaxUnpool1d(2)(x(1, 2, 3), torch.tensor([[[0, 2, 5], [1, 3, 4]]]))
nn.MaxUnpool2d(2)(x(1, 1, 2, 2), torch.tensor([[[[0, 2], [5, 7]]]]), output_size=(5, 5))
nn.AvgPool1d(2)(x(1, 2, 6))
nn.AvgPool3d(2, divisor_override=3)(x(1, 2, 4, 4, 4))
nn.LPPool1d(2, 3)(x(1, 2, 6))
nn.LPPool3d(2, 2)(x(1, 2, 4, 4, 4))
nn.AdaptiveAvgPool1d(3)(x(1, 2, 7))
nn.AdaptiveMaxPool3d(2, True)(x(1, 2, 5, 5, 5))
nn.FractionalMaxPool2d(2, output_ratio=0.5)(x(2, 3, 9, 8))
nn.FractionalMaxPool3d(2, 3, return_indices=True)(x(2, 3, 9, 8, 7))
nn.Upsample(scale_factor=1.5, mode="bicubic", align_corners=False)(x(1, 2, 4, 4))
nn.UpsamplingBilinear2d(scale_factor=2)(x(1, 2, 4, 4))
nn.Upsample()(x(1, 1, 2, 2))
nn.ConstantPad1d(2, 3.5)(x(3))
nn.ZeroPad3d(1)(x(1, 2, 2, 2, 2))
nn.ReflectionPad2d((1, 2, 0, 1))(x(1, 2, 3, 3))
nn.ReflectionPad2d((1, 2, 0))(x(1, 2, 3, 3))
nn.ReplicationPad3d(1)(x(1, 2, 2, 2, 2))
nn.CircularPad2d(1)(x(1, 2, 3, 3))
nn.CircularPad1d(1)(x(3))
nn.PixelUnshuffle(2)(x(1, 2, 4, 4))
nn.ChannelShuffle(3)(x(1, 6, 2, 2))
"""


def lines(text):
    return [line for line in text.split("\n") if line]


def run(library, expression, requires_grad=False):
    """Return the result or error of an expression, its warnings, and its random tensors."""
    rng = np.random.default_rng(zlib.crc32(expression.encode()))
    leaves = []

    def x(*shape):
        tensor = library.from_numpy(rng.standard_normal(shape).astype(np.float32))
        leaves.append(tensor.requires_grad_(requires_grad))
        return leaves[-1]

    names = {"torch": library, "nn": library.nn, "F": library.nn.functional, "x": x}
    library.manual_seed(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(expression, {**names, "nan": np.nan, "inf": np.inf})
        except Exception as error:
            result = error
    told = [(each.category, str(each.message)) for each in caught]
    return types.SimpleNamespace(result=result, warnings=told, leaves=leaves)


def tensors(result):
    return list(result) if isinstance(result, tuple) else [result]


def array(tensor):
    return tensor.detach().numpy()


def assert_same_tensor(ours, theirs, tolerance=1e-5):
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    if theirs.numel():
        assert ours.stride() == theirs.stride()
    if theirs.dtype.is_floating_point:
        np.testing.assert_allclose(array(ours), array(theirs), tolerance, tolerance)
    else:
        np.testing.assert_array_equal(array(ours), array(theirs))


def nodes(node):
    """Return names and saved attributes along the first edges."""
    found = []
    while node is not None:
        saved = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}
        plain = {
            name: tuple(value.shape) if hasattr(value, "shape") else value
            for name, value in saved.items()
        }
        found.append((type(node).__name__, plain))
        node = node.next_functions[0][0] if node.next_functions else None
    return found


@pytest.mark.parametrize("expression", lines(VALUES) + lines(CALLS))
def test_same_values_layouts_and_warnings(expression):
    ours, theirs = run(taper, expression), run(torch, expression)
    if isinstance(theirs.result, Exception):
        assert type(ours.result).__name__ == type(theirs.result).__name__
        assert str(ours.result) == str(theirs.result)
        return
    assert ours.warnings == theirs.warnings
    for one, other in zip(tensors(ours.result), tensors(theirs.result), strict=True):
        assert_same_tensor(one, other)


@pytest.mark.parametrize("expression", lines(VALUES))
def test_same_graphs_and_gradients(expression):
    ours, theirs = run(taper, expression, True), run(torch, expression, True)
    one, other = tensors(ours.result)[0], tensors(theirs.result)[0]
    assert one.requires_grad == other.requires_grad
    if not other.requires_grad:
        return
    assert nodes(one.grad_fn) == nodes(other.grad_fn)
    start = np.random.default_rng(3).standard_normal(tuple(other.shape))
    grads = []
    for library, tensor, leaves in ((taper, one, ours.leaves), (torch, other, theirs.leaves)):
        grad = library.from_numpy(np.array(start)).to(tensor.dtype)
        grads.append(library.autograd.grad(tensor, leaves, grad, allow_unused=True))
    for found, expected in zip(*grads, strict=True):
        assert (found is None) == (expected is None)
        if expected is not None:
            assert_same_tensor(found, expected, 2e-5)


@pytest.mark.parametrize("expression", lines(ERRORS))
def test_same_errors(expression):
    ours, theirs = run(taper, expression), run(torch, expression)
    assert isinstance(theirs.result, Exception)
    assert type(ours.result).__name__ == type(theirs.result).__name__, repr(ours.result)
    first, _, _ = str(theirs.result).partition("\n")
    assert str(ours.result).startswith(first.partition(" Exception raised from")[0])


@pytest.mark.parametrize("expression", lines(MODULES))
def test_same_modules(expression):
    ours, theirs = run(taper, expression), run(torch, expression)
    assert type(ours.result).__name__ == type(theirs.result).__name__
    assert repr(ours.result) == repr(theirs.result)
    if not isinstance(theirs.result, Exception):
        assert list(ours.result.state_dict()) == list(theirs.result.state_dict())
        for name, value in vars(theirs.result).items():
            if not name.startswith("_"):
                assert getattr(ours.result, name) == value


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [True, False])
def test_second_derivatives_of_grid_sample(mode, padding, aligned):
    found = []
    for library in (taper, torch):
        rng = np.random.default_rng(5)
        x, grid, grad = (
            library.from_numpy(rng.standard_normal(shape)).requires_grad_()
            for shape in ((2, 3, 7, 6), (2, 4, 5, 2), (2, 3, 4, 5))
        )
        y = library.nn.functional.grid_sample(x, grid, mode, padding, aligned)
        first = library.autograd.grad(y, (x, grid), grad, create_graph=True)
        assert type(first[0].grad_fn).__name__ == "GridSampler2DBackwardBackward0"
        total = sum((each * each).sum() for each in first)
        found.append(library.autograd.grad(total, (grad, x, grid), allow_unused=True))
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if other is not None:
            np.testing.assert_allclose(array(one), array(other), 1e-9, 1e-9)


def test_third_derivatives_of_grid_sample():
    found = []
    for library in (taper, torch):
        rng = np.random.default_rng(5)
        x, grid = (
            library.from_numpy(rng.standard_normal(shape)).requires_grad_()
            for shape in ((1, 2, 5, 4), (1, 2, 3, 2))
        )
        value = library.nn.functional.grid_sample(x, grid, "bicubic", "border", False).sin().sum()
        for _ in range(2):
            (slope,) = library.autograd.grad(value, grid, create_graph=True)
            value = slope.sin().sum()
        found.append(library.autograd.grad(value, (x, grid)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(array(one), array(other), 1e-8, 1e-8)
