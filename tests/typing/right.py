"""A program that type checkers must accept, with what they must find out along the way.

`tests/test_stubs.py` runs mypy and pyright over it, both as strict as they can be, and the program
itself.
"""

# pyright: strict

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import taper
import taper.nn.functional as F
from taper import Tensor, nn, optim
from taper.autograd.graph import Node
from taper.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau, StepLR
from taper.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from taper.utils.hooks import RemovableHandle


class Model(nn.Module):
    mean: Tensor  # a buffer

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(3, width)
        self.scale = nn.Parameter(taper.ones(width))
        self.register_buffer("mean", taper.zeros(3))
        self.rest = nn.ModuleList(nn.Linear(width, width) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x - self.mean) * self.scale
        for layer in self.rest:
            hidden = layer(hidden)
        return taper.relu(hidden).sum(dim=1, keepdim=True)


class Masked(nn.Module):
    """A forward with more parameters than one, which the base class must not forbid."""

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, scale: float = 1.0
    ) -> tuple[Tensor, float]:
        return (x if mask is None else x.masked_fill(mask, 0.0)), scale


class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return taper.full((3,), float(index)), index**2


class Count(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


class Double(taper.autograd.Function):
    @staticmethod
    def forward(ctx: taper.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: taper.autograd.function.FunctionCtx, grad: Tensor) -> Tensor:
        return grad * 2


class Descent(optim.Optimizer):
    def __init__(self, params: optim.optimizer.ParamsT, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    @taper.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        with taper.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for param in group["params"]:
                param.sub_(group["lr"] * param.grad)
        return loss


@taper.no_grad()
def evaluate(model: nn.Module, x: Tensor, repeat: int = 1) -> float:
    return sum(float(model(x).mean()) for _ in range(repeat))


@taper.inference_mode()
def infer(model: nn.Module, x: Tensor) -> Tensor:
    result: Tensor = model(x)
    return result


@taper.compile(mode="default")
def twice(x: Tensor) -> Tensor:
    return x * 2


def training() -> None:
    assert_type(taper.manual_seed(0), taper.Generator)
    model = Model(4)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=1)
    x, y = taper.randn(8, 3), taper.zeros((8, 1))
    for inputs, targets in DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(model(inputs), targets)
        loss.backward()
        assert_type(nn.utils.clip_grad_norm_(model.parameters(), 1.0), Tensor)
        assert_type(optimizer.step(), None)
        scheduler.step()

    def closure() -> Tensor:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    assert_type(optimizer.step(closure), Tensor)
    assert_type(optim.LBFGS(model.parameters()).step(closure), Tensor)
    Descent([{"params": model.first.parameters()}], lr=0.1).step(closure)
    assert_type(scheduler.get_last_lr(), list[float | Tensor])
    assert_type(optimizer.param_groups, list[dict[str, Any]])
    LambdaLR(optimizer, lambda epoch: 0.9**epoch).step()
    ReduceLROnPlateau(optimizer).step(0.5)
    with taper.no_grad() as nothing:
        model(x)
    assert_type(nothing, None)
    assert_type(evaluate(model, x, repeat=2), float)
    assert_type(infer(model, x), Tensor)
    assert_type(twice(x), Tensor)


def modules(x: Tensor) -> None:
    model = Model(4)
    assert_type(model.first.weight, nn.Parameter)
    assert_type(model.first.in_features, int)
    assert_type(nn.init.zeros_(model.first.bias), Tensor)
    assert_type(model.scale, nn.Parameter)
    assert_type(model.mean, Tensor)
    assert_type(model.rest[0], nn.Module)
    assert_type(model.rest[:1], nn.ModuleList)
    row = nn.Sequential(OrderedDict[str, nn.Module](first=nn.Linear(2, 3), last=nn.ReLU()))
    assert_type(row[0], nn.Module)
    assert_type(row[:1], nn.Sequential)
    assert_type([layer for layer in nn.Sequential(nn.Linear(2, 2), nn.Tanh())], list[nn.Module])
    assert_type(nn.ModuleDict({"a": nn.Linear(2, 2)})["a"], nn.Module)
    assert_type(list(model.children()), list[nn.Module])
    assert_type(dict(model.named_modules()), dict[str, nn.Module])
    assert_type(list(model.parameters()), list[nn.Parameter])
    assert_type(model.to("cpu").eval().requires_grad_(False).apply(lambda module: None), Model)
    assert_type(model.state_dict(), dict[str, Any])
    assert_type(model.load_state_dict(model.state_dict()).missing_keys, list[str])
    assert_type(model.register_forward_hook(lambda module, args, out: out * 2), RemovableHandle)
    model.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    conv = nn.Conv2d(1, 2, kernel_size=(1, 1), bias=False)
    assert_type(conv.weight, nn.Parameter)
    assert_type(conv.bias, nn.Parameter | None)
    assert_type(nn.BatchNorm1d(3).running_mean, Tensor | None)
    assert_type(nn.LayerNorm(3).weight, nn.Parameter)
    assert_type(nn.Embedding(3, 4).weight, nn.Parameter)
    assert_type(nn.Linear(2, 3).forward(x), Tensor)
    assert_type(nn.GRU(2, 3).forward(x), tuple[Tensor, Tensor])
    lstm = nn.LSTM(2, 3, 1, batch_first=True)
    assert_type(lstm.forward(x), tuple[Tensor, tuple[Tensor, Tensor]])
    assert_type(Masked().forward(x, scale=2.0), tuple[Tensor, float])


def data() -> None:
    squares = Squares()
    assert_type(squares[0], tuple[Tensor, int])
    assert_type((squares + squares)[7], tuple[Tensor, int])
    assert_type(DataLoader(squares, batch_size=3), DataLoader[tuple[Tensor, int]])
    assert_type(DataLoader(squares).dataset, Dataset[tuple[Tensor, int]])
    assert_type(DataLoader(Count()), DataLoader[int])
    assert_type(len(DataLoader([1, 2, 3], batch_size=2)), int)
    assert_type(random_split(squares, [2, 4]), list[Subset[tuple[Tensor, int]]])
    assert_type(Subset(squares, [1])[0], tuple[Tensor, int])
    assert_type(TensorDataset(taper.ones(2), taper.ones(2))[0], tuple[Tensor, ...])


def making() -> None:
    assert_type(taper.tensor([1.0, 2.0], dtype=taper.float64, requires_grad=True), Tensor)
    assert_type(taper.arange(0, 10, 2), Tensor)
    assert_type(taper.full((2, 3), 1.5, device="cpu"), Tensor)
    assert_type(taper.cat([taper.ones(1), taper.ones(2)], dim=0), Tensor)
    assert_type(taper.from_numpy(np.ones(3)), Tensor)
    assert_type(taper.float32.itemsize, int)
    assert_type(taper.device("cpu").type, str)
    assert_type(taper.finfo(taper.float32).eps, float)
    file = io.BytesIO()
    assert_type(taper.save({"weight": taper.ones(2)}, file), None)
    file.seek(0)
    assert_type(taper.load(file), Any)
    given: object = taper.ones(2)
    if taper.is_tensor(given):
        assert_type(given, Tensor)


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
    assert_type(taper.max(x, 1), taper.return_types.max)
    assert_type(taper.max(x, 1).values, Tensor)
    assert_type(taper.max(x), Tensor)
    assert_type(taper.max(x, x), Tensor)
    assert_type(taper.where(x > 0, x, 0.0), Tensor)
    assert_type(taper.where(x > 0), tuple[Tensor, ...])
    assert_type(taper.unique(x, return_counts=True), tuple[Tensor, Tensor])
    assert_type(taper.nonzero(x, as_tuple=True), tuple[Tensor, ...])
    assert_type(F.max_pool1d(x, 2), Tensor)
    assert_type(F.max_pool1d(x, 2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(taper.linalg.svd(x).S, Tensor)
    assert_type(taper.fft.rfft(x), Tensor)
    assert_type(taper.special.expit(x), Tensor)
    assert_type(taper.distributions.Normal(0.0, 1.0).sample((2,)), Tensor)
    assert_type(taper.vmap(taper.exp)(x), Tensor)


def methods(x: Tensor) -> None:
    assert_type(x.view(-1).reshape(2, 2).permute(1, 0).to(taper.float64), Tensor)
    assert_type(x.shape, taper.Size)
    assert_type(x.shape[0], int)
    assert_type(x.shape[1:], taper.Size)
    assert_type(x.size(), taper.Size)
    assert_type(x.size(0), int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.dtype, taper.dtype)
    assert_type(x.device, taper.device)
    assert_type(x.layout, taper.layout)
    assert_type(x.real, Tensor)
    assert_type(x.dim(), int)
    assert_type(x.type(), str)
    assert_type(x.min(dim=0).indices, Tensor)
    assert_type(x.sum().item(), bool | int | float)
    assert_type(x.clone().add_(1).mul_(x).zero_(), Tensor)
    array: npt.NDArray[Any] = x.detach().numpy()
    assert_type(array.ndim, int)
    assert_type(x.float().int().bool(), Tensor)


def gradients(x: Tensor) -> None:
    weight = taper.ones(2, 2, requires_grad=True)
    Double.apply(weight)
    loss = (weight * x).sum()
    assert_type(taper.autograd.grad(loss, [weight], retain_graph=True), tuple[Tensor, ...])
    assert_type(loss.grad_fn, Node | None)
    if loss.grad_fn is not None:
        assert_type(loss.grad_fn.name(), str)
        assert_type(loss.grad_fn.next_functions, tuple[tuple[Node | None, int], ...])
    assert_type(weight.register_hook(lambda grad: grad * 2), RemovableHandle)
    assert_type(loss.backward(), None)
    if weight.grad is not None:
        assert_type(weight.grad.norm(), Tensor)


if __name__ == "__main__":
    training()
    making()
    data()
    for part in (modules, operators, functions, methods, gradients):
        part(taper.ones(2, 2))
