"""Transforms against torchvision: values, random numbers, texts, errors, warnings and gradients.

`transform_expressions.txt` holds an expression in each line, run on both after the same seed.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import taper.vision.transforms
from parity.transform_probe import OURS, THEIR_TRANSFORMS, THEIRS, compare, lines_of


@pytest.mark.parametrize("line", lines_of("transform_expressions.txt"))
def test_same_as_torchvision(line):
    compare(line)


@pytest.mark.parametrize(
    "line",
    [
        "F.resize(x, (5, 6))",
        "F.normalize(x, [0.1, 0.2, 0.3], [0.5, 0.6, 0.7])",
        "F.rotate(x, 30.0, M.BILINEAR, fill=0.5)",
        "F.adjust_hue(x, 0.1)",
        "F.adjust_contrast(x, 0.7)",
        "F.adjust_sharpness(x, 1.5)",
        "F.gaussian_blur(x, 3, 0.8)",
        "F.pad(x, 2, padding_mode='reflect')",
        "F.perspective(x, [[0, 0], [7, 0], [7, 8], [0, 8]], [[1, 1], [6, 0], [7, 7], [0, 8]])",
        "F.elastic_transform(x, f32(1, 9, 8, 2) * 0.1)",
        "F.erase(x, 1, 1, 2, 2, torch.tensor(0.5))",
    ],
)
def test_gradients_go_through(line):
    found = []
    for scope in (OURS, THEIRS):
        x = scope["f32"](3, 9, 8, seed=1).requires_grad_()
        (eval(line, {**scope, "x": x}) ** 2).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=2e-4, atol=2e-5)


def public_names(module: ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def test_all_names_are_there():
    theirs = {name for name in public_names(THEIR_TRANSFORMS) if name[0].isupper()}
    assert theirs <= public_names(taper.vision.transforms)
    functions = {
        name
        for name in public_names(THEIR_TRANSFORMS.functional)
        if getattr(getattr(THEIR_TRANSFORMS.functional, name), "__module__", "").endswith(
            "functional"
        )
    }
    assert functions <= public_names(taper.vision.transforms.functional)
