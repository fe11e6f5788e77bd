"""Initial values (numbers from PyTorch 2.13 with the same seed) and tools for gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import taper
from taper import nn
from taper.nn import init

EMPTY = (2, 3)
LINEAR_WEIGHT = [
    [-0.005293981172144413, 0.37932288646698],
    [-0.5819807648658752, -0.5203874707221985],
]
LINEAR_BIAS = [-0.27234524488449097, 0.1896158903837204]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (
            lambda t: init.uniform_(t, -1.0, 1.0),
            [[-0.00748682, 0.5364436, -0.8230451], [-0.735939, -0.3851544, 0.2681574]],
        ),
        (
            lambda t: init.normal_(t, 1.0, 2.0),
            [[4.081992, 0.4131422, -3.357579], [2.136863, -1.169045, -1.797191]],
        ),
        (
            lambda t: init.xavier_uniform_(t),
            [[-0.008201401, 0.5876445, -0.9016008], [-0.8061808, -0.4219155, 0.2937517]],
        ),
        (
            lambda t: init.xavier_normal_(t, 2.0),
            [[1.949223, -0.3711615, -2.755975], [0.719015, -1.371824, -1.769099]],
        ),
        (
            lambda t: init.kaiming_uniform_(t, 0.1),
            [[-0.01053542, 0.7548808, -1.158185], [-1.03561, -0.5419874, 0.3773497]],
        ),
        (
            lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"),
            [[1.540996, -0.2934289, -2.178789], [0.5684313, -1.084522, -1.398595]],
        ),
        (
            lambda t: init.trunc_normal_(t, std=2.0),
            [[0.8066937, -0.5868578, -1.438515], [1.136863, -1.193271, 0.364073]],
        ),
        (
            lambda t: init.orthogonal_(t, 3.0),
            [[1.721943, -0.3278838, -2.434627], [-1.036245, -2.792648, -0.3568066]],
        ),
        (
            lambda t: init.sparse_(t, 0.5, 1.0),
            [[0.0, -0.2934289, 0.0], [0.5684313, 0.0, -1.398595]],
        ),
    ],
)
def test_numbers(fill, expected):
    taper.manual_seed(0)
    target = nn.Parameter(taper.empty(*EMPTY))
    assert fill(target) is target
    np.testing.assert_allclose(target.detach().numpy(), expected, rtol=2e-5, atol=1e-6)


def test_linear_starts_with_these_numbers():
    taper.manual_seed(0)
    layer = nn.Linear(2, 2)
    assert layer.weight.tolist() == LINEAR_WEIGHT
    assert layer.bias.tolist() == LINEAR_BIAS


def test_constants():
    assert init.constant_(taper.empty(2), 0.5).tolist() == [0.5, 0.5]
    assert init.ones_(taper.empty(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(taper.ones(2)).tolist() == [0.0, 0.0]
    assert init.eye_(taper.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert init.dirac_(taper.empty(2, 1, 3), 2).tolist() == [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]


def test_filling_is_not_recorded_and_counted():
    weight = nn.Parameter(taper.empty(2))
    init.ones_(weight)
    assert weight.is_leaf
    assert weight._version == 1


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (3, 2, 2)])
def test_orthogonal_rows_or_columns(shape):
    matrix = init.orthogonal_(taper.empty(*shape)).reshape(shape[0], -1).numpy()
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "gain"),
    [
        ("linear", 1),
        ("conv_transpose2d", 1),
        ("sigmoid", 1),
        ("tanh", 5 / 3),
        ("relu", math.sqrt(2)),
        ("selu", 0.75),
        ("leaky_relu", math.sqrt(2 / 1.0001)),
    ],
)
def test_gain(name, gain):
    assert init.calculate_gain(name) == gain


def test_truncation_far_from_the_mean():
    values = init.trunc_normal_(taper.empty(200), a=1.9, b=2.0)
    assert bool(((values >= 1.9) & (values <= 2.0)).all())
    with pytest.warns(UserWarning, match="^mean is more than 2 std from"):
        init.trunc_normal_(taper.empty(2), mean=10.0)


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda: init.xavier_uniform_(taper.empty(3)), "Fan in and fan out can not be computed"),
        (lambda: init.kaiming_uniform_(taper.empty(2, 2), mode="x"), "Mode x not supported"),
        (lambda: init.calculate_gain("x"), "Unsupported nonlinearity x"),
        (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid"),
        (lambda: init.eye_(taper.empty(1)), "Only tensors with 2 dimensions are supported"),
        (lambda: init.dirac_(taper.empty(1, 1)), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(taper.empty(3, 2, 1), 2), "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(taper.empty(1)), "Only tensors with 2 or more dimensions"),
        (lambda: init.sparse_(taper.empty(1), 0.5), "Only tensors with 2 dimensions"),
    ],
)
def test_refusals(action, text):
    with pytest.raises(ValueError) as caught:
        action()
    assert str(caught.value).startswith(text)


def test_old_names_and_empty_tensors_warn():
    with pytest.warns(FutureWarning, match="^`nn.init.uniform` is now deprecated in favor of"):
        init.uniform(taper.empty(1))
    with pytest.warns(UserWarning, match="^Initializing zero-element tensors is a no-op$"):
        init.kaiming_uniform_(taper.empty(0, 3))


# --------------------------------------------------------------------------------- gradients


def with_grad(*values):
    param = nn.Parameter(taper.zeros(len(values)))
    param.grad = taper.tensor(values)
    return param


def test_clip_grad_norm():
    params = [with_grad(3.0, 4.0), with_grad(0.0, 12.0), nn.Parameter(taper.zeros(1))]
    grad = params[0].grad
    assert nn.utils.clip_grad_norm_(params, 1.0).item() == 13.0
    assert params[0].grad is grad
    np.testing.assert_allclose(grad.numpy(), [3 / 13, 4 / 13], rtol=1e-6)
    before = grad.tolist()
    nn.utils.clip_grad_norm_(iter(params), 100.0)
    assert grad.tolist() == before
    assert nn.utils.clip_grad_norm_(with_grad(3.0, -4.0), 1.0, norm_type=math.inf).item() == 4.0
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_clip_refuses_and_warns():
    with pytest.raises(RuntimeError, match="^The total norm of order 2.0 for gradients from"):
        nn.utils.clip_grad_norm_([with_grad(math.nan)], 1.0, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="^`parameters` is an empty generator"):
        nn.utils.clip_grad_norm_((p for p in []), 1.0)
    with pytest.warns(FutureWarning, match="^`torch.nn.utils.clip_grad_norm` is now deprecated"):
        nn.utils.clip_grad_norm([], 1.0)


def test_clip_grad_value_and_given_norm():
    param = with_grad(3.0, -4.0)
    nn.utils.clip_grad_value_(param, 2)
    assert param.grad.tolist() == [2.0, -2.0]
    param = with_grad(3.0, 4.0)
    nn.utils.clip_grads_with_norm_([param], 1.0, taper.tensor(5.0))
    np.testing.assert_allclose(param.grad.numpy(), [0.6, 0.8], rtol=1e-6)


def test_parameters_as_one_vector():
    layer = nn.Linear(2, 2)
    assert nn.utils.parameters_to_vector(layer.parameters()).shape == (6,)
    vector = taper.arange(6.0)
    nn.utils.vector_to_parameters(vector, layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert layer.bias.tolist() == [4.0, 5.0]
    assert layer.weight.is_leaf
    vector[0] = 9.0
    assert layer.weight[0, 0].item() == 9.0
    with pytest.raises(TypeError, match="^expected torch.Tensor, but got: list$"):
        nn.utils.vector_to_parameters([1], layer.parameters())
