"""What the rows of `opcases` cannot say about losses: warnings, limits, refused gradients.

The numbers are PyTorch 2.13's.
"""

from __future__ import annotations

import math

import pytest

import taper
import taper.nn.functional as F

X = taper.tensor([1.0, 3.0])
Y = taper.tensor([1.0, 1.0])


def gradient(function, values):
    x = taper.tensor(values, requires_grad=True)
    function(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_target_of_another_size_warns(loss):
    text = r"Using a target size \(torch.Size\(\[1\]\)\) that is different to the input size"
    with pytest.warns(UserWarning, match=text):
        loss(X, taper.ones(1))


@pytest.mark.parametrize(
    "old, reduction",
    [
        ({"size_average": False}, "sum"),
        ({"reduce": False}, "none"),
        ({"size_average": True, "reduce": True}, "mean"),
    ],
)
@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.soft_margin_loss, F.kl_div])
def test_old_arguments_warn_and_mean_a_reduction(loss, old, reduction):
    with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead."):
        found = loss(X, Y, **old)
    if loss is F.mse_loss:
        assert found.tolist() == F.mse_loss(X, Y, reduction=reduction).tolist()


def test_elementwise_mean_is_an_old_word_for_mean():
    with pytest.warns(UserWarning, match="reduction='elementwise_mean' is deprecated"):
        assert F.mse_loss(X, Y, reduction="elementwise_mean").item() == 2.0


def test_kl_div_warns_about_mean():
    with pytest.warns(UserWarning, match="'mean' divides the total loss by both"):
        F.kl_div(X, Y)


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_softmax_without_a_dimension_warns_and_chooses(name):
    function = getattr(F, name)
    with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name} has been"):
        matrix = function(taper.zeros(2, 3))
    assert matrix.tolist() == function(taper.zeros(2, 3), 1).tolist()
    with pytest.warns(UserWarning, match="Change the call to include dim=X as an argument"):
        cube = function(taper.zeros(2, 3, 4))
    assert cube.tolist() == function(taper.zeros(2, 3, 4), 0).tolist()


def test_gradients_at_the_limits():
    assert gradient(
        lambda x: F.smooth_l1_loss(x, taper.zeros(2), reduction="none"), [1.0, -1.0]
    ) == [
        1.0,
        -1.0,
    ]
    assert gradient(lambda x: F.huber_loss(x, taper.zeros(2), reduction="sum"), [1.0, -1.0]) == [
        1.0,
        -1.0,
    ]
    assert gradient(lambda x: F.l1_loss(x, taper.zeros(1)), [0.0]) == [0.0]


def test_binary_cross_entropy_is_finite_at_zero_and_one():
    target = taper.tensor([0.0, 1.0, 1.0])
    found = F.binary_cross_entropy(taper.tensor([0.0, 1.0, 0.0]), target, reduction="none")
    assert found.tolist() == [0.0, 0.0, 100.0]
    grads = gradient(lambda x: F.binary_cross_entropy(x, target, reduction="sum"), [0.0, 1.0, 0.0])
    assert all(math.isfinite(each) for each in grads)


def test_logits_of_any_size_do_not_overflow():
    x = taper.tensor([1000.0, -1000.0])
    found = F.binary_cross_entropy_with_logits(x, taper.tensor([0.0, 1.0]), reduction="none")
    assert found.tolist() == [1000.0, 1000.0]


def test_ignored_targets_have_no_gradient():
    found = gradient(lambda x: F.nll_loss(x, taper.tensor([1, -100])), [[-1.0, -2.0], [-3.0, -4.0]])
    assert found == [[0.0, -1.0], [0.0, 0.0]]


def test_a_loss_that_ignores_everything_is_nan():
    assert math.isnan(F.cross_entropy(taper.zeros(2, 3), taper.tensor([-100, -100])).item())
    assert math.isnan(F.cross_entropy(taper.zeros(0, 3), taper.zeros(0, 3)).item())


def test_weights_of_classes_cannot_require_a_gradient():
    weight = taper.ones(3, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="is not differentiable with respect to argument 'weight'"
    ):
        F.nll_loss(taper.zeros(2, 3), taper.tensor([0, 1]), weight)
    with taper.no_grad():
        assert F.nll_loss(taper.zeros(2, 3), taper.tensor([0, 1]), weight).item() == 0.0


def test_variances_below_eps_count_as_eps():
    zero = taper.zeros(1)
    assert F.gaussian_nll_loss(zero, zero, zero).item() == pytest.approx(0.5 * math.log(1e-6))


def test_margin_losses_are_not_differentiated_twice():
    x = taper.tensor([[0.5, 0.2]], requires_grad=True)
    loss = F.multi_margin_loss(x, taper.tensor([0]))
    (grad,) = taper.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="derivative for aten::multi_margin_loss"):
        grad.sum().backward()
