"""W: graphs die by reference counting alone."""

from __future__ import annotations

import gc
import weakref

import pytest

from autograd_probe import no_collector, values


def probe(torch):
    """Return an identity function whose nodes can be watched."""

    class Probe(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.clone()

    return Probe


def dies(make):
    """Return whether the object of `make()`'s weak reference dies without the collector."""
    with no_collector():
        return make()() is None


def saves_its_output(torch):
    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]

    return Save


GRAPHS = {
    "chain": lambda torch, x: (x * 2).exp().sum(),
    "saved output": lambda torch, x: x.exp().tanh().sigmoid(),
    "custom saved output": lambda torch, x: saves_its_output(torch).apply(x),
    "in place": lambda torch, x: x.clone().mul_(2).exp_(),
    "in place on a view": lambda torch, x: written_view(x),
    "view of a write": lambda torch, x: x.clone().mul_(2).view(2, 1).mul_(3),
    "retain_grad": lambda torch, x: retained(x * 2),
    "hooks": lambda torch, x: hooked(x * 2),
    "raw saved": lambda torch, x: looked_at(x * x),
    "packed": lambda torch, x: packed(torch, x),
    "many outputs": lambda torch, x: x.view(2, 1).unbind()[0] * 2,
    "dual views": lambda torch, x: (x * 2).view(2, 1).t().expand(3, 2),
}


def written_view(x):
    base = x * 1
    base[:1].exp_()
    return base


def retained(y):
    y.retain_grad()
    return y.exp()


def hooked(y):
    y.register_hook(lambda grad: grad * 2)
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.grad_fn.register_prehook(lambda outputs: None)
    return y.exp()


def looked_at(y):
    assert y.grad_fn._raw_saved_self.data is not None
    assert y.grad_fn._saved_self is not None
    return y


def packed(torch, x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        return (x * x).exp()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("backward", ["none", "retained", "freed"])
def test_w1_dropping_the_last_output_frees_the_graph(torch, name, backward):
    leaf = torch.ones(2, requires_grad=True)
    watch = probe(torch)

    def make():
        start = watch.apply(leaf)
        reference = weakref.ref(start.grad_fn)
        end = GRAPHS[name](torch, start)
        del start
        assert reference() is not None
        if backward != "none":
            end.sum().backward(retain_graph=backward == "retained")
        assert reference() is not None
        return reference

    assert dies(make)


def unreachable_of(torch):
    """Return the library's objects that only the collector could free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [each for each in gc.garbage if type(each).__module__.startswith(torch.__name__)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_w1_nothing_is_left_for_the_collector(torch):
    leaf = torch.ones(2, requires_grad=True)
    # A class defined in a function is a cycle of its own.
    graphs = [GRAPHS[name] for name in GRAPHS if not name.startswith("custom")]
    for graph in graphs:
        graph(torch, leaf).sum().backward()  # compiles operators, fills caches
    with no_collector():
        for graph in graphs:
            graph(torch, leaf * 1).sum().backward()
        assert unreachable_of(torch) == []


@pytest.mark.parametrize("custom", [False, True])
def test_w2_a_long_chain_is_freed_without_overflow(torch, custom):
    leaf = torch.ones(1, requires_grad=True)
    y = leaf
    step = probe(torch).apply if custom else (lambda x: x + 1)
    for _ in range(20_000 if custom else 150_000):
        y = step(y)
    del y
    assert leaf.requires_grad


def test_w2_a_long_chain_of_saved_values_runs_and_is_freed(torch):
    leaf = torch.ones(1, requires_grad=True)
    y = leaf
    for _ in range(150_000):
        y = y * 1.0
    y.backward()
    assert values(leaf.grad) == [1.0]
    del y


def test_w3_a_leaf_and_its_accumulator_are_no_cycle(torch):
    def make():
        leaf = torch.ones(2, requires_grad=True)
        leaf.register_hook(lambda grad: None)
        leaf.register_post_accumulate_grad_hook(lambda leaf: None)
        (leaf * 2).sum().backward()
        return weakref.ref(leaf)

    assert dies(make)


def test_w3_a_dirty_view_that_is_saved_is_no_cycle(torch):
    class Write(torch.autograd.Function):
        @staticmethod
        def forward(ctx, view, value):
            view.mul_(value)
            ctx.mark_dirty(view)
            ctx.save_for_backward(view, value)
            return view

        @staticmethod
        def backward(ctx, grad):
            view, value = ctx.saved_tensors
            return grad * value, grad * view

    leaf = torch.ones(2, requires_grad=True)
    watch = probe(torch)

    def make():
        base = watch.apply(leaf)
        reference = weakref.ref(base.grad_fn)
        Write.apply(base.view(2, 1), torch.full((2, 1), 3.0, requires_grad=True))
        base.sum().backward()
        return reference

    assert dies(make)
    assert values(leaf.grad) == [3.0, 3.0]


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_w3_anomaly_parents_are_no_cycle(torch):
    leaf = torch.ones(2, requires_grad=True)
    watch = probe(torch)

    def make():
        with torch.autograd.set_detect_anomaly(True):
            start = watch.apply(leaf)
            reference = weakref.ref(start.grad_fn)
            y = (start * start).sum()
            del start
            (grad,) = torch.autograd.grad(y, leaf, create_graph=True)
            grad.sum().backward()
        return reference

    assert dies(make)


def watched_save(torch, kept):
    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            inner = x * 3
            kept.append(weakref.ref(inner))
            ctx.save_for_backward(inner)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Save


def test_w4_saved_tensors_live_as_long_as_they_are_needed(torch):
    leaf = torch.ones(2, requires_grad=True)
    kept = []
    save = watched_save(torch, kept)
    with no_collector():
        y = save.apply(leaf)
        assert kept[-1]() is not None
        del y
        assert kept[-1]() is None
        y = save.apply(leaf)
        y.sum().backward(retain_graph=True)
        assert kept[-1]() is not None
        y.sum().backward()
        assert kept[-1]() is None


def test_w5_a_cycle_of_the_users_is_collected_but_not_while_in_use(torch):
    leaf = torch.ones(2, requires_grad=True)
    watch = probe(torch)
    start = watch.apply(leaf)
    start.register_hook(lambda grad, node=start.grad_fn: None)
    reference = weakref.ref(start.grad_fn)
    end = start * 2
    del start
    gc.collect()
    assert reference() is not None
    end.sum().backward()
    del end
    gc.collect()
    assert reference() is None


def test_w6_a_shared_node_lives_until_its_last_output_dies(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    with no_collector():
        first, second = Two.apply(torch.ones(2, requires_grad=True))
        reference = weakref.ref(first.grad_fn)
        del first
        assert reference() is not None
        del second
        assert reference() is None


@pytest.mark.filterwarnings("ignore:Using backward")
def test_w7_the_known_cycle_of_create_graph_is_broken_by_clearing_grad(torch):
    def make():
        leaf = torch.ones(2, requires_grad=True)
        (leaf * leaf).sum().backward(create_graph=True)
        reference = weakref.ref(leaf)
        leaf.grad = None
        return reference

    assert dies(make)


def test_w8_collecting_while_a_graph_is_destroyed_is_safe(torch):
    class Collect:
        def __del__(self):
            gc.collect()

    leaf = torch.ones(2, requires_grad=True)
    y = probe(torch).apply(leaf)
    y.grad_fn.thing = Collect()
    z = y * 2
    del y
    del z
    (leaf * 2).sum().backward()
    assert values(leaf.grad) == [2.0, 2.0]


def test_w9_tensors_can_be_weakly_referenced(torch):
    x = torch.ones(2)
    reference = weakref.ref(x)
    assert reference() is x
    del x
    assert reference() is None


def test_w10_a_fresh_gradient_is_not_copied(torch):
    x = torch.ones(1000, requires_grad=True)
    seen = []
    y = x * 2
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(inputs[0].data_ptr()))
    y.sum().backward()
    assert x.grad.data_ptr() == seen[0] or len(seen) == 1
    w = torch.ones(3, requires_grad=True)
    addresses = []
    w.register_hook(lambda grad: addresses.append(grad.data_ptr()))
    (w * 3).sum().backward()
    assert w.grad.data_ptr() == addresses[0]
