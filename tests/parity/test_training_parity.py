"""The same script with the same seed trains the same way on taper and on PyTorch."""

from __future__ import annotations

import io
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
import torch

import taper

STEPS = 100
EXAMPLES = Path(__file__).parents[2] / "examples" / "notes"


def losses(package, make_model, make_optimizer, classes=4, features=12):
    package.manual_seed(7)
    model = make_model(package.nn)
    optimizer = make_optimizer(package.optim, model.parameters())
    x = package.randn(96, features)
    label = package.randint(0, classes, (96,))
    seen = []
    for _ in range(STEPS):
        chosen = package.randperm(96)[:32]
        loss = package.nn.functional.cross_entropy(model(x[chosen]), label[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def mlp(nn):
    return nn.Sequential(
        nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 4)
    )


def regularised(nn):
    return nn.Sequential(
        nn.Linear(12, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Dropout(0.3), nn.Linear(32, 4)
    )


def gated(nn):
    return nn.Sequential(
        nn.Linear(12, 24),
        nn.LayerNorm(24),
        nn.SiLU(),
        nn.Linear(24, 24),
        nn.Softplus(),
        nn.Linear(24, 4),
    )


OPTIMIZERS = {
    "sgd": lambda optim, p: optim.SGD(p, lr=0.1),
    "momentum": lambda optim, p: optim.SGD(
        p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4
    ),
    "adam": lambda optim, p: optim.Adam(p, lr=1e-3),
    "amsgrad": lambda optim, p: optim.Adam(p, lr=1e-3, amsgrad=True, weight_decay=1e-2),
}


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("model", [mlp, regularised, gated], ids=lambda model: model.__name__)
def test_loss_curves_are_equal(model, optimizer):
    ours = losses(taper, model, OPTIMIZERS[optimizer])
    theirs = losses(torch, model, OPTIMIZERS[optimizer])
    assert ours[-1] < ours[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def output_of(path, package):
    """Return what an example prints when its `torch` is the given package."""
    saved = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "taper"}
    if package is torch:
        for name in saved:
            del sys.modules[name]
        for name in ("", ".autograd", ".nn", ".optim"):
            sys.modules["taper" + name] = sys.modules["torch" + name]
    try:
        with redirect_stdout(io.StringIO()) as printed:
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.modules.update(saved)
    return printed.getvalue()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_of_the_notes_print_the_same(path):
    assert output_of(path, taper) == output_of(path, torch)
