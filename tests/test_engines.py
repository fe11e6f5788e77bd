"""The native engine and its Python twin do the same: order, hooks, gradients (D7)."""

from __future__ import annotations

import random
import threading
import weakref

import numpy as np
import pytest

import taper
from taper.arrays.native import native
from taper.autograd import Function, engine
from taper.autograd.state import local

needs_native = pytest.mark.skipif(native is None, reason="the native module is not built, or off")

SHAPES = [(), (3,), (2, 3), (2, 1), (1, 3)]


def do_without(patch):
    """Let the Python twins run passes."""
    patch.setattr(engine, "run_pass", None)
    patch.setattr(engine, "leading", None)


class Noted(Function):
    """Twice its first argument, and thrice; notes what its backward receives."""

    @staticmethod
    def forward(ctx, first, second, name, journal, way):
        ctx.set_materialize_grads(way == "undefined")
        ctx.name, ctx.journal, ctx.way = name, journal, way
        return first * 2, second * 3

    @staticmethod
    def backward(ctx, first, second):
        ctx.journal.append((ctx.name, described(first), described(second)))
        if ctx.way == "fails":
            raise KeyError(ctx.name)
        if ctx.way == "none":
            return None, second, None, None, None
        return first, second, None, None, None


class OwnEquality(taper.Tensor):
    """A class whose tensors dictionaries would not find by identity."""

    def __hash__(self):
        return 7

    def __eq__(self, other):
        return super().__eq__(other)


def described(value):
    if value is None:
        return None
    array = value.detach().numpy()
    return (array.dtype.str, array.shape, array.strides, array.tobytes())


class Graph:
    """A graph made from a seed, with whatever may be about its leaves, tensors and nodes."""

    def __init__(self, seed, ways=("plain", "none", "undefined")):
        self.rng = random.Random(seed)
        self.ways = ways
        self.journal = []
        self.kept = []
        self.leaves = [self.leaf(nr) for nr in range(self.rng.randrange(2, 6))]
        self.tensors = list(self.leaves)
        for nr in range(self.rng.choice([3, 10, 20, 60])):
            self.tensors += self.step(nr)
        for nr, each in enumerate(self.tensors):
            if self.rng.random() < 0.15:
                self.watch(nr, each)

    def note(self, *entry):
        self.journal.append(entry)

    def leaf(self, nr):
        rng = self.rng
        shape = rng.choice(SHAPES)
        dtype = rng.choice([np.float32, np.float32, np.float64])
        values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape) / 8
        tensor = taper.tensor(values.astype(dtype))
        if len(shape) == 2 and rng.random() < 0.3:
            tensor = tensor.t().contiguous().t()
        if rng.random() < 0.2:
            tensor = tensor.as_subclass(OwnEquality)
        tensor.requires_grad_()
        if rng.random() < 0.2:  # somebody holds its AccumulateGrad, or has held it
            self.kept.append((tensor * 1).grad_fn.next_functions[0][0])
            if rng.random() < 0.5:
                self.kept.pop()
        if rng.random() < 0.2:
            tensor.grad = taper.ones_like(tensor)
        if rng.random() < 0.2:
            tensor.register_post_accumulate_grad_hook(
                lambda leaf: self.note("accumulated", nr, described(leaf.grad))
            )
        return tensor

    def step(self, nr):
        rng = self.rng
        one, two = (rng.choice(self.tensors[-6:] + self.leaves) for _ in range(2))
        kind = rng.randrange(11)
        if kind < 3:
            return [(taper.mul, taper.add, taper.sub)[kind](one, two)]
        if kind == 3:
            return [one.sum()]
        if kind == 4:
            return list(taper.stack([one.sum(), two.sum(), one.sum()]).unbind())
        if kind == 5:
            return [taper.cat([one.reshape(-1), two.reshape(-1), one.reshape(-1)]).sum()]
        if kind == 6:
            return [one.to(rng.choice([taper.float32, taper.float64])), one + one]
        way = rng.choice(self.ways)
        return list(Noted.apply(one, two, f"step {nr}", self.journal, way))

    def watch(self, nr, tensor):
        kind = self.rng.randrange(5)
        if kind == 0:
            tensor.register_hook(lambda grad: self.note("hook", nr, described(grad)))
        if kind == 1:
            tensor.register_hook(lambda grad: None if grad is None else grad * 2)
        if kind == 2 and tensor.grad_fn is not None:
            tensor.retain_grad()
        if kind == 3 and tensor.grad_fn is not None:
            name = f"after {nr}"
            tensor.grad_fn.register_hook(
                lambda inputs, outputs: self.note(
                    name,
                    [described(each) for each in inputs],
                    [described(each) for each in outputs],
                )
            )
        if kind == 4 and tensor.grad_fn is not None:
            tensor.grad_fn.register_prehook(
                lambda outputs: self.note("before", nr, [described(each) for each in outputs])
            )

    def run(self):
        """Passes of one kind or another; what they returned, or raised, and what they left."""
        rng = self.rng
        roots = rng.choices(self.tensors[-8:], k=rng.randrange(1, 5))
        grads = [taper.ones_like(each) for each in roots]
        options = {"retain_graph": rng.random() < 0.5, "create_graph": rng.random() < 0.2}
        inputs = rng.sample(self.tensors, 3) if len(self.tensors) > 3 else self.leaves
        found = []
        for _ in range(rng.randrange(1, 3)):
            kind = rng.randrange(4)
            try:
                if kind < 2:
                    taper.autograd.backward(roots, grads, **options)
                elif kind == 2:
                    taper.autograd.backward(roots, grads, inputs=inputs, **options)
                else:
                    grad = taper.autograd.grad
                    found += grad(roots, inputs, grads, allow_unused=True, **options)
            except (RuntimeError, KeyError) as error:
                self.note(type(error).__name__, str(error))
            assert local.state.graph_task is None and local.state.current_node is None
        results = [described(each) for each in found]
        for each in self.tensors:
            if each.is_leaf or each.retains_grad:
                results.append(described(each.grad))
                results.append(None if each.grad is None else each.grad._version)
        return self.journal, results


@needs_native
@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("part", range(10))
def test_random_graphs_run_alike(part, monkeypatch):
    steps = 0
    for seed in range(part * 100, part * 100 + 100):
        natively = Graph(seed).run()
        with monkeypatch.context() as patch:
            do_without(patch)
            assert Graph(seed).run() == natively, seed
        steps += len(natively[0])
    assert steps > 300  # what there is to compare


@needs_native
@pytest.mark.parametrize("part", range(4))
def test_passes_that_fail_leave_the_same(part, monkeypatch):
    failed = 0
    for seed in range(part * 100, part * 100 + 100):
        natively = Graph(seed, ("plain", "plain", "plain", "fails")).run()
        with monkeypatch.context() as patch:
            do_without(patch)
            assert Graph(seed, ("plain", "plain", "plain", "fails")).run() == natively, seed
        failed += any(entry[0] == "KeyError" for entry in natively[0])
    assert failed > 5


@needs_native
def test_the_nodes_that_lead_to_some_are_the_same():
    found = 0
    for seed in range(300):
        graph = Graph(seed)
        nodes = [each.grad_fn for each in graph.tensors if each.grad_fn is not None]
        roots = graph.rng.choices(nodes[-8:], k=graph.rng.randrange(1, 4))
        targets = dict.fromkeys(graph.rng.choices(nodes, k=3))
        leaf = graph.rng.choice(graph.leaves)
        targets[(leaf * 1).grad_fn.next_functions[0][0]] = None
        leading = native.leading(targets, roots)
        assert leading == engine.nodes_leading_to(targets, roots), seed
        found += len(leading)
    assert found > 1000


@needs_native
def test_a_pass_for_some_inputs_goes_as_deep_as_any():
    x = taper.ones((), requires_grad=True)
    deep = x
    for _ in range(200_000):
        deep = deep + x
    (grad,) = taper.autograd.grad(deep, x)
    assert grad.item() == 200_001


@pytest.mark.parametrize("wrong", [(), ({},), ([], []), ({}, {}), ({}, [1]), ({}, [None])])
@needs_native
def test_leading_takes_nodes_only(wrong):
    with pytest.raises(TypeError):
        native.leading(*wrong)


@needs_native
@pytest.mark.parametrize("native_too", [True, False])
def test_what_a_pass_reaches_can_be_asked(native_too, monkeypatch):
    """`will_run` knows nodes, those of leaves too, asked for before the pass or in it."""
    if not native_too:
        do_without(monkeypatch)
    early, late, other = (taper.ones(2, requires_grad=True) for _ in range(3))
    node = (early * 1).grad_fn.next_functions[0][0]
    product, outside = early * late, (other * 1).grad_fn
    asked = []

    def ask(grad):
        task = local.state.graph_task
        made = product.grad_fn.next_functions[1][0]
        for each in (product.grad_fn, node, made, outside, outside.next_functions[0][0]):
            asked.append(task.will_run(each))

    product.register_hook(ask)
    (product * late).sum().backward()
    assert asked == [True, True, True, False, False]
    assert (early.grad.tolist(), late.grad.tolist()) == ([1.0, 1.0], [2.0, 2.0])


@pytest.mark.parametrize("native_too", [True, False])
def test_passes_of_several_threads_over_one_graph(native_too, monkeypatch):
    if not native_too:
        do_without(monkeypatch)
    leaves = [taper.ones(3, requires_grad=True) for _ in range(5)]
    total = leaves[0]
    for nr in range(60):
        total = total * leaves[nr % 5] + leaves[(nr + 2) % 5]
    loss = (total / 1e20).sum()
    grads = taper.autograd.grad(loss, leaves, retain_graph=True)
    threads = [
        threading.Thread(target=loss.backward, kwargs={"retain_graph": True}) for _ in range(6)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for leaf, grad in zip(leaves, grads, strict=True):
        taper.testing.assert_close(leaf.grad, grad * 6)


@pytest.mark.parametrize("native_too", [True, False])
def test_nothing_of_a_pass_lives_on(native_too, monkeypatch):
    """Neither nodes nor gradients nor what holds them are left, also after an error."""
    if not native_too:
        do_without(monkeypatch)
    for way in ("plain", "fails"):
        leaf = taper.ones(2, requires_grad=True)
        first = Noted.apply(leaf * 2, leaf, "noted", [], way)[0]
        node = weakref.ref(first.grad_fn)
        try:
            first.sum().backward()
        except KeyError:
            pass
        del first
        assert node() is None
