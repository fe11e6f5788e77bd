"""P9: checkpoints inside checkpoints, passes inside passes, and the lifetime of all of it."""

from __future__ import annotations

import weakref

import pytest

from autograd_probe import no_collector, values
from checkpoint_probe import Counted, leaf, plain_grad, sin_cos


def nested(torch, depth, early_stop=True):
    """Return `depth` checkpoints, one inside the other, and the counters of all of them."""
    if depth == 0:
        counted = Counted(lambda x: x.sin().exp().sin())
        return counted, [counted]
    inner, counters = nested(torch, depth - 1, early_stop)

    def run(x):
        call = torch.utils.checkpoint.checkpoint
        y = call(inner, x.sin().exp(), use_reentrant=False, early_stop=early_stop)
        return y.exp().sin()

    counted = Counted(run)
    return counted, [*counters, counted]


def plain(depth):
    def run(x):
        for _ in range(depth):
            x = x.sin().exp()
        x = x.sin().exp().sin()
        for _ in range(depth):
            x = x.exp().sin()
        return x

    return run


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
@pytest.mark.parametrize("early_stop", [True, False])
def test_p9_each_level_is_computed_once_more_than_the_one_around_it(torch, depth, early_stop):
    run, counters = nested(torch, depth, early_stop)
    x = leaf(torch)
    torch.utils.checkpoint.checkpoint(
        run, x, use_reentrant=False, early_stop=early_stop
    ).sum().backward()
    assert values(x.grad) == pytest.approx(plain_grad(torch, plain(depth)), rel=1e-5)
    assert [each.begun for each in counters] == list(range(depth + 2, 1, -1))
    last = 1 if early_stop else 0
    assert [each.ended for each in counters] == [each.begun - last for each in counters]


def test_p9_a_checkpoint_at_the_end_of_a_checkpoint(torch):
    inner = Counted(sin_cos)
    outer = Counted(lambda x: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=False))
    x = leaf(torch)
    torch.utils.checkpoint.checkpoint(outer, x, use_reentrant=False).sum().backward()
    assert values(x.grad) == plain_grad(torch, sin_cos)
    assert (inner.begun, outer.begun) == (2, 2)


@pytest.mark.parametrize("inner_kind", [True, False])
def test_p9_the_kinds_inside_each_other(torch, inner_kind):
    def inner(x):
        return torch.utils.checkpoint.checkpoint(sin_cos, x, use_reentrant=inner_kind).exp()

    x = leaf(torch)
    torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=not inner_kind).sum().backward()
    assert values(x.grad) == plain_grad(torch, lambda x: sin_cos(x).exp())


@pytest.mark.parametrize("depth", [1, 3])
def test_p9_double_backward_and_retained_graphs(torch, depth):
    run, _ = nested(torch, depth)

    def grads(call):
        x = leaf(torch)
        y = call(x).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x, retain_graph=True)
        (again,) = torch.autograd.grad(y, x, retain_graph=True)
        first.sum().backward()
        return [values(each) for each in (first, second, again, x.grad)]

    def checkpointed(x):
        return torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)

    for found, expected in zip(grads(checkpointed), grads(plain(depth)), strict=True):
        assert found == pytest.approx(expected, rel=1e-4)


def test_p9_a_gradient_taken_inside(torch):
    call = torch.utils.checkpoint.checkpoint

    def penalty(x, checkpointed):
        y = call(sin_cos, x, use_reentrant=False) if checkpointed else sin_cos(x)
        (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return grad * y

    x = leaf(torch)
    call(penalty, x, True, use_reentrant=False).sum().backward()
    assert values(x.grad) == pytest.approx(plain_grad(torch, lambda x: penalty(x, False)))


def test_p9_a_pass_from_a_hook_on_the_same_graph(torch):
    x = leaf(torch)
    run = Counted(lambda x: x.sin().exp().cos())
    y = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    total = y.sum()
    seen = []

    def hook(grads):
        if not seen:  # the pass inside comes here, too
            seen.append(None)
            seen[0] = torch.autograd.grad(total, x, retain_graph=True)[0]

    y.grad_fn.next_functions[0][0].register_prehook(hook)
    y.exp().sum().backward(retain_graph=True)
    assert values(seen[0]) == plain_grad(torch, lambda x: x.sin().exp().cos())
    assert values(x.grad) == plain_grad(torch, lambda x: x.sin().exp().cos().exp())
    assert run.begun == 3


def test_p9_nested_inputs_are_not_kept(torch):
    """Only the outermost inputs are tensors; the inner ones are made again."""
    kept = []

    def inner(x):
        kept.append(weakref.ref(x))
        return x.sin().cos()

    def outer(x):
        return torch.utils.checkpoint.checkpoint(inner, x.exp(), use_reentrant=False).sin()

    y = torch.utils.checkpoint.checkpoint(outer, leaf(torch), use_reentrant=False)
    assert kept[0]() is None
    y.sum().backward()
    assert all(each() is None for each in kept)


class Witness:
    """An object whose death can be observed."""


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("ends", ["dropped", "backward", "retained", "failed", "looked at"])
def test_p9_a_graph_dies_by_reference_counting(torch, reentrant, ends):
    def make():
        witness = Witness()
        fails = []

        def run(x, witness):
            if fails:
                raise KeyError("no")
            return x.exp().sin()

        y = torch.utils.checkpoint.checkpoint(run, leaf(torch), witness, use_reentrant=reentrant)
        if ends in ("backward", "retained"):
            y.sum().backward(retain_graph=ends == "retained")
        elif ends == "failed":
            fails.append(True)
            try:
                y.sum().backward()
            except KeyError:
                pass
        elif ends == "looked at" and not reentrant:
            assert y.grad_fn._saved_self is not None
        return weakref.ref(witness)

    with no_collector():
        assert make()() is None


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_p9_recomputed_values_die_with_the_pass(torch, depth):
    made = []

    def innermost(x):
        y = x.exp()
        made.append(weakref.ref(y))
        return y.sin()

    def wrapped(level):
        if level == 0:
            return innermost
        inner = wrapped(level - 1)
        return lambda x: torch.utils.checkpoint.checkpoint(
            inner, x.sin(), use_reentrant=False
        ).cos()

    with no_collector():
        y = torch.utils.checkpoint.checkpoint(wrapped(depth), leaf(torch), use_reentrant=False)
        assert [each() for each in made] == [None]
        y.sum().backward(retain_graph=True)
        assert len(made) == depth + 2
        assert [each() for each in made] == [None] * len(made)


def test_p9_values_that_nobody_waits_for_are_not_kept(torch):
    """A saved value whose node is gone is not filed; the others are dropped as they are used."""
    alive = []

    def run(x):
        one, other = x.exp(), x.cos()
        return one.sin(), other.sin()

    x = leaf(torch)
    one, other = torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False)
    node = one.grad_fn
    del other
    x.register_hook(lambda grad: alive.append(node._raw_saved_self.data))
    one.sum().backward()
    assert alive
    assert values(x.grad) == plain_grad(torch, lambda x: x.exp().sin())
