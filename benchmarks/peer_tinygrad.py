"""The peers' steps in tinygrad: the whole step under `TinyJit`."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any


def variance_fit(tinygrad: Any) -> dict[str, Any]:
    tensor = tinygrad.Tensor
    x, label = tensor.ones(5).contiguous(), tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    w, b = tensor.randn(5, 5).realize(), tensor.randn(5).realize()
    optim = importlib.import_module("tinygrad.nn.optim")
    return {
        "step": looped(
            tinygrad, lambda: ((w @ x + b).sigmoid() - label).var(), optim.SGD([w], lr=0.2)
        )
    }


def perceptron(widths: tuple[int, ...], batch: int) -> Callable[[Any], dict[str, Any]]:
    def make(tinygrad: Any) -> dict[str, Any]:
        nn, optim = (importlib.import_module(f"tinygrad.{name}") for name in ("nn", "nn.optim"))
        layers = [nn.Linear(*sizes) for sizes in itertools.pairwise(widths)]
        x = tinygrad.Tensor.randn(batch, widths[0]).realize()
        target = tinygrad.Tensor.randint(batch, low=0, high=widths[-1]).realize()

        def loss() -> Any:
            y = x
            for layer in layers[:-1]:
                y = layer(y).relu()
            return layers[-1](y).sparse_categorical_crossentropy(target)

        optimizer = optim.Adam([each for layer in layers for each in (layer.weight, layer.bias)])
        return {"step": looped(tinygrad, loss, optimizer)}

    return make


def chain(tinygrad: Any) -> dict[str, Any]:
    x, weight = (tinygrad.Tensor.randn(1_000_000).realize() for _ in range(2))

    @tinygrad.TinyJit
    def gradient() -> Any:
        y = (x * weight + 0.5).tanh() * 2.0
        y = (y - 0.1).relu() + y.sigmoid()
        return ((-y).exp() * y + (y * y + 1.0).sqrt()).sum().gradient(x)[0].realize()

    def step() -> None:
        gradient()
        tinygrad.Device[tinygrad.Device.DEFAULT].synchronize()

    return {"step": step}


def looped(tinygrad: Any, loss: Callable[[], Any], optimizer: Any) -> Callable[[], None]:
    """Return a step of training as one recorded program."""

    @tinygrad.TinyJit
    def update() -> Any:
        with tinygrad.Context(TRAINING=1):
            optimizer.zero_grad()
            value = loss().backward()
            return value.realize(*optimizer.schedule_step())

    def step() -> None:
        update()
        tinygrad.Device[tinygrad.Device.DEFAULT].synchronize()

    return step


TINYGRAD = {
    "5x5 variance fit, SGD": variance_fit,
    "32-64-64-10, Adam, 32": perceptron((32, 64, 64, 10), 32),
    "784-512-512-10, Adam, 128": perceptron((784, 512, 512, 10), 128),
    "chain of 12 over 10^6": chain,
}
