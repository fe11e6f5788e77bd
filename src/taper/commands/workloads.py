"""What `taper bench` times: short programs that get the library as the argument `torch`.

A workload returns a function that does the work once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Work = Callable[[], Any]


def multiplication(torch: Any) -> Work:
    """Make one recorded multiplication of 5x5 matrices: nothing but overhead."""
    a = torch.randn(5, 5, requires_grad=True)
    b = torch.randn(5, 5, requires_grad=True)
    return lambda: a * b


def _training_step(torch: Any, model: Any, inputs: Any, target: Any) -> Work:
    optimizer = torch.optim.Adam(model.parameters())
    cross_entropy = torch.nn.functional.cross_entropy

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(inputs), target).backward()
        optimizer.step()

    return step


def classifier(torch: Any) -> Work:
    """Make a training step of a small classifier: 64 samples, 20-64-64-10, Adam."""
    nn = torch.nn
    layers = (nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    inputs, target = torch.randn(64, 20), torch.randint(0, 10, (64,))
    return _training_step(torch, nn.Sequential(*layers), inputs, target)


def convolutions(torch: Any) -> Work:
    """Make a training step of a small image classifier: 32 images of 28x28, two convolutions."""
    nn = torch.nn
    layers = (nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.ReLU())
    model = nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 10))
    inputs, target = torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    return _training_step(torch, model, inputs, target)


def attention(torch: Any) -> Work:
    """Make a training step of a transformer layer: 16 sequences of 32 words, 64 features."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    model = nn.Sequential(layer, nn.Flatten(), nn.Linear(2048, 10))
    inputs, target = torch.randn(16, 32, 64), torch.randint(0, 10, (16,))
    return _training_step(torch, model, inputs, target)


def matrix_product(torch: Any) -> Work:
    """Make a product of 512x512 matrices: the BLAS."""
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    return lambda: a @ b


def elements(torch: Any) -> Work:
    """Make the hyperbolic tangent of a million numbers: memory and one core."""
    a = torch.randn(1_000_000)
    return lambda: torch.tanh(a)


WORKLOADS: dict[str, Callable[[Any], Work]] = {
    "multiplication 5x5, recorded": multiplication,
    "classifier, training step": classifier,
    "convolutions, training step": convolutions,
    "transformer, training step": attention,
    "matrix product 512x512": matrix_product,
    "tanh of 1,000,000": elements,
}
