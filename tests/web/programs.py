"""The programs whose graphs the browser tests look at."""

from __future__ import annotations

from collections.abc import Callable

import taper
from taper import nn, viz
from taper.vision import models


def multiplication() -> viz.Page:
    """The notes' first example, with the tape of its backward."""
    a = taper.tensor(2.0, requires_grad=True)
    b = taper.tensor(3.0, requires_grad=True)
    c = taper.tensor(4.0)
    loss = a * b * c
    graph = viz.graph(loss)
    with viz.debug_backward() as tape:
        loss.backward()
    return viz.show(graph, tape=tape)


def perceptron() -> viz.Page:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    x, target = taper.randn(5, 4), taper.tensor([0, 1, 2, 0, 1])
    loss = nn.functional.cross_entropy(model(x), target)
    graph = viz.graph(loss, model)  # here, where the variables have their names
    with viz.debug_backward() as tape:
        loss.backward()
    return viz.show(graph, tape=tape)


def resnet18() -> viz.Page:
    model = models.resnet18(num_classes=10)
    x = taper.randn(2, 3, 32, 32)
    return _played(model, lambda: model(x).sum())


def transformer() -> viz.Page:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.TransformerEncoder(layer, 12), nn.Linear(16, 5))
    x = taper.randn(2, 7, 16)
    return _played(model, lambda: model(x).pow(2).mean())


def lstm() -> viz.Page:
    cell, head = nn.LSTMCell(3, 8), nn.Linear(8, 1)
    model = nn.ModuleDict({"cell": cell, "head": head})
    state = taper.zeros(4, 8), taper.zeros(4, 8)
    losses = []
    for step in taper.randn(50, 4, 3):
        state = cell(step, state)
        losses.append(head(state[0]).square().mean())
    loss = taper.stack(losses).mean()
    return viz.show(loss, model)


def in_place_on_views() -> viz.Page:
    x = taper.ones(4, 3, requires_grad=True)
    y = x * 1
    top = y[:2]
    top.mul_(3)
    y[:, 0].add_(1)
    loss = y.sum()
    return viz.show(loss)


def double_backward() -> viz.Page:
    x = taper.tensor([0.5, 1.5], requires_grad=True)
    y = (x.sin() * x).sum()
    (slope,) = taper.autograd.grad(y, x, create_graph=True)
    penalty = slope.square().sum()
    return viz.show(penalty)


def functional_loop() -> viz.Page:
    x = taper.ones(3, requires_grad=True)
    h = x
    for _ in range(3400):
        h = taper.tanh(h * 1.01)
        h = h + x
    return viz.show(h)


def long_chain() -> viz.Page:
    h = taper.ones(1, requires_grad=True)
    for _ in range(30_000):
        h = h * 1.0
    return viz.show(h)


def strange_names() -> viz.Page:
    model = nn.Module()
    name = "<script>window['owned']=1</script>"
    model.register_parameter(name, nn.Parameter(taper.ones(2)))
    loss = getattr(model, name).exp().sum()
    return viz.show(loss, model, title="</script><img src=x onerror=alert(1)>")


PROGRAMS = {
    each.__name__: each
    for each in (
        multiplication,
        perceptron,
        resnet18,
        transformer,
        lstm,
        in_place_on_views,
        double_backward,
        functional_loop,
        long_chain,
        strange_names,
    )
}


def _played(model: nn.Module, compute: Callable[[], taper.Tensor]) -> viz.Page:
    """The page of a graph as it was before its backward pass, with the times of both passes."""
    with viz.debug_backward(forward=True) as tape:
        loss = compute()
        graph = viz.graph(loss, model)
        loss.backward()
    return viz.show(graph, tape=tape)
