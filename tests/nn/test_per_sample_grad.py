"""Gradients of single samples (`nn.utils._per_sample_grad`); numbers are PyTorch's."""

from __future__ import annotations

import pytest

import taper
from taper import nn
from taper.nn.utils._per_sample_grad import call_for_per_sample_grads


def gradients(model, x, **options):
    """Return sizes and sums of the gradients of samples after the sum of squares."""
    call_for_per_sample_grads(model, **options)(x).pow(2).sum().backward()
    found = [each.grad_sample for each in model.parameters()]
    return [(tuple(each.shape), each.sum().item()) for each in found]


def test_every_sample_has_a_gradient():
    taper.manual_seed(0)
    model = nn.Linear(3, 2)
    found = gradients(model, taper.arange(6.0).reshape(2, 3))
    assert [shape for shape, _ in found] == [(2, 2, 3), (2, 2)]
    assert [total for _, total in found] == pytest.approx([-50.892311, -4.401596], rel=1e-5)
    assert all(each.grad is None for each in model.parameters())
    with pytest.raises(RuntimeError, match="will be incorrect for multiple calls without clearing"):
        call_for_per_sample_grads(model)


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (lambda: nn.Embedding(5, 2), taper.tensor([[0, 1], [1, 1]])),
        (lambda: nn.LayerNorm(3), taper.arange(6.0).reshape(2, 3)),
        (
            lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)),
            taper.arange(18.0).reshape(2, 1, 3, 3),
        ),
    ],
)
def test_they_are_those_of_the_samples_alone(make, x):
    model = make()
    call_for_per_sample_grads(model)(x).pow(2).sum().backward()
    for nr in range(len(x)):
        model.zero_grad()
        model(x[nr : nr + 1]).pow(2).sum().backward()
        for each in model.parameters():
            taper.testing.assert_close(each.grad_sample[nr], each.grad)


def test_the_mean_of_a_loss_is_undone():
    model, x = nn.Linear(3, 2), taper.arange(6.0).reshape(2, 3)
    call_for_per_sample_grads(model, loss_reduction="mean")(x).pow(2).sum(1).mean().backward()
    found = model.weight.grad_sample
    model.weight.grad_sample = model.bias.grad_sample = None
    call_for_per_sample_grads(model)(x).pow(2).sum().backward()
    assert found.equal(model.weight.grad_sample)


@pytest.mark.parametrize(
    ("module", "options", "text"),
    [
        (3, {}, "Module passed must be nn.Module, got int"),
        (nn.Identity(), {"loss_reduction": "no"}, "argument to be sum or mean, got no"),
        (nn.Identity(), {"batch_size": "a"}, "must be None or an integer, got str"),
    ],
)
def test_what_is_refused(module, options, text):
    with pytest.raises(RuntimeError, match=text):
        call_for_per_sample_grads(module, **options)
