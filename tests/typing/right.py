"""A program that a type checker must accept, with what it must find out along the way.

`tests/test_stubs.py` runs the checker over it, and the program itself.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np

import taper
import taper.nn.functional as F
from taper import Tensor, nn, optim


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(3, width)
        self.scale = nn.Parameter(taper.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x) * self.scale
        return taper.relu(hidden).sum(dim=1, keepdim=True)


class Double(taper.autograd.Function):
    @staticmethod
    def forward(ctx: taper.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: taper.autograd.function.FunctionCtx, grad: Tensor) -> Tensor:
        return grad * 2


def training() -> None:
    taper.manual_seed(0)
    model = Model(4)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = taper.randn(8, 3), taper.zeros((8, 1))
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    with taper.no_grad():
        model(x)


def making() -> None:
    assert_type(taper.tensor([1.0, 2.0], dtype=taper.float64, requires_grad=True), Tensor)
    assert_type(taper.arange(0, 10, 2), Tensor)
    assert_type(taper.full((2, 3), 1.5, device="cpu"), Tensor)
    assert_type(taper.cat([taper.ones(1), taper.ones(2)], dim=0), Tensor)
    assert_type(taper.from_numpy(np.ones(3)), Tensor)
    assert_type(taper.float32.itemsize, int)


def operators(x: Tensor) -> None:
    assert_type(2 * x + x**2 - x / 3, Tensor)
    assert_type(x @ x.T, Tensor)
    assert_type(x > 0, Tensor)
    assert_type(x == 1, Tensor)
    assert_type(-x[0, 1:] + np.float32(1), Tensor)
    assert_type([row for row in x], list[Tensor])
    x += 1
    x[0] = 2.0


def functions(x: Tensor) -> None:
    assert_type(taper.mul(x, 2, out=taper.empty(2, 2)), Tensor)
    assert_type(taper.add(x, x, alpha=2), Tensor)
    assert_type(taper.split(x, 1), tuple[Tensor, ...])
    assert_type(taper.topk(x, 1).indices, Tensor)
    values, _ = taper.sort(x, dim=0)
    assert_type(values, Tensor)
    assert_type(taper.allclose(x, x), bool)
    assert_type(taper.mean(x, dim=(0, 1)), Tensor)
    taper.max(x, 1).values.sum()
    taper.max(x).item()


def methods(x: Tensor) -> None:
    assert_type(x.view(-1).reshape(2, 2).permute(1, 0).to(taper.float64), Tensor)
    assert_type(x.shape, taper.Size)
    assert_type(x.dtype, taper.dtype)
    assert_type(x.dim(), int)
    assert_type(x.clone().add_(1).mul_(x).zero_(), Tensor)
    assert_type(x.detach().numpy(), np.ndarray)
    assert_type(x.float().int().bool(), Tensor)
    weight = taper.ones(2, 2, requires_grad=True)
    (Double.apply(weight) * x).sum().backward()
    if weight.grad is not None:
        assert_type(weight.grad.norm(), Tensor)


if __name__ == "__main__":
    training()
    making()
    for part in (operators, functions, methods):
        part(taper.ones(2, 2))
