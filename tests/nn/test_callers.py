"""Nodes know the module whose forward recorded them; calling one costs a call of `forward`."""

import gc
import threading
import weakref

import pytest

import taper
from taper import nn, viz
from taper.autograd import Function
from taper.autograd.callers import described, module_of, running_module


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(3)
        self.act = nn.ReLU()

    def forward(self, x, *, scale=1.0):
        return self.act(self.norm(x)) * scale


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x, scale=2.0)
        return x + 1


def paths(tensor, model=None):
    return [str(node.module) for node in viz.graph(tensor, model)]


def test_paths_below_the_model_with_and_without_the_model() -> None:
    net = Net()
    out = net(taper.ones(2, 3)).sum()
    expected = [
        "blocks.0.norm LayerNorm",
        "blocks.0.act ReLU",
        "blocks.0 Block",
        "blocks.1.norm LayerNorm",
        "blocks.1.act ReLU",
        "blocks.1 Block",
        "Net",
        "None",
    ]
    assert paths(out, net) == expected
    assert paths(out) == expected
    assert described(module_of(out.grad_fn.next_functions[0][0])) == "Net"


def test_a_module_outside_the_model_has_its_class() -> None:
    net = Net()
    criterion = nn.MSELoss()
    loss = criterion(net(taper.ones(2, 3)), taper.zeros(2, 3))
    assert paths(loss, net)[-1] == "MSELoss"


def test_custom_functions_and_writes_into_views_know_their_module() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Writer(nn.Module):
        def forward(self, x):
            y = Same.apply(x)
            y[0].mul_(2)
            return y

    out = Writer()
    y = out(taper.ones(2, requires_grad=True))
    assert paths(y, out) == ["Writer", "Writer"]
    assert viz.graph(y).nodes[1].name == "CopySlices"


def test_a_graph_keeps_no_module_alive() -> None:
    layer = nn.ReLU()
    y = layer(taper.ones(2, requires_grad=True))
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None
    assert module_of(y.grad_fn) is None
    assert paths(y) == ["None"]


def test_the_running_module_after_errors_in_hooks_and_on_threads() -> None:
    seen = []

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Failing()

        def forward(self, x):
            with pytest.raises(ValueError):
                self.inner(x)
            seen.append(running_module())
            thread = threading.Thread(target=lambda: seen.append(running_module()))
            thread.start()
            thread.join()
            return x

    class Failing(nn.Module):
        def forward(self, x):
            seen.append(running_module())
            raise ValueError("no")

    outer = Outer()
    outer.register_forward_hook(lambda module, args, out: seen.append(running_module()))
    outer(taper.ones(1))
    assert seen == [outer.inner, outer, None, outer]
    assert running_module() is None


def test_arguments_reach_forward_as_given() -> None:
    class Echo(nn.Module):
        def forward(self, *args, **kwargs):
            return args, kwargs

    echo = Echo()
    many = tuple(range(12))
    assert echo() == ((), {})
    assert echo(*many, a=1, b=2) == (many, {"a": 1, "b": 2})
    echo.forward = lambda x: x + 1
    assert echo(1) == 2
    echo.register_forward_hook(lambda module, args, out: out * 10)
    assert echo(x=1) == 20


def test_a_module_without_init_is_refused_as_before() -> None:
    class Bare(nn.Module):
        def __init__(self) -> None:
            pass

    with pytest.raises(AttributeError, match="'Bare' object has no attribute '_backward_hooks'"):
        Bare()(1)


def test_deep_nesting_is_a_recursion_error() -> None:
    class Itself(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Itself()(1)
    assert running_module() is None
