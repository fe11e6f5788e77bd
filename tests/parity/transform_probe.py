"""Runs one expression about transforms on taper and on torchvision, and compares.

Bytes may differ by one in a few places: if a value lies between two, the last bit of a sum decides.
"""

from __future__ import annotations

import importlib
import random
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import taper
import taper.nn
import taper.vision.transforms
import taper.vision.transforms.v2
from parity import torchvision_oracle

torchvision_oracle.load()
THEIR_TRANSFORMS = importlib.import_module("torchvision.transforms")
importlib.import_module("torchvision.transforms.v2")
MOST_ROUNDED = 0.01


def names(package: ModuleType, transforms: ModuleType) -> dict[str, Any]:
    """Return what an expression may use, from one of the packages."""

    def array(shape, seed):
        return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)

    def u8(*shape, seed=0):
        return package.from_numpy(array(shape, seed))

    def f32(*shape, seed=0):
        return package.from_numpy(np.random.default_rng(seed).random(shape, dtype=np.float32))

    def pil(mode="RGB", w=9, h=7):
        if mode == "I;16":
            return Image.fromarray(np.arange(w * h, dtype=np.uint16).reshape(h, w))
        return Image.fromarray(array((h, w, 4), 0)).convert(mode)

    return {
        "torch": package,
        "T": transforms,
        "F": transforms.functional,
        "M": transforms.InterpolationMode,
        "v2": transforms.v2,
        "F2": transforms.v2.functional,
        "u8": u8,
        "f32": f32,
        "pil": pil,
        "np": np,
    }


OURS = names(taper, taper.vision.transforms)
THEIRS = names(torch, THEIR_TRANSFORMS)


def observed(line: str, scope: dict[str, Any]) -> tuple[Any, list[tuple[type, str]]]:
    """Return the result of an expression or its error as a text, and its warnings."""
    scope["torch"].manual_seed(0)
    random.seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(line, scope)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    return result, [(each.category, str(each.message)) for each in caught]


def plain(value: Any) -> Any:
    """Return a result in terms that both packages share."""
    if isinstance(value, torch.Tensor | taper.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.detach().numpy()
    if isinstance(value, Image.Image):
        return "picture", value.mode, value.size, np.array(value), value.getpalette()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return [plain(each) for each in value.items()]
    if value is None or isinstance(value, int | float | np.ndarray):
        return value
    text = value if isinstance(value, str) else repr(value)
    return text.replace("taper.tensor.Tensor", "torch.Tensor").replace(
        "taper.Tensor", "torch.Tensor"
    )


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    elif isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        if theirs.dtype.kind == "f":
            # Places of a grid are rounded to float32: both libraries are off by up to 1.6e-5 from
            # the float64 result, and the direction depends on the processor.
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-5)
        else:
            apart = np.abs(ours.astype(np.int64) - theirs.astype(np.int64))
            assert apart.max(initial=0) <= 1
            assert np.count_nonzero(apart) <= MOST_ROUNDED * apart.size
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)
    else:
        assert ours == theirs


def lines_of(name: str) -> list[str]:
    """Return the expressions in a file beside this one."""
    lines = Path(__file__).with_name(name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def compare(line: str) -> None:
    """Assert that both give the same result, or the same error, and the same warnings."""
    (ours, our_warnings), (theirs, their_warnings) = observed(line, OURS), observed(line, THEIRS)
    assert_same(plain(ours), plain(theirs))
    assert our_warnings == their_warnings
