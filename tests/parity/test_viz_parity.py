"""The same programs on taper and on PyTorch give the same pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import taper
from taper.viz import Dot, make_dot
from taper.viz.drawing import Drawing

Program = Callable[[Any], tuple[Any, dict[str, Any]]]


def product(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(3, requires_grad=True)
    y = lib.full((3,), 2.0, requires_grad=True)
    return x * y, {"x": x, "y": y}


def square_of_a_leaf(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(2, 3, requires_grad=True)
    return (x * x).sum(), {"x": x}


def power_and_constant(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(3, requires_grad=True)
    return ((x + lib.ones(3)) ** 2).exp().sum(0), {"x": x}


def two_layers_with_cross_entropy(lib: Any) -> tuple[Any, dict[str, Any]]:
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(8, 16), lib.nn.ReLU(), lib.nn.Linear(16, 1))
    loss = lib.nn.functional.binary_cross_entropy_with_logits(
        model(lib.randn(4, 8)), lib.rand(4, 1)
    )
    return loss, dict(model.named_parameters())


def two_layers_by_hand(lib: Any) -> tuple[Any, dict[str, Any]]:
    lib.manual_seed(0)
    first = lib.randn(8, 4, requires_grad=True)
    second = lib.randn(4, 1, requires_grad=True)
    hidden = lib.tanh(lib.randn(5, 8) @ first)
    probability = lib.sigmoid(hidden @ second)
    loss = lib.nn.functional.binary_cross_entropy(probability, lib.ones(5, 1))
    return loss, {"first": first, "second": second}


def custom_function(lib: Any) -> tuple[Any, dict[str, Any]]:
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: Any) -> Any:
            result = x * factor
            ctx.save_for_backward(x, None, factor, result)
            ctx.name = "an attribute that hides the method"
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    x = lib.ones(3, requires_grad=True)
    return Scale.apply(x.exp(), lib.full((3,), 2.0)), {"x": x}


def views(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(6, requires_grad=True)
    base = x * 2
    return (base.view(2, 3), base[:2], x.view(3, 2), base.view(3, 2).sum()), {"x": x, "base": base}


def view_of_a_view(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(2, 3, requires_grad=True)
    return x.t()[1:], {"x": x}


def leaf_alone(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(2, requires_grad=True)
    return x, {"x": x}


def write_into_a_part(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(4, requires_grad=True)
    y = x * 3
    y[1:].mul_(x[1:])
    return y.sum(), {"x": x}


def index_with_a_tensor(lib: Any) -> tuple[Any, dict[str, Any]]:
    x = lib.ones(2, 3, requires_grad=True)
    return x[:, lib.tensor([0, 2])], {"x": x}


PROGRAMS: list[Program] = [
    product,
    square_of_a_leaf,
    power_and_constant,
    two_layers_with_cross_entropy,
    two_layers_by_hand,
    custom_function,
    views,
    view_of_a_view,
    leaf_alone,
    write_into_a_part,
    index_with_a_tensor,
]
OPTIONS = [
    {},
    {"show_saved": True},
    {"show_attrs": True},
    {"show_saved": True, "show_attrs": True, "max_attr_chars": 6},
]


def picture(lib: Any, program: Program, options: dict[str, Any]) -> Dot:
    made = program(lib)  # no variable holds the result: taper would show its name
    return make_dot(made[0], made[1], **options)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options) or "plain")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_picture(program: Program, options: dict[str, Any]) -> None:
    ours, theirs = (picture(lib, program, options) for lib in (taper, torch))
    assert ours.source.split("\n") == theirs.source.split("\n")
    assert ours.svg() == theirs.svg()


@pytest.mark.parametrize("lib", [taper, torch], ids=["taper", "torch"])
def test_saved_values_of_a_freed_graph(lib: Any) -> None:
    x = lib.ones(3, requires_grad=True)
    result = (x * x).sum()
    result.backward()
    assert len(make_dot(result).boxes) == 5
    for option in ({"show_saved": True}, {"show_attrs": True}):
        with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second"):
            make_dot(result, **option)


@pytest.mark.parametrize("lib", [taper, torch], ids=["taper", "torch"])
def test_a_picture_takes_nothing_from_the_backward_pass(lib: Any) -> None:
    class Once(lib.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * x

    x = lib.full((2,), 3.0, requires_grad=True)
    result = Once.apply(x).exp().sum()
    make_dot(result, {"x": x}, show_attrs=True, show_saved=True).svg()
    result.backward()
    assert x.grad is not None
    assert x.grad.tolist() == pytest.approx([3 * 403.4288] * 2)


@pytest.mark.parametrize("lib", [taper, torch], ids=["taper", "torch"])
def test_deep_graphs(lib: Any) -> None:
    result = lib.ones(1, requires_grad=True)
    for _ in range(20_000):
        result = result + 1
    assert len(Drawing(result, saved=True, attributes=True).vertices) == 20_003
