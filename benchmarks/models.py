"""Larger models: what a training step costs when the arithmetic counts, not the overhead.

Written once for both libraries, as `workloads.py`; the bars are ratios taper/PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads import Workload, perceptron, variance_fit

MODELS = 8  # rows of the table that are whole models; parts of them follow


def chain(torch: Any) -> dict[str, Any]:
    """Twelve element-wise operations over a million elements, and their backward pass."""
    torch.manual_seed(0)
    x = torch.randn(1_000_000, requires_grad=True)
    weight = torch.randn(1_000_000)

    def step() -> None:
        x.grad = None
        y = torch.tanh(x * weight + 0.5) * 2.0
        y = torch.relu(y - 0.1) + torch.sigmoid(y)
        y = torch.exp(-y) * y + torch.sqrt(y * y + 1.0)
        y.sum().backward()

    return {"step": step}


def image_classifier(torch: Any) -> dict[str, Any]:
    """Return the two-convolution network of the MNIST examples, on 64 images, with SGD."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(128, 10), nn.LogSoftmax(1)),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.nll_loss(model(images), labels).backward()
        optimizer.step()

    return {"step": step}


def residual_network(torch: Any) -> dict[str, Any]:
    """ResNet-18 on 8 images of 96x96, with SGD."""
    torch.manual_seed(0)
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
            self.short: Any = nn.Identity()
            if stride != 1 or inputs != outputs:
                straight = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.short = nn.Sequential(straight, nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = torch.relu(self.norm1(self.conv1(x)))
            return torch.relu(self.norm2(self.conv2(y)) + self.short(x))

    layers: list[Any] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    layers.append(nn.MaxPool2d(3, 2, 1))
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inputs, outputs, stride), Block(outputs, outputs, 1)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    images, labels = torch.randn(8, 3, 96, 96), torch.randint(0, 1000, (8,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return {"step": step}


def gpt_block(torch: Any, width: int, heads: int = 4) -> Any:
    """Return a block of a GPT: attention and two layers, each after a norm."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wider, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            parts = self.attention(self.norm1(x)).split(width, dim=2)
            split = [each.view(*each.shape[:2], heads, -1).transpose(1, 2) for each in parts]
            y = nn.functional.scaled_dot_product_attention(*split, is_causal=True)
            x = x + self.mix(y.transpose(1, 2).contiguous().view(x.shape))
            return x + self.back(nn.functional.gelu(self.wider(self.norm2(x))))

    return Block()


def language_model(torch: Any) -> dict[str, Any]:
    """Return a GPT of four blocks of 128, four heads, on 12 sequences of 64 characters; AdamW."""
    torch.manual_seed(0)
    nn, width, length, alphabet = torch.nn, 128, 64, 65
    tokens, places = nn.Embedding(alphabet, width), nn.Embedding(length, width)
    head = nn.Linear(width, alphabet, bias=False)
    body = nn.Sequential(*[gpt_block(torch, width) for _ in range(4)], nn.LayerNorm(width), head)
    model = nn.ModuleList([tokens, places, body])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = torch.randint(0, alphabet, (12, length + 1))
    where = torch.arange(length)

    def loss() -> Any:
        guesses = body(tokens(text[:, :-1]) + places(where))
        return nn.functional.cross_entropy(guesses.view(-1, alphabet), text[:, 1:].reshape(-1))

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    loss().backward()
    return {"step": step, "optimizer": optimizer}


def recurrent_network(torch: Any) -> dict[str, Any]:
    """Return an LSTM of 128 over 32 steps of 16 sequences, with Adam."""
    torch.manual_seed(0)
    nn = torch.nn
    lstm, head = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3)
    x, target = torch.randn(16, 32, 64), torch.randint(0, 10, (16,))

    def step() -> None:
        optimizer.zero_grad()
        output, _ = lstm(x)
        nn.functional.cross_entropy(head(output[:, -1]), target).backward()
        optimizer.step()

    return {"step": step}


def attention(torch: Any) -> dict[str, Any]:
    """Scaled dot-product attention over 4x8x512x64, forward and backward."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(4, 8, 512, 64, requires_grad=True) for _ in range(3))
    grad = torch.randn(4, 8, 512, 64)

    def step() -> None:
        q.grad = k.grad = v.grad = None
        torch.nn.functional.scaled_dot_product_attention(q, k, v).backward(grad)

    return {"step": step}


def steps_by_name() -> dict[str, Callable[[Any], dict[str, Any]]]:
    """Return what makes each of the eight models, by a short name; the part "step" of it trains."""
    return {each.name.removeprefix("step: "): each.make for each in model_workloads()[:MODELS]}


def model_workloads() -> list[Workload]:
    """Return the eight models, the smallest first, then parts of them."""
    return [
        Workload("step: 5x5 variance fit, SGD", variance_fit, "step()", bar=0.22),
        Workload("step: 32-64-64-10, Adam", perceptron((32, 64, 64, 10), 32), "step()", bar=0.3),
        Workload(
            "step: 784-512-512-10, Adam", perceptron((784, 512, 512, 10), 128), "step()", bar=0.65
        ),
        Workload("chain of 12 over 10^6", chain, "step()", bar=0.8),
        Workload("step: LSTM 128, 32 steps", recurrent_network, "step()", bar=0.8),
        Workload("step: GPT, 4 blocks of 128", language_model, "step()", bar=0.9),
        Workload("step: MNIST CNN, 64 images", image_classifier, "step()", bar=1.3),
        Workload("step: ResNet-18, 8x3x96x96", residual_network, "step()", bar=1.3),
        Workload("AdamW over GPT", language_model, "optimizer.step()", bar=0.5),
        Workload("attention 4x8x512x64", attention, "step()", bar=1.0),
        Workload("randn 10^6", lambda torch: {}, "torch.randn(1_000_000)", bar=1.2),
        Workload("randperm 10^6", lambda torch: {}, "torch.randperm(1_000_000)", bar=1.2),
    ]
