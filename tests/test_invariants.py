"""The invariants of the engine, I1 to I7 of docs/architecture.md, one test each."""

from __future__ import annotations

import gc
import itertools
import weakref

import pytest

import taper
from taper.autograd import Function


class Watched(Function):
    """Doubles; notes each backward, and its node can be referred to weakly."""

    seen: list[object] = []  # noqa: RUF012 - a journal, emptied by each test

    @staticmethod
    def forward(ctx, x, name):
        ctx.label = name
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Watched.seen.append(ctx.label)
        return grad * 2, None


def test_i1_a_node_runs_once_when_all_gradients_have_come():
    Watched.seen.clear()
    x = taper.ones(1, requires_grad=True)
    shared = Watched.apply(x, "shared")
    (shared * 3 + shared.exp() + shared).sum().backward()
    assert Watched.seen == ["shared"]


def test_i2_a_node_receives_the_sum_of_what_was_sent():
    x = taper.ones(1, requires_grad=True)
    y = x * 1
    received = []
    y.register_hook(lambda grad: received.append(grad.item()))
    (y * 2 + y * 3 + y * 4).sum().backward()
    assert received == [9.0]


def test_i3_of_the_ready_nodes_the_last_recorded_runs_first():
    Watched.seen.clear()
    x = taper.ones(1, requires_grad=True)
    parts = [Watched.apply(x, name) for name in ("first", "second", "third")]
    sum(parts).backward()
    assert Watched.seen == ["third", "second", "first"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_i3_whatever_the_order_in_which_nodes_get_ready(order):
    Watched.seen.clear()
    x = taper.ones(1, requires_grad=True)
    parts = [Watched.apply(x, name) for name in range(4)]
    taper.cat([parts[each] for each in order]).sum().backward()
    assert Watched.seen == [3, 2, 1, 0]
    Watched.seen.clear()
    parts = [Watched.apply(x, name) for name in range(4)]
    taper.autograd.backward([parts[each] for each in order], [taper.ones(1)] * 4)
    assert Watched.seen == [3, 2, 1, 0]


def test_i4_an_edge_without_a_gradient_is_counted_down():
    class Silent(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None

    x = taper.ones(1, requires_grad=True)
    y = x * 5
    (Silent.apply(y) + y).backward()
    assert x.grad.item() == 5.0


def test_i5_nothing_recurses_over_the_depth_of_the_graph():
    x = taper.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    assert "MulBackward0" in repr(y)
    y.backward()
    assert x.grad.item() == 1.0
    del y  # freeing a chain must not overflow the stack either


def test_i6_a_gradient_with_several_receivers_is_not_written_into():
    a, b = (taper.ones(2, requires_grad=True) for _ in range(2))
    start = taper.tensor([1.0, 2.0])
    total = a + b
    (total + a).backward(start)
    assert start.tolist() == [1.0, 2.0]
    assert a.grad.tolist() == [2.0, 4.0] and b.grad.tolist() == [1.0, 2.0]
    a.grad.zero_()
    assert b.grad.tolist() == [1.0, 2.0]


def test_i7_a_dropped_graph_is_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        x = taper.ones(1, requires_grad=True)
        y = Watched.apply(x.exp().tanh(), "dropped")
        node, leaf = weakref.ref(y.grad_fn), weakref.ref(x)
        y.backward(retain_graph=True)
        del y
        assert node() is None
        del x
        assert leaf() is None
    finally:
        gc.enable()
