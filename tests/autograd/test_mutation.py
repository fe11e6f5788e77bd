"""S20: `allow_mutation_on_saved_tensors`."""

from __future__ import annotations

import pytest

from autograd_probe import error, function, no_collector, values


def counts(context):
    return len(context.cloned), len(context.original), len(context.tid_to_weakhandle)


def test_s20_backward_uses_the_values_that_were_saved(torch):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = (y**2).sum()
        assert counts(context) == (0, 1, 1)
        y.zero_()
        assert counts(context)[:2] == (1, 0)
        z.backward()
    assert values(x.grad) == [4.0, 6.0]
    assert values(y) == [0.0, 0.0]


def test_s20_a_value_is_cloned_once_for_each_version(torch):
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        first = y.sin() + y.cos() + y * y
        y.add_(1)
        y.add_(1)
        assert len(context.cloned) == 1
        second = y * y
        y.mul_(2)
        assert len(context.cloned) == 2
        (first + second).sum().backward()
    expected = torch.cos(torch.tensor(2.0)) - torch.sin(torch.tensor(2.0)) + 4 + 8
    assert values(x.grad)[0] == pytest.approx(expected.item())


def test_s20_a_value_that_is_not_saved_any_more_is_not_cloned(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = y.sin()
        del z
        y.add_(1)
        z = y.sin().sum()
        z.backward()
        y.add_(1)
        assert counts(context) == (0, 0, 0)


def test_s20_the_context_empties_itself_when_graphs_die(torch):
    x = torch.ones(2, requires_grad=True)
    with no_collector(), torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = y * y
        y.add_(1)
        assert len(context.cloned) == 1
        del z
        assert counts(context) == (0, 0, 0)


@pytest.mark.taper_only
def test_s20_saved_outputs_do_not_keep_their_graph_alive(torch):
    x = torch.ones(2, requires_grad=True)
    with no_collector(), torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = x.exp()
        assert counts(context) == (0, 1, 1)
        del y
        assert counts(context) == (0, 0, 0)


def test_s20_writes_through_views_and_bases_are_seen(torch):
    x = torch.arange(4.0).requires_grad_()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        for write in (lambda base: base.mul_(5), lambda base: base.view(2, 2)[0].zero_()):
            x.grad = None
            base = x.clone()
            out = (base[:2] ** 2).sum() + (base * base).sum()
            write(base)
            out.backward()
            assert values(x.grad) == [0.0, 4.0, 4.0, 6.0]


WRITES = {
    "fill_": lambda torch, b: b.fill_(7),
    "copy_": lambda torch, b: b.copy_(torch.zeros(2, 2)),
    "setitem": lambda torch, b: b.__setitem__((0, 0), 7.0),
    "masked setitem": lambda torch, b: b.__setitem__(b > 0, 7.0),
    "index_put_": lambda torch, b: b.index_put_((torch.tensor([0]),), torch.tensor(7.0)),
    "uniform_": lambda torch, b: b.uniform_(),
    "operator": lambda torch, b: b.__iadd__(1),
    "relu": lambda torch, b: torch.nn.functional.threshold(b, 9.0, 1.0, inplace=True),
    "init": lambda torch, b: torch.nn.init.zeros_(b),
    "detached": lambda torch, b: b.detach().zero_(),
    "data": lambda torch, b: b.data.zero_(),
    "out": lambda torch, b: torch.mul(b, 3, out=b),
    "out of a composite": lambda torch, b: torch.matmul(torch.ones(2, 2), torch.ones(2, 2), out=b),
    "out of a factory": lambda torch, b: torch.zeros(2, 2, out=b),
    "renorm": lambda torch, b: torch.embedding_renorm_(b, torch.tensor([0]), 0.1, 2.0),
}


@pytest.mark.taper_only
def test_s20_one_of_two_outs_is_seen(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        saved = torch.full((2,), 2.0)
        out = x * saved
        torch.sort(torch.zeros(2), out=(saved, torch.zeros(2, dtype=torch.long)))
        out.sum().backward()
    assert values(x.grad) == [2.0, 2.0]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_s20_every_kind_of_write_is_seen(torch, write):
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        saved = torch.full((2, 2), 2.0)
        out = x * saved
        write(torch, saved)
        assert len(context.cloned) == 1
        out.sum().backward()
    assert values(x.grad) == [[2.0, 2.0], [2.0, 2.0]]


def test_s20_a_tensor_may_be_resized_or_look_elsewhere(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        for write in (lambda b: b.resize_(1), lambda b: b.set_(torch.ones(3))):
            saved = torch.full((2,), 2.0)
            out = x * saved
            write(saved)
            x.grad = None
            out.sum().backward()
            assert values(x.grad) == [2.0, 2.0]


def test_s20_optimizers_write_saved_parameters(torch):
    x = torch.ones(1, 2, requires_grad=True)
    layer = torch.nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        layer.weight.fill_(1.0)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        first, second = layer(x).sum(), layer(x).sum()
        first.backward()
        optimizer.step()
        second.backward()
    assert values(x.grad) == [[4.0, 4.0]]


def test_s20_saved_outputs_and_custom_functions(torch):
    x = torch.tensor([3.0], requires_grad=True)

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    square = function(torch, forward, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0])
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = square.apply(y)
        y.zero_()
        z.sum().backward()
        assert values(x.grad) == [6.0]
        x.grad = None
        result = x.sqrt()
        kept = result * 1
        result.mul_(2)
        kept.sum().backward()
    assert values(x.grad)[0] == pytest.approx(0.5 / 3**0.5)


def test_s20_double_backward(torch):
    x = torch.tensor([2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**3).sum()
        y.zero_()
        (first,) = torch.autograd.grad(z, x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
    assert (values(first), values(second)) == ([12.0], [12.0])


def test_s20_backward_must_run_inside_the_block(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        y = (x * x).sum()
    assert error(y.backward) == (
        "AssertionError: Trying to backward outside of the 'allow_mutation_on_saved_tensors' "
        "contextin which the graph was originally recorded."
    )
    assert counts(context) == (0, 0, 0)
    z = (x * x).sum()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        z.backward()
    assert values(x.grad) == [2.0, 2.0]


def test_s20_blocks_cannot_be_nested_and_restore_after_errors(torch):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors

    def enter():
        with allow():
            pass

    with allow():
        assert error(enter) == (
            "RuntimeError: allow_mutation_on_saved_tensors contexts cannot be nested"
        )
    with pytest.raises(KeyError), allow():
        raise KeyError
    enter()
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    z = y * y
    y.add_(1)
    assert "modified by an inplace operation" in error(z.sum().backward)
