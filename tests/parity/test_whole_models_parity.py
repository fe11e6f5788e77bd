"""Whole modules, saved by PyTorch and loaded by taper and the other way round."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import taper


def models(lib: Any) -> list[tuple[Any, list[tuple[int, ...]]]]:
    """Return modules, each with the shapes of its arguments."""
    lib.manual_seed(0)
    nn = lib.nn
    return [
        (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Dropout(0.1)), [(3, 4)]),
        (
            nn.Sequential(
                nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"),
                nn.BatchNorm2d(4),
                nn.GELU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
            ),
            [(2, 1, 4, 4)],
        ),
        (nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), [(2, 5, 3)]),
        (nn.GRU(3, 4), [(5, 2, 3)]),
        (nn.MultiheadAttention(4, 2, batch_first=True), [(2, 3, 4)] * 3),
        (nn.Transformer(4, 2, 1, 1, 8, activation="gelu", batch_first=True), [(2, 3, 4)] * 2),
        (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1),
            [(2, 3, 4)],
        ),
    ]


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize(("source", "goal"), [(torch, taper), (taper, torch)])
def test_the_other_package_loads_the_module(number, source, goal):
    model, shapes = models(source)[number]
    model.eval()
    values = [source.randn(each) for each in shapes]
    file = io.BytesIO()
    source.save(model, file)
    file.seek(0)
    loaded = goal.load(file, weights_only=False)
    assert type(loaded).__name__ == type(model).__name__
    again = first(loaded(*(goal.tensor(each.tolist()) for each in values)))
    expected = first(model(*values)).detach()
    assert goal.allclose(again, goal.tensor(expected.tolist()), atol=1e-5)
