"""Claims H1, I1 to I3, J1 and J2 of the notes: custom functions, optimizers, where `nn` begins."""

from __future__ import annotations

import copy

import pytest

import taper
from taper import nn
from taper.autograd import Function
from taper.autograd.function import once_differentiable


class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


def test_h1_forward_backward_apply_and_saved_tensors():
    x = taper.tensor([0.0, 1.0], requires_grad=True)
    y = Exp.apply(x)
    assert y.grad_fn.name() == "ExpBackward" and type(y.grad_fn) is Exp._backward_cls
    y.sum().backward()
    assert taper.equal(x.grad, x.exp())
    z = Exp.apply(x)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_h1_needs_input_grad_and_non_differentiable_outputs():
    class Sorted(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.needs = ctx.needs_input_grad
            values, order = x.sort()
            ctx.mark_non_differentiable(order)
            ctx.save_for_backward(order)
            return values, order

        @staticmethod
        def backward(ctx, grad, _):
            (order,) = ctx.saved_tensors
            return taper.zeros_like(grad).index_add(0, order, grad), None

    x = taper.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, order = Sorted.apply(x, taper.ones(1))
    assert values.grad_fn.needs == (True, False)
    assert values.requires_grad and not order.requires_grad
    (values * taper.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100.0, 1.0, 10.0]


def test_h1_mark_dirty_returns_the_same_object():
    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = taper.ones(2, requires_grad=True)
    y = x.clone()
    assert Doubled.apply(y) is y and y.grad_fn.name() == "DoubledBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_h1_once_differentiable_materialize_and_setup_context():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x, x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx, grad, unused):
            assert unused is None
            (x,) = ctx.saved_tensors
            return 2 * grad * x

    x = taper.tensor(3.0, requires_grad=True)
    start = taper.tensor(1.0, requires_grad=True)
    (grad,) = taper.autograd.grad(Square.apply(x)[0], x, start, create_graph=True)
    assert grad.item() == 6.0
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        grad.backward()


def test_i1_groups_hold_the_parameters_and_state_is_keyed_by_them():
    model = nn.Linear(2, 1)
    optimizer = taper.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    held = optimizer.param_groups[0]["params"]
    assert held[0] is model.weight and held[1] is model.bias
    before = model.weight.tolist()
    model(taper.ones(1, 2)).sum().backward()
    optimizer.step()
    assert set(optimizer.state) == set(model.parameters())
    assert held[0].tolist() == model.weight.tolist() != before


def test_i2_step_skips_parameters_without_gradient():
    used, unused = (taper.ones(1, requires_grad=True) for _ in range(2))
    optimizer = taper.optim.SGD([used, unused], lr=0.1)
    (used * 2).backward()
    optimizer.step()
    assert used.item() == pytest.approx(0.8) and unused.item() == 1.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Three steps on x ** 2 from 1, as PyTorch 2.13 gives them.
        ({}, [0.8, 0.64, 0.512]),
        ({"momentum": 0.9}, [0.8, 0.46, 0.062]),
        ({"momentum": 0.9, "dampening": 0.5}, [0.8, 0.54, 0.252]),
        ({"momentum": 0.9, "nesterov": True}, [0.62, 0.2224, -0.108352]),
        ({"weight_decay": 0.1}, [0.79, 0.6241, 0.493039]),
        ({"maximize": True}, [1.2, 1.44, 1.728]),
    ],
    ids=str,
)
def test_i2_sgd_and_its_options(options, expected):
    x = taper.ones(1, requires_grad=True)
    optimizer = taper.optim.SGD([x], lr=0.1, **options)
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        (x * x).backward()
        optimizer.step()
        seen.append(x.item())
    assert seen == pytest.approx(expected, rel=1e-6)


def test_i3_an_update_by_hand_adds_to_the_graph_or_is_refused():
    x = taper.ones(1, requires_grad=True)
    (x * 2).backward()
    updated = x - 0.1 * x.grad
    assert updated.grad_fn.name() == "SubBackward0"
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x -= 0.1 * x.grad
    with taper.no_grad():
        x -= 0.1 * x.grad
    assert x.is_leaf and x.item() == pytest.approx(0.8)


def test_j1_a_module_knows_its_weights_their_start_and_what_is_saved():
    taper.manual_seed(0)
    model = nn.Linear(3, 2)
    assert [name for name, _ in model.named_parameters()] == ["weight", "bias"]
    assert all(p.is_leaf and p.requires_grad for p in model.parameters())
    nn.init.normal_(model.weight, std=0.1)
    assert model.weight.is_leaf and model.weight.grad_fn is None
    nn.init.zeros_(model.bias)
    state = model.state_dict()
    assert list(state) == ["weight", "bias"] and not state["weight"].requires_grad
    other = nn.Linear(3, 2)
    other.load_state_dict(state)
    assert taper.equal(other.weight, model.weight) and taper.equal(other.bias, model.bias)


def test_j2_workers_that_average_in_hooks_have_the_gradient_of_the_whole_batch():
    x = taper.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    label = taper.tensor([[1.0], [0.0], [1.0], [0.0]])
    taper.manual_seed(0)
    model = nn.Linear(2, 1)
    arrived = []

    def average(parameter):
        arrived.append(parameter.grad)
        if len(arrived) == 2:
            parameter.grad = (arrived[0] + arrived[1]) / 2

    replicas = [copy.deepcopy(model) for _ in range(2)]
    for place, replica in enumerate(replicas):
        replica.weight.register_post_accumulate_grad_hook(average)
        part = slice(2 * place, 2 * place + 2)
        nn.functional.mse_loss(nn.DataParallel(replica)(x[part]), label[part]).backward()
    # What PyTorch 2.13 gives for the whole batch.
    assert replicas[1].weight.grad.tolist()[0] == pytest.approx([11.0880, 12.6749], abs=1e-4)
