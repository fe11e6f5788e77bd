"""The peers' steps under `torch.compile`: loss, its backward pass and the optimizer's step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


def variance_fit(torch: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    x, label = torch.ones(5), torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    w, b = torch.randn(5, 5, requires_grad=True), torch.randn(5)
    optimizer = torch.optim.SGD([w], lr=0.2)

    @torch.compile
    def loss() -> Any:
        return (torch.sigmoid(torch.matmul(w, x) + b) - label).var()

    return {"step": trained(torch, loss, optimizer)}


def perceptron(widths: tuple[int, ...], batch: int) -> Callable[[Any], dict[str, Any]]:
    def make(torch: Any) -> dict[str, Any]:
        torch.manual_seed(0)
        layers: list[Any] = []
        for inputs, outputs in itertools.pairwise(widths):
            layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
        model = torch.nn.Sequential(*layers[:-1])
        x, target = torch.randn(batch, widths[0]), torch.randint(0, widths[-1], (batch,))

        @torch.compile
        def loss() -> Any:
            return torch.nn.functional.cross_entropy(model(x), target)

        return {"step": trained(torch, loss, torch.optim.Adam(model.parameters(), lr=1e-3))}

    return make


def chain(torch: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    x, weight = torch.randn(1_000_000, requires_grad=True), torch.randn(1_000_000)

    @torch.compile
    def total() -> Any:
        y = torch.tanh(x * weight + 0.5) * 2.0
        y = torch.relu(y - 0.1) + torch.sigmoid(y)
        return (torch.exp(-y) * y + torch.sqrt(y * y + 1.0)).sum()

    def step() -> None:
        x.grad = None
        total().backward()

    return {"step": step}


def trained(torch: Any, loss: Callable[[], Any], optimizer: Any) -> Callable[[], None]:
    """Return one step of training: compiled loss, its compiled backward, compiled update."""
    update = torch.compile(optimizer.step)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        update()

    return step


COMPILED = {
    "5x5 variance fit, SGD": variance_fit,
    "32-64-64-10, Adam, 32": perceptron((32, 64, 64, 10), 32),
    "784-512-512-10, Adam, 128": perceptron((784, 512, 512, 10), 128),
    "chain of 12 over 10^6": chain,
}
