"""Regions, deformed convolutions and suppressed boxes against torchvision's compiled code.

`region_numbers.json` has what torchvision 0.26 gave on a machine that has it: of each result and
each gradient the sum of its elements times sin(1), sin(2), ...
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import taper
from taper.vision import ops

NUMBERS = json.loads(Path(__file__).with_name("region_numbers.json").read_text())


def waves(value):
    flat = value.detach().flatten()
    return (flat * taper.arange(1.0, flat.numel() + 1, dtype=flat.dtype).sin()).sum().item()


def of(value, *leaves):
    """The numbers of a result and of the gradients that a sum of its elements in waves has."""
    weights = taper.arange(value.numel(), dtype=value.dtype).reshape(value.shape).sin()
    grads = taper.autograd.grad((value * weights).sum(), leaves)
    return [waves(value), *map(waves, grads)]


def answers():
    """All results, with random numbers drawn in the order in which torchvision got them."""
    generator = taper.Generator().manual_seed(0)

    def rand(*shape):
        return taper.rand(*shape, generator=generator, dtype=taper.float64)

    def randn(*shape):
        return taper.randn(*shape, generator=generator, dtype=taper.float64)

    x = randn(2, 8, 11, 13).requires_grad_()
    corners = rand(9, 2) * 16 - 3
    pictures = taper.randint(0, 2, (9, 1), generator=generator).double()
    boxes = taper.cat([pictures, corners, corners + rand(9, 2) * 10], 1)
    found = {}
    for scale in (1.0, 0.7):
        for ratio in (-1, 2):
            for aligned in (False, True):
                value = ops.roi_align(x, boxes, (2, 4), scale, ratio, aligned)
                found[f"roi_align {scale} {ratio} {aligned}"] = of(value, x)
            value = ops.ps_roi_align(x, boxes, (2, 2), scale, ratio)
            found[f"ps_roi_align {scale} {ratio}"] = of(value, x)
        found[f"roi_pool {scale}"] = of(ops.roi_pool(x, boxes, (2, 4), scale), x)
        # torchvision's gradient is not that of its result at the last row and column.
        found[f"ps_roi_pool {scale}"] = [waves(ops.ps_roi_pool(x, boxes, (2, 2), scale))]
    weight = randn(6, 4, 3, 3).requires_grad_()
    moves, mask = (randn(2, 36, 5, 6) * 2).requires_grad_(), rand(2, 18, 5, 6).requires_grad_()
    value = ops.deform_conv2d(
        x, moves, weight, stride=2, padding=(1, 1), dilation=(2, 2), mask=mask
    )
    found["deform_conv2d"] = of(value, x, moves, weight, mask)
    starts = rand(60, 2) * 20
    many, scores = taper.cat([starts, starts + rand(60, 2) * 12], 1), rand(60)
    for limit in (0.1, 0.3, 0.5, 0.7):
        found[f"nms {limit}"] = ops.nms(many, scores, limit).tolist()
    kinds = taper.arange(60) % 4
    found["batched_nms"] = ops.batched_nms(many, scores, kinds, 0.3).tolist()
    return found


FOUND = answers()


@pytest.mark.parametrize("name", NUMBERS)
def test_an_operator_gives_what_torchvision_gives(name):
    assert FOUND[name] == pytest.approx(NUMBERS[name], rel=1e-9, abs=1e-9)
