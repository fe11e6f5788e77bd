"""The peers' steps in MLX: one compiled function for the whole step, with its state."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any


def variance_fit(mx: Any) -> dict[str, Any]:
    mx.random.seed(0)
    x, label = mx.ones(5), mx.array([0.0, 0.0, 1.0, 0.0, 0.0])
    state, b = {"w": mx.random.normal((5, 5))}, mx.random.normal((5,))

    def loss(w: Any) -> Any:
        return mx.var(mx.sigmoid(w @ x + b) - label, ddof=1)

    def update() -> Any:
        value, grad = mx.value_and_grad(loss)(state["w"])
        state["w"] = state["w"] - 0.2 * grad
        return value

    return {"step": looped(mx, update, state)}


def perceptron(widths: tuple[int, ...], batch: int) -> Callable[[Any], dict[str, Any]]:
    def make(mx: Any) -> dict[str, Any]:
        nn, optim = (importlib.import_module(f"mlx.{name}") for name in ("nn", "optimizers"))
        mx.random.seed(0)
        layers: list[Any] = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        model = nn.Sequential(*layers[:-1])
        optimizer = optim.Adam(learning_rate=1e-3, bias_correction=True)
        optimizer.init(model.trainable_parameters())
        x = mx.random.normal((batch, widths[0]))
        target = mx.random.randint(0, widths[-1], (batch,))
        loss_and_grad = nn.value_and_grad(
            model, lambda: nn.losses.cross_entropy(model(x), target, reduction="mean")
        )

        def update() -> Any:
            value, grads = loss_and_grad()
            optimizer.update(model, grads)
            return value

        return {"step": looped(mx, update, [model.state, optimizer.state])}

    return make


def chain(mx: Any) -> dict[str, Any]:
    mx.random.seed(0)
    x, weight = mx.random.normal((1_000_000,)), mx.random.normal((1_000_000,))

    def total(x: Any, weight: Any) -> Any:
        y = mx.tanh(x * weight + 0.5) * 2.0
        y = mx.maximum(y - 0.1, 0.0) + mx.sigmoid(y)
        return (mx.exp(-y) * y + mx.sqrt(y * y + 1.0)).sum()

    compiled = mx.compile(mx.value_and_grad(total))
    return {"step": lambda: mx.eval(compiled(x, weight))}


def looped(mx: Any, update: Callable[[], Any], state: Any) -> Callable[[], None]:
    """Return a step whose function reads and writes `state`."""
    compiled = mx.compile(update, inputs=state, outputs=state)
    mx.eval(state)
    return lambda: mx.eval(compiled(), state)


MLX = {
    "5x5 variance fit, SGD": variance_fit,
    "32-64-64-10, Adam, 32": perceptron((32, 64, 64, 10), 32),
    "784-512-512-10, Adam, 128": perceptron((784, 512, 512, 10), 128),
    "chain of 12 over 10^6": chain,
}
